// The Community ID (specification: https://github.com/corelight/community-id-spec), version 1.
import { base64Table, communityIdSeed, communityIdText, icmpPartnerTable, icmpV6PartnerTable, shaBlock } from "../layout";
import { putText } from "./values";

@inline
function pair(p: usize, bits: u32): void {
  store<u16>(p, load<u16>(base64Table + (bits << 1)));
}

/**
 * The words of SHA-1 (RFC 3174) that follow from the sixteen of the block, four at a time: the last of four needs the first,
 * whose share is added when that is known.
 */
@inline
function schedule(): void {
  let w0 = v128.load(shaBlock);
  let w1 = v128.load(shaBlock, 16);
  let w2 = v128.load(shaBlock, 32);
  let w3 = v128.load(shaBlock, 48);
  const zero = i32x4.splat(0);
  for (let i = 64; i < 320; i += 16) {
    const at: usize = shaBlock + i;
    const x = v128.xor(
      v128.xor(w0, v128.shuffle<i32>(w0, w1, 2, 3, 4, 5)),
      v128.xor(w2, v128.shuffle<i32>(w3, zero, 1, 2, 3, 4)),
    );
    const turned = v128.or(i32x4.shl(x, 1), i32x4.shr_u(x, 31));
    const first = v128.shuffle<i32>(zero, turned, 0, 1, 2, 4);
    const next = v128.xor(turned, v128.or(i32x4.shl(first, 1), i32x4.shr_u(first, 31)));
    v128.store(at, next);
    w0 = w1;
    w1 = w2;
    w2 = w3;
    w3 = next;
  }
}

