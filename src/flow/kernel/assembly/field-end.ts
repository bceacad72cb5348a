// Where values and fields of a line end.
const quote: u8 = 0x22;
const opened: u8 = 0x5b;
const closed: u8 = 0x5d;
const backslash: u8 = 0x5c;

/** The closing quote of a text from a place within it on. */
@inline
function closingQuote(at: usize): usize {
  while (true) {
    const piece = v128.load(at);
    const found = i8x16.bitmask(v128.or(i8x16.eq(piece, i8x16.splat(0x22)), i8x16.eq(piece, i8x16.splat(0x5c))));
    if (found == 0) {
      at += 16;
      continue;
    }
    at += ctz(found);
    if (load<u8>(at) != backslash) return at;
    at += 2;
  }
  return at;
}

/** Where a value ends; one that is the last of the line ends at `to`. */
export function valueEnd(at: usize, to: usize): usize {
  const first = load<u8>(at);
  if (first == quote) return closingQuote(at + 1) + 1;
  if (first == opened) {
    at++;
    while (load<u8>(at) != closed) at = load<u8>(at) == quote ? closingQuote(at + 1) + 1 : at + 1;
    return at + 1;
  }
  while (at < to) {
    const found = i8x16.bitmask(
      v128.or(i8x16.eq(v128.load(at), i8x16.splat(0x2c)), i8x16.eq(v128.load(at), i8x16.splat(0x5d))),
    );
    if (found != 0) {
      at += ctz(found);
      break;
    }
    at += 16;
  }
  return at < to ? at : to;
}

/** Where the field ends of which the name goes on at a place: name and value lie within 32 bytes, or are looked for one by one. */
@inline
export function fieldEnd(name: usize, to: usize): usize {
  const first = v128.load(name);
  const second = v128.load(name, 16);
  const quotes =
    <u32>i8x16.bitmask(i8x16.eq(first, i8x16.splat(0x22))) |
    (<u32>i8x16.bitmask(i8x16.eq(second, i8x16.splat(0x22))) << 16);
  const backslashes = v128.or(i8x16.eq(first, i8x16.splat(0x5c)), i8x16.eq(second, i8x16.splat(0x5c)));
  if (quotes == 0 || v128.any_true(backslashes)) return valueEnd(closingQuote(name) + 2, to);
  const value = name + ctz(quotes) + 2;
  const start = load<u8>(value);
  if (start == quote) {
    // Behind the name's quote and the one that opens the value.
    const rest = quotes & (quotes - 1);
    const closing = rest & (rest - 1);
    return closing != 0 ? name + ctz(closing) + 1 : valueEnd(value, to);
  }
  const offset = <u32>(value - name);
  if (start == opened || offset >= 32) return valueEnd(value, to);
  const commas =
    <u32>i8x16.bitmask(i8x16.eq(first, i8x16.splat(0x2c))) |
    (<u32>i8x16.bitmask(i8x16.eq(second, i8x16.splat(0x2c))) << 16);
  const behind = commas & (u32.MAX_VALUE << offset);
  return behind != 0 ? min(name + ctz(behind), to) : valueEnd(value, to);
}
