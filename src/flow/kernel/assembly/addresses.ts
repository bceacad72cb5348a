// Looks up what is known of addresses, as src/enrich/address/address-table.ts does, in the same memory.
import {
  controlArena,
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
  slotStart,
  systemBit,
  textHead,
  withVlanShift,
} from "../../../record/address-layout";
import {
  destinationAsSlot,
  destinationLabelText,
  isAbsent,
  joinOfLabel,
  markDestination,
  markJoinShift,
  markSource,
  sourceAsSlot,
  sourceLabelText,
} from "../layout";
import { moveDigest } from "./community-id";
import { control, search, setControl, word } from "./address-search";
import { moveNoted, note, noteText } from "./noted";
import { locate } from "./imports";
import { countMissed, foundBefore } from "./missing-addresses";
import { placeOfNumber, setPlace, slot } from "./slots";
import { copy, putText, writeUint32, writeUint64 } from "./values";

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
  let at = search(object, a, b, c, d);
  if (at != 0) hits++;
  else {
    countMissed();
    at = <usize>locate(object, a, b, c, d);
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

const maxSafe: u64 = 9_007_199_254_740_991;

/** Copies what follows from both ends. */
export function finish(p: usize): usize {
  if (load<u32>(control, controlHasFinish) == 0) return p;
  const text = control + controlFinish + 8 * (8 * sourceIs + destinationIs);
  const length = load<i32>(text, 4);
  if (length == 0) return p;
  copy(p, load<u32>(text), length);
  return p + length;
}
