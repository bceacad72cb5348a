// The dictionary of a batch: its texts one behind the other, where each begins, and a table that finds them.
import { allocate, areSame, maskOf, moved } from "./memory";
import { quote } from "./scan";

const slotBytes: usize = 16;
/** More places of the table than these are not looked at: texts of one hash, which somebody may choose, cost no more. */
const maxProbes = 32;

/** Texts that there are; the first one is the empty text. */
export let textCount: u32 = 0;
/** Where the texts are, and where the last one ends. */
export let textBytes: usize = 0;
export let textEnd: usize = 0;
export let textOffsets: usize = 0;
/** The code of the text that followed each text last, in a line or an array; 0: it is not known. */
let followers: usize = 0;
/** The code of the text before the one at hand, 0 where a line begins. */
let textBefore: u32 = 0;
let byteRoom: usize = 1 << 16;
let offsetRoom: u32 = 1 << 12;
/** Generation, hash, code and length of a text each; those of an older generation are free. */
let slots: usize = 0;
let slotMask: u32 = (1 << 13) - 1;
let slotsUsed: u32 = 0;
let generation: u32 = 0;
let seed: u64 = 0;

export function beginTexts(random: u32): void {
  seed = <u64>random * 0x9e37_79b9_7f4a_7c15;
  textBytes = allocate(byteRoom);
  textOffsets = allocate(4 * <usize>offsetRoom);
  followers = allocate(4 * <usize>offsetRoom);
  slots = allocate(slotBytes * <usize>(slotMask + 1));
  clearTexts();
}

export function clearTexts(): void {
  memory.fill(followers, 0, 4 * <usize>textCount);
  textEnd = textBytes;
  // Zeros of the empty text, its end.
  store<u64>(textOffsets, 0);
  textCount = 1;
  slotsUsed = 0;
  generation++;
  if (generation != 0) return;
  memory.fill(slots, 0, slotBytes * <usize>(slotMask + 1));
  generation = 1;
}

/** Makes room for so many bytes more. */
@inline
export function reserveText(bytes: usize): void {
  if (textEnd + bytes > textBytes + byteRoom) growTexts(bytes);
}

function growTexts(bytes: usize): void {
  const used = textEnd - textBytes;
  while (byteRoom < used + bytes) byteRoom *= 2;
  textBytes = moved(textBytes, used, byteRoom);
  textEnd = textBytes + used;
}

/** Makes a text of what was written from `textEnd` on, for which room was reserved. @returns its code. */
export function endText(length: usize): u32 {
  if (textCount + 1 >= offsetRoom) {
    textOffsets = moved(textOffsets, 4 * <usize>(textCount + 1), 8 * <usize>offsetRoom);
    followers = moved(followers, 4 * <usize>textCount, 8 * <usize>offsetRoom);
    offsetRoom *= 2;
  }
  textEnd += length;
  store<u32>(textOffsets + 4 * <usize>(textCount + 1), <u32>(textEnd - textBytes));
  return textCount++;
}

/** Adds a text without looking for it. */
export function appendText(at: usize, length: usize): u32 {
  if (length == 0) return 0;
  reserveText(length);
  memory.copy(textEnd, at, length);
  return endText(length);
}

/** Begins a line. */
@inline
export function beginFollowing(): void {
  textBefore = 0;
}

/** Whether the text that followed the one before last stands at `from`, with its quote. It is `textBefore` then, and has no escapes. */
@inline
export function expectedCode(from: usize, end: usize): u32 {
  const code = load<u32>(followers + 4 * <usize>textBefore);
  if (code == 0) return 0;
  const begin = load<u32>(textOffsets + 4 * <usize>code);
  const length = <usize>(load<u32>(textOffsets + 4 * <usize>code, 4) - begin);
  if (from + length >= end || load<u8>(from + length) != quote) return 0;
  if (!areSame(from, textBytes + <usize>begin, length)) return 0;
  textBefore = code;
  return code;
}

/** The code of a text without escapes, which will be expected behind the text before. */
export function followingCode(at: usize, length: usize): u32 {
  const code = codeOf(at, length);
  store<u32>(followers + 4 * <usize>textBefore, code);
  textBefore = code;
  return code;
}

@inline
function mix(hash: u64, word: u64): u64 {
  const product = (hash ^ word) * 0x9fb2_1c65_1e98_df25;
  return product ^ (product >>> 32);
}

function hashOf(at: usize, length: usize): u32 {
  let hash = seed ^ (<u64>length * 0xff51_afd7_ed55_8ccd);
  let i: usize = 0;
  for (; i + 16 < length; i += 16) hash = mix(mix(hash, load<u64>(at + i)), load<u64>(at + i, 8));
  const last = v128.and(v128.load(at + i), maskOf(length - i));
  hash = mix(mix(hash, i64x2.extract_lane(last, 0)), i64x2.extract_lane(last, 1));
  return <u32>(hash ^ (hash >>> 29));
}

/** The code of a text, which is added when it is new. It may stand at `textEnd` already. */
export function codeOf(at: usize, length: usize): u32 {
  if (length == 0) return 0;
  const hash = hashOf(at, length);
  let place = hash & slotMask;
  for (let i = 0; i < maxProbes; i++) {
    const slot = slots + slotBytes * <usize>place;
    if (load<u32>(slot) != generation) return addText(slot, hash, at, length);
    if (load<u32>(slot, 4) == hash && load<u32>(slot, 12) == <u32>length) {
      const code = load<u32>(slot, 8);
      if (areSame(textBytes + <usize>load<u32>(textOffsets + 4 * <usize>code), at, length)) return code;
    }
    place = (place + 1) & slotMask;
  }
  return addBytes(at, length);
}

function addBytes(at: usize, length: usize): u32 {
  if (at == textEnd) return endText(length);
  return appendText(at, length);
}

function addText(slot: usize, hash: u32, at: usize, length: usize): u32 {
  const code = addBytes(at, length);
  putSlot(slot, hash, code, <u32>length);
  if (++slotsUsed > slotMask >>> 1) growSlots();
  return code;
}

@inline
function putSlot(slot: usize, hash: u32, code: u32, length: u32): void {
  store<u32>(slot, generation);
  store<u32>(slot, hash, 4);
  store<u32>(slot, code, 8);
  store<u32>(slot, length, 12);
}

function growSlots(): void {
  const old = slots;
  const oldEnd = slots + slotBytes * <usize>(slotMask + 1);
  slotMask = 2 * slotMask + 1;
  slots = allocate(slotBytes * <usize>(slotMask + 1));
  for (let from = old; from < oldEnd; from += slotBytes) {
    if (load<u32>(from) != generation) continue;
    let place = load<u32>(from, 4) & slotMask;
    while (load<u32>(slots + slotBytes * <usize>place) == generation) place = (place + 1) & slotMask;
    v128.store(slots + slotBytes * <usize>place, v128.load(from));
  }
}
