import type { Family } from "../../base/ip/index.ts";
import { parseStoredKey } from "../model/name-key.ts";
import { parseUdmJson, udmJson, renderEntry } from "../model/render-entry.ts";
import { udmContexts, type UdmContext, type UdmEntry, type UdmFileOnly } from "../model/entry.ts";
import { entryPart, type Heap } from "./heap.ts";
import type { KeyWords } from "./key-limbs.ts";

// The block of an entry, in words:
//   0  size class, part, bit 9 for IPv6, bit 10 for file-only fields; from bit 16 on, the length of the common prefix of the key's first
//      and last address
//   1  the number of leaves and snapshots that refer to it
//   2  a serial number that no other block has had for long
//   3  bytes of JSON
//   4  bytes of YAML
//   5  bytes of file-only fields, which end the YAML
//   6  number of contexts; -1 without that field
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

/** Returns the byte at which an entry's JSON begins. Its YAML follows. */
export function jsonStart(words: Int32Array, block: number): number {
  const width = ((words[block] as number) & ipv6Bit) === 0 ? 1 : 4;
  return (block + writtenWord + width) * 4;
}

/** Returns the serial number of a block, which no other block has had for long. */
export function serialOf(words: Int32Array, block: number): number {
  return words[block + serialWord] as number;
}

/** Returns the length of a prefix; for a range, that of the smallest prefix that contains it. */
export function prefixLength(words: Int32Array, block: number): number {
  return (words[block] as number) >>> lengthShift;
}

/** Returns the contexts in which an entry applies, one bit each in the order of {@link udmContexts}. All bits are set where it has no limit. */
export function contextMask(words: Int32Array, bytes: Uint8Array, block: number): number {
  const count = ((words[block] as number) & fileOnlyBit) === 0 ? -1 : (words[block + contextsWord] as number);
  if (count < 0) return allContexts;
  const start = jsonStart(words, block) + (words[block + jsonWord] as number) + (words[block + yamlWord] as number);
  let mask = 0;
  for (let i = 0; i < count; i++) mask |= 1 << (bytes[start + i] as number);
  return mask;
}

/** The JSON and then the YAML of an entry, at the start of an array of words. */
export interface RenderedTexts {
  readonly words: Int32Array;
  readonly jsonBytes: number;
  readonly yamlBytes: number;
}

const scratchBytes = 64 * 1024;

/** Writes entries into blocks. */
export class EntryWriter {
  readonly #heap: Heap;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #small = Buffer.from(new ArrayBuffer(scratchBytes));
  readonly #smallWords = new Int32Array(this.#small.buffer);
  #last: number;

  /** @param serial the serial number of the last block that was written before. */
  constructor(heap: Heap, serial = 0) {
    this.#heap = heap;
    this.#words = heap.words;
    this.#last = serial;
  }

  /** Returns the serial number of the block that was written last. */
  serial(): number {
    return this.#last;
  }

  /** Writes an entry without file-only fields whose texts are already known. @throws HeapFullError */
  writeTexts(family: Family, key: KeyWords, { words: texts, jsonBytes, yamlBytes }: RenderedTexts): number {
    const block = this.#allocate(family, key, jsonBytes, yamlBytes, 0);
    this.#copyInto(block, texts, jsonBytes + yamlBytes);
    return block;
  }

