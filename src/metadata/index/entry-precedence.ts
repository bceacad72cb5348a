import type { Family } from "../../base/ip/index.ts";
import { parseStoredKey } from "../model/name-key.ts";
import type { CoveringEntryTexts } from "../model/udm-store.ts";
import { CoveringSearch } from "./covering-entries.ts";
import { contextMask, jsonStart, jsonWord, prefixLength, serialOf, writtenWord } from "./entry-block.ts";
import { setPlainWords } from "./key-limbs.ts";
import { blockOf } from "./tree-nodes.ts";

const countBits = 16;
const countMask = 2 ** countBits - 1;

/** Combines the number of states with the number of first states whose entries come before all others. */
export function withFirstApart(count: number, apart: number): number {
  return count | (apart << countBits);
}

/** The texts that cover one address. They are read on demand. */
class FoundTexts implements CoveringEntryTexts {
  readonly bytes: Uint8Array;
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly ids: number[] = [];
  readonly contexts: number[] = [];
  count = 0;
  isOfOneAddress = false;
  isRead = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

const quote = 0x22;
/** The offset of the text of a key in JSON. */
const keyStart = '{"key":"'.length;
const rankOfRange = 1;
const rankOfIp = 2;
/** The length for IP keys, more than that of any prefix. */
const lengthOfIp = 1000;
/** The most ranges whose sizes are cached. */
const maxRanges = 1024;

/**
 * Finds the texts of the entries that cover addresses in states that are held or pinned. It first searches for all addresses and then reads
 * the entries, so that memory delivers them in parallel.
 */
export class CoveringTexts {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;
  readonly #search: CoveringSearch;
  /** The texts that cover each address, after they were read. */
  readonly #found: FoundTexts[];
  #texts: FoundTexts;
  /** The prefix length of each text found; -1 for a range. */
  readonly #lengths: number[] = [];
  /** The number of the layer of each text found. */
  readonly #layers: number[] = [];
  /** The number of addresses of each text's key, less one; undefined until it is needed. */
  readonly #sizes: (bigint | undefined)[] = [];
  readonly #scratch = new Int32Array(4);
  /** The bits of the family of each address, and the number of searches up to its last. */
  readonly #addressBits: number[] = [];
  readonly #addressRuns: number[] = [];
  /** The number of first searches of each address whose entries come before all others. */
  readonly #apart: number[] = [];
  readonly #rangeSizes = new Map<number, { readonly serial: number; readonly size: bigint }>();

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
    this.#bytes = new Uint8Array(buffer);
    this.#search = new CoveringSearch(this.#words);
    this.#found = [new FoundTexts(this.#bytes)];
    this.#texts = this.#found[0] as FoundTexts;
  }

