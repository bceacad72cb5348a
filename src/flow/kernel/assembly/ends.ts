import { quote, openingBracket, closingBracket, backslash, comma, copy, copyPair } from "./values";
import * as L from "../layout.gen";
import {
  fieldMask,
  fieldsBytes,
  fieldShift,
  maxKeptFields,
  textHead,
  tooManyFields,
} from "../../../record/address-layout";
import { isAnywhere, keepsFields, notedEnd } from "./memory";

// Where values and fields of a line end.

/** The closing quote of a text from a place within it on. */
@inline
function closingQuote(at: usize): usize {
  while (true) {
    const chunk = v128.load(at);
    const found = i8x16.bitmask(v128.or(i8x16.eq(chunk, i8x16.splat(0x22)), i8x16.eq(chunk, i8x16.splat(0x5c))));
    if (found == 0) {
      at += 16;
      continue;
    }
    at += ctz(found);
    if (load<u8>(at) != backslash) return at;
    at += 2;
  }
  return at;
}

/** Where a value ends; one that is the last of the line ends at `to`. */
function valueEnd(at: usize, to: usize): usize {
  const first = load<u8>(at);
  if (first == quote) return closingQuote(at + 1) + 1;
  if (first == openingBracket) {
    at++;
    while (load<u8>(at) != closingBracket) at = load<u8>(at) == quote ? closingQuote(at + 1) + 1 : at + 1;
    return at + 1;
  }
  while (at < to) {
    const found = i8x16.bitmask(
      v128.or(i8x16.eq(v128.load(at), i8x16.splat(0x2c)), i8x16.eq(v128.load(at), i8x16.splat(0x5d))),
    );
    if (found != 0) {
      at += ctz(found);
      break;
    }
    at += 16;
  }
  return at < to ? at : to;
}

/** Where the field ends of which the name goes on at a place: name and value lie within 32 bytes, or are looked for one by one. */
@inline
function fieldEnd(name: usize, to: usize): usize {
  const first = v128.load(name);
  const second = v128.load(name, 16);
  const quotes =
    <u32>i8x16.bitmask(i8x16.eq(first, i8x16.splat(0x22))) |
    (<u32>i8x16.bitmask(i8x16.eq(second, i8x16.splat(0x22))) << 16);
  const backslashes = v128.or(i8x16.eq(first, i8x16.splat(0x5c)), i8x16.eq(second, i8x16.splat(0x5c)));
  if (quotes == 0 || v128.any_true(backslashes)) return valueEnd(closingQuote(name) + 2, to);
  const value = name + ctz(quotes) + 2;
  const start = load<u8>(value);
  if (start == quote) {
    // Behind the name's quote and the one that opens the value.
    const rest = quotes & (quotes - 1);
    const closing = rest & (rest - 1);
    return closing != 0 ? name + ctz(closing) + 1 : valueEnd(value, to);
  }
  const offset = <u32>(value - name);
  if (start == openingBracket || offset >= 32) return valueEnd(value, to);
  const commas =
    <u32>i8x16.bitmask(i8x16.eq(first, i8x16.splat(0x2c))) |
    (<u32>i8x16.bitmask(i8x16.eq(second, i8x16.splat(0x2c))) << 16);
  const behind = commas & (u32.MAX_VALUE << offset);
  return behind != 0 ? min(name + ctz(behind), to) : valueEnd(value, to);
}

// Fields that have the values of both ends, each once.

/** A bit for each field to be joined, at the position of its number. */
let wantedJoins: u32 = 0;
/** The same for those of which the line has values. */
let keptJoins: u32 = 0;

/** Begins a line. @param joined a bit for each field to be joined, at the position of its number. */
@inline
function beginJoins(joined: u32): void {
  wantedJoins = joined;
  keptJoins = 0;
}

/** Which of the fields that are joined a name is; 0 for none. The name ends with its quote. */
@inline
function joinOf(name: usize): u32 {
  const first = load<u64>(name);
  // as.label, geo.city.name, geo.country.name, ip.subnet.tags, sec.threat.name
  if (first == 0x6c6562616c2e7361) return load<u8>(name, 8) == quote ? L.joinOfLabel : 0;
  if (first == 0x797469632e6f6567) return load<u32>(name, 8) == 0x6d616e2e && load<u16>(name, 12) == 0x2265 ? L.joinOfCity : 0;
  if (first == 0x6e756f632e6f6567) return load<u64>(name, 8) == 0x656d616e2e797274 && load<u8>(name, 16) == quote ? L.joinOfCountry : 0;
  if (first == 0x656e6275732e7069) return load<u64>(name, 8) << 8 == 0x22736761742e7400 ? L.joinOfTags : 0;
  if (first == 0x657268742e636573) return load<u64>(name, 8) == 0x22656d616e2e7461 ? L.joinOfThreat : 0;
  return 0;
}

