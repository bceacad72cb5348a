// Readers of addresses in their texts, into 16 bytes in network order: IPv4 as ::ffff:a.b.c.d.
import { colon, dot, quote, zero } from "./scan";

/** One part of a dotted address; 256 or more: it is none. */
@inline
function partOf(at: usize, length: i32): u32 {
  // Its digits are the upper bytes.
  const bytes = load<u32>(at) << (32 - 8 * length);
  const value = ((bytes >>> 8) & 15) * 100 + ((bytes >>> 16) & 15) * 10 + (bytes >>> 24 & 15);
  return length > 1 && load<u8>(at) == zero ? 256 : value;
}

/** Reads an IPv4 address of so many bytes. @returns it in network order with bit 32 set; 0: it is none. */
@inline
function readIpv4(at: usize, length: i32): u64 {
  const bytes = v128.load(at);
  const inside = (1 << length) - 1;
  const dots = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(dot))) & inside;
  const others = i8x16.bitmask(i8x16.gt_u(i8x16.sub(bytes, i8x16.splat(zero)), i8x16.splat(9))) & inside;
  if (others != dots || popcnt<i32>(dots) != 3) return 0;
  const first = <i32>ctz<i32>(dots);
  const after = dots & (dots - 1);
  const second = <i32>ctz<i32>(after);
  const third = <i32>ctz<i32>(after & (after - 1));
  const b = second - first - 1;
  const c = third - second - 1;
  const d = length - third - 1;
  // Each has one to three digits.
  if (<u32>(first - 1) > 2 || <u32>(b - 1) > 2 || <u32>(c - 1) > 2 || <u32>(d - 1) > 2) return 0;
  const high = partOf(at, first);
  const upper = partOf(at + first + 1, b);
  const lower = partOf(at + second + 1, c);
  const low = partOf(at + third + 1, d);
  if (max(max(high, upper), max(lower, low)) > 255) return 0;
  return <u64>(high | (upper << 8) | (lower << 16) | (low << 24)) | 0x1_0000_0000;
}

/** Reads the address behind the quote at `at`. @returns behind its other quote; 0: it is none. */
export function readAddress(at: usize, to: usize): usize {
  const quotes = i8x16.bitmask(i8x16.eq(v128.load(at + 1), i8x16.splat(quote)));
  if (quotes != 0) {
    const length = <i32>ctz<i32>(quotes);
    const address = readIpv4(at + 1, length);
    if (address != 0) {
      store<u64>(to, 0);
      store<u64>(to, 0xffff_0000 | (address << 32), 8);
      return at + 2 + <usize>length;
    }
  }
  return readIpv6(at + 1, to);
}

/** The value of a hexadecimal digit; 255: it is none. */
@inline
function hexOf(byte: u32): u32 {
  const digit = byte - 0x30;
  if (digit < 10) return digit;
  const letter = (byte | 0x20) - 0x61;
  return letter < 6 ? letter + 10 : 255;
}

/** Reads all forms of RFC 4291 section 2.2 but IPv4-mapped addresses, for their text would not come back. */
function readIpv6(from: usize, to: usize): usize {
  let at = from;
  let count: usize = 0;
  let gap: i32 = -1;
  if (load<u16>(at) == 0x3a3a) {
    gap = 0;
    at += 2;
  }
  let isOpen = gap < 0;
  while (isOpen || load<u8>(at) != quote) {
    isOpen = false;
    const start = at;
    let group: u32 = 0;
    for (let digit: u32 = 0; at - start < 4 && (digit = hexOf(load<u8>(at))) < 16; at++) group = (group << 4) | digit;
    if (at == start || count == 8) return 0;
    if (load<u8>(at) == dot) {
      const quotes = i8x16.bitmask(i8x16.eq(v128.load(start), i8x16.splat(quote)));
      const length = quotes == 0 ? 0 : <i32>ctz<i32>(quotes);
      const address = count > 6 ? 0 : readIpv4(start, length);
      if (address == 0) return 0;
      store<u32>(to + 2 * count, <u32>address);
      count += 2;
      at = start + <usize>length;
      break;
    }
    store<u16>(to + 2 * count, <u16>(((group & 255) << 8) | (group >>> 8)));
    count++;
    if (load<u8>(at) == quote) break;
    if (load<u8>(at++) != colon) return 0;
    isOpen = true;
    if (load<u8>(at) != colon) continue;
    if (gap >= 0) return 0;
    gap = <i32>count;
    at++;
    isOpen = false;
  }
  if (gap < 0 ? count != 8 : count > 7) return 0;
  if (gap >= 0) spread(to, <usize>gap, count);
  return load<u64>(to) == 0 && load<u32>(to, 8) == 0xffff_0000 ? 0 : at + 1;
}

/** Moves the groups behind a gap to the end. */
function spread(to: usize, gap: usize, count: usize): void {
  const missing = 8 - count;
  memory.copy(to + 2 * (gap + missing), to + 2 * gap, 2 * (count - gap));
  memory.fill(to + 2 * gap, 0, 2 * missing);
}
