// The names of fields: each remembers the two that followed it last, which are compared first. Behind them the fields of the line before.
import { columnField } from "../layout";
import { allocate, areSame, maskOf } from "./memory";
import { isJsonText } from "./json";
import { backslash, colon, endOfText, hasEscapes } from "./scan";

// Offsets in a name.
const nameLength: usize = 0;
const nameColumn: usize = 4;
const nameNext: usize = 8;
const nameOther: usize = 12;
/** The next one in its slot. */
const nameBelow: usize = 16;
/** Where its last sixteen bytes begin; 0: it has no more. */
const nameTail: usize = 20;
/** A mask of its first sixteen bytes, and its bytes from the first quote to the colon. */
const nameMask: usize = 32;
const nameText: usize = 48;

/** Metadata of operators and elements of vendors can have many names. Those beyond are looked at each time. */
const maxNames = 8192;
/** Longer names are looked at each time. */
const maxLength: usize = 1024;
const slotCount: u32 = 4096;
const slots: usize = allocate(4 * slotCount);
/** Stands before the first name of a line. */
const first: usize = allocate(nameText);
/** Stands for all names that are not remembered. */
const unknown: usize = allocate(nameText);
let room = maxNames;
/** Names are given memory from the bottom up: those below this one are left out of `rest`. */
let leftOut: usize = 0;

/** From now on the fields whose names are remembered by now are left out of `rest`. */
export function leaveOutKnown(): void {
  leftOut = allocate(0);
}

/** Whether a field with this name is wanted in `rest`. */
@inline
export function isForRest(name: usize): bool {
  return name >= leftOut || name == unknown;
}

/** The column of a name with escapes: -1, it has none. */
@external("lines", "columnOfName")
declare function columnOfName(at: usize, length: usize): i32;

/** Where descriptors of columns are. */
let columnsAt: usize = 0;
let columnStep: usize = 0;

export function beginNames(columns: usize, step: usize): void {
  columnsAt = columns;
  columnStep = step;
}

@inline
export function firstName(): usize {
  return first;
}

/** Whether it says which name comes next, and is a text of JSON. */
@inline
export function isRemembered(name: usize): bool {
  return name != unknown;
}

@inline
function lengthOfName(name: usize): usize {
  return <usize>load<u32>(name, nameLength);
}

/** The descriptor of its column; 0: it has none. */
@inline
export function columnOf(name: usize): usize {
  return <usize>load<u32>(name, nameColumn);
}

/** The name of this text. @param column -1: it has none. */
export function addName(at: usize, length: usize, column: i32): usize {
  const name = allocate(nameText + length);
  store<u32>(name, <u32>length, nameLength);
  store<u32>(name, descriptorOf(column), nameColumn);
  const slot = slots + 4 * <usize>(slotOf(at, length) & (slotCount - 1));
  store<u32>(name, load<u32>(slot), nameBelow);
  store<u32>(slot, <u32>name);
  store<u32>(name, length > 16 ? <u32>length - 16 : 0, nameTail);
  v128.store(name, maskOf(min<usize>(length, 16)), nameMask);
  memory.copy(name + nameText, at, length);
  return name;
}

@inline
function stands(name: usize, at: usize, end: usize): bool {
  const length = lengthOfName(name);
  const tail = <usize>load<u32>(name, nameTail);
  const start = v128.xor(v128.load(at), v128.load(name, nameText));
  if (at + length > end) return false;
  const last = v128.xor(v128.load(at + tail), v128.load(name + tail, nameText));
  if (v128.any_true(v128.and(v128.or(start, last), v128.load(name, nameMask)))) return false;
  return length <= 32 || areSame(at + 16, name + nameText + 16, length - 32);
}

/**
 * The name that begins at `at` and follows another one.
 *
 * @returns 0: the line ends within it. Its length is `foundLength`.
 */
@inline
export function findName(before: usize, at: usize, end: usize): usize {
  const next = <usize>load<u32>(before, nameNext);
  if (next != 0 && stands(next, at, end)) {
    foundLength = lengthOfName(next);
    return next;
  }
  return findOther(before, next, at, end);
}

export let foundLength: usize = 0;

function findOther(before: usize, next: usize, at: usize, end: usize): usize {
  let name = <usize>load<u32>(before, nameOther);
  if (name == 0 || !stands(name, at, end)) {
    name = lookUp(at, end);
    // One that is not remembered says nothing of those that follow.
    if (name == 0 || name == unknown) return name;
  }
  foundLength = lengthOfName(name);
  store<u32>(before, <u32>next, nameOther);
  store<u32>(before, <u32>name, nameNext);
  return name;
}