/** Bytes of the names of fields that are joined, a byte each, by their numbers. */
const joinNameBytes: u64 = 0x0f_0e_10_0d_08_00;

/** Where the values of a joined field are in the line: those of the source, then those of the destination. */
@inline
function joinPlace(join: u32, isSource: bool): usize {
  return L.joinPlaces + 16 * <usize>(join - 1) + (isSource ? 0 : 8);
}

/** Keeps the value of a field that is joined. @param name where its name goes on, @param last behind the value. */
@inline
function keepJoin(join: u32, isSource: bool, name: usize, last: usize): void {
  const bit: u32 = (<u32>1) << join;
  if ((keptJoins & bit) == 0) v128.store(joinPlace(join, true), i64x2.splat(0));
  keptJoins |= bit;
  const place = joinPlace(join, isSource);
  store<u32>(place, <u32>name + <u32>((joinNameBytes >>> (8 * join)) & 0xff) + 2);
  store<u32>(place, <u32>last, 4);
}

/** Whether two values of a length are the same. */
@inline
function isSame(a: usize, b: usize, length: i32): bool {
  if (length >= 16) {
    do {
      if (!i8x16.all_true(i8x16.eq(v128.load(a), v128.load(b)))) return false;
      a += 16;
      b += 16;
    } while ((length -= 16) >= 16);
  }
  const differ = i8x16.bitmask(i8x16.ne(v128.load(a), v128.load(b)));
  return (differ & ((1 << length) - 1)) == 0;
}

/** How many elements the array under way has. */
let elements: i32 = 0;

/** Whether an element is among those of the array under way, from `from` to `p`. */
@inline
function hasElement(from: usize, p: usize, element: usize, length: i32): bool {
  const end: usize = L.joinedElements + 8 * <usize>min(elements, L.maxJoined);
  for (let at: usize = L.joinedElements; at < end; at += 8) {
    if (load<i32>(at, 4) == length && isSame(load<u32>(at), element, length)) return true;
  }
  return elements > L.maxJoined && hasLater(from, p, element, length);
}

/** The same for those that there was no room to keep. */
function hasLater(from: usize, p: usize, element: usize, length: i32): bool {
  for (let at = from; at < p; ) {
    const next = valueEnd(at, p);
    if (<i32>(next - at) == length && isSame(at, element, length)) return true;
    at = next + 1;
  }
  return false;
}

/** Adds a value to the array under way from `from` to `p`, unless it has it. */
@inline
function addElement(p: usize, from: usize, at: usize, length: i32): usize {
  if (hasElement(from, p, at, length)) return p;
  if (elements < L.maxJoined) {
    const kept: usize = L.joinedElements + 8 * elements;
    store<u32>(kept, <u32>at);
    store<i32>(kept, length, 4);
  }
  if (elements++ > 0) store<u8>(p++, comma);
  copy(p, at, length);
  return p + length;
}

/** A bit for each of 64 bytes: whether it is the character. */
@inline
function bitsOf(at: usize, character: u8): u64 {
  const wanted = i8x16.splat(character);
  return (
    <u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at), wanted))) |
    (<u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at, 16), wanted))) << 16) |
    (<u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at, 32), wanted))) << 32) |
    (<u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at, 48), wanted))) << 48)
  );
}

