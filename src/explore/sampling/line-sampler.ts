import { copyLines, type AllocateSlab, type Sink } from "../../record/index.ts";
import { factorIn, maxFactor, samplingWords, type SamplingMemory, type SamplingRates } from "./sampling-judge.ts";

/** Takes what was chosen. The records that it is given are those that the lines stand for, each for as many. */
export interface SampledLines extends Pick<Sink, "write"> {
  /** Memory for lines that are written next. */
  readonly allocate: AllocateSlab;
  /** The greatest length of lines that are written at once. */
  readonly maxLength: number;
  /** Tells whether lines would not be lost. */
  hasRoom(): boolean;
  /** Parts what was written from what follows, which stands for another number of records. */
  part(): void;
}

/** Counts records that should be kept and are lost, because nothing takes them, or not in time. */
type Dropped = (reason: "closed" | "queue_full", records: number, bytes: number) => void;

const lineFeed = 0x0a;
/** The position of a record that was taken: no line is there. */
const taken = 2 ** 30;
/**
 * When more is taken than a second may bring, the factor doubles at once, and once more after each of these parts of the lower rate: a
 * burst reaches the factor that it needs within some tenths of a second, and few records are taken until then.
 */
const stepOfRate = 1 / 8;

/**
 * Chooses records evenly where they are written: one of each group of this many, at a random position, stands for the whole group.
 * A group goes on from one chunk of lines to the next.
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
  /** Records of the present group, those that are left of it, and the position of the chosen one among these. */
  #group = 1;
  #left = 0;
  #chosen = taken;
  /** The memory that chosen lines are copied to, and the number of records that each of the earlier lines in it stands for. */
  #slab: Buffer = Buffer.alloc(0);
  #at = 0;
  #weight = 0;

  /**
   * @param rates of all threads together.
   * @param chooser which of those it is that choose.
   * @param random from 0 up to 1.
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

  /** Copies what it chooses of `count` whole lines. */
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
    /** Goes to the beginning of a line of the chunk. */
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
        // A group ends with the factor that it began with, or its records would not be counted right.
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

  /** A burst after a calm does not wait for the next judgement. */
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
