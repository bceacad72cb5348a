// Puts values of lines into the columns of the row at hand.
import * as L from "../layout";
import { columnRoom, columnTextAt, columnTextCode } from "../layout";
import { readAddress } from "./addresses";
import { allocate, areSame, moved } from "./memory";
import { double, isBehindValue, readDouble, readEnd, readInteger, readUnsigned, whole } from "./numbers";
import { closeBracket, comma, endOfText, hasEscapes, openBracket, quote } from "./scan";
import { appendText, codeOf, noText, reserveText, textBytes, textEnd, textOffsets } from "./texts";
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
}

/** The code of the text that `readText` read last. */
let textCode: u32 = 0;

/** Reads the text behind the quote at `at`. @returns behind its other quote; 0: it is none. */
@inline
function readText(column: usize, at: usize, end: usize): usize {
  const from = at + 1;
  const lastLength = load<u32>(column, L.columnTextLength);
  if (lastLength != noText && from + <usize>lastLength < end && load<u8>(from + <usize>lastLength) == quote) {
    // Most texts are those of the record before. One without escapes has no quote within.
    if (areSame(from, textBytes + <usize>load<u32>(column, columnTextAt), <usize>lastLength)) {
      textCode = load<u32>(column, columnTextCode);
      return from + <usize>lastLength + 1;
    }
  }
  return readNewText(column, from, end);
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
  const length = last - from;
  const isDistinct = (load<u32>(column, L.columnFlags) & L.isDistinctFlag) != 0;
  textCode = isDistinct ? appendText(from, length) : codeOf(from, length);
  store<u32>(column, load<u32>(textOffsets + 4 * <usize>textCode), columnTextAt);
  store<u32>(column, <u32>length, L.columnTextLength);
  store<u32>(column, textCode, columnTextCode);
  return last + 1;
}

/** Reads one value of a kind. @param to where it is to go. @returns its end; 0: it does not fit. */
@inline
function readScalar(column: usize, kind: i32, at: usize, end: usize, to: usize): usize {
  const isQuoted = load<u8>(at) == quote;
  if (kind == L.textKind) {
    const last = isQuoted ? readText(column, at, end) : 0;
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
  const octet = <usize>load<u32>(column, L.columnPresence) + <usize>(row >>> 3);
  const bit: u32 = 1 << (row & 7);
  const byte = <u32>load<u8>(octet);
  if ((byte & bit) != 0) return 0;
  const kind = load<i32>(column, L.columnKind);
  const data = <usize>load<u32>(column, L.columnData);
  const isArray = (load<u32>(column, L.columnFlags) & L.isArrayFlag) != 0;
  const last = isArray
    ? readArray(column, kind, row, at, end)
    : readInto(column, kind, at, end, data, row);
  if (last == 0) return 0;
  store<u8>(octet, byte | bit);
  return last;
}

@inline
function readInto(column: usize, kind: i32, at: usize, end: usize, data: usize, row: u32): usize {
  const width = widthOf(kind);
  const to = data + width * <usize>row;
  const last = readScalar(column, kind, at, end, to);
  // A part of an address may have been written.
  if (last == 0 && kind == L.addressKind) memory.fill(to, 0, width);
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
      const last = readScalar(column, kind, at, end, roomFor(column, width, items));
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

/** Where the next item of an array column goes. */
function roomFor(column: usize, width: usize, items: u32): usize {
  const room = load<u32>(column, columnRoom);
  let data = <usize>load<u32>(column, L.columnData);
  if (items >= room) {
    data = moved(data, width * <usize>items, 2 * width * <usize>room);
    store<u32>(column, <u32>data, L.columnData);
    store<u32>(column, 2 * room, columnRoom);
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
