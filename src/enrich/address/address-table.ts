import { addressLayout, spaceFor, type AddressAdditions, type Workspace } from "../../record/index.ts";
import { type ChangeHistory, isLater } from "./change-history.ts";
import { flowLocality, localities, renderedLocalities, enrichedObjects } from "./enriched-object.ts";
import type { Address } from "../../base/ip/index.ts";
import type { Fragment } from "./address-fragment.ts";
import { AddressList, setWords } from "./address-limbs.ts";
import { placeOf, type ScopeChooser } from "./choose-scope.ts";
import { type AddressKnowledge, FragmentFinder } from "./find-fragment.ts";
import { fragmentStoreBytes, FragmentStore, leastArena, maxLineLength } from "./fragment-store.ts";

const { controlBytes, keyBits, keyMask, maxListed, maxProbes, metadataBit, objectBits, slotBytes } = addressLayout;
const slotWords = slotBytes / 4;
const listedWords = addressLayout.listedBytes / 4;
const tagWord = addressLayout.slotTag / 4;
const startWord = addressLayout.slotStart / 4;
const lengthsWord = addressLayout.slotLengths / 4;
const expiresWord = addressLayout.slotExpires / 4;

/** Returns the number of slots in a table for this many addresses. */
function slotsFor(addresses: number): number {
  return 2 ** Math.ceil(Math.log2(1.5 * addresses + maxProbes));
}

/** A hash table of addresses below objects, by open addressing, in memory that the flow kernel reads, too. */
class AddressSlots {
  /** The offset of the slots. */
  readonly at: number;
  /** The number of slots, a power of two, less one. */
  readonly mask: number;
  /** All slots. A slot begins at its offset. */
  readonly words: Int32Array;
  /** The number of slots in use. */
  used = 0;

  constructor(workspace: Workspace, addresses: number) {
    const slots = slotsFor(addresses);
    this.at = workspace.allocate(slots * slotBytes);
    this.words = new Int32Array(workspace.memory.buffer, this.at, slots * slotWords);
    this.mask = slots - 1;
  }

