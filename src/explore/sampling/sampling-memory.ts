/**
 * What the threads that choose records and the one that keeps them share; it goes through `postMessage`.
 *
 *     Int32   factor by rate | factor by lag | room | open | of each thread that chooses: seen, taken
 *
 * `seen` and `taken` count records since the beginning and wrap at 2^32. Words that different threads write lie 64 bytes apart.
 */
export interface SamplingMemory {
  readonly words: SharedArrayBuffer;
  /** How many threads choose. */
  readonly choosers: number;
  /** BigInt64: records that were not kept though they should be. */
  readonly lost: SharedArrayBuffer;
}

export const samplingWords = {
  /** How many records one stands for, because more come than the greatest rate. */
  byRate: 0,
  /** The same because the reader lags behind. */
  byLag: 16,
  /** Records that may be taken before the factor doubles. */
  room: 32,
  /** Whether taken records are kept: 1. */
  isOpen: 48,
  chooser: 64,
  seen: 0,
  taken: 1,
  ofChooser: 16,
} as const;

export const maxFactor = 1 << 12;

/** How many records are kept. */
export interface SamplingRates {
  /** Up to so many records a second, each is kept; 0: always. */
  readonly whole: number;
  /** Of more, so many a second at most. */
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

/** How many records one that is taken stands for at present. */
export function factorIn(words: Int32Array): number {
  return Math.max(Atomics.load(words, samplingWords.byRate), Atomics.load(words, samplingWords.byLag));
}
