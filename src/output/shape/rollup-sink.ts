import { replaceMethods } from "../filtered-sink.ts";
import { lendLines, type Sink } from "../../record/index.ts";
import type { Clock, Component } from "../../base/report/index.ts";
import { createRollup, type RollupOptions } from "./rollup.ts";

export interface RollupSinkOptions extends RollupOptions {
  readonly intervalMs: number;
  readonly clock: Pick<Clock, "now">;
  readonly report: RollupReport;
}

/** What a sink that adds records up counts. */
export interface RollupReport {
  /** Records that were added to a group. */
  added(records: number): void;
  /** Records that were passed on as they are, because there were too many groups. */
  overflowed(records: number): void;
  /** Records that were made of groups. */
  written(records: number): void;
  /** How many groups there are is read when metrics are. */
  groups(read: () => number): void;
}

/** Lines of groups are handed over in pieces of about this size, with other work between them. */
const pieceBytes = 512 * 1024;

/**
 * Gives a sink the sums of flow records instead of these: at the end of each interval, which begin with the epoch, and when it
 * stops. All other records pass as they come.
 */
export function rollupSink<T extends Sink & Component>(sink: T, options: RollupSinkOptions): T {
  const { intervalMs, clock, report } = options;
  const rollup = createRollup(options);
  report.groups(() => rollup.groups);
  let from = beginOf(clock.now());
  let timer: NodeJS.Timeout | undefined;
  /** Of an interval that is over: what is still to be handed over. */
  let lines: Iterator<string> | undefined;
  let next: NodeJS.Immediate | undefined;

  function beginOf(now: number): number {
    return Math.floor(now / intervalMs) * intervalMs;
  }

  /** @returns whether there is more. */
  const handOver = (of: Iterator<string>): boolean => {
    let text = "";
    let count = 0;
    while (text.length < pieceBytes) {
      const line = of.next();
      if (line.done === true) break;
      text += line.value;
      count++;
    }
    if (count === 0) return false;
    report.written(count);
    lendLines(sink, Buffer.from(text, "latin1"), count, () => {});
    return true;
  };

  const handOverAll = (): void => {
    clearImmediate(next);
    const rest = lines;
    lines = undefined;
    if (rest === undefined) return;
    let hasMore = true;
    while (hasMore) hasMore = handOver(rest);
  };

  const handOverNext = (): void => {
    if (lines !== undefined && handOver(lines)) next = setImmediate(handOverNext);
    else lines = undefined;
  };

  const endInterval = (): void => {
    // What the interval before has left goes first.
    handOverAll();
    if (rollup.groups > 0) lines = rollup.take(new Date(from).toISOString())[Symbol.iterator]();
    from = beginOf(clock.now());
    handOverNext();
  };

  const isOver = (): boolean => {
    const now = clock.now();
    // A clock that was set back begins another interval, too.
    return now >= from + intervalMs || now < from;
  };

  const schedule = (): void => {
    const rest = from + intervalMs - clock.now();
    timer = setTimeout(
      () => {
        if (isOver()) endInterval();
        schedule();
      },
      Math.min(intervalMs, Math.max(1, rest)),
    );
  };

  const take = (given: Uint8Array, _count: number): void => {
    if (isOver()) endInterval();
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
    const others: Buffer[] = [];
    let added = 0;
    let overflowed = 0;
    let kept = 0;
    for (let at = 0, end = 0; at < bytes.length; at = end) {
      end = bytes.indexOf(0x0a, at) + 1 || bytes.length;
      const outcome = rollup.add(bytes, at, end);
      if (outcome === "added") {
        added++;
        continue;
      }
      if (outcome === "full") overflowed++;
      others.push(bytes.subarray(at, end));
      kept++;
    }
    if (added > 0) report.added(added);
    if (overflowed > 0) report.overflowed(overflowed);
    if (kept > 0) lendLines(sink, Buffer.concat(others), kept, () => {});
  };

  return replaceMethods(sink, {
    write: take,
    lend(given, count, done) {
      take(given, count);
      done();
    },
    async start() {
      await sink.start();
      schedule();
    },
    async stop() {
      clearTimeout(timer);
      endInterval();
      handOverAll();
      await sink.stop();
    },
  });
}
