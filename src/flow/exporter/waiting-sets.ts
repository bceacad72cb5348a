import type { RecordContext } from "../template/record-reader.ts";

/** A data set that came before its template. */
export interface WaitingSet {
  readonly templateId: number;
  /** Its content after the set header: a copy. */
  readonly bytes: Buffer;
  readonly context: RecordContext;
  readonly receivedAt: number;
}

/** Sets of one domain that wait for their templates, oldest first. */
export interface WaitingSets {
  /** Takes a set. Returns how many were dropped: older ones to make room, the set itself when there is none. */
  add(set: WaitingSet): number;
  /** Hands over the sets of a template that is known at last. */
  take(templateId: number): readonly WaitingSet[];
  /** Drops the sets that came before a time, milliseconds since the epoch. Returns how many. */
  dropOlder(than: number): number;
  count(): number;
}

/** Bytes and sets that wait, counted over several domains. */
export interface WaitingBudget {
  bytes: number;
  sets: number;
  readonly maxBytes: number;
  readonly maxSets: number;
}

/** @param budgets all that a set must fit into: the exporter's and that of all exporters together. */
export function createWaitingSets(budgets: readonly WaitingBudget[]): WaitingSets {
  let waiting: WaitingSet[] = [];

  const account = (set: WaitingSet, sign: 1 | -1): void => {
    for (const budget of budgets) {
      budget.bytes += sign * set.bytes.length;
      budget.sets += sign;
    }
  };
  const fits = (set: WaitingSet): boolean =>
    budgets.every(({ bytes, sets, maxBytes, maxSets }) => bytes + set.bytes.length <= maxBytes && sets < maxSets);

  return {
    add(set) {
      let dropped = 0;
      while (!fits(set)) {
        const oldest = waiting.shift();
        dropped++;
        if (oldest === undefined) return dropped;
        account(oldest, -1);
      }
      waiting.push(set);
      account(set, 1);
      return dropped;
    },
    take(templateId) {
      const mine = waiting.filter((set) => set.templateId === templateId);
      if (mine.length === 0) return mine;
      waiting = waiting.filter((set) => set.templateId !== templateId);
      for (const set of mine) account(set, -1);
      return mine;
    },
    dropOlder(than) {
      const { length } = waiting;
      waiting = waiting.filter((set) => {
        if (set.receivedAt >= than) return true;
        account(set, -1);
        return false;
      });
      return length - waiting.length;
    },
    count: () => waiting.length,
  };
}
