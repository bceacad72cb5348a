import { applyWrites } from "../model/apply-writes.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import { UdmError } from "../model/udm-error.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import type { UdmWrite } from "../model/udm-store.ts";
import { createChangeLog } from "./change-log.ts";
import type { Outcome } from "./commit-queue.ts";
import { noteChanges } from "./note-changes.ts";

/** What became of the batches of a group. */
export interface AppliedBatches {
  /** One for each batch, in their order. */
  readonly outcomes: readonly Outcome<readonly UdmEntry[]>[];
  /** Undefined when no batch changed anything. */
  readonly changed: { readonly next: UdmIndex; readonly changes: Uint8Array } | undefined;
}

/**
 * Applies batches one after the other, each to the state that the ones before it leave. A batch that breaks a rule fails
 * alone; any other error fails the group.
 *
 * @throws what is no refusal of one batch; the edit is given up then.
 */
export async function applyBatches(
  before: UdmIndex,
  batches: readonly (readonly UdmWrite[])[],
): Promise<AppliedBatches> {
  const edit = before.edit();
  try {
    const changes = createChangeLog();
    const outcomes: Outcome<readonly UdmEntry[]>[] = [];
    for (const batch of batches) {
      try {
        const result = await applyWrites(edit, batch);
        outcomes.push({ result });
        await noteChanges(changes, batch, result);
      } catch (error) {
        if (!(error instanceof UdmError)) throw error;
        outcomes.push({ error });
      }
    }
    if (!changes.isEmpty) return { outcomes, changed: { changes: changes.take(), next: edit.done() } };
    edit.drop();
    return { outcomes, changed: undefined };
  } catch (error) {
    edit.drop();
    throw error;
  }
}
