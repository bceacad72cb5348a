import { applyWrites, type EntryChange } from "../model/apply-writes.ts";
import { UdmError } from "../model/udm-error.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import type { PlanWrites, UdmWrite } from "../model/udm-store.ts";
import { createChangeLog } from "./change-log.ts";
import type { Outcome } from "./commit-queue.ts";

/** Writes that are applied as one. */
export interface WriteBatch {
  /** Those of a plan are put here when it has been made. */
  writes: readonly UdmWrite[];
  /** Of a batch that is the only one of its group. */
  readonly plan?: PlanWrites | undefined;
  /** The version of the state that they were made for, where they are good for no other one. */
  readonly onVersion?: number | undefined;
}

/** What happened to the batches of a group. */
export interface AppliedBatches {
  /** What the writes of each did, in their order. */
  readonly outcomes: readonly Outcome<readonly EntryChange[]>[];
  /** Undefined when no batch changed anything. */
  readonly changed: { readonly next: UdmIndex; readonly changes: Uint8Array } | undefined;
}

/**
 * Applies batches one after the other, each to the state that the ones before it leave. A batch that breaks a rule fails
 * alone; any other error fails the group.
 *
 * @throws what is no refusal of one batch; the edit is given up then.
 */
export async function applyBatches(before: UdmIndex, batches: readonly WriteBatch[]): Promise<AppliedBatches> {
  const edit = before.edit();
  try {
    const changes = createChangeLog();
    const outcomes: Outcome<readonly EntryChange[]>[] = [];
    for (const batch of batches) {
      const { plan, onVersion } = batch;
      const { length } = changes;
      try {
        if (plan !== undefined) batch.writes = await plan(before);
      } catch (error) {
        outcomes.push({ error });
        continue;
      }
      try {
        if (onVersion !== undefined && (onVersion !== before.version || !changes.isEmpty)) throw overtaken();
        outcomes.push({ result: await applyWrites(edit, batch.writes, (key, yaml) => changes.add(key, yaml)) });
      } catch (error) {
        if (!(error instanceof UdmError)) throw error;
        changes.cut(length);
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

function overtaken(): UdmError {
  return new UdmError("failed_precondition", "others have changed the metadata meanwhile: try again");
}