  /**
   * @param addresses four words for each address, IPv4 in its mapped form.
   * @param statesOf writes the states that may cover the address at a position into `states`, one for each layer. For equal keys, the earlier
   * layer comes first. It returns the number of states, by {@link withFirstApart} where the entries of the first states come
   * before all others, however specific these are.
   */
  find(
    addresses: Int32Array,
    count: number,
    states: Int32Array,
    statesOf: (family: Family, address: Int32Array, i: number) => number,
  ): void {
    this.#search.begin();
    let runs = 0;
    for (let i = 0; i < count; i++) {
      const family = setPlainWords(this.#scratch, addresses, 4 * i);
      const given = statesOf(family, this.#scratch, i);
      const stateCount = given & countMask;
      this.#apart[i] = given >>> countBits;
      for (let s = 0; s < stateCount; s++) this.#search.add(states[s] as number, family, this.#scratch);
      runs += stateCount;
      this.#addressBits[i] = family === 4 ? 32 : 128;
      this.#addressRuns[i] = runs;
      const known = (this.#found[i] ??= new FoundTexts(this.#bytes));
      known.isRead = false;
    }
    const end = this.#search.findAll();
    if (count > 1) readAhead(this.#words, this.#search.items, 0, end);
  }

  /** Reads the texts that cover the address at a position. @returns the texts, valid until the next `find` and while the states are held. */
  readonly read = (i: number): CoveringEntryTexts => {
    const texts = this.#found[i] as FoundTexts;
    if (texts.isRead) return texts;
    this.#texts = texts;
    texts.isRead = true;
    texts.count = 0;
    const { ends } = this.#search;
    const first = i === 0 ? 0 : (this.#addressRuns[i - 1] as number);
    const end = this.#addressRuns[i] as number;
    const bits = this.#addressBits[i] as number;
    const lastApart = first + (this.#apart[i] as number) - 1;
    let fixed = 0;
    for (let run = first; run < end; run++) {
      this.#place(run === 0 ? 0 : (ends[run - 1] as number), ends[run] as number, run - first, bits, fixed);
      if (run === lastApart) fixed = texts.count;
    }
    texts.isOfOneAddress = texts.count > 0 && this.#lengths[0] === lengthOfIp;
    return texts;
  };

  #put(to: number, from: number): void {
    const { starts, ends, ids, contexts } = this.#texts;
    starts[to] = starts[from] as number;
    ends[to] = ends[from] as number;
    ids[2 * to] = ids[2 * from] as number;
    ids[2 * to + 1] = ids[2 * from + 1] as number;
    contexts[to] = contexts[from] as number;
    this.#lengths[to] = this.#lengths[from] as number;
    this.#layers[to] = this.#layers[from] as number;
    this.#sizes[to] = this.#sizes[from];
  }

  #sizeOf(i: number, bits: number): bigint {
    return (this.#sizes[i] ??= this.#countAddresses(i, bits));
  }

  #countAddresses(i: number, bits: number): bigint {
    const length = this.#lengths[i] as number;
    if (length >= 0) return length === lengthOfIp ? 0n : (1n << BigInt(bits - length)) - 1n;
    const { ids, starts } = this.#texts;
    const block = ids[2 * i] as number;
    const serial = ids[2 * i + 1] as number;
    const known = this.#rangeSizes.get(block);
    if (known?.serial === serial) return known.size;
    const at = (starts[i] as number) + keyStart;
    const { first, last } = parseStoredKey(
      Buffer.from(this.#bytes.subarray(at, this.#bytes.indexOf(quote, at))).toString(),
    );
    if (this.#rangeSizes.size >= maxRanges) this.#rangeSizes.clear();
    this.#rangeSizes.set(block, { serial, size: last - first });
    return last - first;
  }

  /** Reports whether the key of a text is written before that of one of the same size from an earlier layer. Keys of one layer come in order. */
  #isWrittenBefore(i: number, other: number, bits: number): boolean {
    if (this.#layers[i] === this.#layers[other]) return false;
    const block = this.#texts.ids[2 * i] as number;
    const otherBlock = this.#texts.ids[2 * other] as number;
    for (let w = 0; w < bits / 32; w++) {
      const a = (this.#words[block + writtenWord + w] as number) >>> 0;
      const b = (this.#words[otherBlock + writtenWord + w] as number) >>> 0;
      if (a !== b) return a < b;
    }
    return false;
  }

  /** Reports whether the text at a position is more specific than one that comes before it in lists ({@link compareSpecificity}). */
  #isBefore(i: number, other: number, bits: number): boolean {
    const length = this.#lengths[i] as number;
    const otherLength = this.#lengths[other] as number;
    // The longer of two prefixes takes precedence.
    if (length >= 0 && otherLength >= 0) {
      return length === otherLength ? this.#isWrittenBefore(i, other, bits) : length > otherLength;
    }
    const size = this.#sizeOf(i, bits);
    const otherSize = this.#sizeOf(other, bits);
    if (size !== otherSize) return size < otherSize;
    return length >= 0 === otherLength >= 0 ? this.#isWrittenBefore(i, other, bits) : length >= 0;
  }

  #take(item: number, to: number, layer: number): void {
    const block = blockOf(item);
    const rank = item & 3;
    const words = this.#words;
    const { starts, ends, ids, contexts } = this.#texts;
    const start = jsonStart(words, block);
    starts[to] = start;
    ends[to] = start + (words[block + jsonWord] as number);
    ids[2 * to] = block;
    ids[2 * to + 1] = serialOf(words, block);
    contexts[to] = contextMask(words, this.#bytes, block);
    this.#lengths[to] = rank === rankOfIp ? lengthOfIp : rank === rankOfRange ? -1 : prefixLength(words, block);
    this.#layers[to] = layer;
    this.#sizes[to] = undefined;
  }

  /** Moves a text before equal ones. Keys that differ only in spelling stay in list order. @param spare an unused position. */
  #putBeforeEqual(i: number, spare: number): void {
    this.#put(spare, i);
    let to = i;
    for (; to > 0 && this.#lengths[to - 1] === this.#lengths[spare]; to--) this.#put(to, to - 1);
    this.#put(to, spare);
  }

  /** Inserts the items of a state among those of earlier states. @param fixed the number of earlier items that come before all others. */
  #place(from: number, end: number, layer: number, bits: number, fixed: number): void {
    const added = end - from;
    if (added === 0) return;
    const { items } = this.#search;
    const before = this.#texts.count;
    this.#texts.count = before + added;
    if (before === 0 && readAhead(this.#words, items, from, end)) {
      // Prefixes that cover one address contain each other, and lists have the wider prefix first.
      for (let i = 0; i < added; i++) {
        this.#take(items[end - 1 - i] as number, i, layer);
        if (i > 0 && this.#lengths[i] === this.#lengths[i - 1]) this.#putBeforeEqual(i, added);
      }
      return;
    }
    // The item to insert is stored after the others meanwhile.
    const last = before + added;
    for (let i = 0; i < added; i++) {
      this.#take(items[from + i] as number, last, layer);
      let to = before + i;
      // Most items go to the front.
      for (; to > fixed && this.#isBefore(last, to - 1, bits); to--) this.#put(to, to - 1);
      this.#put(to, last);
    }
  }
}

/**
 * Reads a word of each of the first cache lines of the blocks, so that memory delivers them in parallel. The code that follows
 * would wait for one block after the other.
 *
 * @returns true where all are prefixes or addresses. The result depends on the words, because the compiler would otherwise remove the reads.
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
