import type { Workspace } from "../../../record/index.ts";
import { base64Pairs, digits, fourDigits, hexPairs, milliseconds, octetsWithDot } from "./text-tables.ts";
import { icmpPartners, icmpV6Partners, icmpV6Types } from "./icmp-types.ts";
import * as layout from "./layout.ts";

const kernelTexts: readonly (readonly [number: number, text: string])[] = [
  [layout.versionText, ',"ip.version.ver":'],
  [layout.rateText, ',"flow.sample_rate":'],
  [layout.scaledOctetsText, ',"flow.scaled.bytes":'],
  [layout.scaledPacketsText, ',"flow.scaled.packets":'],
  [layout.icmpTypeText, ',"icmp.type.id":'],
  [layout.icmpCodeText, ',"icmp.code.id":'],
  [layout.communityIdText, ',"flow.community.id":"1:'],
  [layout.assumedText, ',"flow.sampling.assumed":true'],
  [layout.reverseOctetsText, ',"flow.reverse.scaled.bytes":'],
  [layout.reversePacketsText, ',"flow.reverse.scaled.packets":'],
  [layout.labelText, ',"mpls.label.id":['],
  [layout.labelExpText, '],"mpls.label.exp":['],
  [layout.labelBottomText, '],"mpls.label.bottom":['],
  [layout.topLabelText, '],"mpls.top_label.id":'],
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

/** Puts what the kernel looks things up in where it expects it. */
export function writeKernelTables({ bytes, view }: Workspace): void {
  const put = (table: Uint8Array | Uint16Array | Uint32Array | Int16Array, at: number): void =>
    bytes.set(new Uint8Array(table.buffer, table.byteOffset, table.byteLength), at);
  put(digits, layout.digitTable);
  put(fourDigits, layout.fourDigitTable);
  put(octetsWithDot, layout.octetTable);
  put(milliseconds, layout.millisecondTable);
  put(hexPairs, layout.hexPairTable);
  put(zeroGroupGaps, layout.gapTable);
  put(base64Pairs, layout.base64Table);
  put(partnerTable(icmpPartners), layout.icmpPartnerTable);
  put(partnerTable(icmpV6Partners), layout.icmpV6PartnerTable);
  put(icmpV6Types, layout.icmpV6TypeTable);
  for (const [number, text] of kernelTexts) {
    const at = layout.texts + layout.textBytes * number;
    bytes[at + layout.textLength] = bytes.write(text, at);
  }
  for (let i = 0; i < layout.cachedSeconds; i++) {
    view.setBigInt64(layout.secondTable + layout.secondBytes * i, -1n, true);
  }
}

/** By type: its partner, -1 where it has none. */
function partnerTable(partners: ReadonlyMap<number, number>): Int16Array {
  const table = new Int16Array(256).fill(-1);
  for (const [type, partner] of partners) table[type] = partner;
  return table;
}
