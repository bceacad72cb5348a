// Puts values of lines into the columns of the row at hand.
import * as L from "../layout";
import { columnRoom, columnShift } from "../layout";
import { readAddress } from "./addresses";
import { isJson } from "./json";
import { allocate, moved } from "./memory";
import { double, isBehindValue, readDouble, readEnd, readInteger, readUnsigned, whole } from "./numbers";
import { closeBracket, comma, endOfText, endOfValue, hasEscapes, openBracket, quote } from "./scan";
import { appendText, codeOf, expectedCode, followingCode, reserveText, textEnd, textOffsets } from "./texts";
import { readTime, time } from "./times";

/** Writes the text that stands at `at`, with its quotes, without escapes to `to`. Returns its length; -1: it is no JSON. */
@external("lines", "unescape")
declare function unescape(at: usize, end: usize, to: usize): i32;

/** Bytes of a value by the kind of its column. */
@inline
export function widthOf(kind: i32): usize {
  if (kind == L.textKind) return 4;
  if (kind == L.addressKind) return 16;
  return kind == L.booleanKind ? 1 : 8;
}

/** Rows of a batch. */
let maxRows: usize = 0;

export function beginValues(most: u32): void {
  maxRows = <usize>most;
}

/** Gives a column the memory of its values, when it is to have the first one. */
export function prepareColumn(column: usize): void {
  const isArray = (load<u32>(column, L.columnFlags) & L.isArrayFlag) != 0;
  const room = isArray ? 256 : maxRows;
  store<u32>(column, <u32>allocate((maxRows + 7) >>> 3), L.columnPresence);
  store<u32>(column, <u32>allocate(widthOf(load<i32>(column, L.columnKind)) * room), L.columnData);
  if (isArray) store<u32>(column, <u32>allocate(4 * (maxRows + 1)), L.columnOffsets);
  store<u32>(column, <u32>room, columnRoom);
  store<u32>(column, ctz<u32>(<u32>widthOf(load<i32>(column, L.columnKind))), columnShift);
}

/** Makes the rows that it has as they are to be up to one without a value: bits for those with one, zeros for the others. */
export function settle(column: usize, row: u32): void {
  const presence = <usize>load<u32>(column, L.columnPresence);
  if (presence == 0) return;
  const used = load<u32>(column, L.columnUsed);
  markPresent(presence, load<u32>(column, L.columnRun), used);
  if ((load<u32>(column, L.columnFlags) & L.isArrayFlag) != 0) return;
  const width = widthOf(load<i32>(column, L.columnKind));
  memory.fill(<usize>load<u32>(column, L.columnData) + width * <usize>used, 0, width * <usize>(row - used));
}

function markPresent(presence: usize, from: u32, to: u32): void {
  let row = from;
  for (; row < to && (row & 7) != 0; row++) markOne(presence, row);
  const whole = to & ~7;
  if (row < whole) {
    memory.fill(presence + <usize>(row >>> 3), 255, <usize>(whole - row) >>> 3);
    row = whole;
  }
  for (; row < to; row++) markOne(presence, row);
}

@inline
function markOne(presence: usize, row: u32): void {
  const octet = presence + <usize>(row >>> 3);
  store<u8>(octet, <u32>load<u8>(octet) | (1 << (row & 7)));
}

/** Says that a row has a value: mostly the one behind the last that has. */
@inline
function usePresent(column: usize, used: u32, row: u32): void {
  if (used != row) {
    settle(column, row);
    store<u32>(column, row, L.columnRun);
  }
  store<u32>(column, row + 1, L.columnUsed);
}

/** Gives a row of a text column the text of a code. */
export function putCode(column: usize, row: u32, code: u32): void {
  if (load<u32>(column, L.columnPresence) == 0) prepareColumn(column);
  store<u32>(<usize>load<u32>(column, L.columnData) + 4 * <usize>row, code);
  usePresent(column, load<u32>(column, L.columnUsed), row);
}

