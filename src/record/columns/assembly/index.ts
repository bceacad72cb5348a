// Reads lines of records into columns.
import * as L from "../layout";
import { isJson, isJsonText } from "./json";
import { allocate, fillMasks, moved } from "./memory";
import {
  addName,
  beginNames,
  columnOf,
  columnOfField,
  countSame,
  branchFields,
  endFields,
  endOfFieldsBefore,
  fieldBytes,
  fieldOf,
  fieldsBefore,
  findName,
  foundLength,
  isForRest,
  isHeld,
  isHeldWithin,
  isRemembered,
  isSettled,
  lengthBefore,
  maxFields,
  nameBefore,
  nameOf,
  noteAgain,
  noteField,
  spanOf,
} from "./names";
import { fillPowers } from "./numbers";
import { closeBrace, comma, endOfLine, endOfValue, lineFeed, openBrace, quote } from "./scan";
import { beginFollowing, beginTexts, clearTexts, endText, reserveText, textEnd } from "./texts";
import { beginTimes } from "./times";
import { beginValues, endValue, fillOffsets, putCode, putValue, settle } from "./values";

export { leaveOutKnown } from "./names";
export { textBytes, textCount, textOffsets } from "./texts";

/** A batch is full when lines of so many bytes are in it: that bounds all that it holds. */
const maxBytes: usize = 1 << 27;

let columns: usize = 0;
let columnCount: i32 = 0;
/** Where `rest` is; 0: it is not wanted. */
let restColumn: usize = 0;
let maxRows: u32 = 0;
let bytesTaken: usize = 0;
/** Rows that are there. */
export let rows: u32 = 0;
/** Those of them whose line was cut off, or has a field that is no JSON. */
export let cutRows: u32 = 0;
/** Where the lines of the other side go, and how many bytes fit. */
export let input: usize = 0;
export let inputRoom: usize = 0;
/** Where the fields of the line at hand begin and end that are for `rest`. */
let others: usize = 0;
let otherRoom: usize = 1 << 10;
let otherCount: usize = 0;
/** Where the first field of the line before begins, and where its last one ends. */
let startBefore: usize = 0;
let endBefore: usize = 0;
/** The field of the line before that is expected next, where it begins, and where the fields end. */
let known: usize = 0;
let start: usize = 0;
let knownEnd: usize = 0;
/** Up to there the line before has the same, where the line at hand goes on so far behind it. */
let same: usize = 0;
let distance: usize = 0;
/** Where the fields of the line at hand are noted: in the list of the line before, as long as they are the same ones. */
let list: usize = 0;
let noted: usize = 0;
let notedEnd: usize = 0;

/** @param random makes the places of texts such as nobody knows. */
export function begin(count: i32, most: u32, hasRest: i32, random: u32): void {
  fillMasks();
  fillPowers();
  beginTimes();
  columnCount = count + hasRest;
  columns = allocate(L.columnBytes * <usize>columnCount);
  maxRows = most;
  beginValues(most);
  beginNames(columns, L.columnBytes);
  beginTexts(random);
  others = allocate(8 * otherRoom);
  reserveInput(1 << 18);
  if (hasRest == 0) return;
  restColumn = columns + L.columnBytes * <usize>count;
  beginColumn(count, L.textKind, 0);
}

/** Makes room for lines of so many bytes. The old place is lost, so there is room for twice as many next time: each line may be a little longer. */
export function reserveInput(bytes: usize): void {
  if (bytes <= inputRoom) return;
  inputRoom = max(bytes, 2 * inputRoom);
  input = allocate(inputRoom);
}

/** Where the descriptor of a column is; that of `rest` is behind the others. */
export function columnAt(index: i32): usize {
  return columns + L.columnBytes * <usize>index;
}

/** Adds the column whose name stands at `input`, from its first quote to the colon. */
export function declareColumn(index: i32, kind: i32, flags: i32, length: usize): void {
  beginColumn(index, kind, flags);
  addName(input, length, index);
}

function beginColumn(index: i32, kind: i32, flags: i32): void {
  const column = columnAt(index);
  store<i32>(column, kind, L.columnKind);
  store<i32>(column, flags, L.columnFlags);
}

