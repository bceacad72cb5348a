import { lendLines, type Sink } from "../record/index.ts";
import type { Clock } from "../report/index.ts";

/**
 * Passes the first `perSecond` lines of each second, for a person who wants to see some. `leftOut` is called with how many
 * were not passed.
 */
export function limitRate(sink: Sink, perSecond: number, clock: Clock, leftOut: (records: number) => void): Sink {
  let since = -Infinity;
  let passed = 0;
  /** How many of this many records are passed. */
  const pass = (count: number): number => {
    const now = clock.monotonic();
    if (now - since >= 1000) {
      since = now;
      passed = 0;
    }
    const wanted = Math.min(count, perSecond - passed);
    passed += wanted;
    if (wanted < count) leftOut(count - wanted);
    return wanted;
  };
  return {
    write(lines, count) {
      const wanted = pass(count);
      if (wanted > 0) sink.write(wanted === count ? lines : firstLines(lines, wanted), wanted);
    },
    lend(lines, count, done) {
      const wanted = pass(count);
      if (wanted > 0) lendLines(sink, wanted === count ? lines : firstLines(lines, wanted), wanted, done);
      else done();
    },
  };
}

function firstLines(lines: Uint8Array, count: number): Uint8Array {
  let end = 0;
  for (let i = 0; i < count; i++) end = lines.indexOf(0x0a, end) + 1;
  return lines.subarray(0, end);
}
