import type { Address } from "../ip/index.ts";
import {
  addressLayout,
  lineObjects,
  spaceFor,
  type AddressAdditions,
  type AddressTableAccess,
  type Workspace,
} from "../record/index.ts";
import { hashAt, hashOf } from "./address-words.ts";
import { isLater } from "./change-history.ts";
import { flowLocality, renderedLocalities } from "./locality.ts";
import {
  bytesToStore,
  canStore,
  careful,
  copyAdditions,
  copyWords,
  hasMetadata,
  hasSystem,
  lengthsOf,
  localities,
  localityNumber,
  maxLength,
  maxStored,
  storedBytes,
  writeAdditions,
  type MadeAdditions,
} from "./stored-additions.ts";

export interface AddressTableOptions {
  /** Where the table is to lie; {@link addressTableBytes} says how much it takes of it. */
  readonly workspace: Workspace;
  /** Most addresses to keep; one that is source and destination takes two places of twice as many. */
  readonly maxCached: number;
  /** Whether flows are told where they are by both their ends. */
  readonly locality: boolean;
  /** How long what was made is used. Zero: it is made each time. */
  readonly ttlMs: number;
  /**
   * Makes what an address of four words adds to an object; IPv4 comes in its mapped form. What it gives may be used until the
   * next call only.
   */
  readonly make: (object: number, a: number, b: number, c: number, d: number) => MadeAdditions;
  /** The stamp of the last change at an address, as {@link ChangeHistory} tells it. */
  readonly lastChange: (a: number, b: number, c: number, d: number) => number;
}

/** Rendered additions by address, as bytes in memory of fixed size that no garbage collector has to look at. */
export interface AddressTable extends Required<Omit<AddressAdditions, "finish" | "table">> {
  readonly access: AddressTableAccess;
  /** Adds the locality of the flow whose ends were asked for last. */
  finish(into: DataView, end: number): number;
  /**
   * Sets the time for the calls that follow.
   *
   * @param now milliseconds of a clock that never goes back.
   * @param stamp what was made under an earlier one is made again where something has changed since.
   * @param isOn whether anything is known of any address.
   */
  setTime(now: number, stamp: number, isOn: boolean): void;
  /** What was made of an address is made again. @param address not IPv4-mapped. */
  forget(address: Address): void;
  readonly hits: number;
  readonly misses: number;
  /** Look-ups that found metadata to add. */
  readonly matches: number;
  readonly evictions: number;
  /** Of no meaning: it keeps the engine from leaving out what {@link AddressAdditions.touch} reads. */
  readonly touched: number;
  readonly size: number;
}

/** Bytes kept for each address; those of few addresses are longer. */
const averageLength = 256;
const { maxProbes, slotBytes, controlBytes } = addressLayout;
/** Expiry is kept in 32 bits of milliseconds: after so many the count begins again with an empty table. */
const epochMs = 2 ** 29;

/** A slot is eight words: the address as four (IPv4 in its mapped form), then these. */
const slotWords = slotBytes / 4;
const tagWord = addressLayout.slotTag / 4;
const startWord = addressLayout.slotStart / 4;
const lengthsWord = addressLayout.slotLengths / 4;
const expiresWord = addressLayout.slotExpires / 4;
const expired = -1;
const objectCount = Object.keys(lineObjects).length;
const finishBytes = 32;

interface Generation {
  /** The places of the slots and of the arena in the workspace. */
  readonly slotsAt: number;
  readonly arenaAt: number;
  readonly words: Int32Array;
  readonly arena: DataView;
  used: number;
  arenaEnd: number;
}

/**
 * Open addressing with two generations: what is used is kept in the young one; when that is full, or its bytes are, it
 * becomes the old one, and what the old one still holds is dropped.
 */