  /** Writes an entry. @returns a block with one reference to it. @throws HeapFullError */
  write(entry: UdmEntry, key: KeyWords, yaml: string = renderEntry(entry)): number {
    const { family } = entry.key;
    const json = udmJson(entry);
    const { fileOnly } = entry;
    const contexts = fileOnly?.contexts ?? [];
    // UTF-8 has at most three bytes for each unit of a text.
    const most = 3 * (json.length + yaml.length) + contexts.length;
    const scratch = most <= scratchBytes ? this.#small : Buffer.from(new ArrayBuffer((most + 3) & ~3));
    const jsonBytes = scratch.write(json, 0);
    const yamlBytes = scratch.write(yaml, jsonBytes);
    let length = jsonBytes + yamlBytes;
    for (const context of contexts) scratch[length++] = udmContexts.indexOf(context);
    const block = this.#allocate(family, key, jsonBytes, yamlBytes, contexts.length);
    if (fileOnly !== undefined) {
      (this.#words[block] as number) |= fileOnlyBit;
      this.#words[block + fileOnlyWord] = Buffer.byteLength(fileOnly.yaml);
    }
    if (fileOnly?.contexts !== undefined) this.#words[block + contextsWord] = contexts.length;
    this.#copyInto(block, scratch === this.#small ? this.#smallWords : new Int32Array(scratch.buffer), length);
    return block;
  }

  /** Copies whole words. For so few, a system copy takes longer. */
  #copyInto(block: number, from: Int32Array, bytes: number): void {
    const at = jsonStart(this.#words, block) >>> 2;
    const count = (bytes + 3) >>> 2;
    for (let i = 0; i < count; i++) this.#words[at + i] = from[i] as number;
  }

  #allocate(family: Family, key: KeyWords, jsonBytes: number, yamlBytes: number, more: number): number {
    const width = family === 4 ? 1 : 4;
    const block = this.#heap.allocate(writtenWord + width + ((jsonBytes + yamlBytes + more + 3) >>> 2), entryPart);
    if (family === 6) (this.#words[block] as number) |= ipv6Bit;
    (this.#words[block] as number) |= commonBits(key, width) << lengthShift;
    this.#words[block + 1] = 1;
    this.#words[block + serialWord] = ++this.#last;
    this.#words[block + jsonWord] = jsonBytes;
    this.#words[block + yamlWord] = yamlBytes;
    this.#words[block + fileOnlyWord] = 0;
    this.#words[block + contextsWord] = -1;
    for (let i = 0; i < width; i++) this.#words[block + writtenWord + i] = key.written[i] as number;
    return block;
  }
}

function commonBits({ first, last }: KeyWords, width: number): number {
  for (let w = 0; w < width; w++) {
    const difference = (first[w] as number) ^ (last[w] as number);
    if (difference !== 0) return 32 * w + Math.clz32(difference);
  }
  return 32 * width;
}

/** Reads the blocks of entries, in any thread. */
export class EntryReader {
  readonly #cacheSize: number;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Buffer<SharedArrayBuffer>;
  readonly #cachedBlocks: Int32Array<ArrayBuffer>;
  readonly #cachedSerials: Int32Array<ArrayBuffer>;
  readonly #cached: (UdmEntry | undefined)[];

  /** @param cacheSize the most entries that are kept as objects, a power of two. */
  constructor(buffer: SharedArrayBuffer, cacheSize: number) {
    this.#cacheSize = cacheSize;
    this.#words = new Int32Array(buffer);
    this.#bytes = Buffer.from(buffer);
    this.#cachedBlocks = new Int32Array(cacheSize);
    this.#cachedSerials = new Int32Array(cacheSize);
    this.#cached = Array<UdmEntry | undefined>(cacheSize);
  }

  entry(block: number): UdmEntry {
    const slot = this.#slotOf(block);
    if (this.#isCached(slot, block)) return this.#cached[slot] as UdmEntry;
    const made = this.#make(block);
    this.#cachedBlocks[slot] = block;
    this.#cachedSerials[slot] = this.#words[block + serialWord] as number;
    this.#cached[slot] = made;
    return made;
  }

  /** Reads an entry without caching it, for scans over many entries. Cached, they would displace all others and become long-lived garbage. */
  passing(block: number): UdmEntry {
    const slot = this.#slotOf(block);
    return this.#isCached(slot, block) ? (this.#cached[slot] as UdmEntry) : this.#make(block);
  }

  /** Reports whether two blocks have the same bytes, so that their entries are equal. */
  isSame(block: number, other: number): boolean {
    if ((((this.#words[block] as number) ^ (this.#words[other] as number)) & entryBits) !== 0) return false;
    if (this.#words[block + jsonWord] !== this.#words[other + jsonWord]) return false;
    if (this.#words[block + yamlWord] !== this.#words[other + yamlWord]) return false;
    const start = jsonStart(this.#words, block) >>> 2;
    const otherStart = jsonStart(this.#words, other) >>> 2;
    const length = (this.#words[block + jsonWord] as number) + (this.#words[block + yamlWord] as number);
    for (let i = 0; i < length >>> 2; i++) if (this.#words[start + i] !== this.#words[otherStart + i]) return false;
    for (let i = length & ~3; i < length; i++) {
      if (this.#bytes[4 * start + i] !== this.#bytes[4 * otherStart + i]) return false;
    }
    return true;
  }

  #yamlStart(block: number): number {
    return jsonStart(this.#words, block) + (this.#words[block + jsonWord] as number);
  }

  #fileOnlyOf(block: number): UdmFileOnly | undefined {
    if (((this.#words[block] as number) & fileOnlyBit) === 0) return undefined;
    const end = this.#yamlStart(block) + (this.#words[block + yamlWord] as number);
    const yaml = this.#bytes.toString("utf8", end - (this.#words[block + fileOnlyWord] as number), end);
    const count = this.#words[block + contextsWord] as number;
    if (count < 0) return { yaml };
    const contexts = Array.from({ length: count }, (_, i) => udmContexts[this.#bytes[end + i] as number] as UdmContext);
    return { yaml, contexts };
  }

  #make(block: number): UdmEntry {
    const { key: text, ...values } = parseUdmJson(
      this.#bytes.toString("utf8", jsonStart(this.#words, block), this.#yamlStart(block)),
    );
    const fileOnly = this.#fileOnlyOf(block);
    const key = parseStoredKey(text);
    return fileOnly === undefined ? { key, ...values } : { key, ...values, fileOnly };
  }

  #slotOf(block: number): number {
    return (Math.imul(block, 0x9e37_79b1) >>> 8) & (this.#cacheSize - 1);
  }

  #isCached(slot: number, block: number): boolean {
    return this.#cachedBlocks[slot] === block && this.#cachedSerials[slot] === this.#words[block + serialWord];
  }
}
