/**
 * How many values to ask an agent for in one GetBulk, learnt from how it answers. It is kept for as long as the agent
 * is polled, so that one walk learns for the next.
 */
export interface Repetitions {
  /** Values to ask for in one request, rows times columns. */
  values(): number;
  /** An answer held all the values that were asked for, about as many as {@link values} says. */
  onFull(): void;
  /** The agent said tooBig, or did not answer, when asked for this many values. */
  onFailure(asked: number): void;
}

/** Full answers in a row before more is tried: twice as much until a size has failed, then a quarter more. */
const answersToDouble = 2;
const answersToGrow = 8;
/** Answers in a row, each full, after which a size that failed is tried again: the network may have changed. */
const answersToForget = 512;

/**
 * Doubles after some full answers, up to `most`. It halves at a failure, and grows by a quarter from then on; a size that
 * failed is approached to three quarters only, until many answers went well.
 */
export function createRepetitions(first = 60, most = 240): Repetitions {
  let values = Math.min(first, most);
  let failedAt = Infinity;
  let full = 0;
  let sinceFailure = 0;
  let hasFailed = false;
  return {
    values: () => values,
    onFull() {
      full++;
      sinceFailure++;
      if (sinceFailure >= answersToForget) failedAt = Infinity;
      if (full < (hasFailed ? answersToGrow : answersToDouble)) return;
      full = 0;
      const ceiling = Math.min(most, Math.floor(failedAt * 0.75));
      values = Math.max(values, Math.min(ceiling, hasFailed ? values + Math.ceil(values / 4) : 2 * values));
    },
    onFailure(asked) {
      hasFailed = true;
      failedAt = asked;
      values = Math.max(1, Math.floor(asked / 2));
      full = 0;
      sinceFailure = 0;
    },
  };
}
