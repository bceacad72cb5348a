import { leaseLines, type LimitedLines, type Sink } from "../record/index.ts";
import type { Clock } from "../base/report/index.ts";
import { recordTypeOf } from "./delivery/line-fields.ts";

/** Returns a sink that passes the same lines to several sinks, in order. */
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
  /** Absent: every flow. */
  readonly matches?: ((line: Buffer, start: number, end: number) => boolean) | undefined;
  /** Absent: all records unchanged. With a limit, no other records are examined or counted, and the filter chooses the displayed ones. */
  readonly limit?: LimitedLines | undefined;
  /** The most records a second that are passed on. */
  readonly maxRate: number;
  /** Absent: there is no end. */
  readonly maxRecords?: number;
  readonly clock: Clock;
}

/** Counts of records since the last call. */
export interface TapCounts {
  /** All records that passed, of any kind. */
  readonly seen: number;
  /** Records that were examined; the others passed too fast. */
  readonly examined: number;
  /** Flows that match the filter. */
  readonly matched: number;
  readonly passed: number;
}

/** The number of records examined per second, and the bytes that may wait for a listener; further records are left out. */
const examinedRate = 20_000;
const maxWaiting = 4 * 2 ** 20;

/** A sink that lets others see some of its records. Without a listener it costs a comparison for each batch. */
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

/** A listener to records as they pass. */
export class TapListener {
  readonly #matches: TapOptions["matches"];
  readonly #limit: TapOptions["limit"];
  readonly #examinable: (wanted: number) => number;
  readonly #passable: (wanted: number) => number;
  #counts = { seen: 0, examined: 0, matched: 0, passed: 0 };
  /** The number of records that may still be passed on. */
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
    // Copy: leased bytes are soon reused.
    this.#waiting.push(Uint8Array.prototype.slice.call(bytes, at, end));
    this.#waitingBytes += end - at;
  }

  /** Reports whether only the waiting records remain to be passed on. */
  isOver(): boolean {
    return this.#left === 0;
  }

  /** Returns the lines since the last call; empty when there are none. */
  take(): Uint8Array {
    const taken = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    return taken;
  }

  /** Returns the counts since the last call. */
  counts(): TapCounts {
    const since = this.#counts;
    this.#counts = { seen: 0, examined: 0, matched: 0, passed: 0 };
    return since;
  }

  close(): void {
    this.#onClose();
  }
}

/** Returns a budget of `perSecond` in each second. @returns how many of the wanted ones it allows. */
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
