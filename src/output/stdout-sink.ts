import { constants, fstatSync, openSync } from "node:fs";
import { lendLines, type Sink } from "../record/index.ts";
import type { Component } from "../report/index.ts";
import { createDescriptorOutlet } from "./descriptor-outlet.ts";
import { limitRate } from "./limit-rate.ts";
import type { Outlet } from "./outlet.ts";
import { prettySink } from "./pretty-lines.ts";
import { createQueuedSink, type OutputOptions } from "./queued-sink.ts";
import { createStreamOutlet } from "./stream-outlet.ts";

export interface StdoutSinkOptions extends OutputOptions {
  /** How many records are written in a second at most; the others are left out, which is not a loss. 0 is no limit. */
  readonly maxRate: number;
  /** Whether a record takes a line for each field instead of one line. */
  readonly isPretty?: boolean;
  /** Called once when the reader is gone (`| head`, a closed terminal). The sink drops and counts what comes after. */
  readonly onClosed?: () => void;
  /** Default 1, the standard output. */
  readonly fd?: number;
}

/**
 * Writes records to the standard output, past `process.stdout`: that one keeps what a stalled reader does not take
 * without a bound, or blocks.
 */
export function createStdoutSink(options: StdoutSinkOptions): Sink & Component {
  const { maxRate, clock, fd = 1, isPretty = false } = options;
  const sink = createQueuedSink({ ...options, name: "stdout", open: async () => openDescriptor(fd) });
  const target: Sink = isPretty ? prettySink(sink) : sink;
  const taker = maxRate === 0 ? target : limitRate(target, maxRate, clock, (records) => sink.report.leftOut(records));
  return {
    name: sink.name,
    start: () => sink.start(),
    stop: () => sink.stop(),
    write: (lines, count) => taker.write(lines, count),
    lend: (lines, count, done) => lendLines(taker, lines, count, done),
  };
}

function openDescriptor(fd: number): Outlet {
  const stats = fstatSync(fd);
  if (stats.isSocket()) return createStreamOutlet(fd);
  if (stats.isFile()) return createDescriptorOutlet({ fd, isOwned: false, isTerminal: false });
  const own = openAgain(fd);
  if (stats.isFIFO()) return createStreamOutlet(own ?? fd);
  return createDescriptorOutlet({ fd: own ?? fd, isOwned: own !== undefined, isTerminal: true });
}

/**
 * Opens a pipe or device once more, non-blocking. Setting that on the descriptor itself would change it for every
 * process that shares it, such as the shell. @returns undefined where that is impossible.
 */
function openAgain(fd: number): number | undefined {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}