/** SHA-1 of the block, in base64, and a quote. Five rounds at a time, so that no value has to change its name. */
function writeDigest(p: usize): usize {
  schedule();
  let a: u32 = 0x67452301;
  let b: u32 = 0xefcdab89;
  let c: u32 = 0x98badcfe;
  let d: u32 = 0x10325476;
  let e: u32 = 0xc3d2e1f0;
  let w: usize = shaBlock;
  for (let t = 0; t < 20; t += 5, w += 20) {
    e += rotl<u32>(a, 5) + (d ^ (b & (c ^ d))) + 0x5a827999 + load<u32>(w);
    b = rotl<u32>(b, 30);
    d += rotl<u32>(e, 5) + (c ^ (a & (b ^ c))) + 0x5a827999 + load<u32>(w, 4);
    a = rotl<u32>(a, 30);
    c += rotl<u32>(d, 5) + (b ^ (e & (a ^ b))) + 0x5a827999 + load<u32>(w, 8);
    e = rotl<u32>(e, 30);
    b += rotl<u32>(c, 5) + (a ^ (d & (e ^ a))) + 0x5a827999 + load<u32>(w, 12);
    d = rotl<u32>(d, 30);
    a += rotl<u32>(b, 5) + (e ^ (c & (d ^ e))) + 0x5a827999 + load<u32>(w, 16);
    c = rotl<u32>(c, 30);
  }
  for (let t = 20; t < 40; t += 5, w += 20) {
    e += rotl<u32>(a, 5) + (b ^ c ^ d) + 0x6ed9eba1 + load<u32>(w);
    b = rotl<u32>(b, 30);
    d += rotl<u32>(e, 5) + (a ^ b ^ c) + 0x6ed9eba1 + load<u32>(w, 4);
    a = rotl<u32>(a, 30);
    c += rotl<u32>(d, 5) + (e ^ a ^ b) + 0x6ed9eba1 + load<u32>(w, 8);
    e = rotl<u32>(e, 30);
    b += rotl<u32>(c, 5) + (d ^ e ^ a) + 0x6ed9eba1 + load<u32>(w, 12);
    d = rotl<u32>(d, 30);
    a += rotl<u32>(b, 5) + (c ^ d ^ e) + 0x6ed9eba1 + load<u32>(w, 16);
    c = rotl<u32>(c, 30);
  }
  for (let t = 40; t < 60; t += 5, w += 20) {
    e += rotl<u32>(a, 5) + ((b & c) | (d & (b | c))) + 0x8f1bbcdc + load<u32>(w);
    b = rotl<u32>(b, 30);
    d += rotl<u32>(e, 5) + ((a & b) | (c & (a | b))) + 0x8f1bbcdc + load<u32>(w, 4);
    a = rotl<u32>(a, 30);
    c += rotl<u32>(d, 5) + ((e & a) | (b & (e | a))) + 0x8f1bbcdc + load<u32>(w, 8);
    e = rotl<u32>(e, 30);
    b += rotl<u32>(c, 5) + ((d & e) | (a & (d | e))) + 0x8f1bbcdc + load<u32>(w, 12);
    d = rotl<u32>(d, 30);
    a += rotl<u32>(b, 5) + ((c & d) | (e & (c | d))) + 0x8f1bbcdc + load<u32>(w, 16);
    c = rotl<u32>(c, 30);
  }
  for (let t = 60; t < 80; t += 5, w += 20) {
    e += rotl<u32>(a, 5) + (b ^ c ^ d) + 0xca62c1d6 + load<u32>(w);
    b = rotl<u32>(b, 30);
    d += rotl<u32>(e, 5) + (a ^ b ^ c) + 0xca62c1d6 + load<u32>(w, 4);
    a = rotl<u32>(a, 30);
    c += rotl<u32>(d, 5) + (e ^ a ^ b) + 0xca62c1d6 + load<u32>(w, 8);
    e = rotl<u32>(e, 30);
    b += rotl<u32>(c, 5) + (d ^ e ^ a) + 0xca62c1d6 + load<u32>(w, 12);
    d = rotl<u32>(d, 30);
    a += rotl<u32>(b, 5) + (c ^ d ^ e) + 0xca62c1d6 + load<u32>(w, 16);
    c = rotl<u32>(c, 30);
  }
  const h0 = a + 0x67452301;
  const h1 = b + 0xefcdab89;
  const h2 = c + 0x98badcfe;
  const h3 = d + 0x10325476;
  const h4 = e + 0xc3d2e1f0;
  pair(p, h0 >>> 20);
  pair(p + 2, (h0 >>> 8) & 4095);
  pair(p + 4, ((h0 & 255) << 4) | (h1 >>> 28));
  pair(p + 6, (h1 >>> 16) & 4095);
  pair(p + 8, (h1 >>> 4) & 4095);
  pair(p + 10, ((h1 & 15) << 8) | (h2 >>> 24));
  pair(p + 12, (h2 >>> 12) & 4095);
  pair(p + 14, h2 & 4095);
  pair(p + 16, h3 >>> 20);
  pair(p + 18, (h3 >>> 8) & 4095);
  pair(p + 20, ((h3 & 255) << 4) | (h4 >>> 28));
  pair(p + 22, (h4 >>> 16) & 4095);
  pair(p + 24, (h4 >>> 4) & 4095);
  // The last four bits, with zeros behind them; the padding and the quote.
  pair(p + 26, (h4 & 15) << 8);
  store<u8>(p, 0x3d, 27);
  store<u8>(p, 0x22, 28);
  return p + 29;
}

/** A block of seed, addresses of as many bytes, protocol, ports. */
function hashInput(first: usize, second: usize, length: i32, protocol: u32, ports: u32, hasPorts: bool): void {
  const block: usize = shaBlock;
  for (let i = 0; i < 64; i += 16) v128.store(block + i, i32x4.splat(0));
  store<u16>(block, load<u16>(communityIdSeed));
  let at = block + 2;
  memory.copy(at, first, length);
  at += length;
  memory.copy(at, second, length);
  at += length;
  store<u8>(at, <u8>protocol);
  at += 2;
  if (hasPorts) {
    store<u32>(at, bswap(ports));
    at += 4;
  }
  store<u8>(at, 0x80);
  const bits = <u32>(at - block) << 3;
  for (let i = 0; i < 44; i += 4) store<u32>(block + i, bswap(load<u32>(block + i)));
  store<u32>(block, bits, 60);
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

/** Writes the field, or nothing where the rules give none. Numbers that the record does not have are -1. */
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
  return writeDigest(putText(p, communityIdText));
}
