import { Backoff } from "../../base/report/index.ts";
import type { Exporter } from "./exporter.ts";
import type { Plan, RecordContext } from "./plan.ts";
import { memoryCosts, type MemoryShare } from "./limits.ts";

/** An exporter that was silent for longer may have been at another collector. */
const awayMs = 30_000;
/** A second start so soon is none. */
const restartsMs = 15_000;
/** Nobody is waited for longer. */
const holdMs = 1000;
/** Instead of the end of that time: its first data set has not come yet. */
const untilData = Number.POSITIVE_INFINITY;
/** Another collector may be about to write what it has just learnt. */
const backoff = new Backoff(250, 60_000);
const maxOpen = 10_000;
const maxDue = 500;

/** About which exporters other collectors are to be asked: those of which data sets wait. Times in milliseconds since the epoch. */
export class OpenQuestions {
  readonly #find: (address: string) => Exporter | undefined;
  readonly #open = new Map<string, { tries: number; nextAt: number }>();
  readonly #restarts = new WeakMap<Exporter, number>();
  /** The number of sets that were not taken because there were too many. */
  refused = 0;

  constructor(find: (address: string) => Exporter | undefined) {
    this.#find = find;
  }

  /**
   * An exporter has sent a datagram. To be called before its `lastSeen` is set. Of one that is new, or was away, the data sets are held, from
   * the first on: templates alone are no reason to ask, and data may come much later.
   */
  heard(exporter: Exporter, now: number): void {
    if (exporter.datagrams === 0 || now - exporter.lastSeen > awayMs) hold(exporter, now);
  }

  /** A data set of an exporter has come: if its data sets are to be held, the time runs from here. */
  data(exporter: Exporter, now: number): void {
    if (exporter.heldUntil === untilData) exporter.heldUntil = now + holdMs;
  }

  /**
   * An exporter has started again, maybe after it sent other templates elsewhere: its data sets are held, from the first on.
   *
   * @returns false so soon after the last time: several devices behind one address look as if one started again and again.
   */
  restarted(exporter: Exporter, now: number): boolean {
    if (now - (this.#restarts.get(exporter) ?? Number.NEGATIVE_INFINITY) < restartsMs) return false;
    this.#restarts.set(exporter, now);
    hold(exporter, now);
    return true;
  }

  /** A data set of an exporter waits. Returns whether it will be asked about. */
  need({ address, heldUntil }: Exporter, now: number): boolean {
    const known = this.#open.get(address);
    if (known !== undefined) {
      // It was away: what was asked before is of another time.
      if (now < heldUntil && known.nextAt > heldUntil) this.#open.set(address, { tries: 0, nextAt: now });
      return true;
    }
    if (this.#open.size >= maxOpen) {
      this.refused++;
      return false;
    }
    this.#open.set(address, { tries: 0, nextAt: now });
    return true;
  }

  /** The addresses that are to be asked about now. They come again, at growing intervals, while sets wait. */
  due(now: number): readonly string[] {
    const asked: string[] = [];
    for (const [address, question] of this.#open) {
      if (this.#find(address)?.isWaiting() !== true) {
        this.#open.delete(address);
        continue;
      }
      if (now < question.nextAt || asked.length >= maxDue) continue;
      asked.push(address);
      question.nextAt = now + backoff.delay(++question.tries);
    }
    return asked;
  }

  /** Exporters that nobody answered about in time: what is held of them is to be decoded with what is known. */
  late(now: number): readonly Exporter[] {
    const exporters = Array.from(this.#open.keys(), this.#find).filter((exporter) => exporter !== undefined);
    return exporters.filter(({ heldUntil }) => heldUntil > 0 && heldUntil <= now);
  }
}

function hold(exporter: Exporter, now: number): void {
  exporter.heldUntil = exporter.isWaiting() ? now + holdMs : untilData;
}

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

  /** Returns whether there is room for a set of this many bytes without dropping any. */
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
