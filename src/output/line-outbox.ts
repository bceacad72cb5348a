import { leaseLines, type Sink } from "../record/index.ts";

/**
 * A note from the thread that wrote lines to the one that has the outputs, about lines in shared memory: their slab, their start
 * and end in it, and the number of records.
 */
type LineNote = { readonly slab: number; readonly from: number; readonly to: number; readonly count: number };

/**
 * The memory between a line outbox and its inbox; it can be sent by `postMessage`.
 *
 *     lines    slab | slab | slab …, from an offset on
 *     notes    Int32: written, asleep | notes dealt with, of each slab | slab, from, to, count of each note …
 *
 * Notes lie in a ring; `written` counts them since the beginning and wraps at 2^32.
 */
export interface LineMemory {
  readonly lines: SharedArrayBuffer;
  /** The offset of the first slab. */
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
 * Creates the memory of lines. Unused parts of it occupy no physical memory.
 *
 * @param within memory that has room for the slabs, from `at` on; absent: memory of their own.
 */
export function createLineMemory(
  slabs: number,
  slabBytes: number,
  within: Pick<LineMemory, "lines" | "at"> = { lines: new SharedArrayBuffer(slabs * slabBytes), at: 0 },
): LineMemory {
  const words = headWords + slabs + noteWords * ringNotes;
  return { ...within, slabBytes, slabs, notes: new SharedArrayBuffer(4 * words) };
}

/** Writes notes, on the side that writes lines. */
class NoteWriter {
  readonly #words: Int32Array;
  readonly #ring: number;
  readonly #wake: () => void;
  #written: number;

  /** @param wake is called after a note, once each time that the reader has announced its sleep. */
  constructor({ notes, slabs }: LineMemory, wake: () => void) {
    this.#words = new Int32Array(notes);
    this.#ring = headWords + slabs;
    this.#wake = wake;
    this.#written = Atomics.load(this.#words, writtenWord);
  }

