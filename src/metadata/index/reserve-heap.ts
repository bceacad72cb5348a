import { slabBytes } from "./size-classes.ts";

/** Generous for an entry of address plans, and for two states that differ in all of them. */
const bytesAnEntry = 1024;
const leastBytes = 16 * 1024 * 1024;
/** What one view of a buffer may cover in every supported version of Node, less a slab. */
const mostBytes = 2 ** 32 - slabBytes;

/**
 * Address space for this many entries. Where the system refuses it, half of that, and so on.
 *
 * @param onSmaller is called when it became less.
 * @throws Error when there is not even a little.
 */
export function reserveHeap(
  maxEntries: number,
  onSmaller: (bytes: number, askedFor: number) => void = () => {},
): SharedArrayBuffer {
  const wanted = Math.min(Math.max(maxEntries * bytesAnEntry, leastBytes), mostBytes);
  const askedFor = Math.ceil(wanted / slabBytes) * slabBytes;
  for (let bytes = askedFor; bytes >= leastBytes; bytes = Math.ceil(bytes / 2 / slabBytes) * slabBytes) {
    try {
      const buffer = new SharedArrayBuffer(bytes);
      if (bytes < askedFor) onSmaller(bytes, askedFor);
      return buffer;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new Error(`the system gives no memory for metadata, not even ${leastBytes / 1024 / 1024} MB`);
}
