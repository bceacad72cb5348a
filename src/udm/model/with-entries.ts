import { itemsATurn, nextTurn } from "./next-turn.ts";
import type { UdmEntry } from "./udm-entry.ts";
import type { UdmIndex } from "./udm-index.ts";

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

/**
 * The index with exactly these entries: `index` itself when it holds them already, so that what was cached for its
 * version stays valid.
 */
export async function withEntries(index: UdmIndex, entries: readonly UdmEntry[]): Promise<UdmIndex> {
  const edit = index.edit();
  let isChanged = false;
  for (const [i, entry] of entries.entries()) {
    if (i % itemsATurn === itemsATurn - 1) await nextTurn();
    const old = edit.get(entry.key);
    if (old !== undefined && sameEntry(old, entry)) continue;
    edit.put(entry);
    isChanged = true;
  }
  const kept = new Set<string>();
  for (const [i, entry] of entries.entries()) {
    if (i % itemsATurn === itemsATurn - 1) await nextTurn();
    kept.add(entry.key.text);
  }
  let looked = 0;
  for (const { key } of index.entries()) {
    if (++looked % itemsATurn === 0) await nextTurn();
    if (kept.has(key.text)) continue;
    edit.delete(key);
    isChanged = true;
  }
  if (isChanged) return edit.done();
  edit.drop();
  return index;
}
