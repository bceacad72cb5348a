import type { ChangeLog } from "./change-log.ts";
import type { EntryChange } from "../model/apply-writes.ts";
import { itemsATurn, nextTurn } from "../model/next-turn.ts";
import { renderEntry } from "../model/render-entry.ts";

/** Adds what a batch does to the file. */
export async function noteChanges(changes: ChangeLog, done: readonly EntryChange[]): Promise<void> {
  for (const [i, { before, after }] of done.entries()) {
    if (i % itemsATurn === itemsATurn - 1) await nextTurn();
    if (after !== undefined) changes.add(after.key, renderEntry(after));
    else if (before !== undefined) changes.add(before.key, undefined);
  }
}
