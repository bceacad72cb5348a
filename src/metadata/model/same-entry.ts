import type { UdmEntry } from "./udm-entry.ts";

/** Whether two entries of one key say the same. */
export function sameEntry(a: UdmEntry, b: UdmEntry): boolean {
  return (
    a.name === b.name &&
    a.vlan === b.vlan &&
    a.internal === b.internal &&
    a.fileOnly?.yaml === b.fileOnly?.yaml &&
    a.tags.length === b.tags.length &&
    a.tags.every((tag, i) => tag === b.tags[i]) &&
    a.metadata.size === b.metadata.size &&
    [...a.metadata].every(([key, value]) => b.metadata.get(key) === value)
  );
}
