/**
 * How a ring of datagrams lies in shared memory.
 *
 *     control   Int32   written | read | asleep | forget                (one in 64 bytes)
 *     data      bytes   entry entry entry … free … entry entry
 *
 * `written` and `read` count bytes since the beginning and wrap at 2^32; their difference is what is in the ring. The
 * capacity is a power of two. Entries begin at multiples of 8 and do not cross the end: where one does not fit there, a
 * mark says that the next stands at the beginning.
 *
 *     entry     length Uint32 | exporter Uint32 | port Uint32 | - | received Float64 | length bytes, up to a multiple of 8
 *
 * Exporters are numbered; an entry with a mark for a port says which address a number stands for from there on. Either side
 * may be replaced by another one when its thread dies: a new writer starts a new numbering, a new reader requests one.
 */
export interface RingHandle {
  readonly control: SharedArrayBuffer;
  readonly data: SharedArrayBuffer;
}

/** Places in the control words, apart from each other because different threads write them. */
export const control = { written: 0, read: 16, asleep: 32, forget: 48, words: 64 } as const;

export const entryHeader = 24;

/** In place of a length. */
export const marks = {
  /** The next entry is at the beginning of the ring. */
  wrap: 0xffff_ffff,
} as const;

/** In place of a port: the entry says the address of an exporter's number. */
export const addressMark = 0xffff_ffff;

/** Bytes that an entry with this many bytes of content takes. */
export function entrySize(length: number): number {
  return (entryHeader + length + 7) & ~7;
}

/** @param bytes is taken up to a power of two, 64 KiB to 1 GiB. */
export function createRing(bytes: number): RingHandle {
  const bits = Math.min(30, Math.max(16, Math.ceil(Math.log2(bytes))));
  return { control: new SharedArrayBuffer(4 * control.words), data: new SharedArrayBuffer(2 ** bits) };
}
