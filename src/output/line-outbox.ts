import type { Sink } from "../record/index.ts";
import { createNoteWriter, type LineMemory } from "./line-notes.ts";

export interface LineOutboxOptions {
  readonly memory: LineMemory;
  /** Wakes the other thread, which then looks for lines. */
  readonly wake: () => void;
  /**
   * Called while every slab is in use, after all lines were noted: waits a little for the other thread. It is called
   * again until it returns false; then lines are lost. Left out: there is no waiting.
   *
   * @param times how often it was called before for the same lines.
   */
  readonly wait?: (times: number) => boolean;
  /** Called for lines for which there was no memory. */
  readonly dropped: (records: number, bytes: number) => void;
  /** As long as a slab, for lines that are lost because every slab is in use; left out: memory of its own. */
  readonly spare?: Buffer;
}

/** A sink whose lines are read in another thread without being copied: they are written where both can see them. */
export interface LineOutbox extends Sink {
  /** Memory for lines, to be given to the line buffer that writes to this sink. */
  allocate(bytes: number): Buffer;
  /** Whether some memory is free. Who goes on without it loses lines. */
  hasRoom(): boolean;
  /** Notes what was written since the last note. That happens by itself when much has gathered. */
  flush(): void;
}

/** Lines are noted in pieces of about this size, so that they become large writes. */
const noteBytes = 1024 * 1024;

/** What must be free for {@link LineOutbox.hasRoom}: as much as some datagrams can take. */
const slabsInReserve = 2;
const notesInReserve = 64;

interface Slab {
  readonly number: number;
  readonly buffer: Buffer;
  /** Notes of it. */
  noted: number;
}

export function createLineOutbox({ memory, wake, wait, dropped, ...options }: LineOutboxOptions): LineOutbox {
  const notes = createNoteWriter(memory, wake);
  const { slabBytes } = memory;
  // A thread before this one may have notes of them.
  const slabs = Array.from({ length: memory.slabs }, (_, number): Slab => {
    const buffer = Buffer.from(memory.lines, memory.at + number * slabBytes, slabBytes);
    return { number, buffer, noted: notes.returned(number) };
  });
  /** The slab that lines are being written to. */
  let current: Slab | undefined;
  /** The slab of what was not noted yet. */
  let pending: Slab | undefined;
  let { spare } = options;
  let from = 0;
  let to = 0;
  let count = 0;

  const isFree = (slab: Slab): boolean =>
    slab !== current && notes.returned(slab.number) === slab.noted && (slab !== pending || count === 0);
  // The first of the list that is free: memory that was used lately is warm, and what was never used need not exist.
  const freeSlab = (): Slab | undefined => slabs.find(isFree);

  const note = (slab: Slab, first: number, end: number, records: number): boolean => {
    if (!notes.note({ slab: slab.number, from: first, to: end, count: records })) return false;
    slab.noted = (slab.noted + 1) | 0;
    return true;
  };

  const flush = (): void => {
    if (count > 0 && pending !== undefined && note(pending, from, to, count)) count = 0;
  };

  /** The datagram that is being decoded may have more lines than were free when it began: a message of TCP is long. */
  const awaitSlab = (): Slab | undefined => {
    for (let times = 0; ; times++) {
      const slab = freeSlab();
      if (slab !== undefined) return slab;
      flush();
      if (wait?.(times) !== true) return undefined;
    }
  };

  /** Notes what is pending, or drops it: something else is to be noted. */
  const settle = (): void => {
    flush();
    if (count > 0) dropped(count, to - from);
    count = 0;
  };

  /** Lines that were not written to the current slab: what the line buffer had to give memory of its own. */
  const copy = (lines: Uint8Array, records: number): void => {
    settle();
    const slab = lines.length <= slabBytes ? awaitSlab() : undefined;
    slab?.buffer.set(lines);
    if (slab === undefined || !note(slab, 0, lines.length, records)) dropped(records, lines.length);
  };

  return {
    allocate(bytes) {
      current = undefined;
      if (bytes > slabBytes) return Buffer.allocUnsafeSlow(bytes);
      const slab = awaitSlab();
      if (slab === undefined) return (spare ??= Buffer.allocUnsafeSlow(slabBytes));
      current = slab;
      return slab.buffer;
    },
    write(lines, records) {
      if (current === undefined || lines.buffer !== memory.lines) {
        copy(lines, records);
        return;
      }
      const start = lines.byteOffset - current.buffer.byteOffset;
      if (count > 0 && pending === current && start === to) {
        to += lines.length;
        count += records;
      } else {
        settle();
        pending = current;
        from = start;
        to = start + lines.length;
        count = records;
      }
      if (to - from >= noteBytes) flush();
    },
    hasRoom() {
      if (notes.room() < notesInReserve) return false;
      let free = 0;
      for (let i = 0; i < slabs.length && free < slabsInReserve; i++) if (isFree(slabs[i] as Slab)) free++;
      return free >= slabsInReserve;
    },
    flush,
  };
}
