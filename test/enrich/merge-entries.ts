import { compareSpecificity } from "../../src/base/ip/index.ts";
import type { UdmEntry, UdmValues } from "../../src/metadata/index.ts";

/**
 * What all entries that cover an address say of it together. Of each field and each metadata key the most specific
 * entry that sets it counts ({@link compareSpecificity}); a metadata key with an empty value is set. Tags are united in
 * the order of specificity, each once. An address is internal when any entry says so.
 */
export function mergeEntries(entries: readonly UdmEntry[]): UdmValues {
  const specific = entries.toSorted((a, b) => compareSpecificity(a.key, b.key));
  const metadata = new Map<string, string>();
  for (const entry of specific) {
    for (const [key, value] of entry.metadata) {
      if (!metadata.has(key)) metadata.set(key, value);
    }
  }
  return {
    name: specific.find((entry) => entry.name !== "")?.name ?? "",
    tags: [...new Set(specific.flatMap((entry) => entry.tags))],
    vlan: specific.find((entry) => entry.vlan !== 0n)?.vlan ?? 0n,
    internal: specific.some((entry) => entry.internal),
    metadata,
  };
}
