import { parseKey, type Family } from "../../base/ip/index.ts";
import type { CoveringEntryTexts } from "../model/udm-store.ts";
import { createCoveringSearch } from "./covering-entries.ts";
import { contextMask, jsonStart, jsonWord, prefixLength, serialOf, writtenWord } from "./entry-block.ts";
import { setPlainWords } from "./key-limbs.ts";
import { blockOf } from "./tree-nodes.ts";

/**
 * Finds the texts of the entries that cover addresses in states that are held or pinned. All addresses are searched for, then what covers
 * them is read: so their memory is waited for side by side.
 */
export interface CoveringTexts {
  /**
   * @param addresses four words of each, IPv4 in its mapped form.
   * @param statesOf puts the states that may have entries that cover an address into `states`, one for each layer; of equal keys the
   * earlier layer's comes first. It returns how many there are.
   */
  find(
    addresses: Int32Array,
    count: number,
    states: Int32Array,
    statesOf: (family: Family, address: Int32Array) => number,
  ): void;
  /** What covers the address at a position. @returns what may be read until `find` is called, while the states are held. */
  readonly read: (i: number) => CoveringEntryTexts;
}

interface FoundTexts extends CoveringEntryTexts {
  readonly starts: number[];
  readonly ends: number[];
  readonly ids: number[];
  readonly contexts: number[];
  count: number;
  isOfOneAddress: boolean;
  isRead: boolean;
}

const quote = 0x22;
/** Where the text of a key begins in JSON. */
const keyStart = '{"key":"'.length;
const rankOfRange = 1;
const rankOfIp = 2;
/** More than the length of any prefix. */
const lengthOfIp = 1000;
/** Ranges whose sizes are remembered. */
const maxRanges = 1024;

function createFoundTexts(bytes: Uint8Array): FoundTexts {
  return { bytes, starts: [], ends: [], ids: [], contexts: [], count: 0, isOfOneAddress: false, isRead: false };
}

