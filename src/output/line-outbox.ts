import { leaseLines, type Sink } from "../record/index.ts";

/** Lines in memory that two threads share, reported by the thread that wrote them to the one that has the outputs. */
interface LineNote {
  /** Which slab they lie in. */
  readonly slab: number;
  readonly from: number;
  readonly to: number;
  /** Records. */
  readonly count: number;
}

/**
 * The memory between a line outbox and its inbox; it goes through `postMessage`.
 *
 *     lines    slab | slab | slab …, from a place on
 *     notes    Int32: written, asleep | notes dealt with, of each slab | slab, from, to, count of each note …
 *
 * Notes lie in a ring; `written` counts them since the beginning and wraps at 2^32.
 */
export interface LineMemory {
  readonly lines: SharedArrayBuffer;
  /** Where the first slab begins. */
  readonly at: number;
  readonly slabBytes: number;
  readonly slabs: number;
  readonly notes: SharedArrayBuffer;
}

const writtenWord = 0;
const readWord = 16;
const asleepWord = 32;
const headWords = 48;
const noteWords = 4;
const ringNotes = 4096;

/**
 * What is not used of it takes no memory.
 *
 * @param within memory that has room for the slabs, from `at` on; left out: memory of their own.
 */
export function createLineMemory(
  slabs: number,
  slabBytes: number,
  within: Pick<LineMemory, "lines" | "at"> = { lines: new SharedArrayBuffer(slabs * slabBytes), at: 0 },
): LineMemory {
  const words = headWords + slabs + noteWords * ringNotes;
  return { ...within, slabBytes, slabs, notes: new SharedArrayBuffer(4 * words) };
}

/** The side that writes lines. */
interface NoteWriter {
  /** @returns false when the ring is full; nothing was noted then. */
  note(note: LineNote): boolean;
  /** How many notes the ring takes before the other side has dealt with some. */
  room(): number;
  /** Of how many notes of a slab the lines are not needed any more, modulo 2^32. */
  returned(slab: number): number;
}

/** @param wake is called after a note when the reader said that it sleeps: once for each time that it said so. */
function createNoteWriter({ notes, slabs }: LineMemory, wake: () => void): NoteWriter {
  const words = new Int32Array(notes);
  const ring = headWords + slabs;
  let written = Atomics.load(words, writtenWord);
  const room = (): number => ringNotes - ((written - Atomics.load(words, readWord)) >>> 0);
  return {
    note({ slab, from, to, count }) {
      if (room() === 0) return false;
      const at = ring + noteWords * (written & (ringNotes - 1));
      words[at] = slab;
      words[at + 1] = from;
      words[at + 2] = to;
      words[at + 3] = count;
      written = (written + 1) | 0;
      Atomics.store(words, writtenWord, written);
      if (Atomics.load(words, asleepWord) === 1 && Atomics.exchange(words, asleepWord, 0) === 1) wake();
      return true;
    },
    room,
    returned: (slab) => Atomics.load(words, headWords + slab),
  };
}

/** The side that takes lines. */
interface NoteReader {
  /** The next note; undefined when there is none. */
  next(): LineNote | undefined;
  /** Says that the lines of a note are not needed any more. */
  giveBack(slab: number): void;
  /** Bytes of the lines of all notes that nobody has taken yet. */
  waitingBytes(): number;
  /** Says that the reader will not look again before it is woken. @returns false when there is a note: it must go on. */
  sleep(): boolean;
}

export function createNoteReader({ notes, slabs }: LineMemory): NoteReader {
  const words = new Int32Array(notes);
  const ring = headWords + slabs;
  let read = Atomics.load(words, readWord);
  const placeOf = (number: number): number => ring + noteWords * (number & (ringNotes - 1));
  const isEmpty = (): boolean => read === Atomics.load(words, writtenWord);
  return {
    next() {
      if (isEmpty()) return undefined;
      const at = placeOf(read);
      const note = {
        slab: words[at] as number,
        from: words[at + 1] as number,
        to: words[at + 2] as number,
        count: words[at + 3] as number,
      };
      read = (read + 1) | 0;
      Atomics.store(words, readWord, read);
      return note;
    },
    giveBack: (slab) => void Atomics.add(words, headWords + slab, 1),
    waitingBytes() {
      let bytes = 0;
      const written = Atomics.load(words, writtenWord);
      for (let i = Atomics.load(words, readWord); i !== written; i = (i + 1) | 0) {
        bytes += (words[placeOf(i) + 2] as number) - (words[placeOf(i) + 1] as number);
      }
      return bytes;
    },
    sleep() {
      Atomics.store(words, asleepWord, 1);
      if (isEmpty()) return true;
      Atomics.store(words, asleepWord, 0);
      return false;
    },
  };
}

/** The other end of a line outbox: lends its lines to a sink. */
export interface LineInbox {
  /** Looks for lines, and goes on looking for as long as there are some. To be called at first and when the outbox wakes. */
  wake(): void;
  /** Takes what is there, and looks no more. */
  end(): void;
}

/** How often lines are looked for, in milliseconds, and how often in vain before it waits to be woken. */
const lookMs = 4;
const looks = 10;

export function createLineInbox(memory: LineMemory, sink: Sink): LineInbox {
  const notes = createNoteReader(memory);
  const { lines: bytes, at, slabBytes } = memory;
  let timer: NodeJS.Timeout | undefined;
  let empty = 0;

  /** @returns whether there was something. */
  const take = (): boolean => {
    let hasSome = false;
    for (let note = notes.next(); note !== undefined; note = notes.next()) {
      const { slab, from, to, count } = note;
      const lines = new Uint8Array(bytes, at + slab * slabBytes + from, to - from);
      leaseLines(sink, lines, count, () => notes.giveBack(slab));
      hasSome = true;
    }
    return hasSome;
  };

  const look = (): void => {
    timer = undefined;
    empty = take() ? 0 : empty + 1;
    if (empty < looks || !notes.sleep()) timer = setTimeout(look, lookMs);
  };

  return {
    wake() {
      if (timer !== undefined) return;
      empty = 0;
      look();
    },
    end() {
      clearTimeout(timer);
      timer = undefined;
      take();
    },
  };
}

interface LineOutboxOptions {
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
