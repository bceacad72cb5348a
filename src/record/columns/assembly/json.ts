// Tells what is a value of JSON (RFC 8259): what no column takes is kept as it stands, and who reads it must be able to.
import { backslash, closeBrace, closeBracket, colon, comma, dot, minus, openBrace, openBracket, quote, zero } from "./scan";

/** Values that are nested deeper are taken for none: each level needs the stack. */
const maxDepth = 256;
const space: u8 = 0x20;
// As numbers of four bytes.
const trueWord: u32 = 0x6575_7274;
const nullWord: u32 = 0x6c6c_756e;
const falseStart: u32 = 0x736c_6166;

/** Whether what stands up to `end` is one value, and nothing else. */
export function isJson(from: usize, end: usize): bool {
  const last = endOfJson(behindSpaces(from, end), end, 0);
  return last != 0 && behindSpaces(last, end) == end;
}

/** Whether what stands up to `end` is one text. */
export function isJsonText(from: usize, end: usize): bool {
  return load<u8>(from) == quote && endOfJsonText(from, end) == end;
}

function behindSpaces(from: usize, end: usize): usize {
  let at = from;
  for (; at < end; at++) {
    const byte = load<u8>(at);
    if (byte != space && byte != 0x09 && byte != 0x0d) break;
  }
  return at;
}

/** The end of the value that begins at `at`; 0: there is none. */
function endOfJson(at: usize, end: usize, depth: i32): usize {
  if (at >= end) return 0;
  const byte = load<u8>(at);
  if (byte == quote) return endOfJsonText(at, end);
  if (byte == openBrace || byte == openBracket) return depth == maxDepth ? 0 : endOfNested(at, end, depth + 1);
  if (byte == minus || isDigit(byte)) return endOfNumber(at, end);
  const word = load<u32>(at);
  let last: usize = 0;
  if (word == trueWord || word == nullWord) last = at + 4;
  else if (word == falseStart && load<u8>(at, 4) == 0x65) last = at + 5;
  return last <= end ? last : 0;
}

function endOfNested(from: usize, end: usize, depth: i32): usize {
  const isObject = load<u8>(from) == openBrace;
  const closing = isObject ? closeBrace : closeBracket;
  let at = behindSpaces(from + 1, end);
  if (at < end && load<u8>(at) == closing) return at + 1;
  while (at < end) {
    if (isObject) {
      if (load<u8>(at) != quote) return 0;
      at = endOfJsonText(at, end);
      if (at == 0) return 0;
      at = behindSpaces(at, end);
      if (at >= end || load<u8>(at) != colon) return 0;
      at = behindSpaces(at + 1, end);
    }
    at = endOfJson(at, end, depth);
    if (at == 0) return 0;
    at = behindSpaces(at, end);
    if (at >= end) return 0;
    const byte = load<u8>(at);
    if (byte == closing) return at + 1;
    if (byte != comma) return 0;
    at = behindSpaces(at + 1, end);
  }
  return 0;
}

/** Behind the other quote of the text whose first one is at `from`. */
function endOfJsonText(from: usize, end: usize): usize {
  for (let at = from + 1; at < end; ) {
    const bytes = v128.load(at);
    const ends = v128.or(i8x16.eq(bytes, i8x16.splat(quote)), i8x16.eq(bytes, i8x16.splat(backslash)));
    const marks = i8x16.bitmask(v128.or(ends, i8x16.lt_u(bytes, i8x16.splat(space))));
    if (marks == 0) {
      at += 16;
      continue;
    }
    at += <usize>ctz<i32>(marks);
    if (at >= end) return 0;
    const byte = load<u8>(at);
    if (byte == quote) return at + 1;
    // A control character has to be an escape.
    const length = byte == backslash ? lengthOfEscape(at) : 0;
    if (length == 0) return 0;
    at += length;
  }
  return 0;
}

/** Bytes of the escape whose backslash is at `at`; 0: it is none. */
function lengthOfEscape(at: usize): usize {
  const kind = load<u8>(at, 1);
  if (kind == 0x75) {
    for (let i: usize = 2; i < 6; i++) {
      const digit = load<u8>(at + i);
      const letter = digit | 0x20;
      if (!isDigit(digit) && (letter < 0x61 || letter > 0x66)) return 0;
    }
    return 6;
  }
  // `"`, `\`, `/` and one of "bfnrt".
  const isOther = kind == quote || kind == backslash || kind == 0x2f;
  const isLetter = kind == 0x62 || kind == 0x66 || kind == 0x6e || kind == 0x72 || kind == 0x74;
  return isOther || isLetter ? 2 : 0;
}

function endOfNumber(from: usize, end: usize): usize {
  let at = load<u8>(from) == minus ? from + 1 : from;
  const whole = behindDigits(at, end);
  if (whole == at || (load<u8>(at) == zero && whole > at + 1)) return 0;
  at = whole;
  if (at < end && load<u8>(at) == dot) {
    const decimals = behindDigits(at + 1, end);
    if (decimals == at + 1) return 0;
    at = decimals;
  }
  if (at < end && (load<u8>(at) | 0x20) == 0x65) {
    const sign = load<u8>(at, 1);
    const first = at + (sign == minus || sign == 0x2b ? 2 : 1);
    const exponent = behindDigits(first, end);
    if (exponent <= first) return 0;
    at = exponent;
  }
  return at;
}

function behindDigits(from: usize, end: usize): usize {
  let at = from;
  while (at < end && isDigit(load<u8>(at))) at++;
  return at;
}

@inline
function isDigit(byte: u8): bool {
  return byte - zero < 10;
}