export function createAddressTable(options: AddressTableOptions): AddressTable {
  const { make, lastChange, workspace } = options;
  const { half, slots, arenaBytes } = sizesOf(options.maxCached);
  const ttlMs = options.maxCached < 1 ? 0 : Math.min(options.ttlMs, epochMs);
  const mask = slots - 1;
  const { buffer } = workspace.memory;
  const createGeneration = (): Generation => {
    const slotsAt = workspace.allocate(slots * slotBytes);
    const arenaAt = workspace.allocate(arenaBytes);
    return {
      slotsAt,
      arenaAt,
      words: new Int32Array(buffer, slotsAt, slots * slotWords),
      arena: new DataView(buffer, arenaAt, arenaBytes + 8),
      used: 0,
      arenaEnd: 0,
    };
  };
  const control = workspace.allocate(controlBytes);
  const { view } = workspace;
  let young = createGeneration();
  let old = createGeneration();
  let epochStart = Number.NEGATIVE_INFINITY;
  let now = 0;
  let expires = 0;
  let tagBase = 0;
  let hits = 0;
  let misses = 0;
  let matches = 0;
  let evictions = 0;
  /** Of the last search that found nothing: the slot to be used. */
  let freeSlot = 0;
  let touched = 0;

  const clear = (generation: Generation): void => {
    generation.words.fill(0);
    generation.used = 0;
    generation.arenaEnd = 0;
  };

  const rotate = (): void => {
    const dropped = old;
    evictions += dropped.used;
    clear(dropped);
    old = young;
    young = dropped;
    showYoung();
  };

  const showYoung = (): void => {
    view.setUint32(control + addressLayout.controlSlots, young.slotsAt, true);
    view.setUint32(control + addressLayout.controlMask, mask, true);
    view.setUint32(control + addressLayout.controlArena, young.arenaAt, true);
  };
  showYoung();
  if (options.locality) writeFinishTexts(workspace, control);

  /** Of the record under way: the numbers of its localities. */
  let sourceIs = 0;
  let destinationIs = 0;
  /** Whether metadata was found for its source: counted again where the record becomes fields. */
  let sourceMatches = 0;

  const giveUp = (): number => {
    matches -= sourceMatches;
    sourceMatches = 0;
    sourceIs = 0;
    destinationIs = 0;
    return -1;
  };

  /** The place of the address in the words of a generation, -1 when it is not there. */
  const search = (words: Int32Array, object: number, a: number, b: number, c: number, d: number): number => {
    const home = hashOf(object, a, b, c, d) & mask;
    for (let probe = 0; probe < maxProbes; probe++) {
      const at = ((home + probe) & mask) * slotWords;
      const tag = words[at + tagWord] as number;
      if (tag === 0) {
        freeSlot = at;
        return -1;
      }
      if (
        words[at + 3] === d &&
        (tag & 3) === object + 1 &&
        words[at + 2] === c &&
        words[at + 1] === b &&
        words[at] === a
      ) {
        return at;
      }
    }
    freeSlot = home * slotWords;
    return -1;
  };

  const isFresh = (words: Int32Array, at: number, a: number, b: number, c: number, d: number): boolean => {
    if (now >= (words[at + expiresWord] as number)) return false;
    const tag = words[at + tagWord] as number;
    if ((tag & ~3) === tagBase) return true;
    if (isLater(lastChange(a, b, c, d), tag >>> 2)) return false;
    words[at + tagWord] = tagBase | (tag & 3);
    return true;
  };

  /** Makes the entry of an address at a place of the young generation. */
  const fill = (at: number, object: number, a: number, b: number, c: number, d: number): void => {
    const { words } = young;
    if (words[at + tagWord] === 0) young.used++;
    words[at] = a;
    words[at + 1] = b;
    words[at + 2] = c;
    words[at + 3] = d;
    words[at + tagWord] = tagBase | (object + 1);
    words[at + expiresWord] = expires;
  };

  const store = (at: number, made: MadeAdditions): void => {
    const { words, arena } = young;
    words[at + lengthsWord] = lengthsOf(made);
    if (!canStore(made)) return;
    const start = young.arenaEnd;
    words[at + startWord] = start;
    endText(writeAdditions(made, arena, start));
  };

  /** Zeros behind the last text keep the words that are copied of it from being a NaN. */
  const endText = (end: number): void => {
    young.arenaEnd = end;
    young.arena.setFloat64(end, 0);
  };

  const roomFor = (bytes: number): boolean => young.used < half && young.arenaEnd + bytes <= arenaBytes;

  /** The place of an address in the young generation, looked up or made; it is used before anything else is asked. */
  const locate = (object: number, a: number, b: number, c: number, d: number): number => {
    const found = search(young.words, object, a, b, c, d);
    if (found >= 0 && isFresh(young.words, found, a, b, c, d)) {
      hits++;
      return found;
    }
    let place = found >= 0 ? found : freeSlot;
    const aged = found >= 0 ? -1 : search(old.words, object, a, b, c, d);
    if (aged >= 0 && isFresh(old.words, aged, a, b, c, d)) {
      const lengths = old.words[aged + lengthsWord] as number;
      const bytes = storedBytes(old.arena, old.words[aged + startWord] as number, lengths);
      if (roomFor(bytes)) {
        hits++;
        const { words, arena } = old;
        fill(place, object, a, b, c, d);
        young.words[place + expiresWord] = words[aged + expiresWord] as number;
        young.words[place + lengthsWord] = lengths;
        young.words[place + startWord] = young.arenaEnd;
        copyWords(arena, words[aged + startWord] as number, bytes, young.arena, young.arenaEnd);
        endText(young.arenaEnd + bytes);
        return place;
      }
    }
    misses++;
    const made = make(object, a, b, c, d);
    if (!roomFor(canStore(made) ? bytesToStore(made) : 0)) {
      rotate();
      search(young.words, object, a, b, c, d);
      place = freeSlot;
    }
    fill(place, object, a, b, c, d);
    young.words[place + expiresWord] = Math.min(expires, Math.floor(now + made.validMs));
    store(place, made);
    return place;
  };

  return {
    maxLength,
    access: {
      control,
      locate(object, a, b, c, d) {
        const place = locate(object, a, b, c, d);
        return young.slotsAt + 4 * place;
      },
    },
    setTime(time, stamp, isOn) {
      if (!(time - epochStart < epochMs)) {
        clear(young);
        clear(old);
        epochStart = time;
      }
      now = time - epochStart;
      expires = Math.floor(now + ttlMs);
      tagBase = stamp << 2;
      view.setInt32(control + addressLayout.controlNow, now, true);
      view.setInt32(control + addressLayout.controlTag, tagBase, true);
      view.setUint32(control + addressLayout.controlIsOn, isOn ? 1 : 0, true);
    },
    forget({ family, value }) {
      const bits = family === 4 ? value | (0xffffn << 32n) : value;
      const [a, b, c, d] = [96n, 64n, 32n, 0n].map((shift) => Number(BigInt.asIntN(32, bits >> shift)));
      for (let object = 0; object < objectCount; object++) {
        for (const { words } of [young, old]) {
          const at = search(words, object, a as number, b as number, c as number, d as number);
          if (at >= 0) words[at + expiresWord] = expired;
        }
      }
    },
    touch(object, from, at, length, stride, count) {
      const { words, arena } = young;
      const isIpv6 = length === 16;
      // What is read is added up, because a load that nobody needs is not made.
      let sum = 0;
      for (let i = 0, place = at; i < count; i++, place += stride) {
        const hash = hashAt(object, from, place, isIpv6);
        sum = (sum + (words[(hash & mask) * slotWords + startWord] as number)) | 0;
      }
      for (let i = 0, place = at; i < count; i++, place += stride) {
        const hash = hashAt(object, from, place, isIpv6);
        const start = words[(hash & mask) * slotWords + startWord] as number;
        sum = (sum + arena.getInt8(start) + arena.getInt8(Math.min(start + 64, arenaBytes))) | 0;
      }
      touched = sum;
    },
    append(object, from, at, length, hasVlan, into, end, system = -1) {
      const isIpv6 = length === 16;
      const place = locate(
        object,
        isIpv6 ? from.getInt32(at) : 0,
        isIpv6 ? from.getInt32(at + 4) : 0,
        isIpv6 ? from.getInt32(at + 8) : 0xffff,
        from.getInt32(isIpv6 ? at + 12 : at),
      );
      const { words, arena } = young;
      const lengths = words[place + lengthsWord] as number;
      if (lengths === 0) {
        sourceMatches = 0;
        return end;
      }
      if (lengths === careful) return giveUp();
      const where = localityNumber(lengths);
      const found = hasMetadata(lengths) ? 1 : 0;
      // The record's own has to be replaced.
      if (system === 0 && hasSystem(lengths)) return giveUp();
      matches += found;
      if (object === lineObjects.src) {
        sourceIs = where;
        sourceMatches = found;
      } else {
        if (object === lineObjects.dst) destinationIs = where;
        sourceMatches = 0;
      }
      return copyAdditions(arena, words[place + startWord] as number, lengths, hasVlan, system, into, end);
    },
    finish(into, end) {
      const place = flowLocality(localities[sourceIs], localities[destinationIs]);
      sourceIs = 0;
      destinationIs = 0;
      if (place === undefined) return end;
      const text = renderedLocalities[place];
      for (let i = 0; i < text.length; i++) into.setUint8(end + i, text[i] as number);
      return end + text.length;
    },
    get hits() {
      return hits + view.getFloat64(control + addressLayout.controlHits, true);
    },
    get misses() {
      return misses;
    },
    get matches() {
      return matches + view.getFloat64(control + addressLayout.controlMatches, true);
    },
    get evictions() {
      return evictions;
    },
    get size() {
      return young.used + old.used;
    },
    get touched() {
      return touched;
    },
  };
}

/** The bytes of a workspace that a table of so many addresses takes. */
export function addressTableBytes(maxCached: number): number {
  const { slots, arenaBytes } = sizesOf(maxCached);
  return 2 * (spaceFor(slots * slotBytes) + spaceFor(arenaBytes)) + spaceFor(controlBytes) + 3 * spaceFor(finishBytes);
}

function sizesOf(maxCached: number): { half: number; slots: number; arenaBytes: number } {
  const half = Math.max(1, maxCached);
  return {
    half,
    slots: 2 ** Math.ceil(Math.log2(1.5 * half + maxProbes)),
    arenaBytes: Math.max(4 * maxStored, half * averageLength),
  };
}

/** Puts down what both ends of a flow add together, for whoever reads the table by itself. */
function writeFinishTexts(workspace: Workspace, control: number): void {
  const { view, bytes } = workspace;
  view.setUint32(control + addressLayout.controlHasFinish, 1, true);
  const places = new Map(
    Object.values(renderedLocalities).map((text) => {
      const at = workspace.allocate(finishBytes);
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
