// A stack of MPLS labels (RFC 3032): 20 bits of label, three of experimental use, one at the bottom of the stack.
import * as L from "../layout";
import { putText, readUint, writeByte, writeUint32 } from "./values";

@inline
function entry(i: i32): u32 {
  return load<u32>(L.labels + 4 * <usize>i);
}

/**
 * Writes a stack, the top first. Exporters have as many fields as they can give and fill those behind the stack with zeros: these
 * are left out.
 *
 * @param pairs place and length of `count` fields, three or four bytes each; the fourth is a time to live.
 */
export function writeLabels(p: usize, pairs: usize, count: i32, from: usize, varies: bool): usize {
  let last = 0;
  for (let i = 0; i < count; i++) {
    const place = <usize>load<u16>(pairs + 4 * i);
    const at = varies ? <usize>load<u32>(L.fieldOffsets + 4 * place) : from + place;
    const value = <u32>readUint(at, 3);
    store<u32>(L.labels + 4 * <usize>i, value);
    if (value != 0) last = i + 1;
  }
  if (last == 0) return p;
  p = putText(p, L.labelText);
  for (let i = 0; i < last; i++) p = comma(writeUint32(p, entry(i) >>> 4));
  p = putText(p - 1, L.labelExpText);
  for (let i = 0; i < last; i++) p = comma(writeByte(p, (entry(i) >>> 1) & 7));
  p = putText(p - 1, L.labelBottomText);
  for (let i = 0; i < last; i++) {
    const isBottom = (entry(i) & 1) == 1;
    // "true", "fals" and "e"
    store<u32>(p, isBottom ? 0x65757274 : 0x736c6166);
    if (!isBottom) store<u8>(p, 0x65, 4);
    p = comma(p + (isBottom ? 4 : 5));
  }
  return writeUint32(putText(p - 1, L.topLabelText), entry(0) >>> 4);
}

@inline
function comma(p: usize): usize {
  store<u8>(p, 0x2c);
  return p + 1;
}
