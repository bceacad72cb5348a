// The fields of the line before, where they stand: what a line has in the same place with the same bytes is not read again.
import { allocate } from "./memory";
import { firstName, isRemembered } from "./names";

// Offsets in a field. The next one begins where it ends, and behind the last one stands its end.
const fieldAt: usize = 0;
const fieldName: usize = 4;
/** The descriptor of its column; 0: it has none. */
const fieldColumn: usize = 8;
/** Bytes of its name up to the value, and whether the value did not fit the column. */
const fieldLength: usize = 12;
export const fieldBytes: usize = 16;
const misfit: u32 = 0x8000_0000;

/** Fields of a line beyond these are read each time. */
export const maxFields: usize = 1024;
/** A name that is not where it was before is looked for in so many fields. */
const maxSkipped: usize = 8 * fieldBytes;

const someFields: usize = allocate(fieldBytes * (maxFields + 1));
const otherFields: usize = allocate(fieldBytes * (maxFields + 1));
/** Those of the line before. */
let fields: usize = someFields;
let fieldsEnd: usize = someFields;

/** The first field of the line before. */
@inline
export function fieldsBefore(): usize {
  return fields;
}

/** Where the fields of the line before end. */
@inline
export function endOfFieldsBefore(): usize {
  return fieldsEnd;
}

/** Where those of the line at hand are noted. */
@inline
export function fieldsAtHand(): usize {
  return fields == someFields ? otherFields : someFields;
}

/** Ends a line, whose fields end there: it is now the line before. */
@inline
export function endFields(end: usize): void {
  fields = fieldsAtHand();
  fieldsEnd = end;
}

/** Forgets the line before. */
export function forgetFields(): void {
  fieldsEnd = fields;
}

/** Notes a field of the line at hand. @param end behind what follows its value. @returns where the next one is noted. */
@inline
export function noteField(to: usize, at: usize, end: usize, name: usize, column: usize, length: usize, fits: bool): usize {
  store<u32>(to, <u32>at, fieldAt);
  store<u32>(to, <u32>name, fieldName);
  store<u32>(to, <u32>column, fieldColumn);
  store<u32>(to, fits ? <u32>length : <u32>length | misfit, fieldLength);
  store<u32>(to + fieldBytes, <u32>end, fieldAt);
  return to + fieldBytes;
}

/** Notes a field of the line before for the line at hand. */
@inline
export function noteAgain(to: usize, known: usize, at: usize, end: usize): usize {
  v128.store(to, v128.load(known));
  store<u32>(to, <u32>at, fieldAt);
  store<u32>(to + fieldBytes, <u32>end, fieldAt);
  return to + fieldBytes;
}

@inline
export function startOf(field: usize): usize {
  return <usize>load<u32>(field, fieldAt);
}

@inline
export function nameOf(field: usize): usize {
  return <usize>load<u32>(field, fieldName);
}

@inline
export function columnOfField(field: usize): usize {
  return <usize>load<u32>(field, fieldColumn);
}

@inline
export function lengthOfName(field: usize): usize {
  return <usize>(load<u32>(field, fieldLength) & ~misfit);
}

/** Whether the value is in its column, or has none. */
@inline
export function isSettled(field: usize): bool {
  return load<i32>(field, fieldLength) >= 0;
}

/** How many bytes at `at` are those at `before`, or `most` and some more. */
@inline
export function countSame(at: usize, before: usize, most: usize): usize {
  let i: usize = 0;
  do {
    const differ = i8x16.bitmask(i8x16.ne(v128.load(at + i), v128.load(before + i)));
    if (differ != 0) return i + <usize>ctz<i32>(differ);
    i += 16;
  } while (i < most);
  return i;
}

/** The name before the one at hand, as far as it is remembered. */
export function nameBefore(noted: usize): usize {
  if (noted == fieldsAtHand()) return firstName();
  const name = nameOf(noted - fieldBytes);
  return isRemembered(name) ? name : firstName();
}

/** The field of the line before that is to follow a name, which was expected to be that of another one. */
export function fieldBehind(known: usize, name: usize): usize {
  if (!isRemembered(name)) return known;
  const last = min(fieldsEnd, known + maxSkipped);
  for (let field = known; field < last; field += fieldBytes) {
    if (nameOf(field) == name) return field + fieldBytes;
  }
  return known;
}
