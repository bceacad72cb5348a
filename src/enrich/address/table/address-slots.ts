import { addressLayout, spaceFor, type Workspace } from "../../../record/index.ts";
import { hashOf } from "../words/address-words.ts";

const { maxProbes, slotBytes, objectMask } = addressLayout;
const slotWords = slotBytes / 4;
const listedWords = addressLayout.listedBytes / 4;
export const tagWord = addressLayout.slotTag / 4;
export const startWord = addressLayout.slotStart / 4;
export const lengthsWord = addressLayout.slotLengths / 4;
export const expiresWord = addressLayout.slotExpires / 4;

/** A hash table of addresses below objects, by open addressing, where the kernel of flows reads it, too. */
export interface AddressSlots {
  /** Where it lies. */
  readonly at: number;
  /** Less one: how many slots there are, a power of two. */
  readonly mask: number;
  /** All slots; one begins at a place. */
  readonly words: Int32Array;
  /** How many are in use. */
  used: number;
}

/** How many slots a table of this many addresses has. */
function slotsFor(addresses: number): number {
  return 2 ** Math.ceil(Math.log2(1.5 * addresses + maxProbes));
}

/** The bytes of a workspace that it takes. */
export function addressSlotsBytes(addresses: number): number {
  return spaceFor(slotsFor(addresses) * slotBytes);
}

export function createAddressSlots(workspace: Workspace, addresses: number): AddressSlots {
  const slots = slotsFor(addresses);
  const at = workspace.allocate(slots * slotBytes);
  const words = new Int32Array(workspace.memory.buffer, at, slots * slotWords);
  return { at, mask: slots - 1, words, used: 0 };
}

/**
 * Looks for an address.
 *
 * @returns its place; when it is not there, the place for it, less than 0 as its complement (`~`).
 */
export function findSlot(
  { words, mask }: AddressSlots,
  object: number,
  a: number,
  b: number,
  c: number,
  d: number,
): number {
  const home = hashOf(object, a, b, c, d) & mask;
  for (let probe = 0; probe < maxProbes; probe++) {
    const at = ((home + probe) & mask) * slotWords;
    const tag = words[at + tagWord] as number;
    if (tag === 0) return ~at;
    if (
      words[at + 3] === d &&
      (tag & objectMask) === object + 1 &&
      words[at + 2] === c &&
      words[at + 1] === b &&
      words[at] === a
    ) {
      return at;
    }
  }
  return ~(home * slotWords);
}

/**
 * Asks for the memory of the slots of addresses that are listed as {@link addressLayout} says: it comes side by side.
 *
 * @returns something that depends on all of it, because otherwise nothing would be read.
 */
export function touchSlots({ words, mask }: AddressSlots, list: Int32Array, start: number, count: number): number {
  let sum = 0;
  for (let i = 0, at = start; i < count; i++, at += listedWords) {
    const hash = hashOf(
      list[at] as number,
      list[at + 1] as number,
      list[at + 2] as number,
      list[at + 3] as number,
      list[at + 4] as number,
    );
    sum |= words[(hash & mask) * slotWords + tagWord] as number;
  }
  return sum;
}

/** Puts an address at a place. @param tag its stamp, shifted by `objectBits`. */
export function fillSlot(
  slots: AddressSlots,
  at: number,
  tag: number,
  object: number,
  a: number,
  b: number,
  c: number,
  d: number,
): void {
  const { words } = slots;
  if (words[at + tagWord] === 0) slots.used++;
  words[at] = a;
  words[at + 1] = b;
  words[at + 2] = c;
  words[at + 3] = d;
  words[at + tagWord] = tag | (object + 1);
}

/** Puts what is at a place of other slots at a place that is free. */
export function copySlot(from: AddressSlots, at: number, to: AddressSlots, place: number): void {
  if (to.words[place + tagWord] === 0) to.used++;
  for (let w = 0; w < slotWords; w++) to.words[place + w] = from.words[at + w] as number;
}

export function clearSlots(slots: AddressSlots): void {
  if (slots.used === 0) return;
  slots.words.fill(0);
  slots.used = 0;
}
