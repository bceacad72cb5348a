/** What the kernel leaves to the other side, within its lines. */
export const slowFieldReasons = ["value", "repeated", "list", "packet", "estimate", "enrichment"] as const;
export type SlowFieldReason = (typeof slowFieldReasons)[number];

/** How often that was so. */
export type SlowFieldCounts = Record<SlowFieldReason, number>;

export function createSlowFieldCounts(): SlowFieldCounts {
  return Object.fromEntries(slowFieldReasons.map((reason) => [reason, 0])) as SlowFieldCounts;
}
