// Values that something else in the line follows from, and what operations leave for those behind them.
import * as L from "../layout";

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
