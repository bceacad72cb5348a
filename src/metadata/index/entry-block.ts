import { parseKey, type Family } from "../../base/ip/index.ts";
import { parseUdmJson, udmJson, renderEntry } from "../model/render-entry.ts";
import { udmContexts, type UdmContext, type UdmEntry, type UdmFileOnly } from "../model/entry.ts";
import { entryPart, type Heap } from "./heap.ts";
import type { KeyWords } from "./key-limbs.ts";

// The block of an entry, in words:
//   0  size class, part, bit 9 for IPv6, bit 10 for what the file alone knows, from bit 16 on the bits that first and last address
//      of its key have in common
//   1  how many leaves and snapshots refer to it
//   2  a number that no other block has had for long
//   3  bytes of JSON
//   4  bytes of YAML
//   5  of those at the end, bytes of the fields that the file alone knows
//   6  number of contexts; -1 for no such field
//   7  address as written, 1 or 4 words
// then the JSON, the YAML and a byte for each context.
const serialWord = 2;
export const jsonWord = 3;
export const yamlWord = 4;
const fileOnlyWord = 5;
const contextsWord = 6;
export const writtenWord = 7;
const ipv6Bit = 0x200;
const fileOnlyBit = 0x400;
const entryBits = ipv6Bit | fileOnlyBit;
const lengthShift = 16;

const allContexts = 2 ** udmContexts.length - 1;

/** The byte where an entry's JSON begins; its YAML follows. */
export function jsonStart(words: Int32Array, block: number): number {
  const width = ((words[block] as number) & ipv6Bit) === 0 ? 1 : 4;
  return (block + writtenWord + width) * 4;
}

/** A number that no other text of a block has had for long. */
export function serialOf(words: Int32Array, block: number): number {
  return words[block + serialWord] as number;
}

/** The length of a prefix; of a range, that of the smallest prefix that has it all. */
export function prefixLength(words: Int32Array, block: number): number {
  return (words[block] as number) >>> lengthShift;
}

/** The contexts in which an entry applies, a bit each in the order of {@link udmContexts}; all where it is not limited. */
export function contextMask(words: Int32Array, bytes: Uint8Array, block: number): number {
  const count = ((words[block] as number) & fileOnlyBit) === 0 ? -1 : (words[block + contextsWord] as number);
  if (count < 0) return allContexts;
  const start = jsonStart(words, block) + (words[block + jsonWord] as number) + (words[block + yamlWord] as number);
  let mask = 0;
  for (let i = 0; i < count; i++) mask |= 1 << (bytes[start + i] as number);
  return mask;
}

/** Puts entries into blocks. */
export interface EntryWriter {
  /** @returns a block with one reference to it. @throws HeapFullError */
  write(entry: UdmEntry, key: KeyWords, yaml?: string): number;
  /** The same for an entry of which the file alone knows nothing and whose texts are known already. @throws HeapFullError */
  writeTexts(family: Family, key: KeyWords, texts: RenderedTexts): number;
  /** Of the block that was written last. */
  serial(): number;
}

/** The JSON of an entry, then its YAML, at the start of some words. */
export interface RenderedTexts {
  readonly words: Int32Array;
  readonly jsonBytes: number;
  readonly yamlBytes: number;
}

const scratchBytes = 64 * 1024;

/** @param serial of the last block that was written before. */
export function createEntryWriter(heap: Heap, serial = 0): EntryWriter {
  const { words } = heap;
  const small = Buffer.from(new ArrayBuffer(scratchBytes));
  const smallWords = new Int32Array(small.buffer);
  let last = serial;

  /** Copies whole words: of so few the system's copy takes longer. */
  const copyInto = (block: number, from: Int32Array, bytes: number): void => {
    const at = jsonStart(words, block) >>> 2;
    const count = (bytes + 3) >>> 2;
    for (let i = 0; i < count; i++) words[at + i] = from[i] as number;
  };

  const allocate = (family: Family, key: KeyWords, jsonBytes: number, yamlBytes: number, more: number): number => {
    const width = family === 4 ? 1 : 4;
    const block = heap.allocate(writtenWord + width + ((jsonBytes + yamlBytes + more + 3) >>> 2), entryPart);
    if (family === 6) (words[block] as number) |= ipv6Bit;
    (words[block] as number) |= commonBits(key, width) << lengthShift;
    words[block + 1] = 1;
    words[block + serialWord] = ++last;
    words[block + jsonWord] = jsonBytes;
    words[block + yamlWord] = yamlBytes;
    words[block + fileOnlyWord] = 0;
    words[block + contextsWord] = -1;
    for (let i = 0; i < width; i++) words[block + writtenWord + i] = key.written[i] as number;
    return block;
  };

  return {
    serial: () => last,
    writeTexts(family, key, { words: texts, jsonBytes, yamlBytes }) {
      const block = allocate(family, key, jsonBytes, yamlBytes, 0);
      copyInto(block, texts, jsonBytes + yamlBytes);
      return block;
    },
    write(entry, key, yaml = renderEntry(entry)) {
      const { family } = entry.key;
      const json = udmJson(entry);
      const { fileOnly } = entry;
      const contexts = fileOnly?.contexts ?? [];
      // UTF-8 has at most three bytes for each unit of a text.
      const most = 3 * (json.length + yaml.length) + contexts.length;
      const scratch = most <= scratchBytes ? small : Buffer.from(new ArrayBuffer((most + 3) & ~3));
      const jsonBytes = scratch.write(json, 0);
      const yamlBytes = scratch.write(yaml, jsonBytes);
      let length = jsonBytes + yamlBytes;
      for (const context of contexts) scratch[length++] = udmContexts.indexOf(context);
      const block = allocate(family, key, jsonBytes, yamlBytes, contexts.length);
      if (fileOnly !== undefined) {
        (words[block] as number) |= fileOnlyBit;
        words[block + fileOnlyWord] = Buffer.byteLength(fileOnly.yaml);
      }
      if (fileOnly?.contexts !== undefined) words[block + contextsWord] = contexts.length;
      copyInto(block, scratch === small ? smallWords : new Int32Array(scratch.buffer), length);
      return block;
    },
  };
}

