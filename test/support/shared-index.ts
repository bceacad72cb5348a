import { createSharedIndex, type UdmEntry, type UdmIndex } from "../../src/udm/index.ts";

/** An index in memory of its own, of entries in any order. @throws Error when two entries have one key. */
export function buildIndex(entries: readonly UdmEntry[], version = 1): UdmIndex {
  const builder = createSharedIndex({ maxEntries: 2 * entries.length + 10_000 }).builder();
  for (const entry of entries) builder.add(entry);
  return builder.finish(version);
}

export function emptyIndex(): UdmIndex {
  return createSharedIndex({ maxEntries: 10_000 }).empty();
}
