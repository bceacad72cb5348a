/** Chooses records evenly: one of so many, at a random place among them, which stands for all of them. */
export interface Sampler {
  /** How many records one that is taken stands for at present. */
  readonly factor: number;
  /** @returns 0 for a record that is left out, else how many it stands for. */
  next(): number;
  /**
   * Judges how many records came since the last call, and sees to it that not many more than the greatest rate are taken.
   *
   * @param seconds since the last call.
   */
  judgeRate(seconds: number): void;
  /**
   * Judges how far the reader lags behind, and changes the factor.
   *
   * @param backlog part of the inbox that is full, 0 to 1. @param now milliseconds, monotonic.
   */
  adapt(backlog: number, now: number): void;
  /** Whether the reader has kept up for a while. @param now milliseconds, monotonic. */
  isCalm(now: number): boolean;
}

/**
 * Sampling begins when the inbox is filled beyond the high mark (a part of 1), and becomes weaker when it stays below the low mark for
 * `calmMs` milliseconds.
 */
const highBacklog = 0.5;
const lowBacklog = 0.1;
const calmMs = 10_000;
/** Not twice within this time: what a change brings shows later. */
const settleMs = 250;
const maxFactor = 1 << 12;
/**
 * When more is taken than a second may bring, the factor doubles at once, and once more after each of these parts of the greatest rate: a
 * burst reaches the factor that it needs within some tenths of a second, and few records are taken until then.
 */
const stepOfRate = 1 / 8;

/** A lower factor must suffice for so much more than comes, or it would change to and fro. */
const reserve = 1.25;

/** @param random from 0 up to 1. @param maxRate records a second that are taken; 0: no bound. */
export function createSampler(random: () => number, maxRate: number): Sampler {
  let byLag = 1;
  let byRate = 1;
  let seen = 0;
  /** Records that may still be taken before the rate is judged, or too many came. */
  let room = maxRate;
  /** Records that are left of the present group, and which of them is taken. */
  let left = 0;
  let chosen = 0;
  let group = 1;
  let changedAt = Number.NEGATIVE_INFINITY;
  let busyAt = Number.NEGATIVE_INFINITY;

  return {
    get factor() {
      return Math.max(byLag, byRate);
    },
    judgeRate(seconds) {
      const rate = seen / seconds;
      seen = 0;
      room = maxRate;
      if (maxRate === 0) return;
      while (rate > maxRate * byRate && byRate < maxFactor) byRate *= 2;
      while (byRate > 1 && rate * reserve < (maxRate * byRate) / 2) byRate /= 2;
    },
    next() {
      seen++;
      if (left === 0) {
        // A group ends with the factor that it began with, or its records would not be counted right.
        group = Math.max(byLag, byRate);
        left = group;
        chosen = group === 1 ? 1 : 1 + Math.floor(random() * group);
      }
      if (left-- !== chosen) return 0;
      // A burst after a calm does not wait for the next judgement.
      if (maxRate > 0 && --room <= 0 && byRate < maxFactor) {
        byRate *= 2;
        room = maxRate * stepOfRate;
      }
      return group;
    },
    isCalm: (now) => byLag === 1 && now - busyAt >= calmMs,
    adapt(backlog, now) {
      if (backlog > lowBacklog) busyAt = now;
      if (backlog > highBacklog && now - changedAt >= settleMs && byLag < maxFactor) {
        byLag *= 2;
        changedAt = now;
      } else if (byLag > 1 && now - busyAt >= calmMs && now - changedAt >= calmMs) {
        byLag /= 2;
        changedAt = now;
      }
    },
  };
}
