// Writers of values, as src/flow/line/text/write-values.ts has them: each writes at `p` and returns where it ends; up to
// fifteen bytes behind may be overwritten.
import {
  cachedSeconds,
  digitTable,
  fourDigitTable,
  gapTable,
  hexPairTable,
  lastSecond,
  millisecondTable,
  octetTable,
  secondBytes,
  secondTable,
  textBytes,
  textLength,
  texts,
} from "../layout";
import { fillSecond } from "./imports";

/** Copies whole pieces of sixteen bytes, one at least. */
@inline
export function copy(to: usize, from: usize, length: i32): void {
  v128.store(to, v128.load(from));
  for (let i = 16; i < length; i += 16) v128.store(to + i, v128.load(from + i));
}

/** Stores up to four characters. */
@inline
function put(p: usize, piece: u32): usize {
  store<u32>(p, piece);
  return p + 4 - (clz(piece) >>> 3);
}

@inline
export function putText(p: usize, number: i32): usize {
  const text = texts + number * textBytes;
  const length = load<u8>(text, textLength);
  copy(p, text, length);
  return p + length;
}

@inline
export function writeByte(p: usize, value: u32): usize {
  return put(p, load<u32>(digitTable + (value << 2)));
}

export function writeUint32(p: usize, value: u32): usize {
  if (value < 10_000) return writeByte(p, value);
  const upper = value / 10_000;
  const lower = load<u32>(fourDigitTable + ((value - upper * 10_000) << 2));
  if (upper < 10_000) {
    p = writeByte(p, upper);
    store<u32>(p, lower);
    return p + 4;
  }
  const top = upper / 10_000;
  p = writeByte(p, top);
  store<u32>(p, load<u32>(fourDigitTable + ((upper - top * 10_000) << 2)));
  store<u32>(p, lower, 4);
  return p + 8;
}

export function writeUint64(p: usize, value: u64): usize {
  if (value <= <u64>u32.MAX_VALUE) return writeUint32(p, <u32>value);
  const upper = value / 100_000_000;
  const lower = <u32>(value - upper * 100_000_000);
  const middle = lower / 10_000;
  p = writeUint64(p, upper);
  store<u32>(p, load<u32>(fourDigitTable + (middle << 2)));
  store<u32>(p, load<u32>(fourDigitTable + ((lower - middle * 10_000) << 2)), 4);
  return p + 8;
}

export function writeIpv4(p: usize, address: u32): usize {
  p = put(p, load<u32>(octetTable + ((address >>> 24) << 2)));
  p = put(p, load<u32>(octetTable + (((address >>> 16) & 255) << 2)));
  p = put(p, load<u32>(octetTable + (((address >>> 8) & 255) << 2)));
  return writeByte(p, address & 255);
}

const colon: u8 = 0x3a;

@inline
function isZero(at: usize, group: i32): u32 {
  return load<u16>(at + 2 * group) == 0 ? 1 << group : 0;
}

/** RFC 5952; an IPv4-mapped address with its dotted tail. */
export function writeIpv6(p: usize, at: usize): usize {
  if (load<u64>(at) == 0 && load<u32>(at, 8) == 0xffff0000) {
    // "::ffff:"
    store<u64>(p, 0x003a666666663a3a);
    return writeIpv4(p + 7, bswap(load<u32>(at, 12)));
  }
  let zeros: u32 = 0;
  for (let i = 0; i < 8; i++) zeros |= isZero(at, i);
  const gap = <i32>load<u8>(gapTable + zeros);
  const gapStart = gap >>> 4;
  const gapEnd = gapStart + (gap & 15);
  for (let i = 0; i < 8; i++) {
    if (i == gapStart && gapEnd > gapStart) {
      // The groups before it have left one colon already, if there are any.
      if (i == 0) store<u8>(p++, colon);
      store<u8>(p++, colon);
      i = gapEnd - 1;
      continue;
    }
    const high = <u32>load<u8>(at + 2 * i);
    const low = <u32>load<u8>(at + 2 * i, 1);
    const digits = <u32>load<u16>(hexPairTable + (high << 1)) | (<u32>load<u16>(hexPairTable + (low << 1)) << 16);
    const leading = (clz(((high << 8) | low) | 1) - 16) >>> 2;
    store<u32>(p, digits >>> (8 * leading));
    p += 4 - leading;
    if (i < 7) store<u8>(p++, colon);
  }
  return p;
}

export function writeMac(p: usize, at: usize): usize {
  for (let i = 0; i < 6; i++) {
    store<u32>(p + 3 * i, <u32>load<u16>(hexPairTable + (<u32>load<u8>(at + i) << 1)) | 0x3a0000);
  }
  return p + 17;
}

export function writeHex(p: usize, at: usize, length: i32): usize {
  store<u16>(p, 0x7830);
  for (let i = 0; i < length; i++) {
    store<u16>(p + 2 + 2 * i, load<u16>(hexPairTable + (<u32>load<u8>(at + i) << 1)));
  }
  return p + 2 + 2 * length;
}

/** Text that has nothing to escape, without its padding, and the quote behind it; 0 for any other. */
export function writePlainText(p: usize, at: usize, length: i32): usize {
  let end = at + length;
  while (end > at && load<u8>(end - 1) == 0) end--;
  for (; at < end; at++) {
    const byte = load<u8>(at);
    if (byte < 0x20 || byte > 0x7e || byte == 0x22 || byte == 0x5c) return 0;
    store<u8>(p++, byte);
  }
  store<u8>(p, 0x22);
  return p + 1;
}

/** `"YYYY-MM-DDTHH:MM:SS` */
@inline
function writeSecond(p: usize, second: i64): usize {
  const place = secondTable + secondBytes * <usize>(second & (cachedSeconds - 1));
  if (load<i64>(place) != second) fillSecond(<i32>place, <f64>second);
  v128.store(p, v128.load(place, 8));
  store<u32>(p + 16, load<u32>(place, 24));
  return p + 20;
}

/** With its quotes; 0 for what has no text. */
export function writeSeconds(p: usize, second: i64): usize {
  if (<u64>second > <u64>lastSecond) return 0;
  p = writeSecond(p, second);
  store<u16>(p, 0x225a);
  return p + 2;
}

/** With its quotes; 0 for what has no text. */
export function writeMilliseconds(p: usize, value: i64): usize {
  const second = <u64>value / 1000;
  if (second > <u64>lastSecond) return 0;
  p = writeSecond(p, second);
  store<u32>(p, load<u32>(millisecondTable + <usize>((<u64>value - second * 1000) << 2)));
  store<u16>(p, 0x225a, 4);
  return p + 6;
}

/** An unsigned number of one to eight bytes. */
export function readUint(at: usize, length: i32): u64 {
  let value: u64 = 0;
  for (let i = 0; i < length; i++) value = (value << 8) | load<u8>(at + i);
  return value;
}