/** Forgets all rows and texts. */
export function clear(): void {
  leaveLine();
  for (let i = 0; i < columnCount; i++) clearColumn(columnAt(i));
  clearTexts();
  rows = 0;
  cutRows = 0;
  bytesTaken = 0;
}

function clearColumn(column: usize): void {
  store<u32>(column, 0, L.columnFilled);
  store<u32>(column, 0, L.columnItems);
  store<u32>(column, 0, L.columnUsed);
  store<u32>(column, 0, L.columnRun);
  const presence = <usize>load<u32>(column, L.columnPresence);
  if (presence != 0) memory.fill(presence, 0, (<usize>rows + 7) >>> 3);
}

/** How many rows of a column have a value. */
function countPresent(column: usize): u32 {
  const presence = <usize>load<u32>(column, L.columnPresence);
  if (presence == 0) return 0;
  let count: u64 = 0;
  for (let i: usize = 0; i < (<usize>rows + 7) >>> 3; i += 8) count += popcnt<u64>(load<u64>(presence + i));
  return <u32>count;
}

/** Writes what of the columns is written at the end. */
export function finish(): void {
  leaveLine();
  for (let i = 0; i < columnCount; i++) {
    const column = columnAt(i);
    settle(column, rows);
    store<u32>(column, countPresent(column), L.columnCount);
    if (load<u32>(column, L.columnOffsets) != 0) fillOffsets(column, rows);
  }
}

/** Whether another line fits. */
export function isFull(): bool {
  return rows == maxRows || bytesTaken >= maxBytes;
}

/**
 * Reads the whole lines of so many bytes at `input` until all are read or the batch is full.
 *
 * @param isLast 1: what stands behind the last line feed is a line, too.
 * @returns how many bytes are read.
 */
export function read(length: usize, isLast: i32): usize {
  const limit = input + length;
  // Other lines stood there.
  leaveLine();
  if (isLast != 0) store<u8>(limit, lineFeed);
  let at = input;
  while (at < limit && !isFull()) {
    const end = endOfLine(at, limit);
    if (end >= limit && isLast == 0) break;
    const lineEnd = min(end, limit);
    readLine(at, lineEnd);
    const next = min(lineEnd + 1, limit);
    bytesTaken += next - at;
    at = next;
  }
  return at - input;
}

function readLine(from: usize, end: usize): void {
  const row = rows;
  let at = from + 1;
  beginLine();
  let isSound = true;
  while (at < end && load<u8>(at) == quote) {
    at = passSame(at);
    if (at >= end || load<u8>(at) != quote) break;
    let name: usize = 0;
    let column: usize = 0;
    let length: usize = 0;
    // Whether it is no longer certain that fields to come have their columns for themselves.
    let isOther = false;
    if (known != knownEnd && start + lengthBefore(known) <= same) {
      name = nameOf(known);
      column = columnOfField(known);
      length = lengthBefore(known);
      start += spanOf(known);
      known += fieldBytes;
    } else {
      name = findName(nameBefore(list, noted), at, end);
      if (name == 0) break;
      column = columnOf(name);
      length = foundLength;
      isOther = true;
      passTo(name, row);
    }
    const value = at + length;
    const isFree = column != 0 && !isHeldWithin(column, list, noted);
    let last = isFree ? putValue(column, row, value, end) : 0;
    let fits = last != 0 || column == 0;
    if (last == 0) {
      last = endOfValue(value, end);
      // Cut off.
      if (last == 0) break;
      if (restColumn != 0 && !noteNewOther(name, at, value, last)) {
        // It is looked at again in the next line.
        fits = false;
        isSound = false;
      }
      if (column != 0) isOther = true;
    }
    // What is between two fields is no field: the line is not whole.
    if (load<u8>(last) != comma && last + 1 < end) {
      at = last;
      break;
    }
    if (isOther && list == fieldsBefore()) branch();
    if (noted != notedEnd) {
      noteField(noted, last + 1 - at, name, column, length, fits);
      noted += fieldBytes;
    }
    at = last + 1;
  }
  for (; known != knownEnd; known += fieldBytes) leaveField(known, row);
  endFields(list, noted);
  startBefore = from + 1;
  endBefore = at;
  if (otherCount > 0) writeRest(row);
  if (!isSound || !isWhole(from, at, end)) cutRows++;
  rows = row + 1;
}

