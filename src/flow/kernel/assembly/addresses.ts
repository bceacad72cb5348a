import {
  controlArena,
  controlMask,
  controlNow,
  controlSlots,
  controlTag,
  fieldsBytes,
  maxProbes,
  keyMask,
  slotBytes,
  slotExpires,
  slotStart,
  slotTag,
  textHead,
  listedBytes,
  controlFinish,
  controlHasFinish,
  controlHits,
  controlIsOn,
  controlMatches,
  headNumberLength,
  headOrganisationLength,
  headSystem,
  lengthMask,
  localityMask,
  localityShift,
  metadataBit,
  slotLengths,
  systemBit,
  withVlanShift,
} from "../../../record/address-layout";
import {
  hashes,
  maxPrefetched,
  filterKeeps,
  filterStart,
  missingAddresses,
  destinationAsSlot,
  destinationLabelText,
  isAbsent,
  joinOfLabel,
  markDestination,
  markJoinShift,
  markSource,
  sourceAsSlot,
  sourceLabelText,
} from "../layout.gen";
import { beginScopes, placeOf } from "./scopes";
import { keepsFields, locateAll, moveNoted, note, noteText, locate, placeOfNumber, setPlace, slot } from "./memory";
import { moveDigest } from "./community-id";
import { copy, maxSafe, putText, writeUint32, writeUint64 } from "./values";

// Searches the table of addresses, as src/enrich/address/address-table.ts does, in the same memory.

/** The place of the table's control block; 0 for none. */
let control: usize = 0;

@inline
function setControl(at: usize): void {
  control = at;
}

@inline
function hashOf(place: i32, a: u32, b: u32, c: u32, d: u32): u32 {
  const mixed = (d ^ (c * 0x2c1b3c6d) ^ (b * 0x297a2d39) ^ (a * 0x1b873593)) * 0x9e3779b1;
  const hash = (mixed ^ (mixed >>> 15) ^ place) * 0x85ebca6b;
  return hash ^ (hash >>> 13);
}

@inline
function hashAt(place: i32, at: usize, isIpv6: bool): u32 {
  return isIpv6
    ? hashOf(place, word(at), word(at + 4), word(at + 8), word(at + 12))
    : hashOf(place, 0, 0, 0xffff, word(at));
}

@inline
function word(at: usize): u32 {
  return bswap(load<u32>(at));
}

/** Where the hashes of the addresses of an object are that are prefetched together. */
@inline
function hashesOf(object: i32): usize {
  return hashes + 4 * maxPrefetched * object;
}

/** Makes the hashes of several addresses, at most {@link maxPrefetched}, which are going to be looked up. */
export function hashSlots(object: i32, at: usize, isIpv6: bool, stride: i32, count: i32): void {
  const kept = hashesOf(object);
  const place = placeOf(object);
  for (let i = 0; i < count; i++, at += stride) store<u32>(kept + 4 * i, hashAt(place, at, isIpv6));
}

/** The same of one address, at a position below {@link maxPrefetched}. */
@inline
export function hashSlot(object: i32, at: usize, isIpv6: bool, position: i32): void {
  store<u32>(hashesOf(object) + 4 * position, hashAt(placeOf(object), at, isIpv6));
}

@inline
function startOf(slots: usize, mask: u32, hash: usize): u32 {
  return load<u32>(slots + slotBytes * (load<u32>(hash) & mask), slotStart);
}

/**
 * Asks for the memory of the slots of as many addresses at once. Nothing else is done in between: a processor waits for several places together
 * only if they are a few hundred instructions apart.
 */
export function prefetchSlots(object: i32, count: i32): u32 {
  const slots = load<u32>(control, controlSlots);
  const mask = load<u32>(control, controlMask);
  let at = hashesOf(object);
  const end = at + 4 * count;
  let sum: u32 = 0;
  for (; at + 16 <= end; at += 16) {
    sum += startOf(slots, mask, at) + startOf(slots, mask, at + 4);
    sum += startOf(slots, mask, at + 8) + startOf(slots, mask, at + 12);
  }
  for (; at < end; at += 4) sum += startOf(slots, mask, at);
  return sum;
}

/** And for their texts, with what stands directly in front of them where that is used. */
export function prefetchTexts(object: i32, count: i32): u32 {
  const slots = load<u32>(control, controlSlots);
  const mask = load<u32>(control, controlMask);
  const kept = hashesOf(object);
  const arena = load<u32>(control, controlArena);
  const before: usize = keepsFields() ? textHead + fieldsBytes : 0;
  let sum: u32 = 0;
  for (let i = 0; i < count; i++) {
    const text = arena + startOf(slots, mask, kept + 4 * i);
    sum += load<u8>(text - before) + load<u8>(text) + load<u8>(text, 64) + load<u8>(text, 128);
  }
  return sum;
}

