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
  /** BigInt64: the number of records that were chosen but lost. */
  readonly lost: SharedArrayBuffer;
}

export const samplingWords = {
  /** The number of records that one stands for, because more arrive than the maximum rate. */
  byRate: 0,
  /** The number of records that one stands for, because the reader lags behind. */
  byLag: 16,
  /** The number of records that may be taken before the factor doubles. */
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

/** The rates that limit the number of kept records. */
export interface SamplingRates {
  /** Up to this many records per second, all are kept; 0: always. */
  readonly whole: number;
  /** Maximum number of records kept per second where more arrive. */
  readonly sampled: number;
}

/** Creates the memory, with sampling off and no reader. */
export function createSamplingMemory(choosers: number): SamplingMemory {
  const words = new SharedArrayBuffer(4 * (samplingWords.chooser + choosers * samplingWords.ofChooser));
  const cells = new Int32Array(words);
  cells[samplingWords.byRate] = 1;
  cells[samplingWords.byLag] = 1;
  return { words, choosers, lost: new SharedArrayBuffer(8) };
}

/** Sets whether chosen records are kept. Once open, they are kept, or counted as lost. */
export function setOpen({ words }: SamplingMemory, isOpen: boolean): void {
  Atomics.store(new Int32Array(words), samplingWords.isOpen, isOpen ? 1 : 0);
}

/** Returns the number of records that were chosen but lost. */
export function lostRecords({ lost }: SamplingMemory): number {
  return Number(Atomics.load(new BigInt64Array(lost), 0));
}

/** Returns the number of records that a taken one stands for at present. */
export function factorIn(words: Int32Array): number {
  return Math.max(Atomics.load(words, samplingWords.byRate), Atomics.load(words, samplingWords.byLag));
}

/**
 * Sampling begins when the inbox is filled above the high mark (a share of 1). It becomes weaker when the fill level was repeatedly below the low mark
 * for `calmMs` milliseconds.
 */
const highBacklog = 0.5;
const lowBacklog = 0.1;
const calmMs = 10_000;
/** A commit takes the reader's time at once, and the backlog shrinks soon after it. Only a longer backlog shows that it lags. */
const burstMs = 2000;
/** Minimum time between changes: the effect of a change shows later. */
const stepMs = 250;

/** A lower factor must suffice for this multiple of the present rate, or it would oscillate. */
const reserve = 1.25;

/** Decides for all choosing threads how many records one stands for. There is one judge, where records are kept. */
export class SamplingJudge {
  readonly #rates: SamplingRates;
  readonly #choosers: number;
  readonly #cells: Int32Array;
  /** The counts of each thread at the last judgement. */
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
    // An earlier thread that died may have left another value.
    this.#set(byLag, 1);
    this.#count("taken");
    this.#judged = this.#count("seen");
    this.#counts.taken = this.#judged;
    this.#begin(this.#get(byRate));
  }

  /** The number of records that a taken one stands for at present. */
  get factor(): number {
    return factorIn(this.#cells);
  }

  /** The number of records since the start that others stand for. */
  get sampledOut(): number {
    // This reads `seen` first, so that it is never smaller than the matching `taken`.
    return Math.max(0, this.#count("seen") - this.#count("taken"));
  }

  /**
   * Measures the rate since the last call, and limits how many records are taken.
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

  /** Reports whether the reader has kept up for a while. @param now milliseconds, monotonic. */
  isCalm(now: number): boolean {
    return this.#get(byLag) === 1 && now - this.#busyAt >= calmMs;
  }

  /**
   * Adapts the factor to how far the reader lags behind.
   *
   * @param backlog share of the inbox that is full, 0 to 1.
   * @param now milliseconds, monotonic.
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

  /** Sets how many records may be taken until the rate is judged again. */
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