/** Adds a value, or those of an array, to the array under way from `from` to `p`, each once. */
function addElements(p: usize, from: usize, value: usize, end: usize): usize {
  if (load<u8>(value) != openingBracket) return addElement(p, from, value, <i32>(end - value));
  let at = value + 1;
  const last = end - 1;
  // Texts without escapes in a short array are between their quotes.
  const length = <i64>(end - value);
  const within = length > 64 ? 0 : u64.MAX_VALUE >>> (64 - length);
  if ((bitsOf(value, backslash) & within) == 0) {
    let quotes = bitsOf(value, quote) & within;
    while (quotes != 0 && value + <usize>ctz(quotes) == at) {
      quotes &= quotes - 1;
      const next = value + <usize>ctz(quotes) + 1;
      quotes &= quotes - 1;
      p = addElement(p, from, at, <i32>(next - at));
      at = next + 1;
    }
  }
  while (at < last) {
    const next = valueEnd(at, last);
    p = addElement(p, from, at, <i32>(next - at));
    at = next + 1;
  }
  return p;
}

/** Whether both ends have a value that is no array. */
@inline
function areSingle(source: usize, destination: usize): bool {
  const first = <usize>load<u32>(source);
  const second = <usize>load<u32>(destination);
  return first != 0 && second != 0 && load<u8>(first) != openingBracket && load<u8>(second) != openingBracket;
}

/** Writes two such values, once if they are the same, and closes the array. */
@inline
function writeBoth(p: usize, source: usize, destination: usize): usize {
  const first = <usize>load<u32>(source);
  const second = <usize>load<u32>(destination);
  const length = <i32>(<usize>load<u32>(source, 4) - first);
  const other = <i32>(<usize>load<u32>(destination, 4) - second);
  copy(p, first, length);
  p += length;
  if (length != other || !isSame(first, second, length)) {
    store<u8>(p++, comma);
    copy(p, second, other);
    p += other;
  }
  store<u8>(p, closingBracket);
  return p + 1;
}

function writeJoins(p: usize): usize {
  for (let rest = keptJoins; rest != 0; rest &= rest - 1) {
    const join = ctz(rest);
    const source = joinPlace(join, true);
    const destination = joinPlace(join, false);
    const text: usize = L.joinTexts + L.textBytes * <usize>(join - 1);
    const length = load<u8>(text, L.textLength);
    copy(p, text, length);
    p += length;
    if (areSingle(source, destination)) {
      p = writeBoth(p, source, destination);
      continue;
    }
    const from = p;
    elements = 0;
    if (load<u32>(source) != 0) p = addElements(p, from, load<u32>(source), load<u32>(source, 4));
    if (load<u32>(destination) != 0) p = addElements(p, from, load<u32>(destination), load<u32>(destination, 4));
    store<u8>(p, closingBracket);
    p++;
  }
  return p;
}

// Says what a line says of source and destination also of client and server, and what it says of both in one field: as
// src/flow/line/flow-ends.ts does it. Fields of both ends are noted when they are written; only chunks of a line that came as
// they are get a second look.

/** `,"flow.src.` and `,"flow.dst.`, of which the dots are 6 and 10 bytes behind the comma. */
const nameStart: u64 = 0x2e776f6c66222c;
const nameStartMask: u64 = 0xffffffffffffff;
const ofSource: u32 = 0x2e637273;
const ofDestination: u32 = 0x2e747364;
const prefixBytes = 11;
/** `,"` */
const fieldStart: u16 = 0x222c;
/** `,"flow.client.` and `,"flow.server.` */
const endPrefixBytes = 14;

/** Where the other names of the ends are, 0 for none. */
let sourcePrefix: usize = 0;
let destinationPrefix: usize = 0;

/** Writes a field of an end with the other name of the end, and keeps the place of one that is joined. */
@inline
function repeat(p: usize, isSource: bool, join: u32, name: usize, last: usize): usize {
  if (join != 0 && (wantedJoins & (1 << join)) != 0) keepJoin(join, isSource, name, last);
  const prefix = isSource ? sourcePrefix : destinationPrefix;
  if (prefix == 0) return p;
  v128.store(p, v128.load(prefix));
  p += endPrefixBytes;
  const rest = <i32>(last - name);
  copyPair(p, name, rest);
  return p + rest;
}

