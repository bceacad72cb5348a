import { renderFields, type Workspace } from "../../../record/index.ts";
import type { CounterNames } from "../../elements/mapping/counter-names.ts";
import { digitPairs, digits, hexPairs, milliseconds, octetsWithDot } from "./text-tables.ts";
import { joinedFields, roleMethods } from "./end-names.ts";
import { icmpNamesOf, type IcmpName } from "./icmp-names.ts";
import { icmpPartners, icmpV6Partners, icmpV6Types } from "./icmp-types.ts";
import * as layout from "./layout.ts";

const kernelTexts: readonly (readonly [number: number, text: string])[] = [
  [layout.versionText, ',"ip.version.ver":'],
  [layout.rateText, ',"flow.sample_rate":'],
  [layout.icmpTypeText, ',"icmp.type.id":'],
  [layout.icmpCodeText, ',"icmp.code.id":'],
  [layout.communityIdText, ',"flow.community.id":"1:'],
  [layout.assumedText, ',"flow.sampling.assumed":true'],
  [layout.labelText, ',"mpls.label.id":['],
  [layout.labelExpText, '],"mpls.label.exp":['],
  [layout.labelBottomText, '],"mpls.label.bottom":['],
  [layout.topLabelText, '],"mpls.top_label.id":'],
  [layout.versionNameText, ',"ip.version.name":"IPv'],
  [layout.inVlanText, ',"flow.in.vlan.tag.id":'],
  [layout.outVlanText, ',"flow.out.vlan.tag.id":'],
  [layout.vlansText, ',"vlan.tag.id":['],
  [layout.establishedText, ',"l4.session.established":true'],
  [layout.notEstablishedText, ',"l4.session.established":false'],
  [layout.conversationText, ',"flow.conversation.id":"'],
  [layout.sessionText, ',"flow.session.id":"'],
  [layout.sourceLabelText, ',"flow.src.as.label":"AS'],
  [layout.destinationLabelText, ',"flow.dst.as.label":"AS'],
  ...roleMethods.map((name, i) => [layout.methodTexts + i, `,"flow.clisrv.method":"${name}"`] as const),
];

const estimateTexts = (counters: CounterNames): typeof kernelTexts => [
  [layout.scaledOctetsText, `,"${counters.bytes.estimate}":`],
  [layout.scaledPacketsText, `,"${counters.packets.estimate}":`],
  [layout.reverseOctetsText, `,"${counters.reverseBytes.estimate}":`],
  [layout.reversePacketsText, `,"${counters.reversePackets.estimate}":`],
];

/** By which groups are zero: where the first longest run of at least two begins (four bits), and its length (four bits). */
const zeroGroupGaps = Uint8Array.from({ length: 256 }, (_, zeros) => {
  let best = 0;
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && (zeros & (1 << (start + length))) !== 0) length++;
    if (length >= 2 && length > (best & 15)) best = (start << 4) | length;
  }
  return best;
});

/** Of the numbers with so many leading zeros the largest has the most digits; those below its power of ten have one digit less. */
const lengths = BigUint64Array.from({ length: 32 }, (_, zeros) => {
  const { length } = String(2 ** (32 - zeros) - 1);
  return (BigInt(length) << 32n) - (length === 1 ? 0n : 10n ** BigInt(length - 1));
});

/** Puts what the kernel looks things up in where it expects it. */
export function writeKernelTables({ bytes, view }: Workspace, counters: CounterNames): void {
  const put = (table: Uint8Array | Uint16Array | Uint32Array | Int16Array | BigUint64Array, at: number): void =>
    bytes.set(new Uint8Array(table.buffer, table.byteOffset, table.byteLength), at);
  put(digits.subarray(0, 256), layout.octetTable);
  put(octetsWithDot, layout.dottedOctetTable);
  put(lengths, layout.lengthTable);
  put(digitPairs, layout.pairTable);
  put(milliseconds, layout.millisecondTable);
  put(hexPairs, layout.hexPairTable);
  put(zeroGroupGaps, layout.gapTable);
  put(partnerTable(icmpPartners), layout.icmpPartnerTable);
  put(partnerTable(icmpV6Partners), layout.icmpV6PartnerTable);
  put(icmpV6Types, layout.icmpV6TypeTable);
  put((icmpNames ??= renderIcmpNames()), layout.icmpNames);
  view.setFloat64(layout.renderedRate, Number.NaN, true);
  for (const [number, text] of [...kernelTexts, ...estimateTexts(counters)]) {
    const at = layout.texts + layout.textBytes * number;
    bytes[at + layout.textLength] = bytes.write(text, at);
  }
  joinedFields.forEach((name, i) => {
    const at = layout.joinTexts + layout.textBytes * i;
    bytes[at + layout.textLength] = bytes.write(`,"${name}":[`, at);
  });
  bytes.write(`,"flow.client.`, layout.endPrefixes);
  bytes.write(`,"flow.server.`, layout.endPrefixes + 16);
  for (let i = 0; i < layout.cachedSeconds; i++) {
    view.setBigInt64(layout.secondTable + layout.secondBytes * i, -1n, true);
  }
}

/** What {@link renderIcmpNames} made: the same for all kernels. */
let icmpNames: Uint8Array | undefined;

/** Names of types and codes of ICMP, as they stand in a line: the memory from {@link layout.icmpNames} on. */
function renderIcmpNames(): Uint8Array {
  const bytes = Buffer.alloc(layout.icmpTextsEnd - layout.icmpNames);
  let end: number = layout.icmpTexts;
  const take = (size: number): number => {
    const at = end;
    end += 8 * Math.ceil(size / 8);
    if (end > layout.icmpTextsEnd) throw new RangeError("there is no room for the names of ICMP");
    return at;
  };
  const putPair = (place: number, first: number, second: number): void => {
    bytes.writeUInt32LE(first, place - layout.icmpNames);
    bytes.writeUInt32LE(second, place - layout.icmpNames + 4);
  };
  const putField = (entry: number, name: string, value: string): void => {
    const text = renderFields([[name, value]]);
    const at = take(text.length);
    bytes.set(text, at - layout.icmpNames);
    putPair(entry, at, text.length);
  };
  const putAll = (table: number, names: readonly IcmpName[]): void => {
    for (const [type, name, codes = []] of names) {
      const entry = table + layout.icmpNameBytes * type;
      putField(entry, "icmp.type.name", name);
      const count = Math.max(0, ...codes.map(([code]) => code + 1));
      const codesAt = take(8 * count);
      putPair(entry + 8, codesAt, count);
      for (const [code, codeName] of codes) putField(codesAt + 8 * code, "icmp.code.name", codeName);
    }
  };
  putAll(layout.icmpNames, icmpNamesOf.get(1) ?? []);
  putAll(layout.icmpV6Names, icmpNamesOf.get(58) ?? []);
  return bytes;
}

/** By type: its partner, -1 where it has none. */
function partnerTable(partners: ReadonlyMap<number, number>): Int16Array {
  const table = new Int16Array(256).fill(-1);
  for (const [type, partner] of partners) table[type] = partner;
  return table;
}