function commonBits({ first, last }: KeyWords, width: number): number {
  for (let w = 0; w < width; w++) {
    const difference = (first[w] as number) ^ (last[w] as number);
    if (difference !== 0) return 32 * w + Math.clz32(difference);
  }
  return 32 * width;
}

/** Reads the blocks of entries, in any thread. */
export interface EntryReader {
  entry(block: number): UdmEntry;
  /** The same for who passes over many, which are not kept: they would push out all others, and be garbage of long life. */
  passing(block: number): UdmEntry;
  /** Whether two blocks hold the same bytes: their entries are the same then. */
  isSame(block: number, other: number): boolean;
}

/** @param cacheSize most entries that are kept as objects; a power of two. */
export function createEntryReader(buffer: SharedArrayBuffer, cacheSize: number): EntryReader {
  const words = new Int32Array(buffer);
  const bytes = Buffer.from(buffer);
  const cachedBlocks = new Int32Array(cacheSize);
  const cachedSerials = new Int32Array(cacheSize);
  const cached = Array<UdmEntry | undefined>(cacheSize);

  const yamlStart = (block: number): number => jsonStart(words, block) + (words[block + jsonWord] as number);

  const fileOnlyOf = (block: number): UdmFileOnly | undefined => {
    if (((words[block] as number) & fileOnlyBit) === 0) return undefined;
    const end = yamlStart(block) + (words[block + yamlWord] as number);
    const yaml = bytes.toString("utf8", end - (words[block + fileOnlyWord] as number), end);
    const count = words[block + contextsWord] as number;
    if (count < 0) return { yaml };
    const contexts = Array.from({ length: count }, (_, i) => udmContexts[bytes[end + i] as number] as UdmContext);
    return { yaml, contexts };
  };

  const make = (block: number): UdmEntry => {
    const { key: text, ...values } = parseUdmJson(bytes.toString("utf8", jsonStart(words, block), yamlStart(block)));
    const fileOnly = fileOnlyOf(block);
    const key = parseKey(text);
    return fileOnly === undefined ? { key, ...values } : { key, ...values, fileOnly };
  };

  const slotOf = (block: number): number => (Math.imul(block, 0x9e37_79b1) >>> 8) & (cacheSize - 1);
  const isCached = (slot: number, block: number): boolean =>
    cachedBlocks[slot] === block && cachedSerials[slot] === words[block + serialWord];

  return {
    entry(block) {
      const slot = slotOf(block);
      if (isCached(slot, block)) return cached[slot] as UdmEntry;
      const made = make(block);
      cachedBlocks[slot] = block;
      cachedSerials[slot] = words[block + serialWord] as number;
      cached[slot] = made;
      return made;
    },
    passing(block) {
      const slot = slotOf(block);
      return isCached(slot, block) ? (cached[slot] as UdmEntry) : make(block);
    },
    isSame(block, other) {
      if ((((words[block] as number) ^ (words[other] as number)) & entryBits) !== 0) return false;
      if (words[block + jsonWord] !== words[other + jsonWord]) return false;
      if (words[block + yamlWord] !== words[other + yamlWord]) return false;
      const start = jsonStart(words, block) >>> 2;
      const otherStart = jsonStart(words, other) >>> 2;
      const length = (words[block + jsonWord] as number) + (words[block + yamlWord] as number);
      for (let i = 0; i < length >>> 2; i++) if (words[start + i] !== words[otherStart + i]) return false;
      for (let i = length & ~3; i < length; i++) {
        if (bytes[4 * start + i] !== bytes[4 * otherStart + i]) return false;
      }
      return true;
    },
  };
}
