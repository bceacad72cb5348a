// Reads times of RFC 3339 in UTC, as lines have them: 2026-11-22T04:00:00Z, with up to nine decimals or without.
import { allocate } from "./memory";
import { countDigits, powerOf, valueOfDigits } from "./numbers";
import { colon, dot, minus, quote, zero } from "./scan";

/** The date, hour and minute that were read last, as text. */
const lastMinute: usize = allocate(16);
/** Its seconds since the epoch, and whether it is hour 24, which has only one second. */
let lastSeconds: i64 = 0;
let isHour24: bool = false;
/** The times that have nanoseconds of 63 bits and a sign. */
const mostSeconds: i64 = 9_223_372_036;

/** Starts with the epoch, whose seconds are 0. */
export function beginTimes(): void {
  // "1970-01-01T00:00"
  v128.store(lastMinute, i64x2(0x2d31_302d_3037_3931, 0x3030_3a30_3054_3130));
}

/** Nanoseconds since the epoch. */
export let time: i64 = 0;

/** Two digits; 100 or more: they are none. */
@inline
function pairAt(at: usize): u32 {
  const high = <u32>load<u8>(at) - zero;
  const low = <u32>load<u8>(at, 1) - zero;
  return high > 9 || low > 9 ? 1000 : 10 * high + low;
}

/** Reads the time behind the quote at `at`. @returns behind its other quote; 0: it is none, or beyond 64 bits. */
export function readTime(at: usize): usize {
  const from = at + 1;
  if (v128.any_true(v128.xor(v128.load(from), v128.load(lastMinute))) && !readMinute(from)) return 0;
  const second = pairAt(from + 17);
  if (load<u8>(from, 16) != colon || second > 59 || (isHour24 && second > 0)) return 0;
  let p = from + 19;
  let nanoseconds: i64 = 0;
  if (load<u8>(p) == dot) {
    const bytes = load<u64>(p + 1);
    const count = countDigits(bytes);
    if (count == 0) return 0;
    nanoseconds = <i64>(valueOfDigits(bytes, count) * powerOf(9 - count));
    p += 1 + <usize>count;
    const ninth = <u32>load<u8>(p) - zero;
    if (count == 8 && ninth < 10) {
      nanoseconds += <i64>ninth;
      p++;
    }
  }
  // "Z" and the quote.
  if (load<u16>(p) != 0x225a) return 0;
  const seconds = lastSeconds + <i64>second;
  if (seconds > mostSeconds || seconds < -mostSeconds - 1) return 0;
  time = seconds * 1_000_000_000 + nanoseconds;
  // At both ends of the range it may have wrapped.
  if (seconds < 0 ? time > 0 : time < 0) return 0;
  return p + 2;
}

function readMinute(from: usize): bool {
  const century = pairAt(from);
  const ofCentury = pairAt(from + 2);
  const month = pairAt(from + 5);
  const day = pairAt(from + 8);
  const hour = pairAt(from + 11);
  const minute = pairAt(from + 14);
  if (century > 99 || ofCentury > 99 || month - 1 > 11 || day - 1 > 30 || hour > 24 || minute > 59) return false;
  if (load<u8>(from, 4) != minus || load<u8>(from, 7) != minus) return false;
  // "T"
  if (load<u8>(from, 10) != 0x54 || load<u8>(from, 13) != colon || (hour == 24 && minute > 0)) return false;
  lastSeconds = 86_400 * daysOf(100 * century + ofCentury, month, day) + 3600 * <i64>hour + 60 * <i64>minute;
  isHour24 = hour == 24;
  v128.store(lastMinute, v128.load(from));
  return true;
}

/** Days since the epoch of a date (Howard Hinnant's civil calendar arithmetic). */
function daysOf(year: i64, month: i64, day: i64): i64 {
  // Its years begin in March; 400 more have all the same calendar and none below 0.
  const y = year + 400 - (month <= 2 ? 1 : 0);
  const era = y / 400;
  const ofEra = y - 400 * era;
  const ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return (era - 1) * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468;
}