function lookUp(at: usize, end: usize): usize {
  const last = endOfText(at + 1, end);
  if (last == 0 || load<u8>(last, 1) != colon) return 0;
  const length = last + 2 - at;
  foundLength = length;
  const isEscaped = hasEscapes;
  let name = <usize>load<u32>(slots + 4 * <usize>(slotOf(at, length) & (slotCount - 1)));
  for (; name != 0; name = <usize>load<u32>(name, nameBelow)) {
    if (lengthOfName(name) == length && areSame(name + nameText, at, length)) return name;
  }
  const column = isEscaped ? columnOfName(at, length - 1) : -1;
  if (room > 0 && length <= maxLength && isJsonText(at, last + 1)) {
    room--;
    return addName(at, length, column);
  }
  store<u32>(unknown, descriptorOf(column), nameColumn);
  return unknown;
}

/** @param column -1: there is none. */
@inline
function descriptorOf(column: i32): u32 {
  return column < 0 ? 0 : <u32>(columnsAt + columnStep * <usize>column);
}

function slotOf(at: usize, length: usize): u32 {
  let hash: u32 = 2_166_136_261;
  for (let i: usize = 0; i < length; i++) hash = (hash ^ <u32>load<u8>(at + i)) * 16_777_619;
  return hash ^ (hash >>> 15);
}

// The fields of the line before: what a line has in the same place with the same bytes is not read again.

// The offsets in a field.
/** Bytes from its first quote to behind what follows its value, where the next field begins. */
const fieldSpan: usize = 0;
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

/** Ends a line whose fields are noted from `from` to `end`: it is now the line before. */
@inline
export function endFields(from: usize, end: usize): void {
  fields = from;
  fieldsEnd = end;
}

/** Begins another list with the fields up to `end`, for a line that has others behind them. @returns where the list begins. */
export function branchFields(end: usize): usize {
  const to = fields == someFields ? otherFields : someFields;
  const length = end - fields;
  memory.copy(to, fields, length);
  for (let at: usize = 0; at < length; at += fieldBytes) {
    const column = columnOfField(fields + at);
    if (column != 0 && isHeld(column, fields + at)) holdBy(column, to + at);
  }
  return to;
}

/** Notes a field of the line at hand. */
@inline
export function noteField(to: usize, span: usize, name: usize, column: usize, length: usize, fits: bool): void {
  store<u32>(to, <u32>span, fieldSpan);
  store<u32>(to, <u32>name, fieldName);
  store<u32>(to, <u32>column, fieldColumn);
  store<u32>(to, fits ? <u32>length : <u32>length | misfit, fieldLength);
  if (column != 0 && fits) holdBy(column, to);
}

/** Notes a field of the line before for the line at hand. */
@inline
export function noteAgain(to: usize, known: usize, column: usize): void {
  v128.store(to, v128.load(known));
  if (column != 0) holdBy(column, to);
}

@inline
function holdBy(column: usize, field: usize): void {
  store<u32>(column, <u32>field, columnField);
}

/** Whether it is the field that the value of a column goes on with. */
@inline
export function isHeld(column: usize, field: usize): bool {
  return <usize>load<u32>(column, columnField) == field;
}

/** Whether a column has a value of one of the fields from `from` to `end`. */
@inline
export function isHeldWithin(column: usize, from: usize, end: usize): bool {
  return <usize>load<u32>(column, columnField) - from < end - from;
}

@inline
export function spanOf(field: usize): usize {
  return <usize>load<u32>(field, fieldSpan);
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
export function lengthBefore(field: usize): usize {
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

/** The name before the one that is to be noted at `noted` in the list that begins at `from`, as far as it is remembered. */
export function nameBefore(from: usize, noted: usize): usize {
  if (noted == from) return firstName();
  const name = nameOf(noted - fieldBytes);
  return isRemembered(name) ? name : firstName();
}

/** The field of the line before with this name, where another one was expected; 0: it is not near. */
export function fieldOf(known: usize, name: usize): usize {
  if (!isRemembered(name)) return 0;
  const last = min(fieldsEnd, known + maxSkipped);
  for (let field = known; field < last; field += fieldBytes) {
    if (nameOf(field) == name) return field;
  }
  return 0;
}
