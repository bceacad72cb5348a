import { parseKey } from "../../ip/index.ts";
import { isChange, type EntryChange } from "../model/apply-writes.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import type { UdmChange } from "./history-contract.ts";

/** What happened to each key in all of the changes. */
function collapse(changes: readonly UdmChange[]): ReadonlyMap<string, EntryChange> {
  const byKey = new Map<string, EntryChange>();
  for (const { changes: entries } of changes) {
    for (const { before, after } of entries) {
      const key = (after ?? before)?.key.text ?? "";
      const earlier = byKey.get(key);
      byKey.set(key, { before: earlier === undefined ? before : earlier.before, after });
    }
  }
  return byKey;
}

/** Whether changes that were saved by one replacement of the file, all or none, are in it. */
export function isInFile(changes: readonly UdmChange[], index: UdmIndex): boolean {
  let isBefore = false;
  for (const [key, change] of collapse(changes)) {
    if (!isChange(change)) continue;
    const there = index.get(parseKey(key));
    if (isSame(there, change.after)) return true;
    if (isSame(there, change.before)) isBefore = true;
  }
  return !isBefore;
}

/** What happened to entries since changes, the last of which is the last one at all. */
export function findEdits(changes: readonly UdmChange[], index: UdmIndex): readonly EntryChange[] {
  const edits: EntryChange[] = [];
  for (const [key, { after: before }] of collapse(changes)) {
    const after = index.get(parseKey(key));
    if (!isSame(before, after)) edits.push({ before, after });
  }
  return edits;
}

function isSame(a: UdmEntry | undefined, b: UdmEntry | undefined): boolean {
  return !isChange({ before: a, after: b });
}