/** The slot of an address, right at the time; 0 when it is not in the table. */
@inline
function search(place: i32, a: u32, b: u32, c: u32, d: u32): usize {
  const slots = load<u32>(control, controlSlots);
  const mask = load<u32>(control, controlMask);
  let home = hashOf(place, a, b, c, d);
  for (let probe = 0; probe < maxProbes; probe++, home++) {
    const at: usize = slots + slotBytes * (home & mask);
    const tag = load<i32>(at, slotTag);
    if (tag == 0) return 0;
    if (load<u32>(at, 12) != d || (tag & keyMask) != place + 1) continue;
    if (load<u32>(at, 8) != c || load<u32>(at, 4) != b || load<u32>(at) != a) continue;
    const isFresh = load<i32>(control, controlNow) < load<i32>(at, slotExpires);
    return isFresh && (tag & ~keyMask) == load<i32>(control, controlTag) ? at : 0;
  }
  return 0;
}

// Addresses that the table lacks, looked up together before the records of their set.

let missingEnd: usize = 0;
/** Addresses of the set under way that were not in the table. */
let missed: i32 = 0;
/** Addresses that were looked up before their records. */
let made: i32 = 0;
/** In how many sets missing addresses are still looked for. */
let setsAhead: i32 = 0;
const manyMissed = 4;
const maxSetsAhead = 4;

/**
 * Whether missing addresses are to be looked for before their records, so that they are looked up together. Nearly all sets have none, and
 * looking costs a twentieth of such records: so it is done behind sets that missed many. A filter may drop records before anything is asked
 * about their addresses.
 */
export function listsMissing(): bool {
  if (missed >= manyMissed) setsAhead = maxSetsAhead;
  missed = 0;
  if (setsAhead == 0) return false;
  setsAhead--;
  missingEnd = missingAddresses;
  return load<u32>(filterStart) == filterKeeps;
}

/** Lists an address if it is not in the table. */
export function listMissing(object: i32, address: usize, isIpv6: bool): void {
  const a = isIpv6 ? word(address) : 0;
  const b = isIpv6 ? word(address + 4) : 0;
  const c = isIpv6 ? word(address + 8) : 0xffff;
  const d = word(isIpv6 ? address + 12 : address);
  const place = placeOf(object);
  if (search(place, a, b, c, d) != 0) return;
  store<i32>(missingEnd, place);
  store<u32>(missingEnd, a, 4);
  store<u32>(missingEnd, b, 8);
  store<u32>(missingEnd, c, 12);
  store<u32>(missingEnd, d, 16);
  missingEnd += listedBytes;
}

/** Has the addresses that are listed put into the table together; a single one is looked up when its turn comes. */
export function locateMissing(): void {
  const count = <i32>((missingEnd - missingAddresses) / listedBytes);
  if (count < 2) return;
  missed = count;
  made += locateAll(missingAddresses, count);
}

@inline
function countMissed(): void {
  missed++;
}

/** How many of the addresses that the records found were there before. */
@inline
function foundBefore(hits: i32): i32 {
  const ahead = min(made, hits);
  made -= ahead;
  return hits - ahead;
}

// Looks up what is known of addresses, as src/enrich/address/address-table.ts does, in the same memory.

let hits: i32 = 0;
let matches: i32 = 0;
/** Of the record under way. */
let sourceIs: i32 = 0;
let destinationIs: i32 = 0;
let recordMatches: i32 = 0;
const maxDigits = 16;
/** Longer than any text. */
const noPart = 0xffff;
/** Behind `,"flow.src.` */
const nameAt = 11;
/** A bit for each end whose system has its label. */
let labelled: i32 = 0;
/** By how many bytes numbers of systems made the line longer that took the place of a 0. */
export let grown: i32 = 0;

@inline
export function beginAddresses(at: usize): bool {
  beginScopes();
  setControl(at);
  hits = 0;
  matches = 0;
  return at != 0 && load<u32>(at, controlIsOn) != 0;
}

@inline
export function endAddresses(): void {
  if (control == 0) return;
  store<f64>(control, load<f64>(control, controlHits) + <f64>foundBefore(hits), controlHits);
  store<f64>(control, load<f64>(control, controlMatches) + <f64>matches, controlMatches);
}

