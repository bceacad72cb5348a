// Where the fields of a record are, and which of several counts.
import * as L from "../layout";
import { hasValue } from "./imports";
import { readUint, secondOfNtp } from "./values";

/** The exporter's uptime for the record under way. */
let uptime: i64 = 0;
let uptimeIsKnown: bool = false;

/** Finds the fields of a record. @returns where the next one begins, 0 when this one does not fit. */
export function locateFields(program: usize, at: usize, end: usize): usize {
  const count = <i32>load<u16>(program, L.programFields);
  const lengths = program + load<u32>(program, L.programLengths);
  for (let i = 0; i < count; i++) {
    let length = <u32>load<u16>(lengths + 2 * i);
    if (length == L.variable) {
      // RFC 7011 section 7: one byte, or 255 and two bytes.
      if (at >= end) return 0;
      length = load<u8>(at++);
      if (length == 255) {
        if (at + 2 > end) return 0;
        length = <u32>bswap(load<u16>(at));
        at += 2;
      }
    }
    store<u32>(L.fieldOffsets + 4 * i, <u32>at);
    store<u32>(L.fieldLengths + 4 * i, length);
    at += length;
  }
  return at <= end ? at : 0;
}

/** Whether the rest of a set is padding although a record would fit. */
export function isPadding(program: usize, at: usize, start: usize, end: usize): bool {
  if (load<u32>(program, L.programMinLength) >= 4 || end - at >= 4 || at == start) return false;
  if ((load<u16>(program, L.programFlags) & L.mayBePadded) == 0) return false;
  for (; at < end; at++) if (load<u8>(at) != 0) return false;
  return true;
}

/** Takes what the header or options say of the exporter's uptime. */
export function beginUptime(): void {
  uptime = load<i64>(L.uptime);
  uptimeIsKnown = load<u8>(L.uptimeIsKnown) != 0;
}

export const maxSafe: u64 = 9_007_199_254_740_991;

/** Takes the exporter's start time of a record, where its template has it and the header has no uptime. */
export function readBootTime(program: usize, from: usize, varies: bool): void {
  let length = load<i32>(program, L.programBootTimeLength);
  if (length == 0 || load<u8>(L.uptimeIsOfHeader) != 0) return;
  beginUptime();
  const place = <usize>load<u32>(program, L.programBootTime);
  const at = varies ? <usize>load<u32>(L.fieldOffsets + 4 * place) : from + place;
  if (length == L.variable) length = load<i32>(L.fieldLengths + 4 * place);
  if (length == 0 || length > 8) return;
  const start = readUint(at, length);
  if (start > maxSafe) return;
  uptime = load<i64>(L.exportTime) - <i64>start;
  uptimeIsKnown = true;
}

/** The time of an uptime in milliseconds, since the epoch; -1 when it cannot be known. */
export function timeOfUptime(value: u64): i64 {
  if (!uptimeIsKnown) return -1;
  return load<i64>(L.exportTime) - <i64>(<i32>(uptime - <i64>value));
}

/** An uptime as its field has it. In eight bytes it is in the first four where the others are zero. */
@inline
export function readUptime(at: usize, length: i32): u64 {
  return length == 8 && load<u32>(at, 4) == 0 ? <u64>bswap(load<u32>(at)) : readUint(at, length);
}

/** Whether a field that could win a selection has a value. */
function hasAnyValue(candidate: usize, at: usize, length: i32): bool {
  const kind = load<u16>(candidate, L.candidateKind);
  if (kind == L.byHelper) return hasValue(load<i32>(candidate, L.candidateHelper), <i32>at, length) != 0;
  if (length < <i32>load<u16>(candidate, L.candidateLeast)) return false;
  if (length > <i32>load<u16>(candidate, L.candidateMost)) return false;
  if (kind == L.byLength) return true;
  if (kind == L.byMicroseconds) return secondOfNtp(at, 6) >= 0;
  if (kind == L.byNanoseconds) return secondOfNtp(at, 9) >= 0;
  const value = kind == L.byUptime ? readUptime(at, length) : readUint(at, length);
  if (value > maxSafe) return false;
  if (kind == L.bySeconds) return value <= <u64>L.lastSecond;
  const time = kind == L.byUptime ? <u64>timeOfUptime(value) : value;
  return time / 1000 <= <u64>L.lastSecond;
}

/** Which of several fields is not all zero bytes and has a value; the first when none has. */
export function select(candidates: usize, count: i32, from: usize, varies: bool): i32 {
  for (let i = 0; i < count; i++, candidates += L.candidateBytes) {
    const place = <usize>load<u16>(candidates, L.candidatePlace);
    const at = varies ? <usize>load<u32>(L.fieldOffsets + 4 * place) : from + place;
    let length = <i32>load<u16>(candidates, L.candidateLength);
    if (length == L.variable) length = load<i32>(L.fieldLengths + 4 * place);
    for (let j = 0; j < length; j++) {
      if (load<u8>(at + j) == 0) continue;
      if (hasAnyValue(candidates, at, length)) return i;
      break;
    }
  }
  return 0;
}
