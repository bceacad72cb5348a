/**
 * How a ring of datagrams lies in shared memory.
 *
 *     control   Int32   written | read, mean time | asleep | forget                (in 64 bytes each)
 *     data      bytes   entry entry entry … free … entry entry
 *     senders   Uint32  what the reader says of an exporter, by its number
 *
 * `written` and `read` count bytes since the beginning and wrap at 2^32; their difference is what is in the ring. The
 * capacity is a power of two. Entries begin at multiples of 8 and do not cross the end: where one does not fit there, a
 * mark says that the next stands at the beginning.
 *
 *     entry     length Uint32 | exporter Uint32 | port Uint32 | weight Uint32 | received Float64 | length bytes, up to a multiple of 8
 *
 * Exporters are numbered; an entry with a mark for a port says which address a number stands for from there on. Either side
 * may be replaced by another one when its thread dies: a new writer starts a new numbering, a new reader requests one.
 *
 * While the ring is more than an eighth full, the reader says of each exporter how long its datagrams take and how it stands. The
 * writer gives shares by that, and each entry the weight that it had when it was counted.
 */
export interface RingHandle {
  readonly control: SharedArrayBuffer;
  readonly data: SharedArrayBuffer;
  readonly senders: SharedArrayBuffer;
}

/** Places in the control words, apart from each other because different threads write them. */
export const control = { written: 0, read: 16, meanTime: 17, asleep: 32, forget: 48, words: 64 } as const;

/** From such a part of the ring in use on, the reader notes what it learns of senders. */
export const notesFrom = 1 / 8;

export const entryHeader = 24;
/** The word of an entry that has its weight. */
export const weightWord = 3;

/** Addresses come from the network: this many have a number at a time. */
export const maxSenders = 65_536;

/**
 * How a sender stands where not all have room. Good: most of what it sent lately became records without a fault. Proven: that, and it was
 * heard for a minute.
 */
export type SenderStanding = "unknown" | "good" | "proven";

/** The bits of what is said of a sender, and of a weight. A proven one is not good in addition. */
export const senderBits = {
  proven: 0x8000_0000,
  good: 0x4000_0000,
  /** Of a weight only: it came by a connection. */
  stream: 0x2000_0000,
  /** How long a datagram takes, in nanoseconds, less for a good sender; 0: not known. */
  time: 0x1fff_ffff,
} as const;

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
  return {
    control: new SharedArrayBuffer(4 * control.words),
    data: new SharedArrayBuffer(2 ** bits),
    senders: new SharedArrayBuffer(4 * maxSenders),
  };
}
