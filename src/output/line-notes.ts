/** Lines in memory that two threads share, reported by the thread that wrote them to the one that has the outputs. */
export interface LineNote {
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
export interface NoteWriter {
  /** @returns false when the ring is full; nothing was noted then. */
  note(note: LineNote): boolean;
  /** How many notes the ring takes before the other side has dealt with some. */
  room(): number;
  /** Of how many notes of a slab the lines are not needed any more, modulo 2^32. */
  returned(slab: number): number;
}

/** @param wake is called after a note when the reader said that it sleeps: once for each time that it said so. */
export function createNoteWriter({ notes, slabs }: LineMemory, wake: () => void): NoteWriter {
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
export interface NoteReader {
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
