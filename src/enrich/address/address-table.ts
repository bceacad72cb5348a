import { addressLayout, spaceFor, type Workspace, type AddressTableAccess } from "../../record/index.ts";
import {
  type AddressSlots,
  addressSlotsBytes,
  clearSlots,
  copySlot,
  createAddressSlots,
  expiresWord,
  fillSlot,
  findSlot,
  touchSlots,
  lengthsWord,
  startWord,
  tagWord,
  isLater,
} from "./change-history.ts";
import { flowLocality, localities, renderedLocalities, enrichedObjects } from "./enriched-object.ts";
import type { Address } from "../../base/ip/index.ts";
import type { AddressText } from "./address-fragment.ts";
import { createAddressList, setWords } from "./address-limbs.ts";
import type { FindAddressText } from "./find-fragment.ts";
import { createTextStore, leastArena, textStoreBytes, type TextStore } from "./fragment-store.ts";

/** What the kernel of flows reads to find addresses by itself, laid out as {@link addressLayout} says, and what it counts. */
interface ControlBlock {
  readonly at: number;
  /** Shows the slots in use, and where their texts lie. */
  show(slots: AddressSlots, arenaAt: number): void;
  setTime(now: number, tagBase: number, isOn: boolean): void;
  /** Says that texts have room for where their fields begin. */
  setFields(): void;
  hits(): number;
  matches(): number;
}

/** Room for the text of a flow's locality. */
const textBytes = 32;
const controlBlockBytes = spaceFor(addressLayout.controlBytes) + 3 * spaceFor(textBytes);

/** @param locality whether flows get a locality by both their ends. */
function createControlBlock(workspace: Workspace, locality: boolean): ControlBlock {
  const { view } = workspace;
  const at = workspace.allocate(addressLayout.controlBytes);
  if (locality) writeLocalities(workspace, at);
  return {
    at,
    show(slots, arenaAt) {
      view.setUint32(at + addressLayout.controlSlots, slots.at, true);
      view.setUint32(at + addressLayout.controlMask, slots.mask, true);
      view.setUint32(at + addressLayout.controlArena, arenaAt, true);
    },
    setTime(now, tagBase, isOn) {
      view.setInt32(at + addressLayout.controlNow, now, true);
      view.setInt32(at + addressLayout.controlTag, tagBase, true);
      view.setUint32(at + addressLayout.controlIsOn, isOn ? 1 : 0, true);
    },
    setFields: () => view.setUint32(at + addressLayout.controlHasFields, 1, true),
    hits: () => view.getFloat64(at + addressLayout.controlHits, true),
    matches: () => view.getFloat64(at + addressLayout.controlMatches, true),
  };
}

/** Puts down what both ends of a flow add together, by their localities. */
function writeLocalities(workspace: Workspace, control: number): void {
  const { view, bytes } = workspace;
  view.setUint32(control + addressLayout.controlHasFinish, 1, true);
  const places = new Map(
    Object.values(renderedLocalities).map((text) => {
      const at = workspace.allocate(textBytes);
      bytes.set(text, at);
      return [text, at] as const;
    }),
  );
  localities.forEach((source, i) => {
    localities.forEach((destination, j) => {
      const locality = flowLocality(source, destination);
      if (locality === undefined) return;
      const text = renderedLocalities[locality];
      const at = control + addressLayout.controlFinish + 8 * (8 * i + j);
      view.setUint32(at, places.get(text) as number, true);
      view.setUint32(at + 4, text.length, true);
    });
  });
}

export interface AddressTableOptions {
  /** Where the table is to lie; {@link addressTableBytes} says how much it takes of it. */
  readonly workspace: Workspace;
  /** Most addresses to keep; one that is source and destination takes two places of twice as many. */
  readonly maxCached: number;
  /** Whether flows get a locality by both their ends. */
  readonly locality: boolean;
  /** How long what was made is used. Zero: it is made each time. */
  readonly ttlMs: number;
  readonly texts: (store: TextStore) => FindAddressText;
  /** The stamp of the last change at an address, as {@link ChangeHistory} has it. */
  readonly lastChange: (a: number, b: number, c: number, d: number) => number;
}

/**
 * What addresses add below objects, by address: texts in memory of fixed size that the garbage collector does not look at. All
 * that is enriched by address is so by this table.
 */
