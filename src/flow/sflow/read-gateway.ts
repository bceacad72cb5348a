import type { RecordFields, Value } from "../../record/index.ts";
import type { XdrReader } from "./xdr-layout.ts";

const asSet = 1;

/**
 * Reads extended gateway data: next hop, the router's AS, those of the source and of the peer that it came from, segments of the AS path to the
 * destination, communities, local preference. The destination's AS is the last of the path, the peer the first.
 *
 * @returns whether all of it became fields.
 */
export function readGateway(reader: XdrReader, record: RecordFields): boolean {
  if (record.has("flow.bgp.as_path")) return false;
  const put = (name: string, value: Value | undefined): void => {
    if (value !== undefined) record.set(name, value);
  };
  put("flow.bgp.next_hop.ip.addr", reader.value("address"));
  put("flow.export.as.asn", reader.value("uint32"));
  put("flow.src.as.asn", reader.value("uint32"));
  put("flow.ie.bgpPrevAdjacentAsNumber", reader.value("uint32"));
  readPath(reader, put);
  const communities = reader.value("list") as readonly number[] | undefined;
  if (communities !== undefined && communities.length > 0) put("flow.bgp.communities", communities.map(community));
  put("flow.bgp.local_pref", reader.value("uint32"));
  return !reader.isCut && reader.left === 0;
}

function readPath(reader: XdrReader, put: (name: string, value: Value | undefined) => void): void {
  const segments = reader.uint32();
  const texts: string[] = [];
  const path: number[] = [];
  for (let i = 0; i < segments && !reader.isCut; i++) {
    const type = reader.uint32();
    const numbers = reader.value("list") as readonly number[] | undefined;
    if (numbers === undefined) return;
    for (const number of numbers) path.push(number);
    texts.push(type === asSet ? `{${numbers.join(",")}}` : numbers.join(" "));
  }
  if (path.length === 0) return;
  put("flow.bgp.as_path", texts.join(" "));
  put("flow.ie.bgpNextAdjacentAsNumber", path[0]);
  put("flow.dst.as.asn", path.at(-1));
}

/** RFC 1997. */
function community(value: number): string {
  return `${value >>> 16}:${value & 0xffff}`;
}
