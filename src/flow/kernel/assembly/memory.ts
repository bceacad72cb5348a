import { controlHasFields } from "../../../record/address-layout";
import * as L from "../layout.gen";

// Fields of both ends are noted when they are written.

/** Where the next of {@link L.notedFields} comes. */
export let notedEnd: usize = L.notedFields;
/** Whether fields of the ends may be anywhere in the line. */
export let isAnywhere: bool = false;

export function forgetNoted(): void {
  notedEnd = L.notedFields;
  isAnywhere = false;
}

/** Notes what an operation wrote. @param name where the name of its field goes on, @param p behind its value. */
@inline
export function note(mark: u32, name: usize, p: usize): void {
  store<u32>(notedEnd, <u32>name);
  store<u32>(notedEnd, <u32>(p + ((mark & L.markOpen) >>> 2)), L.notedEnd);
  store<u32>(notedEnd, mark, L.notedMark);
  notedEnd += L.notedBytes;
  if (mark == L.markLine || notedEnd == L.notedFields + L.notedBytes * L.maxNoted) noteAnywhere();
}

/** Notes that fields of the ends may be anywhere in the line. */
export function noteAnywhere(): void {
  notedEnd = L.notedFields;
  isAnywhere = true;
}

/** Notes that there may be fields of the ends between two places. */
@inline
export function noteChunk(from: usize, to: usize): void {
  if (to > from) note(L.markChunk, from, to);
}

/**
 * Notes that parts of the text of an address were copied.
 *
 * @param first bytes of the first part, @param second where the second one begins, @param total bytes of the text.
 */
@inline
export function noteText(object: i32, text: usize, first: i32, second: i32, total: i32): void {
  store<u32>(notedEnd, total, L.notedTotal);
  note(L.markText | <u32>(object == 0 ? L.markSource : L.markDestination), text, <usize>(first | (second << 16)));
}

/** Says that what stands behind a place was moved. */
export function moveNoted(place: usize, by: i32): void {
  for (let at: usize = L.notedFields; at < notedEnd; at += L.notedBytes) {
    if ((load<u32>(at, L.notedMark) & L.markText) == L.markText) continue;
    if (load<u32>(at) > <u32>place) store<u32>(at, load<u32>(at) + by);
    if (load<u32>(at, L.notedEnd) > <u32>place) store<u32>(at, load<u32>(at, L.notedEnd) + by, L.notedEnd);
  }
}

/** Whether texts of addresses have room for where their fields begin. */
@inline
export function keepsFields(): bool {
  const control = <usize>load<u32>(L.addressControl);
  return load<u32>(control, controlHasFields) != 0;
}

// What the other side does. An address of memory is given as it is; the others' results are those of the functions of the same
// name in src/flow/kernel/kernel.ts.

@external("kernel", "fillSecond")
export declare function fillSecond(place: i32, second: f64): void;

@external("kernel", "writeValue")
export declare function writeValue(helper: i32, p: i32, at: i32, length: i32, slot: i32): i32;

@external("kernel", "hasValue")
export declare function hasValue(helper: i32, at: i32, length: i32): i32;

@external("kernel", "help")
export declare function help(helper: i32, p: i32, from: i32): i32;

@external("kernel", "rateOf")
export declare function rateOf(): f64;

@external("kernel", "writeNames")
export declare function writeNames(p: i32): i32;

@external("kernel", "writeEstimates")
export declare function writeEstimates(p: i32, rate: f64): i32;

@external("kernel", "addNumber")
export declare function addNumber(index: i32, p: i32, value: f64, scope: f64): i32;

@external("kernel", "addApp")
export declare function addApp(
  p: i32,
  source: i32,
  sourceLength: i32,
  sourcePort: i32,
  destination: i32,
  destinationLength: i32,
  destinationPort: i32,
): i32;

@external("kernel", "chooseScope")
export declare function chooseScope(object: i32, fieldsAt: i32, p: i32): i32;

@external("kernel", "judgeLine")
export declare function judgeLine(start: i32, end: i32): i32;

@external("kernel", "locateAll")
export declare function locateAll(at: i32, count: i32): i32;

@external("kernel", "locate")
export declare function locate(object: i32, a: i32, b: i32, c: i32, d: i32): i32;

// Values that something else in the line follows from, and what operations leave for those behind them.

@inline
export function slot(number: i32): i64 {
  return load<i64>(L.slots + 8 * <usize>number);
}

@inline
export function keep(number: i32, value: i64): void {
  store<i64>(L.slots + 8 * <usize>number, value);
}

/** Forgets the values of all slots. */
export function clearSlots(): void {
  const end: usize = L.slots + 8 * <i32>load<u8>(L.slotCount);
  const absent = i32x4.splat(-1);
  for (let at: usize = L.slots; at < end; at += 64) {
    v128.store(at, absent);
    v128.store(at, absent, 16);
    v128.store(at, absent, 32);
    v128.store(at, absent, 48);
  }
}

/** Forgets what the rest of a line may keep: type and code of ICMP, which are neighbours. */
@inline
export function clearIcmp(): void {
  v128.store(L.slots + 8 * L.icmpTypeSlot, i32x4.splat(-1));
}

/** Keeps a number that is written to the line at `p`. */
@inline
export function keepNumber(number: i32, value: i64, p: usize): void {
  keep(number, value);
  setPlace(number, p);
}

/** Where in the line the number of a slot is, which is wanted of systems alone. */
@inline
export function placeOfNumber(number: i32): usize {
  return <usize>load<u32>(L.numberPlaces + 4 * <usize>number);
}

@inline
export function setPlace(number: i32, p: usize): void {
  store<u32>(L.numberPlaces + 4 * <usize>number, <u32>p);
}

@inline
export function keepUint(number: i32, value: u64): void {
  if (value < <u64>L.tooLarge) {
    keep(number, <i64>value);
    return;
  }
  keep(number, L.tooLarge);
  store<u64>(L.exactValues + 8 * <usize>number, value);
}

@inline
export function register(number: i32): i32 {
  return load<u8>(L.registers + <usize>number);
}

@inline
export function setRegister(number: i32, value: i32): void {
  store<u8>(L.registers + <usize>number, <u8>value);
}