export interface AddressTable {
  readonly access: AddressTableAccess;
  /** What places lead to: the slots of addresses used lately, and where their texts lie, of which starts are offsets. */
  readonly shown: { readonly words: Int32Array; readonly arenaAt: number };
  /**
   * Sets the time for the calls that follow.
   *
   * @param now milliseconds of a clock that never goes back.
   * @param stamp what was made under an earlier one is made again where something has changed since.
   * @param isOn whether anything is known of any address.
   */
  setTime(now: number, stamp: number, isOn: boolean): void;
  /** The place of an address of four words in the table, looked up or made; right until something else is asked for. */
  find(object: number, a: number, b: number, c: number, d: number): number;
  /** A copy of the text of an address. @returns undefined when there is nothing to add. */
  read(
    object: number,
    a: number,
    b: number,
    c: number,
    d: number,
  ): { readonly bytes: Uint8Array; readonly text: AddressText } | undefined;
  /** What was made of an address is made again. @param address not IPv4-mapped. */
  forget(address: Address): void;
  hits(): number;
  misses(): number;
  /** Look-ups of the kernel that found metadata. */
  matches(): number;
  evictions(): number;
  size(): number;
}

/** Bytes kept for each address; those of few addresses are longer. */
const averageLength = 256;
/** Expiry is kept in 32 bits of milliseconds: after this many the count begins again with an empty table. */
const epochMs = 2 ** 29;
const expired = -1;
const { objectBits, objectMask, maxListed } = addressLayout;
const listedWords = addressLayout.listedBytes / 4;

/**
 * Two generations: what is used is kept in the young one; when that is full, or its texts are, it becomes the old one, and what
 * the old one still holds is dropped.
 */
