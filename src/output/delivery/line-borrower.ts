import type { LentLines } from "./line-lender.ts";

/** The other end of a line lender. */
export interface LineBorrower {
  take(lent: readonly LentLines[]): void;
}

/**
 * @param add is given lines; it calls back once when it needs them no more.
 * @param giveBack brings numbers of loans to the lender; called once in a turn at most.
 */
export function createLineBorrower(
  add: (lines: Uint8Array, count: number, done: () => void) => void,
  giveBack: (loans: readonly number[]) => void,
): LineBorrower {
  const memories: SharedArrayBuffer[] = [];
  let pending: number[] = [];

  const flush = (): void => {
    const loans = pending;
    pending = [];
    giveBack(loans);
  };
  const done = (loan: number) => (): void => {
    if (pending.length === 0) queueMicrotask(flush);
    pending.push(loan);
  };
  const linesOf = (lent: LentLines): Uint8Array => {
    if ("bytes" in lent) return lent.bytes;
    if (typeof lent.memory !== "number") memories.push(lent.memory);
    const memory = typeof lent.memory === "number" ? memories[lent.memory] : lent.memory;
    if (memory === undefined) throw new Error("lines lie in memory that was never lent");
    return new Uint8Array(memory, lent.at, lent.length);
  };

  return {
    take(lent) {
      for (const one of lent) add(linesOf(one), one.count, done(one.loan));
    },
  };
}
