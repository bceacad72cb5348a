// Writers of values, as src/flow/line/line-head.ts has them: each writes at `p` and returns where it ends; up to
// fifteen bytes behind may be overwritten, 63 by `copyLong`.
import {
  cachedSeconds,
  octetTable,
  gapTable,
  hexPairTable,
  lastSecond,
  lengthTable,
  millisecondTable,
  pairTable,
  dottedOctetTable,
  secondBytes,
  secondTable,
  textBytes,
  textLength,
  texts,
} from "../layout.gen";
import { fillSecond } from "./memory";

/** Characters of JSON. */
export const quote: u8 = 0x22;
export const comma: u8 = 0x2c;
export const colon: u8 = 0x3a;
export const blank: u8 = 0x20;
export const openingBracket: u8 = 0x5b;
export const closingBracket: u8 = 0x5d;
export const backslash: u8 = 0x5c;

/** The largest whole number that every reader of JSON takes as it is. */
export const maxSafe: u64 = 9_007_199_254_740_991;

// The engine looks at its stack where a loop begins, so what mostly takes no turn does not come to its loop.

/** Copies whole chunks of sixteen bytes, one at least. */
@inline
export function copy(to: usize, from: usize, length: i32): void {
  v128.store(to, v128.load(from));
  if (length > 16) {
    let i = 16;
    do v128.store(to + i, v128.load(from + i));
    while ((i += 16) < length);
  }
}

/** The same for what mostly has no more than 32 bytes: two chunks at least. */
@inline
export function copyPair(to: usize, from: usize, length: i32): void {
  v128.store(to, v128.load(from));
  v128.store(to + 16, v128.load(from + 16));
  if (length > 32) {
    let i = 32;
    do v128.store(to + i, v128.load(from + i));
    while ((i += 16) < length);
  }
}

/** The same for what is long: chunks of 64 bytes. */
@inline
export function copyLong(to: usize, from: usize, length: i32): void {
  for (let i = 0; i < length; i += 64) {
    v128.store(to + i, v128.load(from + i));
    v128.store(to + i, v128.load(from + i, 16), 16);
    v128.store(to + i, v128.load(from + i, 32), 32);
    v128.store(to + i, v128.load(from + i, 48), 48);
  }
}

@inline
export function putText(p: usize, number: i32): usize {
  const text = texts + number * textBytes;
  const length = load<u8>(text, textLength);
  copy(p, text, length);
  return p + length;
}

/** 1 where a number has the digit that begins there. Where a number ends is reckoned without its digits: all that follows waits for it. */
@inline
function reaches(value: u32, least: u32): usize {
  return <usize>(value >= least);
}

@inline
export function writeByte(p: usize, value: u32): usize {
  store<u32>(p, load<u32>(octetTable + (value << 2)));
  return p + 1 + reaches(value, 10) + reaches(value, 100);
}

/** A byte and a dot. */
@inline
function writeDotted(p: usize, value: u32): usize {
  store<u32>(p, load<u32>(dottedOctetTable + (value << 2)));
  return p + 2 + reaches(value, 10) + reaches(value, 100);
}

/** The eight decimal digits of a number below 10^8 as bytes, the first one lowest. */
@inline
function digitsOf(value: u32): u64 {
  const upper = value / 10_000;
  // Two halves of four digits, four quarters of two, eight of one: each step divides all of them at once.
  const halves = <u64>upper | (<u64>(value - upper * 10_000) << 32);
  const hundreds = ((halves * 10_486) >> 20) & 0x7f_0000_007f;
  const quarters = hundreds | ((halves - hundreds * 100) << 16);
  const tens = ((quarters * 103) >> 10) & 0x000f_000f_000f_000f;
  return tens | ((quarters - tens * 10) << 8);
}

const zeros: u64 = 0x3030_3030_3030_3030;

/** How many decimal digits a number other than 0 has. */
@inline
function lengthOf(value: u32): usize {
  return <usize>((<u64>value + load<u64>(lengthTable + (<usize>clz<u32>(value) << 3))) >> 32);
}

/** A number from 1 up to 10^8 - 1, without leading zeros. */
@inline
function writeUpToEight(p: usize, value: u32): usize {
  const length = lengthOf(value);
  store<u64>(p, (digitsOf(value) + zeros) >> ((8 - length) << 3));
  return p + length;
}

