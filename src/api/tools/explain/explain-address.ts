import { create } from "@bufbuild/protobuf";
import { formatAddress, parseAddress, unmapAddress, type Address } from "../../../ip/index.ts";
import type { LayeredEntry, UdmContext, UdmHistory } from "../../../udm/index.ts";
import { quote } from "../../../text/index.ts";
import {
  ExplainAddressResponseSchema,
  ExplainedContextSchema,
  ExplainedFieldSchema,
  ExplainedOriginSchema,
  FullUdmSchema,
  type ExplainAddressRequest,
  type ExplainAddressResponse,
  type ExplainedContext,
  type ExplainedLoser,
  type ExplainedOrigin,
} from "../../gen/udm/v1/tools_pb.ts";
import { badRequest } from "../../udm/store-fault.ts";
import { apiError } from "../../error/api-error.ts";
import { fullUdm } from "../common/full-udm.ts";
import type { ExplainObject, ToolsContext } from "../common/tools-context.ts";
import { foldEntries, type Fold } from "./fold-entries.ts";
import { rawFields } from "./raw-fields.ts";

const contexts: Readonly<Record<string, { readonly object: string; readonly applies: UdmContext }>> = {
  src: { object: "flow.src", applies: "endpoint" },
  dst: { object: "flow.dst", applies: "endpoint" },
  exporter: { object: "flow.export", applies: "exporter" },
  system: { object: "system", applies: "exporter" },
};

/** What gives fields that are no metadata, by what follows the object in their names. */
const sources: readonly (readonly [suffix: string, source: string])[] = [
  ["geo.", "mmdb"],
  ["as.", "mmdb"],
  ["host.", "dns"],
  ["locality", "locality"],
];

/** @throws ConnectError `invalid_argument`; `unimplemented` where nothing is enriched. */
export async function explainAddress(
  context: ToolsContext,
  request: ExplainAddressRequest,
): Promise<ExplainAddressResponse> {
  const store = context.store();
  const { explainObject } = context;
  if (explainObject === undefined)
    throw apiError("unimplemented", "API_DISABLED", "nothing is known of addresses here");
  const names = contextNames(request.context);
  const address = readIp(request.ip);
  const covering = store.layers.covering(address);
  const ip = formatAddress(address);
  const explain = await explainObject();
  // The same in all contexts.
  const origins = new Map(covering.map((from) => [from, originOf(from, store.history)]));
  const explained = names.map((name) => explainContext(name, ip, origins, explain));
  const entries = covering.map(({ entry, layer }) => create(FullUdmSchema, { ...fullUdm(entry), layer: layer ?? "" }));
  return create(ExplainAddressResponseSchema, { ip, contexts: explained, entries });
}

function contextNames(text: string): readonly string[] {
  if (text === "") return Object.keys(contexts);
  if (Object.hasOwn(contexts, text)) return [text];
  const description = `context ${quote(text)} is not known: expected ${Object.keys(contexts).join(", ")}`;
  throw badRequest([{ field: "context", description }]);
}

function readIp(text: string): Address {
  const address = parseAddress(text);
  if (address !== undefined) return unmapAddress(address);
  throw badRequest([{ field: "ip", description: `ip ${quote(text)} is not an IP address` }]);
}

function explainContext(
  name: string,
  ip: string,
  origins: ReadonlyMap<LayeredEntry, ExplainedOrigin>,
  explainObject: ExplainObject,
): ExplainedContext {
  const { object, applies } = contexts[name] as { object: string; applies: UdmContext };
  const json = explainObject(object, ip);
  const fold = foldEntries(origins, object, applies);
  const ignored: ExplainedLoser[] = [...fold.ignored];
  const shown = rawFields(json).filter(([field]) => field !== `${object}.ip.addr`);
  const fields = shown.map(([field, value]) => {
    const claim = fold.claims.get(field);
    const from = claim?.origins ?? [create(ExplainedOriginSchema, { source: sourceOf(field, object) })];
    return create(ExplainedFieldSchema, { field, value, origins: [...from], losers: [...(claim?.losers ?? [])] });
  });
  ignored.push(...unplaced(fold, new Set(shown.map(([field]) => field))));
  return create(ExplainedContextSchema, { context: name, object: json, fields, ignored });
}

/** What metadata says under names that other names are in the way of. */
function unplaced({ claims }: Fold, shown: ReadonlySet<string>): readonly ExplainedLoser[] {
  return [...claims].flatMap(([field, { loserAs }]) =>
    shown.has(field)
      ? []
      : [loserAs(field, "another name of the record is in its way: it goes out under another name")],
  );
}

function sourceOf(field: string, object: string): string {
  const rest = field.startsWith(`${object}.`) ? field.slice(object.length + 1) : field;
  return sources.find(([suffix]) => rest.startsWith(suffix))?.[1] ?? "metadata";
}

function originOf({ entry, layer }: LayeredEntry, history: UdmHistory): ExplainedOrigin {
  const origin = create(ExplainedOriginSchema, { source: "metadata", key: entry.key.text, layer: layer ?? "" });
  const last = layer === undefined ? history.lastOf(entry.key) : undefined;
  if (last === undefined) return origin;
  const { number, author, time } = last;
  return Object.assign(origin, { change: number, author, time: new Date(time).toISOString() });
}
