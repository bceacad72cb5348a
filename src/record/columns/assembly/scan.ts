// Finds where texts, values and lines end. Behind each line is a line feed, and 64 bytes more may be read.

export const quote: u8 = 0x22;
export const comma: u8 = 0x2c;
export const colon: u8 = 0x3a;
export const minus: u8 = 0x2d;
export const dot: u8 = 0x2e;
export const zero: u8 = 0x30;
export const backslash: u8 = 0x5c;
export const lineFeed: u8 = 0x0a;
export const openBrace: u8 = 0x7b;
export const closeBrace: u8 = 0x7d;
export const openBracket: u8 = 0x5b;
export const closeBracket: u8 = 0x5d;

/** Where the next line feed is; `limit` or beyond: there is none. */
export function endOfLine(from: usize, limit: usize): usize {
  const feeds = i8x16.splat(lineFeed);
  for (let at = from; at < limit; at += 64) {
    const a = i8x16.eq(v128.load(at), feeds);
    const b = i8x16.eq(v128.load(at, 16), feeds);
    const c = i8x16.eq(v128.load(at, 32), feeds);
    const d = i8x16.eq(v128.load(at, 48), feeds);
    if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) continue;
    const low = <u64>i8x16.bitmask(a) | (<u64>i8x16.bitmask(b) << 16);
    const high = <u64>i8x16.bitmask(c) | (<u64>i8x16.bitmask(d) << 16);
    return at + <usize>ctz<u64>(low | (high << 32));
  }
  return limit;
}

/** Whether the text that `endOfText` found last has escapes. */
export let hasEscapes: bool = false;

/** Where the quote is that ends the text whose first character is at `from`; 0: the line ends before. */
@inline
export function endOfText(from: usize, end: usize): usize {
  const bytes = v128.load(from);
  const marks = i8x16.bitmask(
    v128.or(i8x16.eq(bytes, i8x16.splat(quote)), i8x16.eq(bytes, i8x16.splat(backslash))),
  );
  const at = from + <usize>ctz<i32>(marks);
  hasEscapes = false;
  if (marks != 0 && at < end && load<u8>(at) == quote) return at;
  return endOfLongText(from, end);
}

function endOfLongText(from: usize, end: usize): usize {
  for (let at = from; at < end; ) {
    const bytes = v128.load(at);
    const marks = i8x16.bitmask(
      v128.or(i8x16.eq(bytes, i8x16.splat(quote)), i8x16.eq(bytes, i8x16.splat(backslash))),
    );
    if (marks == 0) {
      at += 16;
      continue;
    }
    at += <usize>ctz<i32>(marks);
    if (at >= end) return 0;
    if (load<u8>(at) == quote) return at;
    hasEscapes = true;
    at += 2;
  }
  return 0;
}

/** The end of the value that begins at `from`: the offset of the comma or brace behind it; 0: the line ends within it. */
export function endOfValue(from: usize, end: usize): usize {
  const byte = load<u8>(from);
  if (byte == quote) {
    const last = endOfText(from + 1, end);
    return last == 0 ? 0 : last + 1;
  }
  if (byte == openBrace || byte == openBracket) return endOfNested(from, end);
  let at = from;
  while (at < end && load<u8>(at) != comma && load<u8>(at) != closeBrace) at++;
  return at;
}

function endOfNested(from: usize, end: usize): usize {
  let depth = 0;
  for (let at = from; at < end; at++) {
    const byte = load<u8>(at);
    if (byte == quote) {
      at = endOfText(at + 1, end);
      if (at == 0) return 0;
    } else if (byte == openBrace || byte == openBracket) depth++;
    else if ((byte == closeBrace || byte == closeBracket) && --depth == 0) return at + 1;
  }
  return 0;
}
