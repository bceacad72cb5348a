// Text in JSON, as src/flow/elements/mapping/convert-type.ts reads it.
import { hexPairTable } from "../layout";

const quote: u8 = 0x22;
const backslash: u8 = 0x5c;

/** Whether all bytes of a range are UTF-8 (RFC 3629): the shortest forms, no surrogates, nothing above U+10FFFF. */
function isUtf8(at: usize, end: usize): bool {
  while (at < end) {
    const first = load<u8>(at);
    if (first < 0x80) {
      at++;
      continue;
    }
    if (first < 0xc2 || first > 0xf4) return false;
    const length: usize = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (at + length > end) return false;
    const second = load<u8>(at, 1);
    const least: u8 = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const most: u8 = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) return false;
    for (let i: usize = 2; i < length; i++) if ((load<u8>(at + i) & 0xc0) != 0x80) return false;
    at += length;
  }
  return true;
}

/** A character that JSON does not have as it is. */
function writeEscape(p: usize, character: u8): usize {
  store<u8>(p, backslash);
  let letter = character;
  if (character == 8) letter = 0x62;
  else if (character == 9) letter = 0x74;
  else if (character == 10) letter = 0x6e;
  else if (character == 12) letter = 0x66;
  else if (character == 13) letter = 0x72;
  else if (character < 0x20) {
    // "u00"
    store<u32>(p, 0x303075, 1);
    store<u16>(p, load<u16>(hexPairTable + (<usize>character << 1)), 4);
    return p + 6;
  }
  store<u8>(p, letter, 1);
  return p + 2;
}

/** Text without the NULs that pad it, and the quote behind it. Bytes that are not UTF-8 are characters of Latin-1. */
export function writeText(p: usize, at: usize, length: i32): usize {
  let end = at + length;
  while (end > at && load<u8>(end - 1) == 0) end--;
  /** -1: that is not known yet. */
  let utf8 = -1;
  while (at < end) {
    const piece = v128.load(at);
    v128.store(p, piece);
    // As signed bytes, those from 0x80 on are negative.
    const special = v128.or(
      i8x16.lt_s(piece, i8x16.splat(0x20)),
      v128.or(i8x16.eq(piece, i8x16.splat(quote)), i8x16.eq(piece, i8x16.splat(backslash))),
    );
    const plain = min<usize>(ctz(i8x16.bitmask(special) | 0x10000), end - at);
    p += plain;
    at += plain;
    if (plain == 16 || at == end) continue;
    let character = load<u8>(at);
    if (character < 0x80) {
      p = writeEscape(p, character);
      at++;
      continue;
    }
    if (utf8 < 0) utf8 = isUtf8(at, end) ? 1 : 0;
    for (; character >= 0x80 && at < end; character = load<u8>(++at)) {
      if (utf8 == 0) {
        store<u8>(p++, 0xc0 | (character >> 6));
        character &= 0xbf;
      }
      store<u8>(p++, character);
    }
  }
  store<u8>(p, quote);
  return p + 1;
}
