import { parseKey } from "../../ip/index.ts";
import { parseUdmJson, udmJson } from "../entry-json.ts";
import type { UdmContext, UdmEntry, UdmFileOnly } from "../udm-entry.ts";
import { renderEntry } from "../yaml-writer.ts";
import { entryPart, type Heap } from "./heap.ts";
import type { KeyWords } from "./key-words.ts";

// The block of an entry, in words:
//   0  size class, part, bit 9 for IPv6, bit 10 for what the file alone knows
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

const contextNames: readonly UdmContext[] = ["exporter", "endpoint"];

/** The byte where an entry's JSON begins; its YAML follows. */
export function jsonStart(words: Int32Array, block: number): number {
  const width = ((words[block] as number) & ipv6Bit) === 0 ? 1 : 4;
  return (block + writtenWord + width) * 4;
}

/** Whether an entry applies in some contexts only. */
export function hasContexts(words: Int32Array, block: number): boolean {
  return ((words[block] as number) & fileOnlyBit) !== 0 && (words[block + contextsWord] as number) >= 0;
}

/** Puts entries into blocks. */
export interface EntryWriter {
  /** @returns a block with one reference to it. @throws HeapFullError */
  write(entry: UdmEntry, key: KeyWords): number;
}

const scratchBytes = 64 * 1024;

export function createEntryWriter(heap: Heap): EntryWriter {
  const { words } = heap;
  const bytes = Buffer.from(heap.buffer);
  const small = Buffer.allocUnsafe(scratchBytes);
  let serial = 0;
  return {
    write(entry, key) {
      const { family } = entry.key;
      const width = family === 4 ? 1 : 4;
      const json = udmJson(entry);
      const yaml = renderEntry(entry);
      const { fileOnly } = entry;
      const contexts = fileOnly?.contexts ?? [];
      // UTF-8 has at most three bytes for each unit of a text.
      const most = 3 * (json.length + yaml.length) + contexts.length;
      const scratch = most <= scratchBytes ? small : Buffer.allocUnsafe(most);
      const jsonBytes = scratch.write(json, 0);
      const yamlBytes = scratch.write(yaml, jsonBytes);
      let length = jsonBytes + yamlBytes;
      for (const context of contexts) scratch[length++] = contextNames.indexOf(context);
      const headLength = writtenWord + width;
      const block = heap.allocate(headLength + ((length + 3) >>> 2), entryPart);
      (words[block] as number) |= (family === 6 ? ipv6Bit : 0) | (fileOnly === undefined ? 0 : fileOnlyBit);
      words[block + 1] = 1;
      words[block + serialWord] = ++serial;
      words[block + jsonWord] = jsonBytes;
      words[block + yamlWord] = yamlBytes;
      words[block + fileOnlyWord] = fileOnly === undefined ? 0 : Buffer.byteLength(fileOnly.yaml);
      words[block + contextsWord] = fileOnly?.contexts === undefined ? -1 : contexts.length;
      for (let i = 0; i < width; i++) words[block + writtenWord + i] = key.written[i] as number;
      scratch.copy(bytes, (block + headLength) * 4, 0, length);
      return block;
    },
  };
}

/** Reads the blocks of entries, in any thread. */
export interface EntryReader {
  entry(block: number): UdmEntry;
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
    const contexts = Array.from({ length: count }, (_, i) => contextNames[bytes[end + i] as number] as UdmContext);
    return { yaml, contexts };
  };

  const make = (block: number): UdmEntry => {
    const { key: text, ...values } = parseUdmJson(bytes.toString("utf8", jsonStart(words, block), yamlStart(block)));
    const fileOnly = fileOnlyOf(block);
    const key = parseKey(text);
    return fileOnly === undefined ? { key, ...values } : { key, ...values, fileOnly };
  };

  return {
    entry(block) {
      const slot = (Math.imul(block, 0x9e37_79b1) >>> 8) & (cacheSize - 1);
      const serial = words[block + serialWord] as number;
      if (cachedBlocks[slot] === block && cachedSerials[slot] === serial) return cached[slot] as UdmEntry;
      const made = make(block);
      cachedBlocks[slot] = block;
      cachedSerials[slot] = serial;
      cached[slot] = made;
      return made;
    },
  };
}
