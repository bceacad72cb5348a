import { itemsATurn, nextTurn } from "./next-turn.ts";
import type { UdmEntry } from "./udm-entry.ts";
import type { UdmChange } from "./udm-pages.ts";
import type { UdmWrite } from "./udm-store.ts";
import { renderEntry } from "./yaml-writer.ts";

/** Adds what a batch does to the file. @param entries what the writes made of each entry, in their order. */
export async function noteChanges(
  changes: UdmChange[],
  writes: readonly UdmWrite[],
  entries: readonly UdmEntry[],
): Promise<void> {
  for (const [i, entry] of entries.entries()) {
    if (i % itemsATurn === itemsATurn - 1) await nextTurn();
    changes.push({ key: entry.key, yaml: writes[i]?.op === "delete" ? undefined : renderEntry(entry) });
  }
}
