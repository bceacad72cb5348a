// Fields that have the values of both ends, each once.
import * as L from "../layout";
import { valueEnd } from "./field-end";
import { copy } from "./values";

const quote: u8 = 0x22;
const comma: u8 = 0x2c;
const opened: u8 = 0x5b;
const closed: u8 = 0x5d;
const backslash: u8 = 0x5c;

/** A bit for each field to be joined, at the position of its number. */
export let wantedJoins: u32 = 0;
/** The same for those of which the line has values. */
let keptJoins: u32 = 0;

/** Begins a line. @param joined a bit for each field to be joined, at the position of its number. */
@inline
export function beginJoins(joined: u32): void {
  wantedJoins = joined;
  keptJoins = 0;
}

/** Which of the fields that are joined a name is; 0 for none. The name ends with its quote. */
@inline
export function joinOf(name: usize): u32 {
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
export function keepJoin(join: u32, isSource: bool, name: usize, last: usize): void {
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
  if (load<u8>(value) != opened) return addElement(p, from, value, <i32>(end - value));
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
  return first != 0 && second != 0 && load<u8>(first) != opened && load<u8>(second) != opened;
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
  store<u8>(p, closed);
  return p + 1;
}

export function writeJoins(p: usize): usize {
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
    store<u8>(p, closed);
    p++;
  }
  return p;
}
