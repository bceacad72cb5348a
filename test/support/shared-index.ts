import { StateBuilder, SharedIndex, type UdmEntry, type UdmIndex } from "../../src/metadata/index.ts";

/**
 * This many entries take more memory than malloc keeps at hand (32 MB), so that it comes zeroed from the system, and untouched: what is kept
 * at hand is zeroed byte by byte, which is most of the time of a small test.
 */
export const leastEntries = 40_000;

/** An index in memory of its own, of entries in any order. @throws Error when two entries have one key. */
export function buildIndex(entries: readonly UdmEntry[], version = 1): UdmIndex {
  return buildState(new SharedIndex({ maxEntries: 2 * entries.length + leastEntries }), entries, version);
}

/** A state of an index. @throws Error when two entries have one key, UdmError when there is no room. */
export function buildState(shared: SharedIndex, entries: Iterable<UdmEntry>, version = 1): UdmIndex {
  const lease = { ...shared.lease(), version };
  try {
    const builder = new StateBuilder(lease);
    for (const entry of entries) builder.add(entry);
    if (!builder.sort()) throw new Error("two entries have one key");
    const built = builder.finish();
    if (built === undefined) throw new Error("there was a state before");
    return shared.completeLease(lease, built);
  } catch (error) {
    shared.cancelLease(lease);
    throw error;
  }
}

export function emptyIndex(): UdmIndex {
  return new SharedIndex({ maxEntries: leastEntries }).empty();
}