  /** Writes a note. @returns false when the ring is full; nothing was noted then. */
  note({ slab, from, to, count }: LineNote): boolean {
    if (this.room() === 0) return false;
    const words = this.#words;
    const at = this.#ring + noteWords * (this.#written & (ringNotes - 1));
    words[at] = slab;
    words[at + 1] = from;
    words[at + 2] = to;
    words[at + 3] = count;
    this.#written = (this.#written + 1) | 0;
    Atomics.store(words, writtenWord, this.#written);
    if (Atomics.load(words, asleepWord) === 1 && Atomics.exchange(words, asleepWord, 0) === 1) this.#wake();
    return true;
  }

  /** Returns how many notes fit into the ring now. */
  room(): number {
    return ringNotes - ((this.#written - Atomics.load(this.#words, readWord)) >>> 0);
  }

  /** Returns the number of notes of a slab whose lines are not needed any more, modulo 2^32. */
  returned(slab: number): number {
    return Atomics.load(this.#words, headWords + slab);
  }
}

/** Reads notes, on the side that takes lines. */
export class NoteReader {
  readonly #words: Int32Array;
  readonly #ring: number;
  #read: number;

  constructor({ notes, slabs }: LineMemory) {
    this.#words = new Int32Array(notes);
    this.#ring = headWords + slabs;
    this.#read = Atomics.load(this.#words, readWord);
  }

  /** Returns the next note; undefined when there is none. */
  next(): LineNote | undefined {
    if (this.#isEmpty()) return undefined;
    const words = this.#words;
    const at = this.#offsetOf(this.#read);
    const note = {
      slab: words[at] as number,
      from: words[at + 1] as number,
      to: words[at + 2] as number,
      count: words[at + 3] as number,
    };
    this.#read = (this.#read + 1) | 0;
    Atomics.store(words, readWord, this.#read);
    return note;
  }

  /** Reports that the lines of a note are not needed any more. */
  giveBack(slab: number): void {
    Atomics.add(this.#words, headWords + slab, 1);
  }

  /** Returns the bytes of lines in all notes that nobody has taken yet. */
  waitingBytes(): number {
    const words = this.#words;
    let bytes = 0;
    const written = Atomics.load(words, writtenWord);
    for (let i = Atomics.load(words, readWord); i !== written; i = (i + 1) | 0) {
      const at = this.#offsetOf(i);
      bytes += (words[at + 2] as number) - (words[at + 1] as number);
    }
    return bytes;
  }

  /** Announces that the reader will not look again until it is woken. @returns false when there is a note: it must go on. */
  sleep(): boolean {
    Atomics.store(this.#words, asleepWord, 1);
    if (this.#isEmpty()) return true;
    Atomics.store(this.#words, asleepWord, 0);
    return false;
  }

  #isEmpty(): boolean {
    return this.#read === Atomics.load(this.#words, writtenWord);
  }

  #offsetOf(note: number): number {
    return this.#ring + noteWords * (note & (ringNotes - 1));
  }
}

/** The interval between polls for lines, milliseconds, and the number of empty polls before it waits to be woken. */
const lookMs = 4;
const looks = 10;

/** The other end of a line outbox: leases its lines to a sink. */
export class LineInbox {
  readonly #memory: LineMemory;
  readonly #sink: Sink;
  readonly #notes: NoteReader;
  #timer: NodeJS.Timeout | undefined;
  /** The number of consecutive polls without lines. */
  #empty = 0;

  constructor(memory: LineMemory, sink: Sink) {
    this.#memory = memory;
    this.#sink = sink;
    this.#notes = new NoteReader(memory);
  }

  /** Polls for lines until there are none for a while. To be called at first and when the outbox wakes. */
  wake(): void {
    if (this.#timer !== undefined) return;
    this.#empty = 0;
    this.#look();
  }

  /** Takes the lines that are there, and stops polling. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#take();
  }

  #look(): void {
    this.#timer = undefined;
    this.#empty = this.#take() ? 0 : this.#empty + 1;
    if (this.#empty < looks || !this.#notes.sleep()) this.#timer = setTimeout(() => this.#look(), lookMs);
  }

  /** Takes lines. @returns whether there were some. */
  #take(): boolean {
    const { lines: bytes, at, slabBytes } = this.#memory;
    let hasSome = false;
    for (let note = this.#notes.next(); note !== undefined; note = this.#notes.next()) {
      const { slab, from, to, count } = note;
      const lines = new Uint8Array(bytes, at + slab * slabBytes + from, to - from);
      leaseLines(this.#sink, lines, count, () => this.#notes.giveBack(slab));
      hasSome = true;
    }
    return hasSome;
  }
}

interface LineOutboxOptions {
  readonly memory: LineMemory;
  /** Wakes the other thread, which then polls for lines. */
  readonly wake: () => void;
  /**
   * Called while every slab is in use, after all lines were noted: waits a little for the other thread. It is called
   * again until it returns false; then lines are lost. Absent: there is no waiting.
   *
   * @param times the number of earlier calls for the same lines.
   */
  readonly wait?: (times: number) => boolean;
  /** Called for lines that no memory was free for. */
  readonly dropped: (records: number, bytes: number) => void;
  /** Memory for lines that are lost because every slab is in use, as long as a slab; absent: memory of its own. */
  readonly spare?: Buffer;
}

/** The approximate size of the chunks in which lines are noted, so that they become large writes. */
const noteBytes = 1024 * 1024;

/** Slabs and notes that must be free for {@link LineOutbox.hasRoom}: as much as some datagrams can take. */
const slabsInReserve = 2;
const notesInReserve = 64;

/** A slab; `noted` counts its notes. */
type Slab = { readonly number: number; readonly buffer: Buffer; noted: number };

/** A sink whose lines another thread reads without a copy: they are written to shared memory. */
export class LineOutbox implements Sink {
  readonly #options: LineOutboxOptions;
  readonly #notes: NoteWriter;
  readonly #slabs: readonly Slab[];
  /** The slab that lines are being written to. */
  #current: Slab | undefined;
  /** The slab of lines that are not yet noted. */
  #pending: Slab | undefined;
  #spare: Buffer | undefined;
  #from = 0;
  #to = 0;
  #count = 0;

  constructor(options: LineOutboxOptions) {
    const { memory, wake, spare } = options;
    this.#options = options;
    this.#notes = new NoteWriter(memory, wake);
    this.#spare = spare;
    // A previous thread may have notes of them.
    this.#slabs = Array.from({ length: memory.slabs }, (_, number): Slab => {
      const buffer = Buffer.from(memory.lines, memory.at + number * memory.slabBytes, memory.slabBytes);
      return { number, buffer, noted: this.#notes.returned(number) };
    });
  }

  /** Returns memory for lines, for the line buffer that writes to this sink. */
  allocate(bytes: number): Buffer {
    const { slabBytes } = this.#options.memory;
    this.#current = undefined;
    if (bytes > slabBytes) return Buffer.allocUnsafeSlow(bytes);
    const slab = this.#awaitSlab();
    if (slab === undefined) return (this.#spare ??= Buffer.allocUnsafeSlow(slabBytes));
    this.#current = slab;
    return slab.buffer;
  }

  write(lines: Uint8Array, records: number): void {
    const current = this.#current;
    if (current === undefined || lines.buffer !== this.#options.memory.lines) {
      this.#copy(lines, records);
      return;
    }
    const start = lines.byteOffset - current.buffer.byteOffset;
    if (this.#count > 0 && this.#pending === current && start === this.#to) {
      this.#to += lines.length;
      this.#count += records;
    } else {
      this.#noteOrDrop();
      this.#pending = current;
      this.#from = start;
      this.#to = start + lines.length;
      this.#count = records;
    }
    if (this.#to - this.#from >= noteBytes) this.flush();
  }

  /** Reports whether some memory is free. A caller that goes on without it loses lines. */
  hasRoom(): boolean {
    if (this.#notes.room() < notesInReserve) return false;
    let free = 0;
    for (let i = 0; i < this.#slabs.length && free < slabsInReserve; i++)
      if (this.#isFree(this.#slabs[i] as Slab)) free++;
    return free >= slabsInReserve;
  }

  /** Notes lines written since the last note. This also happens automatically when many have gathered. */
  flush(): void {
    if (this.#count === 0 || this.#pending === undefined) return;
    if (this.#note(this.#pending, this.#from, this.#to, this.#count)) this.#count = 0;
  }

  #isFree(slab: Slab): boolean {
    if (slab === this.#current || this.#notes.returned(slab.number) !== slab.noted) return false;
    return slab !== this.#pending || this.#count === 0;
  }

  #note(slab: Slab, from: number, to: number, count: number): boolean {
    if (!this.#notes.note({ slab: slab.number, from, to, count })) return false;
    slab.noted = (slab.noted + 1) | 0;
    return true;
  }

  /** Waits for a slab. The datagram being decoded may have more lines than fitted when it began: a message over TCP is long. */
  #awaitSlab(): Slab | undefined {
    for (let times = 0; ; times++) {
      // Take the first free one: recently used memory is warm, and unused memory need not exist.
      const slab = this.#slabs.find((one) => this.#isFree(one));
      if (slab !== undefined) return slab;
      this.flush();
      if (this.#options.wait?.(times) !== true) return undefined;
    }
  }

  /** Notes pending lines, or drops them, because others must be noted. */
  #noteOrDrop(): void {
    this.flush();
    if (this.#count > 0) this.#options.dropped(this.#count, this.#to - this.#from);
    this.#count = 0;
  }

  /** Copies lines from outside the current slab, for which the line buffer had to allocate memory. */
  #copy(lines: Uint8Array, records: number): void {
    this.#noteOrDrop();
    const slab = lines.length <= this.#options.memory.slabBytes ? this.#awaitSlab() : undefined;
    slab?.buffer.set(lines);
    if (slab === undefined || !this.#note(slab, 0, lines.length, records)) this.#options.dropped(records, lines.length);
  }
}
