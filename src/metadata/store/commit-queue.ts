import type { Clock } from "../../base/report/index.ts";
import { type EntryChange, applyWrites } from "../model/apply-writes.ts";
import type { UdmEntry } from "../model/entry.ts";
import {
  UdmError,
  type UdmCommit,
  type WriteOrigin,
  type UdmIndex,
  type PlanWrites,
  type UdmWrite,
} from "../model/udm-store.ts";
import type { CollectorUdmStore } from "./store-contract.ts";
import type { StoreMetrics } from "./store-reporting.ts";
import { ChangeLog } from "./udm-pages.ts";

/** One call of `submit`. */
export interface Batch extends WriteBatch {
  readonly origin: WriteOrigin;
}

interface SubmitOptions {
  readonly queue: Pick<CommitQueue<Batch, UdmCommit>, "submit">;
  /** Throws while no writes are taken. */
  readonly check: () => void;
  readonly report: Pick<StoreMetrics, "committed">;
  readonly clock: Pick<Clock, "monotonic">;
}

/** How writes come into a store: each is counted with its result and its time. */
export function createSubmit({
  queue,
  check,
  report,
  clock,
}: SubmitOptions): Pick<CollectorUdmStore, "submit" | "commit"> {
  const submit: CollectorUdmStore["submit"] = async (writes, origin = {}, onVersion) => {
    const start = clock.monotonic();
    try {
      check();
      const isPlanned = typeof writes === "function";
      const batch = isPlanned ? { writes: [], plan: writes, origin } : { writes, origin, onVersion };
      const committed = await queue.submit(batch, isPlanned);
      report.committed("ok", clock.monotonic() - start);
      return committed;
    } catch (error) {
      report.committed(error instanceof UdmError ? error.code : "error", clock.monotonic() - start);
      throw error;
    }
  };
  return { submit, commit: async (writes, origin) => (await submit(writes, origin)).entries };
}

/** Who made a batch, and by which method, as the history has it. */
export function originOf({ writes, origin }: Batch): { readonly author: string; readonly method: string } {
  return { author: origin.user ?? origin.author ?? "", method: origin.method ?? writes[0]?.op ?? "" };
}

/** The entries of an answer: of each write the one that it left, or deleted. */
export function entriesOf(done: readonly EntryChange[]): readonly UdmEntry[] {
  return done.flatMap(({ before, after }) => after ?? before ?? []);
}

/** Writes that are applied as one. */
interface WriteBatch {
  /** Those of a plan are put here when it has been made. */
  writes: readonly UdmWrite[];
  /** Of a batch that is the only one of its group. */
  readonly plan?: PlanWrites | undefined;
  /** The version of the state that they were made for, where they are good for no other one. */
  readonly onVersion?: number | undefined;
}

/** What happened to the batches of a group. */
interface AppliedBatches {
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
    const changes = new ChangeLog();
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

/** What happened to one item of a group: its own outcome, whatever that of the others. */
export type Outcome<R> = { readonly result: R } | { readonly error: unknown };

/** One worker at a time, in the order of the calls. What comes while it works waits and is taken as one group. */
interface CommitQueue<T, R> {
  /**
   * Waits for its group. Rejects with the item's own error, or with the one that the whole group ended in.
   *
   * @param isAlone whether it is to be the only one of its group.
   */
  submit(item: T, isAlone?: boolean): Promise<R>;
  /** Runs `action` alone, after what was submitted before and before what is submitted later. */
  alone<A>(action: () => Promise<A>): Promise<A>;
  /** Resolves when nothing waits or works. */
  idle(): Promise<void>;
}

interface Group<T, R> {
  readonly items: Waiting<T, R>[];
  /** Whether more may join it. */
  readonly isOpen: boolean;
}

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A queue that hands all that waits to `commitGroup` at once and answers in order. `commitGroup` returns one outcome
 * for each item, or throws to fail all of them.
 */
export function createCommitQueue<T, R>(
  commitGroup: (items: readonly T[]) => Promise<readonly Outcome<R>[]>,
): CommitQueue<T, R> {
  /** Groups, and actions that stand between them. */
  const steps: (Group<T, R> | (() => Promise<void>))[] = [];
  let working: Promise<void> | undefined;

  const runGroup = async (group: readonly Waiting<T, R>[]): Promise<void> => {
    try {
      const outcomes = await commitGroup(group.map((waiting) => waiting.item));
      for (const [i, waiting] of group.entries()) {
        const outcome = outcomes[i];
        if (outcome !== undefined && "result" in outcome) waiting.resolve(outcome.result);
        else waiting.reject(outcome?.error);
      }
    } catch (error) {
      for (const waiting of group) waiting.reject(error);
    }
  };

  const work = async (): Promise<void> => {
    // The first write of a burst waits for the others that are made in the same turn.
    await Promise.resolve();
    for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
      await (typeof step === "function" ? step() : runGroup(step.items));
    }
    working = undefined;
  };

  const wake = (): void => {
    working ??= work();
  };

  return {
    submit: (item, isAlone = false) =>
      new Promise((resolve, reject) => {
        const last = steps.at(-1);
        if (!isAlone && typeof last === "object" && last.isOpen) last.items.push({ item, resolve, reject });
        else steps.push({ items: [{ item, resolve, reject }], isOpen: !isAlone });
        wake();
      }),
    alone: (action) =>
      new Promise((resolve, reject) => {
        steps.push(() => action().then(resolve, reject));
        wake();
      }),
    idle: async () => {
      for (let done = working; done !== undefined; done = working) await done;
    },
  };
}
