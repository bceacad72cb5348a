/** Whether this is `npm run fuzz`. */
export const isFuzz = process.env["NETGLOSS_FUZZ"] === "1";

/**
 * How long a property is tried on random input. `npm test` takes this many runs from a fixed seed: what it says is due to the
 * change at hand and to nothing else. `npm run fuzz` takes ten times as many, from another seed each time (a failure
 * names it) or from that of `NETGLOSS_FUZZ_SEED`.
 */
export function runs(count: number): { readonly numRuns: number; readonly seed: number } {
  if (!isFuzz) return { numRuns: count, seed: 1 };
  return { numRuns: 10 * count, seed: Number(process.env["NETGLOSS_FUZZ_SEED"] ?? Date.now() & 0x7fffffff) };
}
