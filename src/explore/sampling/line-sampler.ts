import { copyLines, type AllocateSlab, type Sink } from "../../record/index.ts";
import { factorIn, maxFactor, samplingWords, type SamplingMemory, type SamplingRates } from "./sampling-judge.ts";

/** Takes chosen lines. The number of records passed to it is the number that the lines stand for, each for equally many. */
export interface SampledLines extends Pick<Sink, "write"> {
  /** Allocates memory for the next lines. */
  readonly allocate: AllocateSlab;
  /** Maximum length of lines that are written at once. */
  readonly maxLength: number;
  /** Reports whether lines would be accepted rather than lost. */
  hasRoom(): boolean;
  /** Separates earlier lines from later ones, which stand for another number of records. */
  part(): void;
}

/** Counts records that were lost because nothing took them, or not in time. */
type Dropped = (reason: "closed" | "queue_full", records: number, bytes: number) => void;

const lineFeed = 0x0a;
/** The position when the record was already chosen. No line has it. */
const taken = 2 ** 30;
/**
 * When more records are taken than a second allows, the factor doubles at once, and again after each further part of the lower rate. So a burst reaches
 * its factor within some tenths of a second, and few records are taken until then.
 */
const stepOfRate = 1 / 8;

/**
 * Chooses records evenly where they are written. One of each group of this many, at a random position, stands for the whole group. A group continues
 * from one chunk of lines to the next.
 */
export class LineSampler {
  readonly #cells: Int32Array;
  readonly #lost: BigInt64Array;
  readonly #rates: SamplingRates;
  readonly #random: () => number;
  readonly #to: SampledLines;
  readonly #dropped: Dropped;
  /** The offset of the counts of this chooser. */
  readonly #own: number;
  #seen: number;
  #kept: number;
  /** The size of the present group, its remaining records, and the position of the chosen one among these. */
  #group = 1;
  #left = 0;
  #chosen = taken;
  /** The memory for copies of chosen lines, and the number of records that each earlier line in it stands for. */
  #slab: Buffer = Buffer.alloc(0);
  #at = 0;
  #weight = 0;

  /**
   * @param rates limits for all threads together.
   * @param chooser the index of this thread among those that choose.
   * @param random returns a number from 0 to below 1.
   */
  constructor(
    memory: SamplingMemory,
    rates: SamplingRates,
    chooser: number,
    random: () => number,
    to: SampledLines,
    dropped: Dropped,
  ) {
    this.#cells = new Int32Array(memory.words);
    this.#lost = new BigInt64Array(memory.lost);
    this.#rates = rates;
    this.#random = random;
    this.#to = to;
    this.#dropped = dropped;
    this.#own = samplingWords.chooser + chooser * samplingWords.ofChooser;
    this.#seen = Atomics.load(this.#cells, this.#own + samplingWords.seen);
    this.#kept = Atomics.load(this.#cells, this.#own + samplingWords.taken);
  }

  /** Copies the chosen ones of `count` whole lines. */
  look(lines: Uint8Array, count: number): void {
    if (Atomics.load(this.#cells, samplingWords.isOpen) !== 1) {
      this.#drop("closed", count, lines.length);
      return;
    }
    this.#seen = (this.#seen + count) | 0;
    Atomics.store(this.#cells, this.#own + samplingWords.seen, this.#seen);
    if (this.#left > count && this.#chosen >= count) {
      this.#left -= count;
      if (this.#chosen !== taken) this.#chosen -= count;
    } else this.#choose(Buffer.from(lines.buffer, lines.byteOffset, lines.length), count);
  }

  #choose(bytes: Buffer, count: number): void {
    let next = 0;
    let line = 0;
    let start = 0;
    /** Moves to the start of a line of the chunk. */
    const goTo = (wanted: number): void => {
      if (wanted - line <= count - wanted) {
        for (; line < wanted; line++) start = bytes.indexOf(lineFeed, start) + 1;
        return;
      }
      start = bytes.length;
      for (line = count; line > wanted; line--) start = bytes.lastIndexOf(lineFeed, start - 2) + 1;
    };

    while (next < count) {
      if (this.#left === 0) {
        // A group keeps its initial factor to the end, or its records would be counted wrongly.
        this.#group = factorIn(this.#cells);
        if (this.#group === 1) {
          goTo(next);
          if (bytes.length - start <= this.#to.maxLength) {
            this.#put(bytes, start, bytes.length, count - next);
            return;
          }
        }
        this.#left = this.#group;
        this.#chosen = Math.floor(this.#random() * this.#group);
      }
      if (this.#chosen < count - next) {
        goTo(next + this.#chosen);
        this.#put(bytes, start, bytes.indexOf(lineFeed, start) + 1, 1);
        this.#chosen = taken;
      }
      const passed = Math.min(this.#left, count - next);
      this.#left -= passed;
      this.#chosen -= this.#chosen === taken ? 0 : passed;
      next += passed;
    }
  }

  #put(bytes: Buffer, from: number, end: number, lines: number): void {
    const to = this.#to;
    const records = lines * this.#group;
    this.#kept = (this.#kept + lines) | 0;
    Atomics.store(this.#cells, this.#own + samplingWords.taken, this.#kept);
    this.#useRoom(lines);
    const length = end - from;
    if (!to.hasRoom()) {
      this.#drop("queue_full", records, length);
      return;
    }
    if (this.#weight !== this.#group) to.part();
    this.#weight = this.#group;
    if (this.#at + length > this.#slab.length) {
      this.#slab = to.allocate(length);
      this.#at = 0;
    }
    const copied = copyLines(bytes, from, end, this.#slab, this.#at);
    to.write(this.#slab.subarray(this.#at, copied), records);
    this.#at = copied;
  }

  /** A burst after a calm must not wait for the next judgement. */
  #useRoom(lines: number): void {
    const { whole, sampled } = this.#rates;
    if (whole === 0) return;
    const before = Atomics.sub(this.#cells, samplingWords.room, lines);
    if (before <= 0 || before > lines) return;
    const factor = Atomics.load(this.#cells, samplingWords.byRate);
    if (factor < maxFactor) Atomics.store(this.#cells, samplingWords.byRate, 2 * factor);
    Atomics.store(this.#cells, samplingWords.room, Math.ceil(Math.min(whole, sampled) * stepOfRate));
  }

  #drop(reason: "closed" | "queue_full", records: number, bytes: number): void {
    Atomics.add(this.#lost, 0, BigInt(records));
    this.#dropped(reason, records, bytes);
  }
}
