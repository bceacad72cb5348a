/** Whether this is `npm run fuzz`. */
export const isFuzz = process.env["NETGLOSS_FUZZ"] === "1";

/** `.ci/run` asks for all runs, and for networks in their whole size. */
export const isWhole = isFuzz || process.env["NETGLOSS_RUNS"] === "all";

const share = isWhole ? 1 : 1 / 4;

interface Runs {
  readonly numRuns: number;
  readonly seed: number;
}

/** So many runs are made at least, unless a property wants fewer. */
const fewestRuns = 5;

/**
 * How long a property is tried on random input. `.ci/run` takes this many runs, `npm test` a quarter of them, from a fixed seed: what
 * it says is due to the change at hand and to nothing else. `npm run fuzz` takes ten times as many, from another seed each time
 * (a failure names it) or from that of `NETGLOSS_FUZZ_SEED`.
 */
export function runs(count: number): Runs {
  return allRuns(isFuzz ? count : Math.min(count, Math.max(fewestRuns, Math.ceil(count * share))));
}

/** As {@link runs} of `.ci/run`, also in `npm test`: for a property that wants to have seen each kind of case in the end. */
export function allRuns(count: number): Runs {
  if (!isFuzz) return { numRuns: count, seed: 1 };
  return { numRuns: 10 * count, seed: Number(process.env["NETGLOSS_FUZZ_SEED"] ?? Date.now() & 0x7fffffff) };
}
