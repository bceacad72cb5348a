import type { AddressRange } from "../model/udm-index.ts";
import { addressValue, setAddressWords } from "./key-words.ts";

// What each publication changed, for readers in other threads: a ring of rows behind two words, how many rows were
// written and how many were begun, which both only grow. A row is
//   0      low 32 bits of the version that the change came with
//   1      4 or 6; 0 when anything may have changed
//   2 – 5  first address of what changed       6 – 9  last address
const rows = 4096;
const rowWords = 10;
const writtenWord = 0;
const begunWord = 1;
const headWords = 2;

/** A publication that changed more than this counts as one that may have changed anything. */
export const mostChanges = rows / 4;

export function createChangeBuffer(): SharedArrayBuffer {
  return new SharedArrayBuffer((headWords + rows * rowWords) * 4);
}

/** Writes the changes of a version; to be called before that is published. */
export type NoteChanges = (version: number, changed: readonly AddressRange[] | undefined) => void;

export function createChangeWriter(buffer: SharedArrayBuffer): NoteChanges {
  const words = new Int32Array(buffer);
  const scratch = new Int32Array(4);
  let written = 0;

  const writeAddress = (at: number, range: AddressRange, value: bigint): void => {
    setAddressWords(scratch, range.family, value);
    for (let w = 0; w < 4; w++) Atomics.store(words, at + w, scratch[w] as number);
  };

  return (version, changed) => {
    const ranges = changed === undefined || changed.length > mostChanges ? [undefined] : changed;
    Atomics.store(words, begunWord, written + ranges.length);
    for (const range of ranges) {
      const at = rowAt(written);
      written = (written + 1) | 0;
      Atomics.store(words, at, version);
      Atomics.store(words, at + 1, range?.family ?? 0);
      if (range === undefined) continue;
      writeAddress(at + 2, range, range.first);
      writeAddress(at + 6, range, range.last);
    }
    Atomics.store(words, writtenWord, written);
  };
}

/** What changed up to a version. */
export interface Changes {
  /** Low 32 bits. */
  readonly version: number;
  /** Undefined: anything may have. */
  readonly changed: readonly AddressRange[] | undefined;
}

/**
 * Reads the changes since the last call, up to the version that is published; the first call says that anything may have
 * changed, and so does one for which the ring no longer reaches back.
 *
 * @param publishedVersion the low 32 bits of it, by an atomic load.
 */
export function createChangeReader(buffer: SharedArrayBuffer, publishedVersion: () => number): () => Changes {
  const words = new Int32Array(buffer);
  const scratch = new Int32Array(4);
  let read = 0;
  let isLost = true;

  const readAddress = (at: number, family: 4 | 6): bigint => {
    for (let w = 0; w < 4; w++) scratch[w] = Atomics.load(words, at + w);
    return addressValue(scratch, family);
  };

  /** What is overwritten meanwhile may be of two changes, which `isLost` then shows. */
  const readRows = (version: number): AddressRange[] | undefined => {
    const start = read;
    const end = Atomics.load(words, writtenWord);
    const ranges: AddressRange[] = [];
    let isAnything = false;
    for (; read !== end; read = (read + 1) | 0) {
      const at = rowAt(read);
      // Rows of what is about to be published are left for the next call.
      if (((Atomics.load(words, at) - version) | 0) > 0) break;
      const family = Atomics.load(words, at + 1);
      if (family === 4 || family === 6) {
        ranges.push({ family, first: readAddress(at + 2, family), last: readAddress(at + 6, family) });
      } else isAnything = true;
    }
    isLost = ((Atomics.load(words, begunWord) - start) | 0) > rows;
    return isAnything ? undefined : ranges;
  };

  return () => {
    let hasLost = false;
    for (;;) {
      if (isLost) {
        hasLost = true;
        // All but the rows of the last publications belong to versions that are seen below.
        const written = Atomics.load(words, writtenWord);
        if (((written - read) | 0) > rows / 2) read = (written - rows / 2) | 0;
        isLost = false;
      }
      const version = publishedVersion();
      const changed = readRows(version);
      if (!isLost) return { version, changed: hasLost ? undefined : changed };
    }
  };
}

function rowAt(count: number): number {
  return headWords + (count & (rows - 1)) * rowWords;
}
