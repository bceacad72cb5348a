import { createSharedIndex, type UdmEntry, type UdmIndex } from "../../src/udm/index.ts";

/**
 * So many take more memory than malloc keeps at hand (32 MB), so that it comes zeroed from the system, and untouched: what is kept
 * at hand is zeroed byte by byte, which is most of the time of a small test.
 */
export const leastEntries = 40_000;

/** An index in memory of its own, of entries in any order. @throws Error when two entries have one key. */
export function buildIndex(entries: readonly UdmEntry[], version = 1): UdmIndex {
  const builder = createSharedIndex({ maxEntries: 2 * entries.length + leastEntries }).builder();
  for (const entry of entries) builder.add(entry);
  return builder.finish(version);
}

export function emptyIndex(): UdmIndex {
  return createSharedIndex({ maxEntries: leastEntries }).empty();
}
