// Searches the table of addresses, as src/enrich/address/change-history.ts does, in the same memory.
import {
  controlArena,
  controlMask,
  controlNow,
  controlSlots,
  controlTag,
  fieldsBytes,
  maxProbes,
  objectMask,
  slotBytes,
  slotExpires,
  slotStart,
  slotTag,
  textHead,
} from "../../../record/address-layout";
import { hashes, maxPrefetched } from "../layout";
import { keepsFields } from "./noted";

/** The place of the table's control block; 0 for none. */
export let control: usize = 0;

@inline
export function setControl(at: usize): void {
  control = at;
}

@inline
function hashOf(object: i32, a: u32, b: u32, c: u32, d: u32): u32 {
  const mixed = (d ^ (c * 0x2c1b3c6d) ^ (b * 0x297a2d39) ^ (a * 0x1b873593)) * 0x9e3779b1;
  const hash = (mixed ^ (mixed >>> 15) ^ object) * 0x85ebca6b;
  return hash ^ (hash >>> 13);
}

@inline
function hashAt(object: i32, at: usize, isIpv6: bool): u32 {
  return isIpv6
    ? hashOf(object, word(at), word(at + 4), word(at + 8), word(at + 12))
    : hashOf(object, 0, 0, 0xffff, word(at));
}

@inline
export function word(at: usize): u32 {
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
  for (let i = 0; i < count; i++, at += stride) store<u32>(kept + 4 * i, hashAt(object, at, isIpv6));
}

/** The same of one address, at a position below {@link maxPrefetched}. */
@inline
export function hashSlot(object: i32, at: usize, isIpv6: bool, position: i32): void {
  store<u32>(hashesOf(object) + 4 * position, hashAt(object, at, isIpv6));
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
export function search(object: i32, a: u32, b: u32, c: u32, d: u32): usize {
  const slots = load<u32>(control, controlSlots);
  const mask = load<u32>(control, controlMask);
  let place = hashOf(object, a, b, c, d);
  for (let probe = 0; probe < maxProbes; probe++, place++) {
    const at: usize = slots + slotBytes * (place & mask);
    const tag = load<i32>(at, slotTag);
    if (tag == 0) return 0;
    if (load<u32>(at, 12) != d || (tag & objectMask) != object + 1) continue;
    if (load<u32>(at, 8) != c || load<u32>(at, 4) != b || load<u32>(at) != a) continue;
    const isFresh = load<i32>(control, controlNow) < load<i32>(at, slotExpires);
    return isFresh && (tag & ~objectMask) == load<i32>(control, controlTag) ? at : 0;
  }
  return 0;
}
