import { isChange, type EntryChange } from "../model/apply-writes.ts";
import type { UdmCommit } from "../model/udm-store.ts";
import type { NewLayerChange } from "../history/store-history.ts";
import { applyBatches } from "../store/apply-batches.ts";
import type { Outcome } from "../store/commit-queue.ts";
import { entriesOf, originOf, type Batch } from "../store/submit-writes.ts";
import type { NewCommit } from "./save-commits.ts";
import { createTransact, type TransactOptions } from "./transact.ts";

/** What happened to a group of batches. */
export interface CommittedGroup {
  /** Of each batch, in their order. */
  readonly outcomes: readonly Outcome<UdmCommit>[];
  /** The batches that changed anything. */
  readonly changed: ReadonlySet<Batch>;
}

/** Makes commits of batches. Calls follow one another. */
export interface Committer {
  /** All batches in one transaction, a commit for each that changes anything. @throws UdmError when none was made. */
  commit(batches: readonly Batch[]): Promise<CommittedGroup>;
  /** Puts what a source says into the history. @throws UdmError */
  note(change: NewLayerChange): Promise<void>;
}

export function createCommitter(options: TransactOptions): Committer {
  const { current, release } = options;
  const transact = createTransact(options);
  return {
    async commit(batches) {
      let outcomes: readonly Outcome<readonly EntryChange[]>[] = [];
      let numbers: readonly (number | undefined)[] = [];
      await transact(async (from) => {
        const applied = await applyBatches(current(), batches);
        outcomes = applied.outcomes;
        numbers = [];
        if (applied.changed === undefined) return undefined;
        const commits = newCommits(batches, outcomes, from.number);
        numbers = commits.map((commit) => commit?.number);
        const real = commits.filter((commit) => commit !== undefined);
        if (real.length > 0) return { commits: real, next: applied.changed.next };
        release(applied.changed.next);
        return undefined;
      });
      return {
        changed: new Set(batches.filter((_, i) => numbers[i] !== undefined)),
        outcomes: outcomes.map((outcome, i) =>
          "result" in outcome ? { result: { entries: entriesOf(outcome.result), change: numbers[i] } } : outcome,
        ),
      };
    },
    note: (change) =>
      transact(async ({ number }) => ({ commits: [{ ...change, number: number + 1 }], next: current() })),
  };
}

/** The commits of a group's batches; undefined for those that change nothing. */
function newCommits(
  batches: readonly Batch[],
  outcomes: readonly Outcome<readonly EntryChange[]>[],
  last: number,
): readonly (NewCommit | undefined)[] {
  let number = last;
  return batches.map((batch, i) => {
    const outcome = outcomes[i] as Outcome<readonly EntryChange[]>;
    const changes = "result" in outcome ? outcome.result.filter(isChange) : [];
    if (changes.length === 0) return undefined;
    number++;
    return { number, ...originOf(batch), layer: undefined, entries: changes.length, changes };
  });
}