function beginLine(): void {
  beginFollowing();
  known = fieldsBefore();
  knownEnd = endOfFieldsBefore();
  start = startBefore;
  list = known;
  noted = known;
  notedEnd = noted + fieldBytes * maxFields;
  same = 0;
  distance = 0;
}

/** Passes over fields at `at` that are the same as in the line before. @returns behind them. */
function passSame(at: usize): usize {
  let field = known;
  const end = knownEnd;
  if (field == end) return at;
  let from = start;
  if (from >= same || at - from != distance) {
    same = from + countSame(at, from, endBefore - from);
    distance = at - from;
  }
  const last = same;
  const behind = distance;
  const ahead = noted - field;
  while (field != end) {
    const next = from + spanOf(field);
    if (next > last || !isSettled(field)) break;
    const column = columnOfField(field);
    if (ahead != 0) {
      // One that was put already is read again.
      if (field + ahead == notedEnd || (column != 0 && !isHeld(column, field))) break;
      noteAgain(field + ahead, field, column);
    }
    if (column == 0 && restColumn != 0 && isForRest(nameOf(field))) noteOther(from + behind, next + behind - 1);
    from = next;
    field += fieldBytes;
  }
  start = from;
  known = field;
  noted = field + ahead;
  return from + behind;
}

/** Ends the values of the fields of the line before up to that with a name, where it is near. */
function passTo(name: usize, row: u32): void {
  const field = fieldOf(known, name);
  if (field == 0) return;
  for (; known <= field; known += fieldBytes) {
    start += spanOf(known);
    if (known != field) leaveField(known, row);
  }
}

/** Notes the fields of the line at hand elsewhere from now on. */
function branch(): void {
  noted -= list;
  list = branchFields(list + noted);
  noted += list;
  notedEnd = list + fieldBytes * maxFields;
}

/** Ends the value of a field of the line before, which the line at hand does not have. */
function leaveField(field: usize, row: u32): void {
  const column = columnOfField(field);
  if (column != 0 && isHeld(column, field)) endValue(column, row);
}

/** Ends the values of the line before, and forgets it. */
function leaveLine(): void {
  const from = fieldsBefore();
  const end = endOfFieldsBefore();
  for (let field = from; field != end; field += fieldBytes) leaveField(field, rows);
  endFields(from, from);
}

/** Whether the fields of a line end at `at` as those of a whole one do: behind the brace that closes it, or before that of a record without fields. */
function isWhole(from: usize, at: usize, end: usize): bool {
  if (end < from + 2 || load<u8>(end - 1) != closeBrace) return false;
  return at == end || (at == from + 1 && at == end - 1);
}

/** Notes a field that was not looked at before. @returns whether it is one of JSON. */
function noteNewOther(name: usize, from: usize, value: usize, end: usize): bool {
  if (!(isRemembered(name) || isJsonText(from, value - 1)) || !isJson(value, end)) return false;
  if (isForRest(name)) noteOther(from, end);
  return true;
}

function noteOther(from: usize, end: usize): void {
  if (otherCount > 0) {
    const last = others + 8 * (otherCount - 1);
    if (<usize>load<u32>(last, 4) + 1 == from) {
      store<u32>(last, <u32>end, 4);
      return;
    }
  }
  if (otherCount == otherRoom) {
    others = moved(others, 8 * otherCount, 16 * otherRoom);
    otherRoom *= 2;
  }
  store<u32>(others + 8 * otherCount, <u32>from);
  store<u32>(others + 8 * otherCount, <u32>end, 4);
  otherCount++;
}

function writeRest(row: u32): void {
  let length: usize = 1 + otherCount;
  for (let i: usize = 0; i < otherCount; i++) {
    length += <usize>(load<u32>(others + 8 * i, 4) - load<u32>(others + 8 * i));
  }
  reserveText(length);
  let p = textEnd;
  for (let i: usize = 0; i < otherCount; i++) {
    const from = <usize>load<u32>(others + 8 * i);
    const bytes = <usize>load<u32>(others + 8 * i, 4) - from;
    store<u8>(p, i == 0 ? openBrace : comma);
    memory.copy(p + 1, from, bytes);
    p += 1 + bytes;
  }
  store<u8>(p, closeBrace);
  otherCount = 0;
  putCode(restColumn, row, endText(length));
}