export function createCoveringTexts(buffer: SharedArrayBuffer): CoveringTexts {
  const words = new Int32Array(buffer);
  const bytes = new Uint8Array(buffer);
  const search = createCoveringSearch(words);
  /** Of each address: what covers it, once it was read. */
  const found: FoundTexts[] = [createFoundTexts(bytes)];
  let texts = found[0] as FoundTexts;
  let { starts, ends, ids, contexts } = texts;
  /** Of each text found: the length of its prefix, -1 for a range. */
  const lengths: number[] = [];
  /** Of each text found: the number of its layer. */
  const layers: number[] = [];
  /** Of each text found: how many addresses its key has, less one; undefined until it is asked for. */
  const sizes: (bigint | undefined)[] = [];
  const scratch = new Int32Array(4);
  /** Of each address: the bits of its family, and how many searches there were up to its last. */
  const addressBits: number[] = [];
  const addressRuns: number[] = [];
  const rangeSizes = new Map<number, { readonly serial: number; readonly size: bigint }>();

  const put = (to: number, from: number): void => {
    starts[to] = starts[from] as number;
    ends[to] = ends[from] as number;
    ids[2 * to] = ids[2 * from] as number;
    ids[2 * to + 1] = ids[2 * from + 1] as number;
    contexts[to] = contexts[from] as number;
    lengths[to] = lengths[from] as number;
    layers[to] = layers[from] as number;
    sizes[to] = sizes[from];
  };

  const sizeOf = (i: number, bits: number): bigint => (sizes[i] ??= countAddresses(i, bits));

  const countAddresses = (i: number, bits: number): bigint => {
    const length = lengths[i] as number;
    if (length >= 0) return length === lengthOfIp ? 0n : (1n << BigInt(bits - length)) - 1n;
    const block = ids[2 * i] as number;
    const serial = ids[2 * i + 1] as number;
    const known = rangeSizes.get(block);
    if (known?.serial === serial) return known.size;
    const at = (starts[i] as number) + keyStart;
    const { first, last } = parseKey(Buffer.from(bytes.subarray(at, bytes.indexOf(quote, at))).toString());
    if (rangeSizes.size >= maxRanges) rangeSizes.clear();
    rangeSizes.set(block, { serial, size: last - first });
    return last - first;
  };

  /** Whether the key of a text is written before that of one of the same size from an earlier layer. Keys of one layer come in order. */
  const isWrittenBefore = (i: number, other: number, bits: number): boolean => {
    if (layers[i] === layers[other]) return false;
    const block = ids[2 * i] as number;
    const otherBlock = ids[2 * other] as number;
    for (let w = 0; w < bits / 32; w++) {
      const a = (words[block + writtenWord + w] as number) >>> 0;
      const b = (words[otherBlock + writtenWord + w] as number) >>> 0;
      if (a !== b) return a < b;
    }
    return false;
  };

  /** Whether the text at a position is more specific than one that comes before it in lists ({@link compareSpecificity}). */
  const isBefore = (i: number, other: number, bits: number): boolean => {
    const length = lengths[i] as number;
    const otherLength = lengths[other] as number;
    // Of prefixes the longer one.
    if (length >= 0 && otherLength >= 0) {
      return length === otherLength ? isWrittenBefore(i, other, bits) : length > otherLength;
    }
    const size = sizeOf(i, bits);
    const otherSize = sizeOf(other, bits);
    if (size !== otherSize) return size < otherSize;
    return length >= 0 === otherLength >= 0 ? isWrittenBefore(i, other, bits) : length >= 0;
  };

  const take = (item: number, to: number, layer: number): void => {
    const block = blockOf(item);
    const rank = item & 3;
    const start = jsonStart(words, block);
    starts[to] = start;
    ends[to] = start + (words[block + jsonWord] as number);
    ids[2 * to] = block;
    ids[2 * to + 1] = serialOf(words, block);
    contexts[to] = contextMask(words, bytes, block);
    lengths[to] = rank === rankOfIp ? lengthOfIp : rank === rankOfRange ? -1 : prefixLength(words, block);
    layers[to] = layer;
    sizes[to] = undefined;
  };

  /** Keys that differ only in how they are written stay in the order of lists. @param spare a position that is not in use. */
  const putBeforeEqual = (i: number, spare: number): void => {
    put(spare, i);
    let to = i;
    for (; to > 0 && lengths[to - 1] === lengths[spare]; to--) put(to, to - 1);
    put(to, spare);
  };

  /** Puts items of a state where they belong among those of earlier ones. */
  const place = (from: number, end: number, layer: number, bits: number): void => {
    const added = end - from;
    if (added === 0) return;
    const { items } = search;
    const before = texts.count;
    texts.count = before + added;
    if (before === 0 && readAhead(words, items, from, end)) {
      // Prefixes that cover one address lie in each other, and lists have the wider first.
      for (let i = 0; i < added; i++) {
        take(items[end - 1 - i] as number, i, layer);
        if (i > 0 && lengths[i] === lengths[i - 1]) putBeforeEqual(i, added);
      }
      return;
    }
    // The one to be placed is kept behind the others meanwhile.
    const last = before + added;
    for (let i = 0; i < added; i++) {
      take(items[from + i] as number, last, layer);
      let to = before + i;
      // Most go to the front.
      for (; to > 0 && isBefore(last, to - 1, bits); to--) put(to, to - 1);
      put(to, last);
    }
  };

  return {
    find(addresses, count, states, statesOf) {
      search.begin();
      let runs = 0;
      for (let i = 0; i < count; i++) {
        const family = setPlainWords(scratch, addresses, 4 * i);
        const stateCount = statesOf(family, scratch);
        for (let s = 0; s < stateCount; s++) search.add(states[s] as number, family, scratch);
        runs += stateCount;
        addressBits[i] = family === 4 ? 32 : 128;
        addressRuns[i] = runs;
        const known = (found[i] ??= createFoundTexts(bytes));
        known.isRead = false;
      }
      const end = search.findAll();
      if (count > 1) readAhead(words, search.items, 0, end);
    },
    read(i) {
      texts = found[i] as FoundTexts;
      if (texts.isRead) return texts;
      texts.isRead = true;
      ({ starts, ends, ids, contexts } = texts);
      texts.count = 0;
      const first = i === 0 ? 0 : (addressRuns[i - 1] as number);
      const end = addressRuns[i] as number;
      for (let run = first; run < end; run++) {
        place(
          run === 0 ? 0 : (search.ends[run - 1] as number),
          search.ends[run] as number,
          run - first,
          addressBits[i] as number,
        );
      }
      texts.isOfOneAddress = texts.count > 0 && lengths[0] === lengthOfIp;
      return texts;
    },
  };
}

/**
 * Reads a word of each of the first lines of the processor's cache over which the blocks lie: they come from memory side by side,
 * whereas what follows waits for one before it knows what to do with it.
 *
 * @returns whether all are prefixes or addresses; what follows from words read would else not be read.
 */
function readAhead(words: Int32Array, items: Int32Array, from: number, end: number): boolean {
  let ranks = 0;
  let sum = 0;
  for (let i = from; i < end; i++) {
    const item = items[i] as number;
    const block = blockOf(item);
    ranks |= item;
    sum |= (words[block] as number) | (words[block + 16] as number) | (words[block + 32] as number);
  }
  // The first word of a block is never 0.
  return sum !== 0 && (ranks & rankOfRange) === 0;
}
