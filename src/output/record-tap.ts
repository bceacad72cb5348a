import { leaseLines, type LimitedLines, type Sink } from "../record/index.ts";
import type { Clock } from "../base/report/index.ts";
import { recordTypeOf } from "./delivery/line-fields.ts";

/** A sink that gives the same lines to each of several, in their order. */
export function fanOut(sinks: readonly Sink[]): Sink {
  const [first, ...others] = sinks;
  if (first !== undefined && others.length === 0) return first;
  return {
    write(lines, count) {
      for (const sink of sinks) sink.write(lines, count);
    },
    lease(lines, count, done) {
      let left = sinks.length;
      const oneDone = (): void => {
        if (--left === 0) done();
      };
      for (const sink of sinks) leaseLines(sink, lines, count, oneDone);
      if (sinks.length === 0) done();
    },
  };
}

export interface TapOptions {
  /** Left out: every flow. */
  readonly matches?: ((line: Buffer, start: number, end: number) => boolean) | undefined;
  /** Left out: all records as they are. Else no other record is looked at or counted, and the filter finds what is shown. */
  readonly limit?: LimitedLines | undefined;
  /** Most records a second that are passed on. */
  readonly maxRate: number;
  /** Left out: there is no end. */
  readonly maxRecords?: number;
  readonly clock: Clock;
}

/** Counts what happened to the records since the last time. */
export interface TapCounts {
  /** All that went by, of whatever kind. */
  readonly seen: number;
  /** Records that were looked at; the others went by too fast. */
  readonly examined: number;
  /** Flows that match the filter. */
  readonly matched: number;
  readonly passed: number;
}

/** The number of records a second that are looked at, and the bytes that may wait for a listener; more is left out. */
const examinedRate = 20_000;
const maxWaiting = 4 * 2 ** 20;

/** A sink that lets others look at some of what it is given. Without a listener it costs a comparison for each batch. */
export class RecordTap implements Sink {
  readonly #sink: Sink;
  readonly #listeners = new Set<TapListener>();

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  write(lines: Uint8Array, count: number): void {
    for (const listener of this.#listeners) listener.look(lines, count);
    this.#sink.write(lines, count);
  }

  lease(lines: Uint8Array, count: number, done: () => void): void {
    for (const listener of this.#listeners) listener.look(lines, count);
    leaseLines(this.#sink, lines, count, done);
  }

  listen(options: TapOptions): TapListener {
    const listener = new TapListener(options, () => this.#listeners.delete(listener));
    this.#listeners.add(listener);
    return listener;
  }

  /** The number of listeners. */
  get listeners(): number {
    return this.#listeners.size;
  }
}

/** Somebody who looks at records as they go by. */
export class TapListener {
  readonly #matches: TapOptions["matches"];
  readonly #limit: TapOptions["limit"];
  readonly #examinable: (wanted: number) => number;
  readonly #passable: (wanted: number) => number;
  #counts = { seen: 0, examined: 0, matched: 0, passed: 0 };
  /** Records that may still be passed on. */
  #left: number;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  readonly #onClose: () => void;

  constructor({ matches, limit, maxRate, maxRecords, clock }: TapOptions, onClose: () => void) {
    this.#limit = limit;
    this.#left = maxRecords ?? Number.POSITIVE_INFINITY;
    this.#matches = matches;
    this.#examinable = createBudget(examinedRate, clock);
    this.#passable = createBudget(maxRate, clock);
    this.#onClose = onClose;
  }

  look(lines: Uint8Array, count: number): void {
    const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength);
    if (this.#limit === undefined) this.#lookAtAll(bytes, count);
    else this.#lookAtOwn(bytes, this.#limit);
  }

  #lookAtAll(bytes: Buffer, count: number): void {
    const counts = this.#counts;
    counts.seen += count;
    let left = this.#examinable(count);
    for (let at = 0, end = 0; at < bytes.length && left > 0; at = end, left--) {
      end = bytes.indexOf(0x0a, at) + 1 || bytes.length;
      counts.examined++;
      if (recordTypeOf(bytes, at, end) === "flow") this.#take(bytes, at, end);
    }
  }

  #lookAtOwn(bytes: Buffer, limit: LimitedLines): void {
    for (let found = limit.next(bytes, 0); found !== undefined; found = limit.next(bytes, found.end)) {
      this.#counts.seen++;
      if (this.#examinable(1) === 0) continue;
      this.#counts.examined++;
      const shown = limit.shown(bytes, found.start, found.end);
      this.#take(shown, 0, shown.length);
    }
  }

  #take(bytes: Buffer, at: number, end: number): void {
    if (this.#matches?.(bytes, at, end) === false) return;
    this.#counts.matched++;
    if (this.#left === 0 || this.#waitingBytes + end - at > maxWaiting || this.#passable(1) === 0) return;
    this.#left--;
    this.#counts.passed++;
    // Leased bytes are somebody else's again soon.
    this.#waiting.push(Uint8Array.prototype.slice.call(bytes, at, end));
    this.#waitingBytes += end - at;
  }

  /** Tells whether no more records will be passed on than those that wait. */
  isOver(): boolean {
    return this.#left === 0;
  }

  /** Lines that have come since the last time; empty when there are none. */
  take(): Uint8Array {
    const taken = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    return taken;
  }

  /** Counts since the last time. */
  counts(): TapCounts {
    const since = this.#counts;
    this.#counts = { seen: 0, examined: 0, matched: 0, passed: 0 };
    return since;
  }

  close(): void {
    this.#onClose();
  }
}

/** This many in each second. @returns how many of those wanted there may be. */
function createBudget(perSecond: number, clock: Clock): (wanted: number) => number {
  let left = perSecond;
  let since = clock.monotonic();
  return (wanted) => {
    const now = clock.monotonic();
    if (now - since >= 1000) [left, since] = [perSecond, now];
    const given = Math.min(left, wanted);
    left -= given;
    return given;
  };
}
