/** What happened to one item of a group: its own outcome, whatever that of the others. */
export type Outcome<R> = { readonly result: R } | { readonly error: unknown };

/** One worker at a time, in the order of the calls. What comes while it works waits and is taken as one group. */
export interface CommitQueue<T, R> {
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
