/** Chooses records evenly: one of so many, at a random place among them, which stands for all of them. */
export interface Sampler {
  /** How many records one that is taken stands for at present. */
  readonly factor: number;
  /** @returns 0 for a record that is left out, else how many it stands for. */
  next(): number;
  /**
   * Judges how far the reader lags behind, and changes the factor.
   *
   * @param backlog part of the inbox that is full, 0 to 1. @param now milliseconds, monotonic.
   */
  adapt(backlog: number, now: number): void;
}

/** Beyond this part of the inbox records are thinned out, below the other for so long they are not. */
const highBacklog = 0.5;
const lowBacklog = 0.1;
const calmMs = 10_000;
/** Not twice within this time: what a change brings shows later. */
const settleMs = 250;
const maxFactor = 1 << 12;

/** @param random from 0 up to 1. */
export function createSampler(random: () => number): Sampler {
  let factor = 1;
  /** Records that are left of the present group, and which of them is taken. */
  let left = 0;
  let chosen = 0;
  let group = 1;
  let changedAt = Number.NEGATIVE_INFINITY;
  let busyAt = Number.NEGATIVE_INFINITY;

  return {
    get factor() {
      return factor;
    },
    next() {
      if (left === 0) {
        // A group ends with the factor that it began with, or its records would not be counted right.
        group = factor;
        left = group;
        chosen = group === 1 ? 1 : 1 + Math.floor(random() * group);
      }
      return left-- === chosen ? group : 0;
    },
    adapt(backlog, now) {
      if (backlog > lowBacklog) busyAt = now;
      if (backlog > highBacklog && now - changedAt >= settleMs && factor < maxFactor) {
        factor *= 2;
        changedAt = now;
      } else if (factor > 1 && now - busyAt >= calmMs && now - changedAt >= calmMs) {
        factor /= 2;
        changedAt = now;
      }
    },
  };
}