@inline
export function beginRecord(): void {
  sourceIs = 0;
  destinationIs = 0;
  recordMatches = 0;
  grown = 0;
  labelled = 0;
  setPlace(sourceAsSlot, 0);
  setPlace(destinationAsSlot, 0);
}

@inline
export function endRecord(): void {
  matches += recordMatches;
}

/**
 * Writes the number of a system in the place of the 0 that the line has, which ends at `p`.
 *
 * @returns where the line ends then; 0 when it is not known where the 0 is.
 */
function replaceZero(systemSlot: i32, number: u32, p: usize): usize {
  const place = placeOfNumber(systemSlot);
  if (place == 0) return 0;
  const digits = p + maxDigits;
  const more = <i32>(writeUint32(digits, number) - digits) - 1;
  memory.copy(place + 1 + more, place + 1, p - place - 1);
  memory.copy(place, digits, more + 1);
  moveNoted(place, more);
  moveDigest(place, more);
  // The source's is replaced first.
  const other = placeOfNumber(destinationAsSlot);
  if (other > place) setPlace(destinationAsSlot, other + more);
  grown += more;
  return p + more;
}

/**
 * Copies what an address adds below its object. What the record says of the system counts, unless it says 0.
 *
 * @param systemSlot the slot of what the record says.
 * @returns where it ends; 0 when the record must become fields.
 */
export function append(object: i32, address: usize, length: i32, hasVlan: bool, systemSlot: i32, p: usize): usize {
  const isIpv6 = length == 16;
  const a = isIpv6 ? word(address) : 0;
  const b = isIpv6 ? word(address + 4) : 0;
  const c = isIpv6 ? word(address + 8) : 0xffff;
  const d = word(isIpv6 ? address + 12 : address);
  const place = placeOf(object);
  let at = search(place, a, b, c, d);
  if (at != 0) hits++;
  else {
    countMissed();
    at = <usize>locate(place, a, b, c, d);
  }
  const lengths = load<i32>(at, slotLengths);
  if (lengths == 0) return p;
  // What is to be placed among the fields of a record.
  if (lengths < 0) return 0;
  const start: usize = load<u32>(control, controlArena) + load<u32>(at, slotStart);
  const head = start - textHead;
  const system = slot(systemSlot);
  const hasSystem = (lengths & systemBit) != 0;
  if (system == 0 && hasSystem) {
    p = replaceZero(systemSlot, load<u32>(head, headSystem), p);
    if (p == 0) return 0;
  }
  if ((lengths & metadataBit) != 0) recordMatches++;
  const where = (lengths >> localityShift) & localityMask;
  if (object == 0) sourceIs = where;
  else destinationIs = where;
  const withVlan = (lengths >> withVlanShift) & lengthMask;
  const text = hasVlan ? lengths & lengthMask : withVlan;
  copy(p, start, text);
  p += text;
  if (!hasSystem) {
    noteText(object, start, text, noPart, withVlan);
    return p;
  }
  const number = <i32>load<u16>(head, headNumberLength);
  const organisation = <i32>load<u16>(head, headOrganisationLength);
  const end = withVlan + number + organisation;
  const isGiven = system != isAbsent;
  if (isGiven && system != 0 && system != <i64>load<u32>(head, headSystem)) {
    noteText(object, start, text, noPart, end);
    return p;
  }
  labelled |= 1 << object;
  const from = isGiven ? withVlan + number : withVlan;
  copy(p, start + from, end - from);
  noteText(object, start, text, from, end);
  return p + end - from;
}

/** The label of a system that the line names and that nothing else is known of. */
function writeLabel(object: i32, number: i64, text: i32, p: usize): usize {
  if ((labelled & (1 << object)) != 0 || <u64>(number - 1) >= maxSafe) return p;
  const name = p + nameAt;
  p = writeUint64(putText(p, text), number);
  store<u8>(p++, 0x22);
  note((object == 0 ? markSource : markDestination) | (joinOfLabel << markJoinShift), name, p);
  return p;
}

/** Labels of both ends. */
export function writeLabels(p: usize): usize {
  p = writeLabel(0, slot(sourceAsSlot), sourceLabelText, p);
  return writeLabel(1, slot(destinationAsSlot), destinationLabelText, p);
}

/** Copies what follows from both ends. */
export function finish(p: usize): usize {
  if (load<u32>(control, controlHasFinish) == 0) return p;
  const text = control + controlFinish + 8 * (8 * sourceIs + destinationIs);
  const length = load<i32>(text, 4);
  if (length == 0) return p;
  copy(p, load<u32>(text), length);
  return p + length;
}
