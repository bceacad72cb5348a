// Writes messages of Protocol Buffers of columns. The memory begins with what the other side puts there for some rows; behind it the messages
// lie one behind the other.
import * as L from "../part-layout";

/** The most bytes of a length. */
const lengthBytes: usize = 5;
/** The most bytes of a value that is no text, with its tag. */
const mostBytes: usize = 19;
/** Bytes are copied by sixteen: some behind a text are read, and some behind a copy overwritten. */
const chunkBytes: usize = 16;
/** From here on the engine copies faster. */
const longCopy: usize = 256;
/** The third word of an IPv4 address, `::ffff:0:0`. */
const mappedWord: u32 = 0xffff_0000;

/** Where the other side puts what is to be written, and how many bytes fit. */
export let input: usize = (__heap_base + 15) & ~15;
export let inputRoom: usize = 1 << 16;
/** Where the messages begin and end. */
export let messages: usize = input + inputRoom;
export let end: usize = messages;
/** Numbers that were left out because they are too large. */
export let leftOut: u32 = 0;
/** Bytes of a row, at most, without texts, lists and entries. */
let rowRoom: usize = 0;
let texts: usize = 0;
let textOffsets: usize = 0;
let limit: usize = <usize>memory.size() << 16;

/** Forgets what was written. */
export function begin(): void {
  end = messages;
  leftOut = 0;
}

/** Makes room for so many bytes of input; the messages move. */
export function reserveInput(bytes: usize): void {
  if (bytes <= inputRoom) return;
  const more = ((2 * bytes + 15) & ~15) - inputRoom;
  growTo(end + more);
  memory.copy(messages + more, messages, end - messages);
  inputRoom += more;
  messages += more;
  end += more;
}

function growTo(bytes: usize): void {
  if (bytes <= limit) return;
  const missing = <i32>((bytes - limit + 0xffff) >>> 16);
  // Each step costs the engine time.
  if (memory.grow(missing + (memory.size() >>> 1)) < 0 && memory.grow(missing) < 0) unreachable();
  limit = <usize>memory.size() << 16;
}

/** Makes room for so many bytes and those of a row. */
@inline
function reserve(at: usize, bytes: usize): void {
  // Beyond 4 GiB offsets wrap.
  if (at + bytes + rowRoom < at) unreachable();
  if (at + bytes + rowRoom > limit) growTo(at + bytes + rowRoom);
}

/** Takes the texts of the codes. */
export function useTexts(bytes: usize, offsets: usize): void {
  texts = bytes;
  textOffsets = offsets;
}

/**
 * Writes the keys and messages of rows.
 *
 * @param parts their descriptors. @param isDelimited 1: each message has its length before it. @param keyEnds where the key of each row begins
 *   in `keys`, and the last ends. @param places of the rows, which are written.
 */
export function writeRows(
  parts: usize,
  count: u32,
  rows: u32,
  isDelimited: i32,
  keys: usize,
  keyEnds: usize,
  places: usize,
): void {
  const last = parts + L.partBytes * <usize>count;
  rowRoom = mostBytes * <usize>count + lengthBytes + 2 * chunkBytes;
  let at = end;
  let place = places;
  for (let row: u32 = 0; row < rows; row++, place += L.placeBytes) {
    const key = <usize>load<u32>(keyEnds + 4 * <usize>row);
    store<u32>(place, <u32>(at - messages), L.placeKey);
    at = copied(keys + key, <usize>load<u32>(keyEnds + 4 * <usize>row, 4) - key, at);
    reserve(at, 0);
    if (isDelimited != 0) at += lengthBytes;
    const start = at;
    for (let part = parts; part < last; part += L.partBytes) at = writePart(part, row, at);
    const from = isDelimited != 0 ? putLength(start, at - start) : start;
    store<u32>(place, <u32>(from - messages), L.placeFrom);
    store<u32>(place, <u32>(at - messages), L.placeTo);
  }
  end = at;
}

/** Writes a length before what it is of. @returns where it begins. */
function putLength(start: usize, length: usize): usize {
  let size: usize = 1;
  for (let rest = length; rest > 0x7f; rest >>>= 7) size++;
  putVarint(start - size, length);
  return start - size;
}

