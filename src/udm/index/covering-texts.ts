import { parseKey, type Family } from "../../ip/index.ts";
import type { CoveringEntryTexts } from "../model/udm-index.ts";
import { createCoveringSearch } from "./covering-entries.ts";
import { contextMask, jsonStart, jsonWord, serialOf } from "./entry-block.ts";
import { blockOf } from "./node-layout.ts";

/** Finds the texts of the entries that cover an address in a state that is held or pinned. */
export interface CoveringTexts {
  /** @param snapshot 0 before there is any state. @returns what may be read until the next call, while the state is held. */
  find(snapshot: number, family: Family, address: Int32Array): CoveringEntryTexts;
}

const quote = 0x22;
const slash = 0x2f;
/** Where the text of a key begins in JSON. */
const keyStart = '{"key":"'.length;
const rankOfRange = 1;
const rankOfIp = 2;
/** More than the length of any prefix. */
const lengthOfIp = 1000;
/** Ranges whose sizes are remembered. */
const maxRanges = 1024;

export function createCoveringTexts(buffer: SharedArrayBuffer): CoveringTexts {
  const words = new Int32Array(buffer);
  const bytes = new Uint8Array(buffer);
  const search = createCoveringSearch(words);
  const starts: number[] = [];
  const ends: number[] = [];
  const ids: number[] = [];
  const contexts: number[] = [];
  const texts = { bytes, starts, ends, ids, contexts, count: 0, isOfOneAddress: false };
  /** Of each text found: the length of its prefix, -1 for a range. */
  const lengths: number[] = [];
  const rangeSizes = new Map<number, { readonly serial: number; readonly size: bigint }>();

  const put = (to: number, from: number): void => {
    starts[to] = starts[from] as number;
    ends[to] = ends[from] as number;
    ids[2 * to] = ids[2 * from] as number;
    ids[2 * to + 1] = ids[2 * from + 1] as number;
    contexts[to] = contexts[from] as number;
    lengths[to] = lengths[from] as number;
  };

  const prefixLength = (start: number): number => {
    let at = start + keyStart;
    while (bytes[at] !== slash) at++;
    let length = 0;
    for (at++; bytes[at] !== quote; at++) length = 10 * length + (bytes[at] as number) - 0x30;
    return length;
  };

  /** How many addresses a text's key has, less one. */
  const sizeOf = (i: number, bits: number): bigint => {
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

  /** Whether the text at a position is more specific than one that comes before it in lists ({@link compareSpecificity}). */
  const isBefore = (i: number, other: number, bits: number): boolean => {
    const length = lengths[i] as number;
    const otherLength = lengths[other] as number;
    // Of prefixes the longer one.
    if (length >= 0 && otherLength >= 0) return length > otherLength;
    const size = sizeOf(i, bits);
    const otherSize = sizeOf(other, bits);
    return size === otherSize ? length >= 0 && otherLength < 0 : size < otherSize;
  };

  return {
    find(snapshot, family, address) {
      const bits = family === 4 ? 32 : 128;
      const count = snapshot === 0 ? 0 : search.find(snapshot, family, address);
      readAhead(words, search.items, count);
      for (let i = 0; i < count; i++) {
        const item = search.items[i] as number;
        const block = blockOf(item);
        const rank = item & 3;
        const start = jsonStart(words, block);
        // Lists have the wider first, so most go to the front; the one to be placed is kept behind the others meanwhile.
        starts[count] = start;
        ends[count] = start + (words[block + jsonWord] as number);
        ids[2 * count] = block;
        ids[2 * count + 1] = serialOf(words, block);
        contexts[count] = contextMask(words, bytes, block);
        lengths[count] = rank === rankOfIp ? lengthOfIp : rank === rankOfRange ? -1 : prefixLength(start);
        let to = i;
        for (; to > 0 && isBefore(count, to - 1, bits); to--) put(to, to - 1);
        put(to, count);
      }
      texts.count = count;
      texts.isOfOneAddress = count > 0 && lengths[0] === lengthOfIp;
      return texts;
    },
  };
}

/**
 * Reads a word of each of the first lines of the processor's cache over which the blocks lie: they come from memory side by side,
 * whereas what follows waits for one before it knows what to do with it.
 *
 * @returns something that depends on all of them, for else nothing would be read.
 */
function readAhead(words: Int32Array, items: Int32Array, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const block = blockOf(items[i] as number);
    sum |= (words[block] as number) | (words[block + 16] as number) | (words[block + 32] as number);
  }
  return sum;
}
