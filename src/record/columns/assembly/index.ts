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
  endFields,
  endOfFieldsBefore,
  fieldBehind,
  fieldBytes,
  fieldsAtHand,
  fieldsBefore,
  findName,
  forgetFields,
  foundLength,
  isRemembered,
  isSettled,
  lengthBefore,
  maxFields,
  nameBefore,
  nameOf,
  noteAgain,
  noteField,
  startOf,
} from "./names";
import { fillPowers } from "./numbers";
import { closeBrace, comma, endOfLine, endOfValue, lineFeed, openBrace, quote } from "./scan";
import { beginFollowing, beginTexts, clearTexts, endText, reserveText, textEnd } from "./texts";
import { beginTimes } from "./times";
import { beginValues, fillOffsets, putCode, putValue, repeatValue, settle } from "./values";

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
  forgetFields();
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
  beginFollowing();
  let known = fieldsBefore();
  const knownEnd = endOfFieldsBefore();
  const lastByte = startOf(knownEnd);
  let noted = fieldsAtHand();
  const notedEnd = noted + fieldBytes * maxFields;
  // Up to there the line before has the same, where one goes on so far behind the other.
  let limit: usize = 0;
  let distance: usize = 0;
  let isSound = true;
  while (at < end && load<u8>(at) == quote) {
    let name: usize = 0;
    let column: usize = 0;
    let length: usize = 0;
    if (known != knownEnd) {
      let start = startOf(known);
      if (start >= limit || at - start != distance) {
        limit = start + countSame(at, start, lastByte - start);
        distance = at - start;
      }
      for (; known != knownEnd; known += fieldBytes) {
        const next = startOf(known + fieldBytes);
        if (next > limit || !isSettled(known) || noted == notedEnd) break;
        const behind = at + (next - start);
        column = columnOfField(known);
        if (column != 0 && repeatValue(column, row)) {
          noted = noteAgain(noted, known, at, behind);
        } else {
          if (restColumn != 0) noteOther(at, behind - 1);
          // One that was put twice is read again.
          noted = noteField(noted, at, behind, nameOf(known), column, lengthBefore(known), column == 0);
        }
        at = behind;
        start = next;
      }
      if (at >= end || load<u8>(at) != quote) break;
      if (known != knownEnd && start + lengthBefore(known) <= limit) {
        name = nameOf(known);
        column = columnOfField(known);
        length = lengthBefore(known);
        known += fieldBytes;
      }
    }
    if (name == 0) {
      name = findName(nameBefore(noted), at, end);
      if (name == 0) break;
      column = columnOf(name);
      length = foundLength;
      known = fieldBehind(known, name);
    }
    const value = at + length;
    let last = column != 0 ? putValue(column, row, value, end) : 0;
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
    }
    // What is between two fields is no field: the line is not whole.
    if (load<u8>(last) != comma && last + 1 < end) {
      at = last;
      break;
    }
    if (noted != notedEnd) noted = noteField(noted, at, last + 1, name, column, length, fits);
    at = last + 1;
  }
  endFields(noted);
  if (otherCount > 0) writeRest(row);
  if (!isSound || !isWhole(from, at, end)) cutRows++;
  rows = row + 1;
}

/** Whether the fields of a line end at `at` as those of a whole one do: behind the brace that closes it, or before that of a record without fields. */
function isWhole(from: usize, at: usize, end: usize): bool {
  if (end < from + 2 || load<u8>(end - 1) != closeBrace) return false;
  return at == end || (at == from + 1 && at == end - 1);
}

/** Notes a field that was not looked at before. @returns whether it is one of JSON. */
function noteNewOther(name: usize, from: usize, value: usize, end: usize): bool {
  if (!(isRemembered(name) || isJsonText(from, value - 1)) || !isJson(value, end)) return false;
  noteOther(from, end);
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
