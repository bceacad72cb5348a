import { copyLines, type AllocateSlab, type Sink } from "../../record/index.ts";
import { factorIn, maxFactor, samplingWords, type SamplingMemory, type SamplingRates } from "./sampling-judge.ts";

/**
 * Chooses records evenly where they are written: of each group of this many one, at a random place among them, which stands for all of them.
 * A group goes on from one piece of lines to the next.
 */
export interface LineSampler {
  /** Copies what it chooses of `count` whole lines. */
  look(lines: Uint8Array, count: number): void;
}

/** Takes what was chosen. The records that it is given are those that the lines stand for, each for as many. */
export interface SampledLines extends Pick<Sink, "write"> {
  /** Memory for lines that are written next. */
  readonly allocate: AllocateSlab;
  /** Of lines that are written at once. */
  readonly maxLength: number;
  /** Whether lines would not be lost. */
  hasRoom(): boolean;
  /** Parts what was written from what follows, which stands for another number of records. */
  part(): void;
}

export interface LineSamplerOptions {
  readonly memory: SamplingMemory;
  /** Which of those it is that choose. */
  readonly chooser: number;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly to: SampledLines;
  /** Called with the records that are not kept though they should be, because nobody takes them or not in time. */
  readonly dropped: (reason: "closed" | "queue_full", records: number, bytes: number) => void;
}

const lineFeed = 0x0a;
/** The place of a record that was taken: no line is there. */
const taken = 2 ** 30;
/**
 * When more is taken than a second may bring, the factor doubles at once, and once more after each of these parts of the lower rate: a
 * burst reaches the factor that it needs within some tenths of a second, and few records are taken until then.
 */
const stepOfRate = 1 / 8;

/** @param rates of all threads together. */
export function createLineSampler(options: LineSamplerOptions, rates: SamplingRates): LineSampler {
  const { memory, chooser, random, to } = options;
  const cells = new Int32Array(memory.words);
  const lost = new BigInt64Array(memory.lost);
  const { byRate, room, isOpen } = samplingWords;
  const own = samplingWords.chooser + chooser * samplingWords.ofChooser;
  let seen = Atomics.load(cells, own + samplingWords.seen);
  let kept = Atomics.load(cells, own + samplingWords.taken);
  /** Records of the present group, those that are left of it, and the place of the chosen one among these. */
  let group = 1;
  let left = 0;
  let chosen = taken;
  /** Where chosen lines are copied to, and how many records each of those before stands for. */
  let slab: Buffer = Buffer.alloc(0);
  let at = 0;
  let weight = 0;

  const drop: LineSamplerOptions["dropped"] = (reason, records, bytes) => {
    Atomics.add(lost, 0, BigInt(records));
    options.dropped(reason, records, bytes);
  };

  /** A burst after a calm does not wait for the next judgement. */
  const useRoom = (lines: number): void => {
    if (rates.whole === 0) return;
    const before = Atomics.sub(cells, room, lines);
    if (before <= 0 || before > lines) return;
    const factor = Atomics.load(cells, byRate);
    if (factor < maxFactor) Atomics.store(cells, byRate, 2 * factor);
    Atomics.store(cells, room, Math.ceil(Math.min(rates.whole, rates.sampled) * stepOfRate));
  };

  const put = (bytes: Buffer, from: number, end: number, lines: number): void => {
    kept = (kept + lines) | 0;
    Atomics.store(cells, own + samplingWords.taken, kept);
    useRoom(lines);
    const length = end - from;
    if (!to.hasRoom()) {
      drop("queue_full", lines * group, length);
      return;
    }
    if (weight !== group) to.part();
    weight = group;
    if (at + length > slab.length) {
      slab = to.allocate(length);
      at = 0;
    }
    const copied = copyLines(bytes, from, end, slab, at);
    to.write(slab.subarray(at, copied), lines * group);
    at = copied;
  };

  const choose = (bytes: Buffer, count: number): void => {
    let next = 0;
    let line = 0;
    let start = 0;
    /** Goes to the beginning of a line of the piece. */
    const goTo = (wanted: number): void => {
      if (wanted - line <= count - wanted) {
        for (; line < wanted; line++) start = bytes.indexOf(lineFeed, start) + 1;
        return;
      }
      start = bytes.length;
      for (line = count; line > wanted; line--) start = bytes.lastIndexOf(lineFeed, start - 2) + 1;
    };

    while (next < count) {
      if (left === 0) {
        // A group ends with the factor that it began with, or its records would not be counted right.
        group = factorIn(cells);
        if (group === 1) {
          goTo(next);
          if (bytes.length - start <= to.maxLength) {
            put(bytes, start, bytes.length, count - next);
            return;
          }
        }
        left = group;
        chosen = Math.floor(random() * group);
      }
      if (chosen < count - next) {
        goTo(next + chosen);
        put(bytes, start, bytes.indexOf(lineFeed, start) + 1, 1);
        chosen = taken;
      }
      const passed = Math.min(left, count - next);
      left -= passed;
      chosen -= chosen === taken ? 0 : passed;
      next += passed;
    }
  };

  return {
    look(lines, count) {
      if (Atomics.load(cells, isOpen) !== 1) {
        drop("closed", count, lines.length);
        return;
      }
      seen = (seen + count) | 0;
      Atomics.store(cells, own + samplingWords.seen, seen);
      if (left > count && chosen >= count) {
        left -= count;
        if (chosen !== taken) chosen -= count;
      } else choose(Buffer.from(lines.buffer, lines.byteOffset, lines.length), count);
    },
  };
}