export function createAddressTable(options: AddressTableOptions): AddressTable {
  const { lastChange, workspace } = options;
  const half = Math.max(1, options.maxCached);
  const ttlMs = options.maxCached < 1 ? 0 : Math.min(options.ttlMs, epochMs);
  let young = createAddressSlots(workspace, half);
  let old = createAddressSlots(workspace, half);
  const store = createTextStore(workspace, arenaBytes(options.maxCached), half);
  const texts = options.texts(store);
  const control = createControlBlock(workspace, options.locality);
  let epochStart = Number.NEGATIVE_INFINITY;
  let now = 0;
  let expires = 0;
  let tagBase = 0;
  let hits = 0;
  let misses = 0;
  let evictions = 0;
  /** How many of the old generation the young one has, too. */
  let takenOver = 0;
  const ofForgotten = new Int32Array(4);
  /** Those that are looked up. */
  const list = createAddressList(maxListed);
  const given = new Int32Array(workspace.memory.buffer);
  /** The place of the one made last, and that for one alone. */
  let made = 0;
  /** What is read ahead is read only if something follows from it. */
  const reads = { sum: 0 };

  const shown = { words: young.words, arenaAt: store.arenaAt };
  const showYoung = (): void => {
    control.show(young, store.arenaAt);
    shown.words = young.words;
    shown.arenaAt = store.arenaAt;
  };
  showYoung();

  const rotate = (): void => {
    evictions += old.used - takenOver;
    takenOver = 0;
    clearSlots(old);
    [young, old] = [old, young];
    store.rotate();
    showYoung();
  };

  const isFresh = ({ words }: AddressSlots, at: number, a: number, b: number, c: number, d: number): boolean => {
    if (now >= (words[at + expiresWord] as number)) return false;
    const tag = words[at + tagWord] as number;
    if ((tag & ~objectMask) === tagBase) return true;
    if (isLater(lastChange(a, b, c, d), tag >>> objectBits)) return false;
    words[at + tagWord] = tagBase | (tag & objectMask);
    return true;
  };

  /** Takes over what the old generation has at a place. @returns whether there was room. */
  const takeOver = (aged: number, place: number): boolean => {
    if (young.used >= half) return false;
    const from = old.words[aged + startWord] as number;
    const start = from === 0 ? 0 : store.promote(from);
    if (start === 0 && from !== 0) return false;
    takenOver++;
    copySlot(old, aged, young, place);
    young.words[place + startWord] = start;
    return true;
  };

  /**
   * Looks for an address in both generations.
   *
   * @returns its place in the young one; where nothing right is known of it, the place for it, less than 0 as its complement.
   */
  const reuse = (object: number, a: number, b: number, c: number, d: number): number => {
    const found = findSlot(young, object, a, b, c, d);
    if (found >= 0) return isFresh(young, found, a, b, c, d) ? found : ~found;
    const aged = findSlot(old, object, a, b, c, d);
    const isOld = aged >= 0 && isFresh(old, aged, a, b, c, d);
    return isOld && takeOver(aged, ~found) ? ~found : found;
  };

  /** Makes room for a further address and its text. @returns the place for it. */
  const makeRoom = (place: number, object: number, a: number, b: number, c: number, d: number): number => {
    misses++;
    if (young.used < half && store.hasRoom()) return place;
    rotate();
    return ~findSlot(young, object, a, b, c, d);
  };

  const keep = (place: number, object: number, a: number, b: number, c: number, d: number): void => {
    fillSlot(young, place, tagBase, object, a, b, c, d);
    const { words } = young;
    words[place + expiresWord] = Math.min(expires, Math.floor(now + texts.validMs));
    words[place + lengthsWord] = texts.lengths;
    words[place + startWord] = texts.start;
  };

  const makeListed = (find: (i: number) => void): void => {
    const { objects, words } = list;
    for (let i = 0; i < list.count; i++) {
      const object = objects[i] as number;
      const a = words[4 * i] as number;
      const b = words[4 * i + 1] as number;
      const c = words[4 * i + 2] as number;
      const d = words[4 * i + 3] as number;
      // One alone was just looked for; of several some are listed twice.
      const known = list.count === 1 ? ~made : reuse(object, a, b, c, d);
      if (known >= 0) continue;
      made = makeRoom(~known, object, a, b, c, d);
      find(i);
      keep(made, object, a, b, c, d);
    }
  };

  const find = (object: number, a: number, b: number, c: number, d: number): number => {
    const known = reuse(object, a, b, c, d);
    if (known >= 0) {
      hits++;
      return known;
    }
    made = ~known;
    list.count = 0;
    list.add(object, a, b, c, d);
    texts.findAll(list, makeListed);
    return made;
  };

  const locateAll = (at: number, count: number): number => {
    // What is not kept, or would push the first ones out, is looked up when its turn comes, and so is one alone.
    if (ttlMs === 0 || 2 * count > half) return 0;
    reads.sum = touchSlots(old, given, at / 4, count);
    list.count = 0;
    for (let i = 0, from = at / 4; i < count; i++, from += listedWords) {
      const object = given[from] as number;
      const a = given[from + 1] as number;
      const b = given[from + 2] as number;
      const c = given[from + 3] as number;
      const d = given[from + 4] as number;
      if (reuse(object, a, b, c, d) < 0) list.add(object, a, b, c, d);
    }
    if (list.count < 2) return 0;
    const before = misses;
    texts.findAll(list, makeListed);
    return misses - before;
  };

  return {
    access: {
      control: control.at,
      locate(object, a, b, c, d) {
        // The look-up may make another generation the young one.
        const place = find(object, a, b, c, d);
        return young.at + 4 * place;
      },
      locateAll,
      keepFields() {
        if (store.keepFields()) control.setFields();
      },
    },
    shown,
    setTime(time, stamp, isOn) {
      if (!(time - epochStart < epochMs)) {
        clearSlots(young);
        clearSlots(old);
        takenOver = 0;
        store.clear();
        epochStart = time;
      }
      now = time - epochStart;
      expires = Math.floor(now + ttlMs);
      tagBase = stamp << objectBits;
      control.setTime(now, tagBase, isOn);
    },
    find,
    read(object, a, b, c, d) {
      const place = find(object, a, b, c, d);
      if (young.words[place + lengthsWord] === 0) return undefined;
      const start = young.words[place + startWord] as number;
      return start === 0 ? texts.make(object, a, b, c, d) : store.read(start);
    },
    forget(address) {
      setWords(ofForgotten, address);
      const [a, b, c, d] = ofForgotten as unknown as readonly [number, number, number, number];
      for (const object of enrichedObjects.keys()) {
        for (const slots of [young, old]) {
          const at = findSlot(slots, object, a, b, c, d);
          if (at >= 0) slots.words[at + expiresWord] = expired;
        }
      }
    },
    hits: () => hits + control.hits(),
    misses: () => misses,
    matches: () => control.matches(),
    evictions: () => evictions,
    size: () => (ttlMs === 0 ? 0 : young.used + old.used - takenOver),
  };
}

/** The bytes of a workspace that a table of this many addresses takes. */
export function addressTableBytes(maxCached: number): number {
  return 2 * addressSlotsBytes(Math.max(1, maxCached)) + textStoreBytes(arenaBytes(maxCached)) + controlBlockBytes;
}

function arenaBytes(maxCached: number): number {
  return Math.max(leastArena, 8 * Math.ceil((maxCached * averageLength) / 8));
}
