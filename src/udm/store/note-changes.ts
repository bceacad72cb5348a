import type { ChangeLog } from "./change-log.ts";
import { itemsATurn, nextTurn } from "../model/next-turn.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import type { UdmWrite } from "../model/udm-store.ts";
import { renderEntry } from "../model/render-entry.ts";

/** Adds what a batch does to the file. @param entries what the writes made of each entry, in their order. */
export async function noteChanges(
  changes: ChangeLog,
  writes: readonly UdmWrite[],
  entries: readonly UdmEntry[],
): Promise<void> {
  for (const [i, entry] of entries.entries()) {
    if (i % itemsATurn === itemsATurn - 1) await nextTurn();
    changes.add(entry.key, writes[i]?.op === "delete" ? undefined : renderEntry(entry));
  }
}