/** A number from 100 to 9999. */
@inline
function writeUpToFour(p: usize, value: u32): usize {
  const hundreds = (value * 5243) >> 19;
  const upper = <u32>load<u16>(pairTable + (hundreds << 1));
  const lower = <u32>load<u16>(pairTable + ((value - hundreds * 100) << 1));
  const isShort = <u32>(value < 1000);
  store<u32>(p, (upper | (lower << 16)) >> (isShort << 3));
  return p + 4 - isShort;
}

/** A number; most are small. */
@inline
export function writeSmall(p: usize, value: u32): usize {
  if (value < 100) return writeByte(p, value);
  return value < 10_000 ? writeUpToFour(p, value) : writeUint32(p, value);
}

export function writeUint32(p: usize, value: u32): usize {
  if (value < 100) return writeByte(p, value);
  if (value < 10_000) return writeUpToFour(p, value);
  if (value < 100_000_000) return writeUpToEight(p, value);
  const upper = value / 100_000_000;
  p = writeByte(p, upper);
  store<u64>(p, digitsOf(value - upper * 100_000_000) + zeros);
  return p + 8;
}

export function writeUint64(p: usize, value: u64): usize {
  if (value <= <u64>u32.MAX_VALUE) return writeUint32(p, <u32>value);
  const upper = value / 100_000_000;
  p = writeUint64(p, upper);
  store<u64>(p, digitsOf(<u32>(value - upper * 100_000_000)) + zeros);
  return p + 8;
}

export function writeIpv4(p: usize, address: u32): usize {
  p = writeDotted(p, address >>> 24);
  p = writeDotted(p, (address >>> 16) & 255);
  p = writeDotted(p, (address >>> 8) & 255);
  return writeByte(p, address & 255);
}


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

const ntpToUnix: i64 = 2_208_988_800;

/** The digits of a second, 6 or 9, that are nearest to a fraction of 2^32. */
@inline
function partsOf(fraction: u32, digits: i32): u32 {
  const scale: f64 = digits == 6 ? 1_000_000 : 1_000_000_000;
  return <u32>floor<f64>((<f64>fraction / 4_294_967_296) * scale + 0.5);
}

/**
 * The second of an NTP timestamp (RFC 7011 section 6.1.9), once its fraction is rounded. Its seconds wrap in 2036.
 *
 * @returns -1 for all zeros, which say that the time is not known, and for what has no text.
 */
export function secondOfNtp(at: usize, digits: i32): i64 {
  if (load<u64>(at) == 0) return -1;
  const seconds = bswap(load<u32>(at));
  const parts = partsOf(bswap(load<u32>(at, 4)), digits);
  const isNext = parts >= <u32>(digits == 6 ? 1_000_000 : 1_000_000_000);
  const second = <i64>seconds - ntpToUnix + (seconds < 0x8000_0000 ? 4_294_967_296 : 0) + <i64>isNext;
  return <u64>second > <u64>lastSecond ? -1 : second;
}

/** An NTP timestamp with its quotes; 0 for what has no text. */
export function writeNtp(p: usize, at: usize, digits: i32): usize {
  const second = secondOfNtp(at, digits);
  if (second < 0) return 0;
  const parts = partsOf(bswap(load<u32>(at, 4)), digits);
  p = writeSecond(p, second);
  store<u8>(p++, 0x2e);
  if (digits == 6) {
    const rest = parts >= 1_000_000 ? 0 : parts;
    store<u64>(p, (digitsOf(rest) + zeros) >> 16);
  } else {
    const rest = parts >= 1_000_000_000 ? 0 : parts;
    const first = rest / 100_000_000;
    store<u8>(p, 0x30 + <u8>first);
    store<u64>(p, digitsOf(rest - first * 100_000_000) + zeros, 1);
  }
  p += digits;
  store<u16>(p, 0x225a);
  return p + 2;
}

/** An unsigned number of one to eight bytes. */
export function readUint(at: usize, length: i32): u64 {
  let value: u64 = 0;
  for (let i = 0; i < length; i++) value = (value << 8) | load<u8>(at + i);
  return value;
}
