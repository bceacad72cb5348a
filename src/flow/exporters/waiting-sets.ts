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

/** Bytes and sets that wait, counted over several domains. */
export class WaitingBudget {
  bytes = 0;
  sets = 0;
  readonly #maxBytes: number;
  readonly #maxSets: number;

  constructor(maxBytes: number, maxSets: number) {
    this.#maxBytes = maxBytes;
    this.#maxSets = maxSets;
  }

  hasRoom(bytes: number): boolean {
    return this.bytes + bytes <= this.#maxBytes && this.sets < this.#maxSets;
  }
}

/** Sets of one domain that wait for their templates, oldest first. */
export class WaitingSets {
  readonly #own: WaitingBudget;
  readonly #inAll: WaitingBudget;
  readonly #memory: MemoryShare;
  readonly #reclaim: () => boolean;
  #waiting: WaitingSet[] = [];
  /** Since when there are any, milliseconds since the epoch; those of then may have been dropped. */
  since: number | undefined;
  /** Sets that were dropped so far. */
  dropped = 0;

  /**
   * @param own what the exporter's sets must fit into. @param inAll what those of all exporters must fit into.
   * @param reclaim drops what waits of another exporter; returns false when there is nothing. Asked only where this domain has nothing of
   * its own to give way: others may have filled the budget.
   */
  constructor(own: WaitingBudget, inAll: WaitingBudget, memory: MemoryShare, reclaim: () => boolean) {
    this.#own = own;
    this.#inAll = inAll;
    this.#memory = memory;
    this.#reclaim = reclaim;
  }

  count(): number {
    return this.#waiting.length;
  }

  /** Takes a set. Returns how many were dropped: older ones to make room, the set itself when there is none. */
  add(set: WaitingSet): number {
    const { dropped } = this;
    const { length } = set.bytes;
    this.since ??= set.receivedAt;
    while (!this.hasRoom(length)) {
      const oldest = this.#waiting.shift();
      if (oldest === undefined) {
        if (this.#own.hasRoom(length) && this.#reclaim()) continue;
        this.dropped++;
        return this.dropped - dropped;
      }
      this.dropped++;
      this.#account(oldest, -1);
    }
    this.#waiting.push(set);
    this.#account(set, 1);
    return this.dropped - dropped;
  }

  /** Whether there is room for a set of this many bytes without dropping any. */
  hasRoom(bytes: number): boolean {
    return this.#own.hasRoom(bytes) && this.#inAll.hasRoom(bytes);
  }

  /** Hands over the sets of a template that is known at last. @param except those that do not fit this plan stay. */
  take(templateId: number, except?: Plan): readonly WaitingSet[] {
    const isMine = (set: WaitingSet): boolean =>
      set.templateId === templateId && (except === undefined || set.doubted !== except);
    const mine = this.#waiting.filter(isMine);
    if (mine.length === 0) return mine;
    this.#waiting = this.#waiting.filter((set) => !isMine(set));
    for (const set of mine) this.#account(set, -1);
    this.since = this.#waiting[0]?.receivedAt;
    return mine;
  }

  /** Drops the sets that came before a time, milliseconds since the epoch. Returns how many. */
  dropOlder(than: number): number {
    const old = this.#waiting.filter(({ receivedAt }) => receivedAt < than);
    if (old.length > 0) this.#waiting = this.#waiting.filter(({ receivedAt }) => receivedAt >= than);
    for (const set of old) this.#account(set, -1);
    this.dropped += old.length;
    if (this.#waiting.length === 0) this.since = undefined;
    return old.length;
  }

  /** The templates that sets wait for. */
  templateIds(): readonly number[] {
    return [...new Set(this.#waiting.map(({ templateId }) => templateId))].toSorted((a, b) => a - b);
  }

  #account({ bytes: { length } }: WaitingSet, sign: 1 | -1): void {
    for (const budget of [this.#own, this.#inAll]) {
      budget.bytes += sign * length;
      budget.sets += sign;
    }
    this.#memory.add(sign * (length + memoryCosts.waitingSet));
  }
}
