import { addressLayout, spaceFor, type Workspace } from "../../record/index.ts";
import { hashOf } from "./address-limbs.ts";
import type { Family } from "../../base/ip/index.ts";
import type { AddressRange } from "../../metadata/index.ts";

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

/**
 * When what is known of each address changed last, by stamps that go up and wrap around after 29 bits. All addresses lie in
 * segments with one stamp each:
 *
 *     0.0.0.0 … 10.0.0.255 │ 10.0.1.0 … 10.0.1.255 │ 10.0.2.0 … 255.255.255.255
 *             0            │           7           │             0
 *
 * A change cuts segments and joins others, so that an address is found by a search in few of them, however many changes
 * there were. Where they become too many, all are one segment of the latest stamp: everything is made again once.
 */
export interface ChangeHistory {
  /** @param changed undefined: anything. */
  note(stamp: number, changed: readonly AddressRange[] | undefined): void;
  /** The stamp of the last change at an address of four words, IPv4 in its mapped form. */
  last(a: number, b: number, c: number, d: number): number;
}

/** Whether one stamp is later than another. */
export function isLater(stamp: number, than: number): boolean {
  return (stamp - than) << 3 > 0;
}

const mostSegments = 8192;
const flip = 0x8000_0000;

interface Segments {
  readonly width: number;
  /** First address of each, as words with the highest bit flipped, which compare as signed numbers. */
  readonly starts: Int32Array;
  readonly stamps: Int32Array;
  count: number;
}

export function createChangeHistory(): ChangeHistory {
  const of: Readonly<Record<Family, Segments>> = { 4: createSegments(1), 6: createSegments(4) };
  const ipv4 = of[4];
  const ipv6 = of[6];
  const words = new Int32Array(4);
  return {
    note(stamp, changed) {
      if (changed === undefined) {
        joinAll(ipv4, stamp);
        joinAll(ipv6, stamp);
        return;
      }
      for (const range of changed) change(of[range.family], range, stamp);
    },
    last(a, b, c, d) {
      if (a === 0 && b === 0 && c === 0xffff) {
        if (ipv4.count === 1) return ipv4.stamps[0] as number;
        words[0] = d ^ flip;
        return ipv4.stamps[segmentOf(ipv4, words)] as number;
      }
      if (ipv6.count === 1) return ipv6.stamps[0] as number;
      words[0] = a ^ flip;
      words[1] = b ^ flip;
      words[2] = c ^ flip;
      words[3] = d ^ flip;
      return ipv6.stamps[segmentOf(ipv6, words)] as number;
    },
  };
}

function createSegments(width: number): Segments {
  const segments = {
    width,
    starts: new Int32Array((mostSegments + 2) * width),
    stamps: new Int32Array(mostSegments + 2),
    count: 1,
  };
  joinAll(segments, 0);
  return segments;
}

function joinAll(segments: Segments, stamp: number): void {
  segments.starts.fill(flip, 0, segments.width);
  segments.stamps[0] = stamp;
  segments.count = 1;
}

function change(segments: Segments, { first, last }: AddressRange, stamp: number): void {
  const { width, starts, stamps } = segments;
  if (segments.count >= mostSegments) {
    joinAll(segments, stamp);
    return;
  }
  const start = wordsOf(first, width);
  const next = last + 1n;
  let from = segmentOf(segments, start);
  const at = segmentOf(segments, wordsOf(last, width));
  const rest = stamps[at] as number;
  const isEnd = next >> BigInt(32 * width) > 0n;
  const after = wordsOf(next, width);
  // What is behind the change keeps its stamp, unless its segment ends there too.
  const hasRest = !isEnd && (at + 1 === segments.count || compare(segments, at + 1, after) !== 0);
  // What is before it keeps its stamp, unless its segment begins here too.
  if (compare(segments, from, start) < 0) from++;
  const isJoined = from > 0 && stamps[from - 1] === stamp;
  const added = (isJoined ? 0 : 1) + (hasRest ? 1 : 0);
  starts.copyWithin((from + added) * width, (at + 1) * width, segments.count * width);
  stamps.copyWithin(from + added, at + 1, segments.count);
  segments.count += from + added - at - 1;
  let to = from;
  if (!isJoined) {
    starts.set(start, to * width);
    stamps[to++] = stamp;
  }
  if (hasRest) {
    starts.set(after, to * width);
    stamps[to] = rest;
  } else if (to < segments.count && stamps[to] === stamp) {
    // The one behind has the same stamp: the two are one.
    starts.copyWithin(to * width, (to + 1) * width, segments.count * width);
    stamps.copyWithin(to, to + 1, segments.count);
    segments.count--;
  }
}

/** The last that starts at the address or before it. */
function segmentOf(segments: Segments, address: Int32Array): number {
  let low = 0;
  let high = segments.count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (compare(segments, middle, address) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

function compare({ width, starts }: Segments, i: number, address: Int32Array): number {
  for (let w = 0; w < width; w++) {
    const a = starts[i * width + w] as number;
    const b = address[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

function wordsOf(value: bigint, width: number): Int32Array {
  return Int32Array.from(
    { length: width },
    (_, w) => Number(BigInt.asUintN(32, value >> BigInt(32 * (width - 1 - w)))) ^ flip,
  );
}
