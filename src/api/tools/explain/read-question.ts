import { formatAddress, parseAddress, unmapAddress, type Address } from "../../../ip/index.ts";
import { quote } from "../../../text/index.ts";
import type { UdmContext } from "../../../udm/index.ts";
import type { FieldViolation } from "../../error/api-error.ts";
import type { ExplainAddressRequest } from "../../gen/udm/v1/tools_pb.ts";
import { badRequest } from "../../udm/store-fault.ts";
import type { ObjectQuestion } from "../common/tools-context.ts";

/** Where records have an address, and as what. */
export interface ContextPlace {
  readonly object: string;
  readonly applies: UdmContext;
}

/** By their names in requests. */
export const contexts: Readonly<Record<string, ContextPlace>> = {
  src: { object: "flow.src", applies: "endpoint" },
  dst: { object: "flow.dst", applies: "endpoint" },
  exporter: { object: "flow.export", applies: "exporter" },
  system: { object: "system", applies: "exporter" },
};

/** A request, checked. */
export interface ExplainQuestion {
  readonly address: Address;
  /** Of contexts. */
  readonly names: readonly string[];
  /** What is said of ends of flows alone. */
  readonly end: Pick<ObjectQuestion, "port" | "netif">;
}

const tcp = 6;

/** @throws ConnectError `invalid_argument` naming all that is wrong. */
export function readQuestion(request: ExplainAddressRequest): ExplainQuestion {
  const violations: FieldViolation[] = [];
  const refuse = (field: string, description: string): void => void violations.push({ field, description });
  const readIp = (field: string, text: string): Address | undefined => {
    const address = parseAddress(text);
    if (address === undefined) refuse(field, `${field} ${quote(text)} is not an IP address`);
    return address && unmapAddress(address);
  };
  const { context, port, protocol, exporter, ifIndex } = request;
  const address = readIp("ip", request.ip);
  const names = Object.keys(contexts).filter((name) => context === "" || name === context);
  if (names.length === 0) {
    refuse("context", `context ${quote(context)} is not known: expected ${Object.keys(contexts).join(", ")}`);
  }
  if (port > 0xffff) refuse("port", `port ${port} is more than 65535`);
  if (protocol > 0xff) refuse("protocol", `protocol ${protocol} is more than 255`);
  if (protocol !== 0 && port === 0) refuse("protocol", "protocol belongs to port, which is missing");
  const from = exporter === "" ? undefined : readIp("exporter", exporter);
  if (exporter === "" && ifIndex !== 0) refuse("exporter", "exporter is missing: if_index is of one of its interfaces");
  if (exporter !== "" && ifIndex === 0) refuse("if_index", "if_index is missing: the interface of exporter");
  const isOfEnds = names.some((name) => contexts[name]?.applies === "endpoint");
  if (!isOfEnds && (port !== 0 || ifIndex !== 0)) {
    refuse("context", `context ${quote(context)} has no ports and interfaces: src and dst have`);
  }
  if (address === undefined || violations.length > 0) throw badRequest(violations);
  return {
    address,
    names,
    end: {
      ...(port !== 0 && { port: { number: port, protocol: protocol === 0 ? tcp : protocol } }),
      ...(from !== undefined && { netif: { exporter: formatAddress(from), index: ifIndex } }),
    },
  };
}