/** The same for the fields of a chunk of the line. */
function repeatChunk(p: usize, from: usize, to: usize): usize {
  const dot = i8x16.splat(0x2e);
  for (let at = from; at < to; at += 32) {
    let found =
      <u32>i8x16.bitmask(v128.and(i8x16.eq(v128.load(at, 6), dot), i8x16.eq(v128.load(at, 10), dot))) |
      (<u32>i8x16.bitmask(v128.and(i8x16.eq(v128.load(at, 22), dot), i8x16.eq(v128.load(at, 26), dot))) << 16);
    for (; found != 0; found &= found - 1) {
      const field = at + ctz(found);
      const end = load<u32>(field, 7);
      const isSource = end == ofSource;
      if (!isSource && end != ofDestination) continue;
      if ((load<u64>(field) & nameStartMask) != nameStart || field >= to) continue;
      const name = field + prefixBytes;
      const join = wantedJoins == 0 ? 0 : joinOf(name);
      if (sourcePrefix == 0 && join == 0) continue;
      p = repeat(p, isSource, join, name, fieldEnd(name, to));
    }
  }
  return p;
}

const ofEnd: u32 = 1;
const codeJoinShift = 1;

/** Keeps in front of the text of an address where its fields begin. @returns how many there are, or that they are too many. */
function lookThrough(text: usize, total: i32, isSource: bool): i32 {
  const codes = text - textHead - fieldsBytes;
  const end = text + total;
  const ofObject = isSource ? ofSource : ofDestination;
  let count: i32 = 0;
  for (let at = text; at < end; count++) {
    if (count == maxKeptFields || at - text > <usize>fieldMask || load<u16>(at) != fieldStart) {
      count = tooManyFields;
      break;
    }
    const isOfEnd = (load<u64>(at) & nameStartMask) == nameStart && load<u32>(at, 7) == ofObject;
    const name = isOfEnd ? at + prefixBytes : at + 2;
    const flags = isOfEnd ? ofEnd | (joinOf(name) << codeJoinShift) : 0;
    store<u16>(codes + 2 * count, <u16>((<u32>(at - text)) | (flags << fieldShift)), 2);
    at = fieldEnd(name, end);
  }
  return count;
}

/** The same for the parts of a text of an address that the line has. */
function repeatText(p: usize, noted: usize, isSource: bool): usize {
  const text = <usize>load<u32>(noted);
  const first = <u32>load<u16>(noted, L.notedEnd);
  const second = <u32>load<u16>(noted, L.notedEnd + 2);
  const total = load<u32>(noted, L.notedTotal);
  let at = text - textHead - fieldsBytes;
  let count = keepsFields() ? <i32>load<u16>(at) : tooManyFields;
  if (count == 0) {
    count = lookThrough(text, total, isSource);
    store<u16>(at, <u16>count);
  }
  if (count == tooManyFields) {
    p = repeatChunk(p, text, text + first);
    return second < total ? repeatChunk(p, text + second, text + total) : p;
  }
  let code = <u32>load<u16>(at, 2);
  for (let i = 1; i <= count; i++) {
    at += 2;
    const next = i < count ? <u32>load<u16>(at, 2) : total;
    const offset = code & fieldMask;
    if ((code & (ofEnd << fieldShift)) != 0 && (offset < first || offset >= second)) {
      const end = i < count ? next & fieldMask : total;
      p = repeat(p, isSource, code >>> (fieldShift + codeJoinShift), text + offset + prefixBytes, text + end);
    }
    code = next;
  }
  return p;
}

/**
 * Adds to the line from `from` to `p` what follows from its fields below `flow.src` and `flow.dst`.
 *
 * @param role which is the client; 0: neither has another name.
 * @param joined a bit for each field to be joined, at the position of its number.
 */
export function completeEnds(p: usize, from: usize, role: i32, joined: u32): usize {
  const to = p;
  beginJoins(joined);
  sourcePrefix = role == 0 ? 0 : L.endPrefixes + (role == L.sourceIsClient ? 0 : 16);
  destinationPrefix = role == 0 ? 0 : L.endPrefixes + (role == L.sourceIsClient ? 16 : 0);
  if (isAnywhere) p = repeatChunk(p, from, to);
  else {
    for (let at: usize = L.notedFields; at < notedEnd; at += L.notedBytes) {
      const mark = load<u32>(at, L.notedMark);
      const first = <usize>load<u32>(at);
      const last = <usize>load<u32>(at, L.notedEnd);
      const isSource = (mark & L.markSource) != 0;
      if ((mark & L.markChunk) == 0) p = repeat(p, isSource, mark >>> L.markJoinShift, first, last);
      else if ((mark & L.markText) == L.markText) p = repeatText(p, at, isSource);
      else p = repeatChunk(p, first, last);
    }
  }
  return wantedJoins == 0 ? p : writeJoins(p);
}
