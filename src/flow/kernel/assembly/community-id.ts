// The Community ID (specification: https://github.com/corelight/community-id-spec), version 1. Lines are written with room for it. SHA-1 of four
// is made at once, one in each lane of a vector: that takes little longer than one alone.
import {
  communityIdSeed,
  communityIdText,
  digestBlocks,
  digestLanes,
  digestPlaces,
  icmpPartnerTable,
  icmpV6PartnerTable,
  shaWords,
} from "../layout.gen";
import { putText } from "./values";

/** How many lines have room for a digest that is not there yet. */
let waiting: i32 = 0;
const blockBytes = 64;
/** Of a digest in base64. */
const textBytes = 28;

/** Forgets what a call left behind that did not come to its end. */
export function beginDigests(): void {
  waiting = 0;
}

@inline
function rotate(words: v128, bits: i32): v128 {
  return v128.or(i32x4.shl(words, bits), i32x4.shr_u(words, 32 - bits));
}

/** Sixteen bytes of a block as numbers: SHA-1 has their first byte highest. */
@inline
function wordsOf(block: usize, at: usize): v128 {
  const bytes = v128.load(block + at);
  return v128.shuffle<u8>(bytes, bytes, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
}

/** The eighty words of SHA-1 (RFC 3174) of each block, those of one number side by side. */
@inline
function schedule(): void {
  for (let at: usize = 0; at < 64; at += 16) {
    const a = wordsOf(digestBlocks, at);
    const b = wordsOf(digestBlocks + blockBytes, at);
    const c = wordsOf(digestBlocks + 2 * blockBytes, at);
    const d = wordsOf(digestBlocks + 3 * blockBytes, at);
    const lower = v128.shuffle<i32>(a, b, 0, 4, 1, 5);
    const upper = v128.shuffle<i32>(a, b, 2, 6, 3, 7);
    const lowerToo = v128.shuffle<i32>(c, d, 0, 4, 1, 5);
    const upperToo = v128.shuffle<i32>(c, d, 2, 6, 3, 7);
    const words: usize = shaWords + 4 * at;
    v128.store(words, v128.shuffle<i64>(lower, lowerToo, 0, 2));
    v128.store(words, v128.shuffle<i64>(lower, lowerToo, 1, 3), 16);
    v128.store(words, v128.shuffle<i64>(upper, upperToo, 0, 2), 32);
    v128.store(words, v128.shuffle<i64>(upper, upperToo, 1, 3), 48);
  }
  const end: usize = shaWords + 80 * 16;
  for (let at: usize = shaWords; at < end - 256; at += 16) {
    const first = v128.xor(v128.load(at), v128.load(at, 2 * 16));
    const second = v128.xor(v128.load(at, 8 * 16), v128.load(at, 13 * 16));
    v128.store(at, rotate(v128.xor(first, second), 1), 16 * 16);
  }
}

@inline
function add(a: v128, b: v128): v128 {
  return i32x4.add(a, b);
}

/** The new value of a round. Only the last addition waits for the round before: all else is added up first. */
@inline
function turned(a: v128, f: v128, e: v128, k: v128, word: v128): v128 {
  return add(rotate(a, 5), add(f, add(e, add(k, word))));
}

@inline
function choose(b: v128, c: v128, d: v128): v128 {
  return v128.xor(d, v128.and(b, v128.xor(c, d)));
}

@inline
function parity(b: v128, c: v128, d: v128): v128 {
  return v128.xor(v128.xor(b, c), d);
}

@inline
function majority(b: v128, c: v128, d: v128): v128 {
  return v128.or(v128.and(b, c), v128.and(d, v128.or(b, c)));
}

/** Writes three bytes of each digest as four characters of base64, at their places in the lines. */
@inline
function putGroup(bytes: v128, at: usize, isLast: bool): void {
  const mask = i32x4.splat(0x3f);
  const digits = v128.or(
    v128.or(i32x4.shr_u(bytes, 18), v128.and(i32x4.shr_u(bytes, 4), i32x4.shl(mask, 8))),
    v128.or(v128.and(i32x4.shl(bytes, 10), i32x4.shl(mask, 16)), v128.and(i32x4.shl(bytes, 24), i32x4.shl(mask, 24))),
  );
  // What is added to a digit: 0 for letters that are small, 1 to 10 for numbers, 11 and 12 for the signs, 13 for capital letters.
  const isCapital = v128.and(i8x16.lt_s(digits, i8x16.splat(26)), i8x16.splat(13));
  const kind = v128.or(i8x16.sub_sat_u(digits, i8x16.splat(51)), isCapital);
  const offsets = i8x16(71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 65, 0, 0);
  let text = i8x16.add(digits, i8x16.swizzle(offsets, kind));
  if (isLast) text = v128.or(v128.and(text, i32x4.splat(0xffffff)), i32x4.splat(0x3d000000));
  v128.store_lane<u32>(<usize>load<u32>(digestPlaces) + at, text, 0);
  v128.store_lane<u32>(<usize>load<u32>(digestPlaces, 4) + at, text, 1);
  v128.store_lane<u32>(<usize>load<u32>(digestPlaces, 8) + at, text, 2);
  v128.store_lane<u32>(<usize>load<u32>(digestPlaces, 12) + at, text, 3);
}

@inline
function putDigests(h0: v128, h1: v128, h2: v128, h3: v128, h4: v128): void {
  putGroup(i32x4.shr_u(h0, 8), 0, false);
  putGroup(v128.or(v128.and(i32x4.shl(h0, 16), i32x4.splat(0xff0000)), i32x4.shr_u(h1, 16)), 4, false);
  putGroup(v128.or(v128.and(i32x4.shl(h1, 8), i32x4.splat(0xffff00)), i32x4.shr_u(h2, 24)), 8, false);
  putGroup(v128.and(h2, i32x4.splat(0xffffff)), 12, false);
  putGroup(i32x4.shr_u(h3, 8), 16, false);
  putGroup(v128.or(v128.and(i32x4.shl(h3, 16), i32x4.splat(0xff0000)), i32x4.shr_u(h4, 16)), 20, false);
  // The last two bytes, with zeros behind them; the padding.
  putGroup(v128.and(i32x4.shl(h4, 8), i32x4.splat(0xffff00)), 24, true);
}

/** Writes the digests that lines have room for. Five rounds at a time, so that no value has to change its name. */
export function writeDigests(): void {
  if (waiting == 0) return;
  // Lanes that nobody waits for write where nobody reads.
  for (; waiting < digestLanes; waiting++) store<u32>(digestPlaces + 4 * waiting, shaWords);
  waiting = 0;
  schedule();
  let a = i32x4.splat(0x67452301);
  let b = i32x4.splat(0xefcdab89);
  let c = i32x4.splat(0x98badcfe);
  let d = i32x4.splat(0x10325476);
  let e = i32x4.splat(0xc3d2e1f0);
  let w: usize = shaWords;
  let k = i32x4.splat(0x5a827999);
  for (let t = 0; t < 20; t += 5, w += 80) {
    e = turned(a, choose(b, c, d), e, k, v128.load(w));
    b = rotate(b, 30);
    d = turned(e, choose(a, b, c), d, k, v128.load(w, 16));
    a = rotate(a, 30);
    c = turned(d, choose(e, a, b), c, k, v128.load(w, 32));
    e = rotate(e, 30);
    b = turned(c, choose(d, e, a), b, k, v128.load(w, 48));
    d = rotate(d, 30);
    a = turned(b, choose(c, d, e), a, k, v128.load(w, 64));
    c = rotate(c, 30);
  }
  k = i32x4.splat(0x6ed9eba1);
  for (let t = 20; t < 40; t += 5, w += 80) {
    e = turned(a, parity(b, c, d), e, k, v128.load(w));
    b = rotate(b, 30);
    d = turned(e, parity(a, b, c), d, k, v128.load(w, 16));
    a = rotate(a, 30);
    c = turned(d, parity(e, a, b), c, k, v128.load(w, 32));
    e = rotate(e, 30);
    b = turned(c, parity(d, e, a), b, k, v128.load(w, 48));
    d = rotate(d, 30);
    a = turned(b, parity(c, d, e), a, k, v128.load(w, 64));
    c = rotate(c, 30);
  }
  k = i32x4.splat(0x8f1bbcdc);
  for (let t = 40; t < 60; t += 5, w += 80) {
    e = turned(a, majority(b, c, d), e, k, v128.load(w));
    b = rotate(b, 30);
    d = turned(e, majority(a, b, c), d, k, v128.load(w, 16));
    a = rotate(a, 30);
    c = turned(d, majority(e, a, b), c, k, v128.load(w, 32));
    e = rotate(e, 30);
    b = turned(c, majority(d, e, a), b, k, v128.load(w, 48));
    d = rotate(d, 30);
    a = turned(b, majority(c, d, e), a, k, v128.load(w, 64));
    c = rotate(c, 30);
  }
  k = i32x4.splat(0xca62c1d6);
  for (let t = 60; t < 80; t += 5, w += 80) {
    e = turned(a, parity(b, c, d), e, k, v128.load(w));
    b = rotate(b, 30);
    d = turned(e, parity(a, b, c), d, k, v128.load(w, 16));
    a = rotate(a, 30);
    c = turned(d, parity(e, a, b), c, k, v128.load(w, 32));
    e = rotate(e, 30);
    b = turned(c, parity(d, e, a), b, k, v128.load(w, 48));
    d = rotate(d, 30);
    a = turned(b, parity(c, d, e), a, k, v128.load(w, 64));
    c = rotate(c, 30);
  }
  putDigests(
    add(a, i32x4.splat(0x67452301)),
    add(b, i32x4.splat(0xefcdab89)),
    add(c, i32x4.splat(0x98badcfe)),
    add(d, i32x4.splat(0x10325476)),
    add(e, i32x4.splat(0xc3d2e1f0)),
  );
}

/** Says that what stands behind a place in the line under way was moved. */
export function moveDigest(place: usize, by: i32): void {
  if (waiting == 0) return;
  const last: usize = digestPlaces + 4 * (waiting - 1);
  if (load<u32>(last) > <u32>place) store<u32>(last, load<u32>(last) + by);
}

/** A block of seed, addresses of as many bytes, protocol, ports. */
function hashInput(first: usize, second: usize, length: i32, protocol: u32, ports: u32, hasPorts: bool): void {
  const block: usize = digestBlocks + blockBytes * waiting;
  v128.store(block, i32x4.splat(0));
  v128.store(block, i32x4.splat(0), 16);
  v128.store(block, i32x4.splat(0), 32);
  v128.store(block, i32x4.splat(0), 48);
  store<u16>(block, load<u16>(communityIdSeed));
  let at = block + 2;
  // An instruction that copies this many bytes as a number says would call the engine.
  if (length == 4) {
    store<u32>(at, load<u32>(first));
    store<u32>(at, load<u32>(second), 4);
  } else {
    v128.store(at, v128.load(first));
    v128.store(at, v128.load(second), 16);
  }
  at += 2 * length;
  store<u8>(at, <u8>protocol);
  at += 2;
  if (hasPorts) {
    store<u32>(at, bswap(ports));
    at += 4;
  }
  store<u8>(at, 0x80);
  store<u32>(block, bswap(<u32>(at - block) << 3), 60);
}

function compare(first: usize, second: usize, length: i32): i32 {
  for (let i = 0; i < length; i += 4) {
    const x = bswap(load<u32>(first + i));
    const y = bswap(load<u32>(second + i));
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

@inline
function isPort(value: i64): bool {
  return <u64>value <= 65535;
}

/**
 * Writes the field, or nothing where the rules give none. Its digest is there after {@link writeDigests}.
 *
 * Numbers that the record does not have are -1.
 */
export function writeCommunityId(
  p: usize,
  source: usize,
  destination: usize,
  length: i32,
  protocol: i64,
  sourcePort: i64,
  destinationPort: i64,
  icmpType: i64,
  icmpCode: i64,
): usize {
  if (<u64>protocol > 255) return p;
  let first: u32 = 0;
  let second: u32 = 0;
  let isOneWay = false;
  let hasPorts = false;
  if (protocol == 6 || protocol == 17 || protocol == 132) {
    if (!isPort(sourcePort) || !isPort(destinationPort)) return p;
    first = <u32>sourcePort;
    second = <u32>destinationPort;
    hasPorts = true;
  } else if (protocol == 1 || protocol == 58) {
    if (!isPort(icmpType)) return p;
    first = <u32>icmpType;
    const partners: usize = protocol == 1 ? icmpPartnerTable : icmpV6PartnerTable;
    const partner = first > 255 ? -1 : <i32>load<i16>(partners + (first << 1));
    isOneWay = partner < 0;
    second = !isOneWay ? <u32>partner : isPort(icmpCode) ? <u32>icmpCode : 0;
    hasPorts = true;
  }
  const order = compare(source, destination, length);
  const isOrdered = isOneWay || order < 0 || (order == 0 && first <= second);
  if (isOrdered) hashInput(source, destination, length, <u32>protocol, (first << 16) | second, hasPorts);
  else hashInput(destination, source, length, <u32>protocol, (second << 16) | first, hasPorts);
  p = putText(p, communityIdText);
  v128.store(p, i32x4.splat(0));
  v128.store(p, i32x4.splat(0), 16);
  store<u8>(p, 0x22, textBytes);
  store<u32>(digestPlaces + 4 * waiting, <u32>p);
  if (++waiting == digestLanes) writeDigests();
  return p + textBytes + 1;
}
