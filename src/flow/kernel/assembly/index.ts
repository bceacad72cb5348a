// Writes the lines of flows: it runs programs, which were made of templates, for each record of a set.
import * as L from "../layout.gen";
import {
  beginAddresses,
  beginRecord,
  endAddresses,
  endRecord,
  grown,
} from "./addresses";
import { hashSlot, hashSlots, prefetchSlots, prefetchTexts } from "./addresses";
import { listMissing, listsMissing, locateMissing } from "./addresses";
import { beginDigests, writeDigests } from "./community-id";
import { beginUptime, isPadding, locateFields, readBootTime } from "./steps";
import { unenriched, noRoom, writeRecord } from "./record";
import { additionsAt, beginAdditions, countAdditions } from "./rest";
import { clearSlots } from "./memory";
import { foreseeScopes, hasScopes } from "./scopes";

/** The next direction of a record whose first line was written; its first is 0. */
let direction: i32 = 0;

/**
 * Writes the lines of the records from `at` on until something comes that it cannot do.
 *
 * @param first 1 to go on with the reverse direction of the record at `at`.
 * @param start of the set, @param end its end, @param limit of the memory for lines.
 * @returns how it ended; `resultEnd` then says where the last whole line ends, `resultNext` where the next record begins,
 *   `resultCount` how many records are done, `resultLines` how many lines there are.
 */
export function run(
  program: usize,
  first: i32,
  at: usize,
  start: usize,
  end: usize,
  out: usize,
  limit: usize,
): i32 {
  const minLength = load<u32>(program, L.programMinLength);
  const varies = (load<u16>(program, L.programFlags) & L.isVariable) != 0;
  const room = load<u32>(program, L.programMaxLength) + load<u32>(L.extraRoom);
  const perByte = load<u32>(program, L.programPerByte);
  const reverseOffset = load<u32>(program, L.programReverse);
  const hasAddresses = beginAddresses(load<u32>(L.addressControl));
  let p = out;
  let count = 0;
  let lines = 0;
  let status: i32 = L.isDone;
  direction = first;
  beginUptime();
  beginDigests();
  clearSlots();
  while (end - at >= minLength && !isPadding(program, at, start, end)) {
    const next = varies ? locateFields(program, at, end) : at + minLength;
    if (next == 0) {
      status = L.isCut;
      break;
    }
    readBootTime(program, at, varies);
    for (; direction == 0 || (direction == 1 && reverseOffset != 0); direction++) {
      if (p + room + perByte * (next - at) > limit) {
        status = L.isFull;
        break;
      }
      beginRecord();
      beginAdditions();
      const lineEnd = writeRecord(direction == 0 ? program : program + reverseOffset, at, varies, hasAddresses, p);
      if (lineEnd == noRoom) {
        status = L.isFull;
        break;
      }
      if (lineEnd == unenriched) {
        status = L.isLeft;
        direction++;
        break;
      }
      if (lineEnd == p) continue;
      endRecord();
      countAdditions();
      p = lineEnd;
      lines++;
    }
    if (status != L.isDone && (direction == 0 || (direction == 1 && reverseOffset != 0))) break;
    direction = 0;
    at = next;
    count++;
    if (status != L.isDone) break;
  }
  writeDigests();
  endAddresses();
  store<u32>(L.resultEnd, <u32>p);
  store<u32>(L.resultNext, <u32>at);
  store<u32>(L.resultCount, count);
  store<u32>(L.resultLines, lines);
  store<u32>(L.resultDirection, direction);
  store<u32>(L.resultRest, <u32>additionsAt + grown);
  return status;
}

/** Prefetches what is known of the addresses of the next records of a set. @param count at most `maxPrefetched`. */
export function prefetch(program: usize, at: usize, count: i32): void {
  if (!beginAddresses(load<u32>(L.addressControl))) return;
  const stride = load<i32>(program, L.programMinLength);
  const source = at + load<u32>(program, L.programSource);
  const sourceLength = load<u32>(program, L.programSourceLength);
  const destination = at + load<u32>(program, L.programDestination);
  const destinationLength = load<u32>(program, L.programDestinationLength);
  const sources = sourceLength != 0 ? count : 0;
  const destinations = destinationLength != 0 ? count : 0;
  const isScoped = hasScopes();
  if (isScoped) {
    for (let i = 0; i < count; i++) {
      foreseeScopes(program, at + stride * i);
      if (sources != 0) hashSlot(0, source + stride * i, sourceLength == 16, i);
      if (destinations != 0) hashSlot(1, destination + stride * i, destinationLength == 16, i);
    }
  } else {
    hashSlots(0, source, sourceLength == 16, stride, sources);
    hashSlots(1, destination, destinationLength == 16, stride, destinations);
  }
  const sum = prefetchSlots(0, sources) + prefetchSlots(1, destinations);
  store<u32>(L.prefetchedSum, sum + prefetchTexts(0, sources) + prefetchTexts(1, destinations));
  if (!listsMissing()) return;
  if (isScoped) {
    for (let i = 0; i < count; i++) {
      foreseeScopes(program, at + stride * i);
      if (sources != 0) listMissing(0, source + stride * i, sourceLength == 16);
      if (destinations != 0) listMissing(1, destination + stride * i, destinationLength == 16);
    }
  } else {
    for (let i = 0; i < sources; i++) listMissing(0, source + stride * i, sourceLength == 16);
    for (let i = 0; i < destinations; i++) listMissing(1, destination + stride * i, destinationLength == 16);
  }
  locateMissing();
}

export { listSamples } from "./samples";
export { prefetchSamples, writeSamples } from "./samples";

export { findScopes } from "./scopes";
