import { formatAddressBytes } from "../../../base/ip/index.ts";
import type { FieldValues } from "../../../record/index.ts";
import type { ByteSource } from "../steps/step-value.ts";
import { flowLevelOf, type ParsedPacket } from "./parse-packet.ts";

/** Which packet is the flow's, where a record says the addresses of one of them; else {@link flowLevelOf}. */
export function levelWithin(packet: ParsedPacket, { bytes }: ByteSource, of: FieldValues): number {
  const last = flowLevelOf(packet);
  if (last === 0) return last;
  const source = of.get("flow.src.ip.addr");
  const destination = of.get("flow.dst.ip.addr");
  if (source === undefined || destination === undefined) return last;
  const found = packet.levels.findIndex(
    (header, i) =>
      i <= last &&
      header.ipVersion >= 0 &&
      formatAddressBytes(bytes, header.source, header.ipVersion === 4 ? 4 : 6) === source &&
      formatAddressBytes(bytes, header.destination, header.ipVersion === 4 ? 4 : 6) === destination,
  );
  return found < 0 ? last : found;
}

/** The length of an IP packet, by the outermost IP header; -1 when there was none. */
export function ipLengthOf({ levels, count }: ParsedPacket): number {
  for (let i = 0; i < count; i++) {
    const header = levels[i];
    if (header !== undefined && header.ipVersion >= 0) return header.ipLength;
  }
  return -1;
}
