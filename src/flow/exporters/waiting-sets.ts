import type { Plan } from "./plan.ts";
import type { RecordContext } from "./plan.ts";
import { memoryCosts, type MemoryShare } from "./limits.ts";

/** A data set that came before its template, or is held until other collectors were asked. */
export interface WaitingSet {
  readonly templateId: number;
  /** Its content after the set header: a copy. */
  readonly bytes: Buffer;
  readonly context: RecordContext;
  readonly receivedAt: number;
  /** Its template was known. */
  readonly isHeld?: boolean;
  /** The plan of the template that was known, which it does not fit. */
  readonly doubted?: Plan | undefined;
}

/** Sets of one domain that wait for their templates, oldest first. */
export interface WaitingSets {
  /** Takes a set. Returns how many were dropped: older ones to make room, the set itself when there is none. */
  add(set: WaitingSet): number;
  /** Whether there is room for a set of this many bytes without dropping any. */
  hasRoom(bytes: number): boolean;
  /** Hands over the sets of a template that is known at last. @param except those that do not fit this plan stay. */
  take(templateId: number, except?: Plan): readonly WaitingSet[];
  /** Drops the sets that came before a time, milliseconds since the epoch. Returns how many. */
  dropOlder(than: number): number;
  count(): number;
  /** Since when there are any, milliseconds since the epoch; those of then may have been dropped. */
  readonly since: number | undefined;
  /** Sets that were dropped so far. */
  readonly dropped: number;
  /** The templates that sets wait for. */
  templateIds(): readonly number[];
}

/** Bytes and sets that wait, counted over several domains. */
export interface WaitingBudget {
  bytes: number;
  sets: number;
  readonly maxBytes: number;
  readonly maxSets: number;
}

export interface WaitingSetsOptions {
  /** What the exporter's sets must fit into. */
  readonly own: WaitingBudget;
  /** What those of all exporters must fit into. */
  readonly inAll: WaitingBudget;
  readonly memory: MemoryShare;
  /**
   * Drops what waits of another exporter; returns false when there is nothing. Asked only where this domain has nothing of its own to
   * give way: others may have filled the budget.
   */
  readonly reclaim: () => boolean;
}

export function createWaitingSets({ own, inAll, memory, reclaim }: WaitingSetsOptions): WaitingSets {
  const budgets = [own, inAll];
  let waiting: WaitingSet[] = [];
  let since: number | undefined;
  let droppedInAll = 0;

  const account = (set: WaitingSet, sign: 1 | -1): void => {
    for (const budget of budgets) {
      budget.bytes += sign * set.bytes.length;
      budget.sets += sign;
    }
    memory.add(sign * (set.bytes.length + memoryCosts.waitingSet));
  };
  const fits = (length: number, { bytes, sets, maxBytes, maxSets }: WaitingBudget): boolean =>
    bytes + length <= maxBytes && sets < maxSets;
  const fitsInto = (set: WaitingSet, budget: WaitingBudget): boolean => fits(set.bytes.length, budget);

  return {
    add(set) {
      let dropped = 0;
      since ??= set.receivedAt;
      while (!fitsInto(set, own) || !fitsInto(set, inAll)) {
        const oldest = waiting.shift();
        if (oldest === undefined) {
          if (fitsInto(set, own) && reclaim()) continue;
          droppedInAll++;
          return dropped + 1;
        }
        dropped++;
        droppedInAll++;
        account(oldest, -1);
      }
      waiting.push(set);
      account(set, 1);
      return dropped;
    },
    hasRoom: (bytes) => budgets.every((budget) => fits(bytes, budget)),
    take(templateId, except) {
      const isMine = (set: WaitingSet): boolean =>
        set.templateId === templateId && (except === undefined || set.doubted !== except);
      const mine = waiting.filter(isMine);
      if (mine.length === 0) return mine;
      waiting = waiting.filter((set) => !isMine(set));
      for (const set of mine) account(set, -1);
      since = waiting[0]?.receivedAt;
      return mine;
    },
    dropOlder(than) {
      const { length } = waiting;
      waiting = waiting.filter((set) => {
        if (set.receivedAt >= than) return true;
        account(set, -1);
        return false;
      });
      droppedInAll += length - waiting.length;
      if (waiting.length === 0) since = undefined;
      return length - waiting.length;
    },
    count: () => waiting.length,
    get since() {
      return since;
    },
    get dropped() {
      return droppedInAll;
    },
    templateIds: () => [...new Set(waiting.map(({ templateId }) => templateId))].toSorted((a, b) => a - b),
  };
}
