import { type EntryChange, applyWrites } from "../model/apply-writes.ts";
import {
  UdmError,
  type UdmCommit,
  type WriteOrigin,
  type UdmIndex,
  type PlanWrites,
  type UdmWrite,
} from "../model/udm-store.ts";
import { ChangeLog } from "./udm-pages.ts";

/** Who made a batch, and by which method, as the history has it. */
export function originOf({ writes, origin }: Batch): { readonly author: string; readonly method: string } {
  return { author: origin.user ?? origin.author ?? "", method: origin.method ?? writes[0]?.op ?? "" };
}

/** Makes the answers: of each write the entry that it left, or deleted. @param numbers of the changes in the history, by batch. */
export function committed(
  outcomes: readonly Outcome<readonly EntryChange[]>[],
  numbers: readonly (number | undefined)[],
): Outcome<UdmCommit>[] {
  return outcomes.map((outcome, i) => {
    if (!("result" in outcome)) return outcome;
    return {
      result: { entries: outcome.result.flatMap(({ before, after }) => after ?? before ?? []), change: numbers[i] },
    };
  });
}

/** One call of `submit`: writes that are applied as one. */
export interface Batch {
  /** Those of a plan are put here when it has been made. */
  writes: readonly UdmWrite[];
  readonly origin: WriteOrigin;
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
export async function applyBatches(before: UdmIndex, batches: readonly Batch[]): Promise<AppliedBatches> {
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

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** One worker at a time, in the order of the calls. What comes while it works waits and is taken as one group. */
export class CommitQueue<T, R> {
  readonly #commitGroup: (items: readonly T[]) => Promise<readonly Outcome<R>[]>;
  /** Groups, and actions that stand between them. */
  readonly #steps: ({ readonly items: Waiting<T, R>[]; readonly isOpen: boolean } | (() => Promise<void>))[] = [];
  #working: Promise<void> | undefined;

  /**
   * A queue that hands all that waits to `commitGroup` at once and answers in order. `commitGroup` returns one outcome
   * for each item, or throws to fail all of them.
   */
  constructor(commitGroup: (items: readonly T[]) => Promise<readonly Outcome<R>[]>) {
    this.#commitGroup = commitGroup;
  }

  /**
   * Waits for its group. Rejects with the item's own error, or with the one that the whole group ended in.
   *
   * @param isAlone whether it is to be the only one of its group.
   */
  submit(item: T, isAlone = false): Promise<R> {
    return new Promise((resolve, reject) => {
      const last = this.#steps.at(-1);
      if (!isAlone && typeof last === "object" && last.isOpen) last.items.push({ item, resolve, reject });
      else this.#steps.push({ items: [{ item, resolve, reject }], isOpen: !isAlone });
      this.#wake();
    });
  }

  /** Runs `action` alone, after what was submitted before and before what is submitted later. */
  alone<A>(action: () => Promise<A>): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#steps.push(() => action().then(resolve, reject));
      this.#wake();
    });
  }

  /** Resolves when nothing waits or works. */
  async idle(): Promise<void> {
    for (let done = this.#working; done !== undefined; done = this.#working) await done;
  }

  async #runGroup(group: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const outcomes = await this.#commitGroup(group.map((waiting) => waiting.item));
      for (const [i, waiting] of group.entries()) {
        const outcome = outcomes[i];
        if (outcome !== undefined && "result" in outcome) waiting.resolve(outcome.result);
        else waiting.reject(outcome?.error);
      }
    } catch (error) {
      for (const waiting of group) waiting.reject(error);
    }
  }

  async #work(): Promise<void> {
    // The first write of a burst waits for the others that are made in the same turn.
    await Promise.resolve();
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) {
      await (typeof step === "function" ? step() : this.#runGroup(step.items));
    }
    this.#working = undefined;
  }

  #wake(): void {
    this.#working ??= this.#work();
  }
}