/** Copies bytes, for which it makes room. @returns where the copy ends. */
@inline
function copied(source: usize, length: usize, at: usize): usize {
  reserve(at, length);
  if (length > longCopy) memory.copy(at, source, length);
  else for (let i: usize = 0; i < length; i += chunkBytes) v128.store(at + i, v128.load(source + i));
  return at + length;
}

@inline
function putTag(part: usize, at: usize): usize {
  store<u16>(at, load<u16>(part, L.partTag));
  return at + <usize>load<u32>(part, L.partTagLength);
}

@inline
function putVarint(at: usize, value: u64): usize {
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) store<u8>(at++, <u8>rest | 0x80);
  store<u8>(at, <u8>rest);
  return at + 1;
}

@inline
function writePart(part: usize, row: u32, at: usize): usize {
  const presence = <usize>load<u32>(part, L.partPresence);
  if (presence != 0 && ((<u32>load<u8>(presence + <usize>(row >>> 3)) >>> (row & 7)) & 1) == 0) return at;
  const form = load<i32>(part, L.partForm);
  const words = <usize>load<u32>(part, L.partWords);
  const offsets = <usize>load<u32>(part, L.partOffsets);
  if (offsets != 0) return writeList(part, form, words, offsets + 4 * <usize>row, at);
  if (form == L.wholeForm) {
    const value = load<u64>(words + 8 * <usize>row);
    if (<u32>(value >>> 32) > load<u32>(part, L.partMostHigh)) {
      leftOut++;
      return at;
    }
    if (value == 0 && load<u32>(part, L.partHasZeros) == 0) return at;
    return putVarint(putTag(part, at), value);
  }
  if (form == L.entriesForm) {
    const from = <usize>load<u32>(words + 4 * <usize>row);
    const octets = <usize>load<u32>(part, L.partOctets);
    return copied(octets + from, <usize>load<u32>(words + 4 * <usize>row, 4) - from, at);
  }
  return writeItem(part, form, words, row, putTag(part, at));
}

/** Writes a value behind its tag. */
@inline
function writeItem(part: usize, form: i32, words: usize, index: u32, at: usize): usize {
  if (form == L.textForm) return putText(load<u32>(words + 4 * <usize>index), at);
  if (form == L.addressForm) return putAddress(words + 16 * <usize>index, at);
  if (form == L.booleanForm) {
    store<u8>(at, load<u8>(<usize>load<u32>(part, L.partOctets) + <usize>index));
    return at + 1;
  }
  const value = load<u64>(words + 8 * <usize>index);
  if (form == L.wholeForm) return putVarint(at, value);
  store<u64>(at, value);
  return at + 8;
}

/** Writes the length of a text and its bytes. */
@inline
function putText(code: u32, at: usize): usize {
  const from = <usize>load<u32>(textOffsets + 4 * <usize>code);
  const length = <usize>load<u32>(textOffsets + 4 * <usize>code, 4) - from;
  return copied(texts + from, length, putVarint(at, length));
}

/** Writes the 4 or 16 bytes of an address behind their count. */
@inline
function putAddress(from: usize, at: usize): usize {
  if (load<u64>(from) == 0 && load<u32>(from, 8) == mappedWord) {
    store<u8>(at, 4);
    store<u32>(at + 1, load<u32>(from, 12));
    return at + 5;
  }
  store<u8>(at, 16);
  v128.store(at + 1, v128.load(from));
  return at + 17;
}

/** Writes the items of a list: texts and addresses with a tag each, numbers together behind one. */
function writeList(part: usize, form: i32, words: usize, offsets: usize, from: usize): usize {
  const first = load<u32>(offsets);
  const last = load<u32>(offsets, 4);
  let at = from;
  if (first == last) return copied(<usize>load<u32>(part, L.partEmpty), <usize>load<u32>(part, L.partEmptyLength), at);
  if (form == L.textForm || form == L.addressForm) {
    for (let i = first; i < last; i++) {
      reserve(at, 0);
      at = writeItem(part, form, words, i, putTag(part, at));
    }
    // For what follows in the row.
    reserve(at, 0);
    return at;
  }
  reserve(at, mostBytes * <usize>(last - first));
  const start = putTag(part, at);
  const begin = start + lengthBytes;
  at = begin;
  for (let i = first; i < last; i++) at = writeItem(part, form, words, i, at);
  const behind = putVarint(start, at - begin);
  memory.copy(behind, begin, at - begin);
  return behind + at - begin;
}