/** Gives all rows up to one the value that the column goes on with. */
export function goOn(column: usize, row: u32): void {
  const used = load<u32>(column, L.columnUsed);
  if (used >= row) return;
  if ((load<u32>(column, L.columnFlags) & L.isArrayFlag) != 0) {
    for (let next = used; next < row; next++) repeatArray(column, next);
  } else repeatScalar(column, used, row);
  store<u32>(column, row, L.columnUsed);
}

function repeatScalar(column: usize, from: u32, row: u32): void {
  const shift = load<u32>(column, columnShift);
  const data = <usize>load<u32>(column, L.columnData);
  const last = data + (<usize>(from - 1) << shift);
  const end = data + (<usize>row << shift);
  let values: v128;
  if (shift == 2) values = v128.load_splat<u32>(last);
  else if (shift == 3) values = v128.load_splat<u64>(last);
  else if (shift == 4) values = v128.load(last);
  else values = v128.load_splat<u8>(last);
  // What is written behind the end belongs to rows to come.
  for (let to = data + (<usize>from << shift); to < end; to += 16) v128.store(to, values);
}

/** Ends with the row before one what the column goes on with. */
@inline
export function endValue(column: usize, row: u32): void {
  goOn(column, row);
  store<u32>(column, 0, L.columnField);
}

function repeatArray(column: usize, row: u32): void {
  const width = widthOf(load<i32>(column, L.columnKind));
  const offsets = <usize>load<u32>(column, L.columnOffsets);
  const past = load<u32>(column, L.columnItems);
  const first = load<u32>(offsets + 4 * <usize>(row - 1));
  const count = past - first;
  if (count > 0) {
    const to = roomFor(column, width, past, count);
    const bytes = width * <usize>count;
    for (let i: usize = 0; i < bytes; i += 16) v128.store(to + i, v128.load(to - bytes + i));
  }
  store<u32>(offsets + 4 * <usize>row, past);
  store<u32>(column, row + 1, L.columnFilled);
  store<u32>(column, past + count, L.columnItems);
}

/** The code of the text that `readText` read last. */
let textCode: u32 = 0;

/** Reads the text behind the quote at `at`. @returns behind its other quote; 0: it is none. */
@inline
function readText(column: usize, at: usize, end: usize): usize {
  const code = expectedCode(at + 1, end);
  if (code == 0) return readNewText(column, at + 1, end);
  textCode = code;
  return at + 2 + <usize>(load<u32>(textOffsets + 4 * <usize>code, 4) - load<u32>(textOffsets + 4 * <usize>code));
}

function readNewText(column: usize, from: usize, end: usize): usize {
  const last = endOfText(from, end);
  if (last == 0) return 0;
  if (hasEscapes) {
    // A byte that is no UTF-8 becomes three.
    reserveText(3 * (last - from));
    const length = unescape(from - 1, last + 1, textEnd);
    if (length < 0) return 0;
    textCode = codeOf(textEnd, <usize>length);
    return last + 1;
  }
  const isDistinct = (load<u32>(column, L.columnFlags) & L.isDistinctFlag) != 0;
  textCode = isDistinct ? appendText(from, last - from) : followingCode(from, last - from);
  return last + 1;
}

/** Reads one value of a kind. @param to where it is to go. @returns its end; 0: it does not fit. */
@inline
function readScalar(column: usize, kind: i32, at: usize, end: usize, to: usize): usize {
  const isQuoted = load<u8>(at) == quote;
  if (kind == L.textKind) {
    const isJsonWanted = (load<u32>(column, L.columnFlags) & L.isJsonFlag) != 0;
    if (isQuoted == isJsonWanted) return 0;
    const last = isQuoted ? readText(column, at, end) : readJsonArray(at, end);
    if (last != 0) store<u32>(to, textCode);
    return last;
  }
  if (kind == L.unsignedKind || kind == L.integerKind) {
    if (!(kind == L.unsignedKind ? readUnsigned(at) : readInteger(at))) return 0;
    if (!isBehindValue(readEnd, end)) return 0;
    store<u64>(to, whole);
    return readEnd;
  }
  if (kind == L.addressKind) return isQuoted ? readAddress(at, to) : 0;
  if (kind == L.timeKind) {
    const last = isQuoted ? readTime(at) : 0;
    if (last != 0) store<i64>(to, time);
    return last;
  }
  if (kind == L.doubleKind) {
    if (!readDouble(at, end)) return 0;
    store<f64>(to, double);
    return readEnd;
  }
  return readBoolean(at, end, to);
}