  /**
   * Searches for an address.
   *
   * @param place its object, with its scope in the bits above.
   * @returns the address's offset. If it is not there, the complement (`~`) of the offset for it, which is less than 0.
   */
  find(place: number, a: number, b: number, c: number, d: number): number {
    const { words, mask } = this;
    const home = hashOf(place, a, b, c, d) & mask;
    for (let probe = 0; probe < maxProbes; probe++) {
      const at = ((home + probe) & mask) * slotWords;
      const tag = words[at + tagWord] as number;
      if (tag === 0) return ~at;
      if (
        words[at + 3] === d &&
        (tag & keyMask) === place + 1 &&
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
   * Reads ahead the slots of the listed addresses ({@link addressLayout}), so that their waits for memory overlap.
   *
   * @returns a number that depends on all reads, because the engine would otherwise drop them.
   */
  touch(list: Int32Array, start: number, count: number): number {
    const { words, mask } = this;
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

  /** Puts an address at an offset. @param tag its stamp, shifted by `keyBits`. */
  fill(at: number, tag: number, place: number, a: number, b: number, c: number, d: number): void {
    const { words } = this;
    if (words[at + tagWord] === 0) this.used++;
    words[at] = a;
    words[at + 1] = b;
    words[at + 2] = c;
    words[at + 3] = d;
    words[at + tagWord] = tag | (place + 1);
  }

  /** Copies a slot of other slots to a free offset. */
  copy(from: AddressSlots, at: number, to: number): void {
    if (this.words[to + tagWord] === 0) this.used++;
    for (let w = 0; w < slotWords; w++) this.words[to + w] = from.words[at + w] as number;
  }

  clear(): void {
    if (this.used === 0) return;
    this.words.fill(0);
    this.used = 0;
  }
}

/** The room for the text of a flow's locality. */
const textBytes = 32;

/**
 * The memory that the flow kernel reads to find addresses by itself, laid out as {@link addressLayout} says, and the kernel's counts.
 */
class ControlBlock {
  static readonly bytes = spaceFor(controlBytes) + 3 * spaceFor(textBytes);
  readonly at: number;
  readonly #view: DataView;

  /** @param locality true if flows get a locality by both ends. */
  constructor(workspace: Workspace, locality: boolean) {
    this.#view = workspace.view;
    this.at = workspace.allocate(controlBytes);
    if (locality) this.#writeLocalities(workspace);
  }

  /** Writes the field of a flow's locality for each pair of localities of its ends. */
  #writeLocalities(workspace: Workspace): void {
    this.#view.setUint32(this.at + addressLayout.controlHasFinish, 1, true);
    const starts = new Map(
      Object.values(renderedLocalities).map((text) => {
        const at = workspace.allocate(textBytes);
        workspace.bytes.set(text, at);
        return [text, at] as const;
      }),
    );
    localities.forEach((source, i) => {
      localities.forEach((destination, j) => {
        const locality = flowLocality(source, destination);
        if (locality === undefined) return;
        const text = renderedLocalities[locality];
        const at = this.at + addressLayout.controlFinish + 8 * (8 * i + j);
        this.#view.setUint32(at, starts.get(text) as number, true);
        this.#view.setUint32(at + 4, text.length, true);
      });
    });
  }

  /** Publishes the slots in use and the offset of their fragments. */
  show(slots: AddressSlots, arenaAt: number): void {
    this.#view.setUint32(this.at + addressLayout.controlSlots, slots.at, true);
    this.#view.setUint32(this.at + addressLayout.controlMask, slots.mask, true);
    this.#view.setUint32(this.at + addressLayout.controlArena, arenaAt, true);
  }

  setTime(now: number, tagBase: number, isOn: boolean): void {
    this.#view.setInt32(this.at + addressLayout.controlNow, now, true);
    this.#view.setInt32(this.at + addressLayout.controlTag, tagBase, true);
    this.#view.setUint32(this.at + addressLayout.controlIsOn, isOn ? 1 : 0, true);
  }

  /** Marks that fragments have room for the places of their fields. */
  setFields(): void {
    this.#view.setUint32(this.at + addressLayout.controlHasFields, 1, true);
  }

  hits(): number {
    return this.#view.getFloat64(this.at + addressLayout.controlHits, true);
  }

  matches(): number {
    return this.#view.getFloat64(this.at + addressLayout.controlMatches, true);
  }
}

/** The bytes kept for each address on average; tables for few addresses have more. */
const averageLength = 256;
/** Expiry is kept in 32 bits of milliseconds. After this many ms the count starts again with an empty table. */
const epochMs = 2 ** 29;
const expired = -1;
/** The bits of a stamp in a slot. Before stamps would repeat, the table starts again. */
const stampMask = 2 ** (32 - keyBits) - 1;
const mostStamps = 2 ** (31 - keyBits);

/**
 * Holds the fields that addresses add below objects, by address. The fragments are in memory of fixed size, which the garbage collector
 * does not scan. All enrichment by address uses this table.
 *
 * It has two generations. A slot that is used is kept in the young one. When that or its arena is full, it becomes the old one, and the
 * rest of the old one is dropped.
 */
export class AddressTable implements AddressAdditions {
  readonly maxLength = maxLineLength;
  readonly scopes: () => ScopeChooser;
  readonly control: number;
  readonly #history: ChangeHistory;
  readonly #half: number;
  readonly #ttlMs: number;
  #young: AddressSlots;
  #old: AddressSlots;
  readonly #store: FragmentStore;
  readonly #finder: FragmentFinder;
  readonly #block: ControlBlock;
  #isOn = false;
  #epochStart = Number.NEGATIVE_INFINITY;
  #now = 0;
  #expires = 0;
  #tagBase = 0;
  #stamp = 0;
  /** The first stamp that slots may have. */
  #firstStamp = 0;
  #hits = 0;
  #matches = 0;
  #misses = 0;
  #evictions = 0;
  /** The number of entries of the old generation that are in the young one, too. */
  #takenOver = 0;
  readonly #ofForgotten = new Int32Array(4);
  /** The addresses to look up. */
  readonly #list = new AddressList(maxListed);
  readonly #given: Int32Array;
  /** The offset of the slot made last, and the offset for a single address. */
  #made = 0;
  /** The sum of the words read ahead: the engine may drop a read whose value is not used. */
  readonly #reads = { sum: 0 };

  /**
   * @param workspace the memory for the table, of which it takes {@link addressTableBytes}.
   * @param maxCached the most addresses to keep; an address that is source and destination takes two of twice as many slots.
   * @param ttlMs the time for which a fragment is used, in ms. 0 means that it is made each time.
   */
  constructor(workspace: Workspace, known: AddressKnowledge, history: ChangeHistory, maxCached: number, ttlMs: number) {
    this.#history = history;
    this.scopes = known.scopes;
    this.#half = Math.max(1, maxCached);
    this.#ttlMs = maxCached < 1 ? 0 : Math.min(ttlMs, epochMs);
    this.#young = new AddressSlots(workspace, this.#half);
    this.#old = new AddressSlots(workspace, this.#half);
    this.#store = new FragmentStore(workspace, arenaBytes(maxCached), this.#half);
    this.#finder = new FragmentFinder(known, workspace.view, this.#store);
    this.#block = new ControlBlock(workspace, known.locality);
    this.control = this.#block.at;
    this.#given = new Int32Array(workspace.memory.buffer);
    this.#block.show(this.#young, this.#store.arenaAt);
  }

  /**
   * Sets the time for the following calls.
   *
   * @param time in ms of a clock that never goes back.
   * @param stamp the current stamp. A fragment of an earlier stamp is made again if something has changed since.
   * @param isOn true if anything is known of any address.
   */
  setTime(time: number, stamp: number, isOn: boolean): void {
    if (!(time - this.#epochStart < epochMs) || (stamp - this.#firstStamp) >>> 0 >= mostStamps) {
      this.#young.clear();
      this.#old.clear();
      this.#takenOver = 0;
      this.#store.clear();
      this.#epochStart = time;
      this.#firstStamp = stamp;
    }
    this.#isOn = isOn;
    this.#now = time - this.#epochStart;
    this.#expires = Math.floor(this.#now + this.#ttlMs);
    this.#stamp = stamp;
    this.#tagBase = stamp << keyBits;
    this.#block.setTime(this.#now, this.#tagBase, isOn);
  }

  readonly locate = (place: number, a: number, b: number, c: number, d: number): number => {
    // The look-up may start another young generation.
    const at = this.#find(place, a, b, c, d);
    return this.#young.at + 4 * at;
  };

  readonly locateAll = (at: number, count: number): number => {
    // An address that is not kept, that would push out the first ones, or that is alone is looked up when its record comes.
    if (this.#ttlMs === 0 || 2 * count > this.#half) return 0;
    const list = this.#list;
    const given = this.#given;
    this.#reads.sum = this.#old.touch(given, at / 4, count);
    list.count = 0;
    for (let i = 0, from = at / 4; i < count; i++, from += listedWords) {
      const place = given[from] as number;
      const a = given[from + 1] as number;
      const b = given[from + 2] as number;
      const c = given[from + 3] as number;
      const d = given[from + 4] as number;
      if (this.#reuse(place, a, b, c, d) < 0) list.add(place, a, b, c, d);
    }
    if (list.count < 2) return 0;
    const before = this.#misses;
    this.#finder.findAll(list, this.#makeListed);
    return this.#misses - before;
  };

  keepFields(): void {
    if (this.#store.keepFields()) this.#block.setFields();
  }

  append(place: number, address: DataView, into: DataView): number {
    if (!this.#isOn) return 0;
    const isIpv6 = address.byteLength === 16;
    const at = this.#find(
      place,
      isIpv6 ? address.getInt32(0) : 0,
      isIpv6 ? address.getInt32(4) : 0,
      isIpv6 ? address.getInt32(8) : 0xffff,
      address.getInt32(isIpv6 ? 12 : 0),
    );
    const { words } = this.#young;
    const lengths = words[at + lengthsWord] as number;
    // Open metadata must be placed among the fields of a record.
    if (lengths <= 0) return lengths === 0 ? 0 : -1;
    if ((lengths & metadataBit) !== 0) this.#matches++;
    return this.#store.copy(words[at + startWord] as number, into);
  }

  /** Returns a copy of the fragment of an address; undefined if there is nothing to add. @param place as in {@link append}. */
  read(
    place: number,
    a: number,
    b: number,
    c: number,
    d: number,
  ): { readonly bytes: Uint8Array; readonly fragment: Fragment } | undefined {
    const at = this.#find(place, a, b, c, d);
    const { words } = this.#young;
    if (words[at + lengthsWord] === 0) return undefined;
    const start = words[at + startWord] as number;
    return start === 0 ? this.#finder.make(place, a, b, c, d) : this.#store.read(start);
  }

  /**
   * Drops the fragments of an address in no scope and in the given scopes, so that they are made again.
   *
   * @param address not IPv4-mapped.
   */
  forget(address: Address, scopes: Iterable<number>): void {
    setWords(this.#ofForgotten, address);
    const [a, b, c, d] = this.#ofForgotten as unknown as readonly [number, number, number, number];
    for (const scope of [0, ...scopes]) {
      for (const object of enrichedObjects.keys()) {
        for (const slots of [this.#young, this.#old]) {
          const at = slots.find(placeOf(object, scope), a, b, c, d);
          if (at >= 0) slots.words[at + expiresWord] = expired;
        }
      }
    }
  }

  hits(): number {
    return this.#hits + this.#block.hits();
  }

  misses(): number {
    return this.#misses;
  }

  /** Returns the number of look-ups for lines that found metadata. */
  matches(): number {
    return this.#matches + this.#block.matches();
  }

  evictions(): number {
    return this.#evictions;
  }

  size(): number {
    return this.#ttlMs === 0 ? 0 : this.#young.used + this.#old.used - this.#takenOver;
  }

  /**
   * Returns the offset in the young slots of an address of four words, after it made the slot if necessary. It is valid until the next
   * call.
   */
  #find(place: number, a: number, b: number, c: number, d: number): number {
    const known = this.#reuse(place, a, b, c, d);
    if (known >= 0) {
      this.#hits++;
      return known;
    }
    this.#made = ~known;
    this.#list.count = 0;
    this.#list.add(place, a, b, c, d);
    this.#finder.findAll(this.#list, this.#makeListed);
    return this.#made;
  }

  /**
   * Searches for an address in both generations.
   *
   * @returns its offset in the young one. If nothing valid is known of it, the complement of the offset for it, which is less than 0.
   */
  #reuse(place: number, a: number, b: number, c: number, d: number): number {
    const young = this.#young;
    const found = young.find(place, a, b, c, d);
    if (found >= 0) return this.#isFresh(young, found, a, b, c, d) ? found : ~found;
    const aged = this.#old.find(place, a, b, c, d);
    const isOld = aged >= 0 && this.#isFresh(this.#old, aged, a, b, c, d);
    return isOld && this.#takeOver(aged, ~found) ? ~found : found;
  }

  #isFresh({ words }: AddressSlots, at: number, a: number, b: number, c: number, d: number): boolean {
    if (this.#now >= (words[at + expiresWord] as number)) return false;
    const tag = words[at + tagWord] as number;
    if ((tag & ~keyMask) === this.#tagBase) return true;
    const since = this.#stamp - ((this.#stamp - (tag >>> keyBits)) & stampMask);
    const scope = ((tag & keyMask) - 1) >>> objectBits;
    if (isLater(this.#history.last(a, b, c, d, scope), since)) return false;
    words[at + tagWord] = this.#tagBase | (tag & keyMask);
    return true;
  }

  /** Copies a slot of the old generation to the young one. @returns true if there was room. */
  #takeOver(aged: number, to: number): boolean {
    const young = this.#young;
    if (young.used >= this.#half) return false;
    const from = this.#old.words[aged + startWord] as number;
    const start = from === 0 ? 0 : this.#store.promote(from);
    if (start === 0 && from !== 0) return false;
    this.#takenOver++;
    young.copy(this.#old, aged, to);
    young.words[to + startWord] = start;
    return true;
  }

  readonly #makeListed = (find: (i: number) => void): void => {
    const { places, words, count } = this.#list;
    for (let i = 0; i < count; i++) {
      const place = places[i] as number;
      const a = words[4 * i] as number;
      const b = words[4 * i + 1] as number;
      const c = words[4 * i + 2] as number;
      const d = words[4 * i + 3] as number;
      // A single address has just been searched for. In a list, an address may appear twice.
      const known = count === 1 ? ~this.#made : this.#reuse(place, a, b, c, d);
      if (known >= 0) continue;
      this.#made = this.#makeRoom(~known, place, a, b, c, d);
      find(i);
      this.#keep(this.#made, place, a, b, c, d);
    }
  };

  /** Makes room for another address and its fragment. @returns the offset for it. */
  #makeRoom(at: number, place: number, a: number, b: number, c: number, d: number): number {
    this.#misses++;
    if (this.#young.used < this.#half && this.#store.hasRoom()) return at;
    this.#rotate();
    return ~this.#young.find(place, a, b, c, d);
  }

  #rotate(): void {
    this.#evictions += this.#old.used - this.#takenOver;
    this.#takenOver = 0;
    this.#old.clear();
    [this.#young, this.#old] = [this.#old, this.#young];
    this.#store.rotate();
    this.#block.show(this.#young, this.#store.arenaAt);
  }

  #keep(at: number, place: number, a: number, b: number, c: number, d: number): void {
    const young = this.#young;
    const finder = this.#finder;
    young.fill(at, this.#tagBase, place, a, b, c, d);
    young.words[at + expiresWord] = Math.min(this.#expires, Math.floor(this.#now + finder.validMs));
    young.words[at + lengthsWord] = finder.lengths;
    young.words[at + startWord] = finder.start;
  }
}

/** Returns the bytes of a workspace that a table for this many addresses takes. */
export function addressTableBytes(maxCached: number): number {
  const slots = spaceFor(slotsFor(Math.max(1, maxCached)) * slotBytes);
  return 2 * slots + fragmentStoreBytes(arenaBytes(maxCached)) + ControlBlock.bytes;
}

function arenaBytes(maxCached: number): number {
  return Math.max(leastArena, 8 * Math.ceil((maxCached * averageLength) / 8));
}

/** Returns the hash of an address of four words at a place. The flow kernel uses the same hash. */
export function hashOf(place: number, a: number, b: number, c: number, d: number): number {
  const mixed = Math.imul(
    d ^ Math.imul(c, 0x2c1b3c6d) ^ Math.imul(b, 0x297a2d39) ^ Math.imul(a, 0x1b873593),
    0x9e3779b1,
  );
  const hash = Math.imul(mixed ^ (mixed >>> 15) ^ place, 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
