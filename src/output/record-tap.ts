import { lendLines, type Sink, type ShapeLines } from "../record/index.ts";
import type { Clock } from "../base/report/index.ts";
import { recordTypeOf } from "./delivery/output-adapter.ts";

/** A sink that gives the same lines to each of several, in their order. */
export function fanOut(sinks: readonly Sink[]): Sink {
  const [first, ...others] = sinks;
  if (first !== undefined && others.length === 0) return first;
  return {
    write(lines, count) {
      for (const sink of sinks) sink.write(lines, count);
    },
    lend(lines, count, done) {
      let left = sinks.length;
      const oneDone = (): void => {
        if (--left === 0) done();
      };
      for (const sink of sinks) lendLines(sink, lines, count, oneDone);
      if (sinks.length === 0) done();
    },
  };
}

/** Gives a sink only what passes a filter; the rest of it stays as it is. Lines that pass are copied. */
export function filteredSink<T extends Sink>(sink: T, filter: ShapeLines): T {
  const write = (lines: Uint8Array, count: number): void => {
    const passed = filter(lines, count);
    if (passed !== undefined) lendLines(sink, passed.lines, passed.count, () => {});
  };
  return {
    ...sink,
    write,
    lend(lines: Uint8Array, count: number, done: () => void) {
      write(lines, count);
      done();
    },
  };
}

interface TapOptions {
  /** Left out: every flow. */
  readonly matches?: ((line: Buffer, start: number, end: number) => boolean) | undefined;
  /** Most records a second that are passed on. */
  readonly maxRate: number;
  readonly clock: Clock;
}

/** What happened to the records since the last time. */
export interface TapCounts {
  /** All that went by, of whatever kind. */
  readonly seen: number;
  /** Those that were looked at; the others went by too fast. */
  readonly examined: number;
  /** Flows that match the filter. */
  readonly matched: number;
  readonly passed: number;
}

/** Somebody who looks at records as they go by. */
export interface TapListener {
  /** Lines that have come since the last time; empty when there are none. */
  take(): Uint8Array;
  /** Counts since the last time. */
  counts(): TapCounts;
  close(): void;
}

/** A sink that lets others look at some of what it is given. Without a listener it costs a comparison for each batch. */
export interface RecordTap extends Sink {
  listen(options: TapOptions): TapListener;
  listeners(): number;
}

/** How many records a second are looked at, and how many bytes may wait for a listener; more is left out. */
const examinedRate = 20_000;
const maxWaiting = 4 * 2 ** 20;

export function createRecordTap(sink: Sink): RecordTap {
  const listeners = new Set<(lines: Uint8Array, count: number) => void>();
  const show = (lines: Uint8Array, count: number): void => {
    for (const listener of listeners) listener(lines, count);
  };
  return {
    write(lines, count) {
      if (listeners.size > 0) show(lines, count);
      sink.write(lines, count);
    },
    ...(sink.lend !== undefined && {
      lend(lines: Uint8Array, count: number, done: () => void) {
        if (listeners.size > 0) show(lines, count);
        sink.lend?.(lines, count, done);
      },
    }),
    listeners: () => listeners.size,
    listen(options) {
      const { look, ...listener } = createListener(options);
      listeners.add(look);
      return { ...listener, close: () => void listeners.delete(look) };
    },
  };
}

function createListener({ matches, maxRate, clock }: TapOptions): Omit<TapListener, "close"> & {
  readonly look: (lines: Uint8Array, count: number) => void;
} {
  const examinable = createBudget(examinedRate, clock);
  const passable = createBudget(maxRate, clock);
  let counts = { seen: 0, examined: 0, matched: 0, passed: 0 };
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  return {
    look(lines, count) {
      counts.seen += count;
      let left = examinable(count);
      const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength);
      for (let at = 0, end = 0; at < bytes.length && left > 0; at = end, left--) {
        end = bytes.indexOf(0x0a, at) + 1 || bytes.length;
        counts.examined++;
        if (recordTypeOf(bytes, at, end) !== "flow" || matches?.(bytes, at, end) === false) continue;
        counts.matched++;
        if (waitingBytes + end - at > maxWaiting || passable(1) === 0) continue;
        counts.passed++;
        // What is lent is somebody else's again soon.
        waiting.push(Uint8Array.prototype.slice.call(bytes, at, end));
        waitingBytes += end - at;
      }
    },
    take() {
      const taken = Buffer.concat(waiting);
      waiting = [];
      waitingBytes = 0;
      return taken;
    },
    counts() {
      const since = counts;
      counts = { seen: 0, examined: 0, matched: 0, passed: 0 };
      return since;
    },
  };
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