/** Reads an array as the text of its JSON. @returns its end; 0: it is none. */
function readJsonArray(at: usize, end: usize): usize {
  if (load<u8>(at) != openBracket) return 0;
  const last = endOfValue(at, end);
  if (last == 0 || !isJson(at, last)) return 0;
  textCode = codeOf(at, last - at);
  return last;
}

function readBoolean(at: usize, end: usize, to: usize): usize {
  const word = load<u32>(at);
  // "true", "fals" and "e".
  const isTrue = word == 0x6575_7274;
  if (!isTrue && (word != 0x736c_6166 || load<u8>(at, 4) != 0x65)) return 0;
  const last = at + (isTrue ? 4 : 5);
  if (!isBehindValue(last, end)) return 0;
  store<u8>(to, <u8>isTrue);
  return last;
}

/**
 * Puts the value at `at` into a row of a column.
 *
 * @returns its end; 0: it does not fit, or the row has a value.
 */
@inline
export function putValue(column: usize, row: u32, at: usize, end: usize): usize {
  if (load<u32>(column, L.columnPresence) == 0) prepareColumn(column);
  if (load<u32>(column, L.columnField) != 0) endValue(column, row);
  const used = load<u32>(column, L.columnUsed);
  if (used > row) return 0;
  const kind = load<i32>(column, L.columnKind);
  const isArray = (load<u32>(column, L.columnFlags) & L.isArrayFlag) != 0;
  const to = <usize>load<u32>(column, L.columnData) + (<usize>row << load<u32>(column, columnShift));
  const last = isArray ? readArray(column, kind, row, at, end) : readScalar(column, kind, at, end, to);
  if (last != 0) usePresent(column, used, row);
  return last;
}

function readArray(column: usize, kind: i32, row: u32, from: usize, end: usize): usize {
  if (load<u8>(from) != openBracket) return 0;
  const width = widthOf(kind);
  let items = load<u32>(column, L.columnItems);
  let at = from + 1;
  if (load<u8>(at) == closeBracket) at++;
  else {
    for (;;) {
      const last = readScalar(column, kind, at, end, roomFor(column, width, items, 1));
      if (last == 0 || last >= end) return 0;
      items++;
      at = last + 1;
      const byte = load<u8>(last);
      if (byte == closeBracket) break;
      if (byte != comma) return 0;
    }
  }
  fillOffsets(column, row);
  store<u32>(column, items, L.columnItems);
  return at;
}

/** Where the next items of an array column go, which has so many. */
function roomFor(column: usize, width: usize, items: u32, count: u32): usize {
  let room = load<u32>(column, columnRoom);
  let data = <usize>load<u32>(column, L.columnData);
  if (items + count > room) {
    while (items + count > room) room *= 2;
    data = moved(data, width * <usize>items, width * <usize>room);
    store<u32>(column, <u32>data, L.columnData);
    store<u32>(column, room, columnRoom);
  }
  return data + width * <usize>items;
}

/** Writes the offsets of an array column up to that of a row. */
export function fillOffsets(column: usize, row: u32): void {
  const offsets = <usize>load<u32>(column, L.columnOffsets);
  const items = load<u32>(column, L.columnItems);
  let filled = load<u32>(column, L.columnFilled);
  for (; filled <= row; filled++) store<u32>(offsets + 4 * <usize>filled, items);
  store<u32>(column, filled, L.columnFilled);
}
