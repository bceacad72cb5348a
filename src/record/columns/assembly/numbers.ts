// Readers of numbers, eight digits at a time. Each leaves what it read in `whole`, `double` or `readEnd`.
import { allocate } from "./memory";
import { closeBrace, closeBracket, comma, dot, minus, zero } from "./scan";

/** Of 10^0 up to 10^19, as whole numbers and as doubles. */
const powers: usize = allocate(8 * 20);
const doublePowers: usize = allocate(8 * 20);
/** Whole numbers of this many digits are exact as doubles. */
const exactDigits: i32 = 15;

export function fillPowers(): void {
  let power: u64 = 1;
  for (let i: usize = 0; i < 20; i++) {
    store<u64>(powers + 8 * i, power);
    store<f64>(doublePowers + 8 * i, <f64>power);
    power *= 10;
  }
}

/** Where the number that was read ends. */
export let readEnd: usize = 0;
/** The number that was read, two's complement where it has a sign. */
export let whole: u64 = 0;
export let double: f64 = 0;
/** How many digits `readDigits` read. */
let digitCount: i32 = 0;

/** The double of a text that is not one of the common forms; NaN: it is none. */
@external("lines", "parseDouble")
declare function parseDouble(at: usize, end: usize): f64;

/** How many of eight bytes are digits, from the first on. */
@inline
export function countDigits(bytes: u64): i32 {
  const marks =
    ((bytes & 0xf0f0_f0f0_f0f0_f0f0) ^ 0x3030_3030_3030_3030) |
    (((bytes + 0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0) ^ 0x3030_3030_3030_3030);
  return <i32>ctz<u64>(marks) >>> 3;
}

/** The value of the first `count` of eight digits; of none 0. */
@inline
export function valueOfDigits(bytes: u64, count: i32): u64 {
  if (count == 0) return 0;
  let value = (bytes << <u64>(64 - 8 * count)) & 0x0f0f_0f0f_0f0f_0f0f;
  value = (value * 2561) >>> 8;
  value = ((value & 0x00ff_00ff_00ff_00ff) * 6_553_601) >>> 16;
  return ((value & 0x0000_ffff_0000_ffff) * 42_949_672_960_001) >>> 32;
}

@inline
export function powerOf(exponent: i32): u64 {
  return load<u64>(powers + 8 * <usize>exponent);
}

/** Reads up to 20 digits. @returns false: there is none, or they are beyond 64 bits. */
@inline
function readDigits(at: usize): bool {
  const bytes = load<u64>(at);
  const count = countDigits(bytes);
  whole = valueOfDigits(bytes, count);
  digitCount = count;
  readEnd = at + <usize>count;
  if (count < 8) return count > 0;
  return readMoreDigits(at + 8);
}

function readMoreDigits(at: usize): bool {
  const second = load<u64>(at);
  const count = countDigits(second);
  whole = whole * powerOf(count) + valueOfDigits(second, count);
  digitCount = 8 + count;
  readEnd = at + <usize>count;
  if (count < 8) return true;
  const third = load<u64>(at, 8);
  const rest = countDigits(third);
  if (rest > 4) return false;
  const low = valueOfDigits(third, rest);
  const power = powerOf(rest);
  if (whole > (u64.MAX_VALUE - low) / power) return false;
  whole = whole * power + low;
  digitCount = 16 + rest;
  readEnd += <usize>rest;
  return true;
}

export function readUnsigned(at: usize): bool {
  if (load<u8>(at) != minus) return readDigits(at);
  return readDigits(at + 1) && whole == 0;
}

export function readInteger(at: usize): bool {
  if (load<u8>(at) != minus) return readDigits(at) && <i64>whole >= 0;
  if (!readDigits(at + 1) || whole > 0x8000_0000_0000_0000) return false;
  whole = 0 - whole;
  return true;
}

/** Reads what ends within the line: whole numbers and short decimals are exact here. */
export function readDouble(at: usize, end: usize): bool {
  const isNegative = load<u8>(at) == minus;
  if (readDigits(at + <usize>isNegative) && digitCount <= exactDigits) {
    let value = <f64>whole;
    let isKnown = true;
    if (load<u8>(readEnd) == dot) {
      const before = digitCount;
      const upper = whole;
      isKnown = readDigits(readEnd + 1) && before + digitCount <= exactDigits;
      if (isKnown) {
        value =
          <f64>(upper * powerOf(digitCount) + whole) / load<f64>(doublePowers + 8 * <usize>digitCount);
      }
    }
    if (isKnown && isBehindValue(readEnd, end)) {
      double = isNegative ? -value : value;
      return true;
    }
  }
  let last = at;
  while (!isBehindValue(last, end)) last++;
  readEnd = last;
  double = parseDouble(at, last);
  return double == double;
}

/** Whether a number may end there. */
@inline
export function isBehindValue(at: usize, end: usize): bool {
  const byte = load<u8>(at);
  return byte == comma || byte == closeBrace || byte == closeBracket || at >= end;
}
