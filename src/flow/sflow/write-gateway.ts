import { nameText, putText } from "../compiled/line-text.ts";
import { writeIpv4, writeIpv6, writeUint32 } from "../compiled/write-values.ts";
import type { ToldByStructures } from "./write-structure.ts";

const names = {
  nextHop: "flow.bgp.next_hop.ip.addr",
  exporterSystem: "flow.export.as.asn",
  sourceSystem: "flow.src.as.asn",
  previousSystem: "flow.ie.bgpPrevAdjacentAsNumber",
  path: "flow.bgp.as_path",
  nextSystem: "flow.ie.bgpNextAdjacentAsNumber",
  destinationSystem: "flow.dst.as.asn",
  communities: "flow.bgp.communities",
  preference: "flow.bgp.local_pref",
} as const;
export const gatewayNames: readonly string[] = Object.values(names);

const texts = {
  nextHop: nameText(names.nextHop, `"`),
  exporterSystem: nameText(names.exporterSystem),
  sourceSystem: nameText(names.sourceSystem),
  previousSystem: nameText(names.previousSystem),
  path: nameText(names.path, `"`),
  nextSystem: nameText(names.nextSystem),
  destinationSystem: nameText(names.destinationSystem),
  communities: nameText(names.communities, "["),
  preference: nameText(names.preference),
} as const;

const asSet = 1;
const character = {
  quote: 0x22,
  comma: 0x2c,
  blank: 0x20,
  colon: 0x3a,
  open: 0x7b,
  close: 0x7d,
  endList: 0x5d,
} as const;

/** Writes what {@link readGateway} reads, with the rules of {@link StructureWriter.write}. */
export function writeGateway(
  out: DataView,
  at: number,
  input: DataView,
  from: number,
  end: number,
  told: ToldByStructures,
): number {
  let p = at;
  let position = from;
  if (end - position < 4) return -1;
  const family = input.getUint32(position);
  position += 4;
  if (family > 2) return -1;
  const length = family === 0 ? 0 : family === 1 ? 4 : 16;
  // What comes in any case: three numbers, two counts, the preference.
  if (end - position < length + 24) return -1;
  if (family > 0) {
    p = putText(out, p, texts.nextHop);
    p = family === 1 ? writeIpv4(out, p, input.getUint32(position)) : writeIpv6(out, p, input, position);
    out.setUint8(p++, character.quote);
  }
  position += length;
  p = writeUint32(out, putText(out, p, texts.exporterSystem), input.getUint32(position));
  told.sourceSystem = input.getUint32(position + 4);
  p = writeUint32(out, putText(out, p, texts.sourceSystem), told.sourceSystem);
  p = writeUint32(out, putText(out, p, texts.previousSystem), input.getUint32(position + 8));

  const segments = input.getUint32(position + 12);
  position += 16;
  let first = -1;
  let last = -1;
  let textEnd = putText(out, p, texts.path);
  for (let i = 0; i < segments; i++) {
    if (end - position < 8) return -1;
    const isSet = input.getUint32(position) === asSet;
    const count = input.getUint32(position + 4);
    position += 8;
    if (count > (end - position) >>> 2) return -1;
    if (i > 0) out.setUint8(textEnd++, character.blank);
    if (isSet) out.setUint8(textEnd++, character.open);
    for (let j = 0; j < count; j++, position += 4) {
      if (j > 0) out.setUint8(textEnd++, isSet ? character.comma : character.blank);
      last = input.getUint32(position);
      if (first < 0) first = last;
      textEnd = writeUint32(out, textEnd, last);
    }
    if (isSet) out.setUint8(textEnd++, character.close);
  }
  if (first >= 0) {
    out.setUint8(textEnd, character.quote);
    p = writeUint32(out, putText(out, textEnd + 1, texts.nextSystem), first);
    p = writeUint32(out, putText(out, p, texts.destinationSystem), last);
    told.destinationSystem = last;
  }

  if (end - position < 8) return -1;
  const communities = input.getUint32(position);
  position += 4;
  if (communities > (end - position) >>> 2) return -1;
  if (communities > 0) p = writeCommunities(out, putText(out, p, texts.communities), input, position, communities);
  position += 4 * communities;
  if (end - position !== 4) return -1;
  return writeUint32(out, putText(out, p, texts.preference), input.getUint32(position));
}

/** RFC 1997. */
function writeCommunities(out: DataView, at: number, input: DataView, from: number, count: number): number {
  let p = at;
  for (let i = 0; i < count; i++) {
    if (i > 0) out.setUint8(p++, character.comma);
    const community = input.getUint32(from + 4 * i);
    out.setUint8(p++, character.quote);
    p = writeUint32(out, p, community >>> 16);
    out.setUint8(p++, character.colon);
    p = writeUint32(out, p, community & 0xffff);
    out.setUint8(p++, character.quote);
  }
  out.setUint8(p, character.endList);
  return p + 1;
}
