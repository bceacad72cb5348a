/**
 * Memory that the threads that choose records share with the one that keeps them; it goes through `postMessage`.
 *
 *     Int32   factor by rate | factor by lag | room | open | of each thread that chooses: seen, taken
 *
 * `seen` and `taken` count records since the beginning and wrap at 2^32. Words that different threads write lie 64 bytes apart.
 */
export interface SamplingMemory {
  readonly words: SharedArrayBuffer;
  /** The number of threads that choose. */
  readonly choosers: number;
  /** BigInt64: records that were not kept though they should be. */
  readonly lost: SharedArrayBuffer;
}

export const samplingWords = {
  /** The number of records that one stands for, because more come than the greatest rate. */
  byRate: 0,
  /** The same because the reader lags behind. */
  byLag: 16,
  /** Records that may be taken before the factor doubles. */
  room: 32,
  /** 1 if taken records are kept. */
  isOpen: 48,
  chooser: 64,
  seen: 0,
  taken: 1,
  ofChooser: 16,
} as const;

const { byRate, byLag, room, chooser, ofChooser } = samplingWords;

export const maxFactor = 1 << 12;

/** Rates that decide how many records are kept. */
export interface SamplingRates {
  /** Up to so many records a second, each is kept; 0: always. */
  readonly whole: number;
  /** The greatest number of records a second that are kept where more come. */
  readonly sampled: number;
}

/** Sampling is off in it, and nobody keeps records. */
export function createSamplingMemory(choosers: number): SamplingMemory {
  const words = new SharedArrayBuffer(4 * (samplingWords.chooser + choosers * samplingWords.ofChooser));
  const cells = new Int32Array(words);
  cells[samplingWords.byRate] = 1;
  cells[samplingWords.byLag] = 1;
  return { words, choosers, lost: new SharedArrayBuffer(8) };
}

/** From here on, what is chosen is kept, or lost and counted. */
export function setOpen({ words }: SamplingMemory, isOpen: boolean): void {
  Atomics.store(new Int32Array(words), samplingWords.isOpen, isOpen ? 1 : 0);
}

/** Records that were not kept though they should be. */
export function lostRecords({ lost }: SamplingMemory): number {
  return Number(Atomics.load(new BigInt64Array(lost), 0));
}

/** Returns how many records one that is taken stands for at present. */
export function factorIn(words: Int32Array): number {
  return Math.max(Atomics.load(words, samplingWords.byRate), Atomics.load(words, samplingWords.byLag));
}

/**
 * Sampling begins when the inbox is filled beyond the high mark (a part of 1), and becomes weaker when it was below the low mark again and
 * again for `calmMs` milliseconds.
 */
const highBacklog = 0.5;
const lowBacklog = 0.1;
const calmMs = 10_000;
/** A commit takes the reader's time at once, and what waits then is taken soon after it: only what stays for longer says that it lags. */
const burstMs = 2000;
/** Not twice within this time: what a change brings shows later. */
const stepMs = 250;

/** A lower factor must suffice for so much more than comes, or it would change to and fro. */
const reserve = 1.25;

/** Decides how many records one stands for, for all threads that choose. There is one, where records are kept. */
export class SamplingJudge {
  readonly #rates: SamplingRates;
  readonly #choosers: number;
  readonly #cells: Int32Array;
  /** Counts of each thread up to the last look. */
  readonly #before: Int32Array;
  readonly #counts = { seen: 0, taken: 0 };
  #judged: number;
  #changedAt = Number.NEGATIVE_INFINITY;
  #busyAt = Number.NEGATIVE_INFINITY;
  #lowAt = Number.NEGATIVE_INFINITY;

  constructor({ words, choosers }: SamplingMemory, { whole, sampled }: SamplingRates) {
    this.#rates = { whole, sampled: Math.min(sampled, whole) };
    this.#choosers = choosers;
    this.#cells = new Int32Array(words);
    this.#before = new Int32Array(choosers * ofChooser);
    // A thread before this one that died may have left another value.
    this.#set(byLag, 1);
    this.#count("taken");
    this.#judged = this.#count("seen");
    this.#counts.taken = this.#judged;
    this.#begin(this.#get(byRate));
  }

  /** Returns how many records one that is taken stands for at present. */
  get factor(): number {
    return factorIn(this.#cells);
  }

  /** Records that others stand for, since the beginning. */
  get sampledOut(): number {
    // Reads the seen records first, so that they are never fewer than those taken of them.
    return Math.max(0, this.#count("seen") - this.#count("taken"));
  }

  /**
   * Judges how many records came since the last call, and sees to it that not many more are taken than the rates allow.
   *
   * @param seconds since the last call.
   */
  judgeRate(seconds: number): void {
    const { whole, sampled } = this.#rates;
    const seen = this.#count("seen");
    this.#count("taken");
    const rate = (seen - this.#judged) / seconds;
    this.#judged = seen;
    if (whole === 0) return;
    let factor = this.#get(byRate);
    const isMany = factor === 1 ? rate > whole : rate * reserve >= whole;
    if (isMany) {
      while (rate > sampled * factor && factor < maxFactor) factor *= 2;
      while (factor > 2 && rate * reserve < (sampled * factor) / 2) factor /= 2;
    } else factor = 1;
    this.#set(byRate, factor);
    this.#begin(factor);
  }

  /** Tells whether the reader has kept up for a while. @param now milliseconds, monotonic. */
  isCalm(now: number): boolean {
    return this.#get(byLag) === 1 && now - this.#busyAt >= calmMs;
  }

  /**
   * Judges how far the reader lags behind, and changes the factor.
   *
   * @param backlog part of the inbox that is full, 0 to 1. @param now milliseconds, monotonic.
   */
  adapt(backlog: number, now: number): void {
    if (backlog <= lowBacklog) this.#lowAt = now;
    else if (now - this.#lowAt > burstMs) this.#busyAt = now;
    const factor = this.#get(byLag);
    if (backlog > highBacklog && now - this.#changedAt >= stepMs && factor < maxFactor) {
      this.#set(byLag, 2 * factor);
      this.#changedAt = now;
    } else if (factor > 1 && now - this.#busyAt >= calmMs && now - this.#changedAt >= calmMs) {
      this.#set(byLag, factor / 2);
      this.#changedAt = now;
    }
  }

  #count(word: "seen" | "taken"): number {
    for (let i = 0; i < this.#choosers; i++) {
      const at = i * ofChooser + samplingWords[word];
      const now = this.#get(chooser + at);
      this.#counts[word] += (now - (this.#before[at] as number)) >>> 0;
      this.#before[at] = now;
    }
    return this.#counts[word];
  }

  /** Says what may be taken until the rate is judged again. */
  #begin(factor: number): void {
    this.#set(room, factor === 1 ? this.#rates.whole : this.#rates.sampled);
  }

  #get(word: number): number {
    return Atomics.load(this.#cells, word);
  }

  #set(word: number, value: number): void {
    Atomics.store(this.#cells, word, value);
  }
}
