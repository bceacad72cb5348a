import { reportRow } from "../support/bench-report.ts";
import type { Trial } from "./find-rate.ts";

/** Reports the CPU time of a trial without loss, and where one with loss lost records. */
export function reportCost(best: Trial, worst?: Trial): void {
  const threads = Object.entries(best.cpu).toSorted(([, a], [, b]) => b - a);
  if (threads.length > 0) {
    const total = threads.reduce((sum, [, time]) => sum + time, 0);
    const split = threads.map(([thread, time]) => `${thread} ${Math.round(time)}`).join(", ");
    const what = threads.length > 1 ? `  CPU: ${split}` : "  CPU";
    reportRow({ what, value: total, unit: "ns/record" });
  }
  reportRow({ what: "  CPU of the generator", value: 100 * best.generatorCpu, unit: "% of a core" });
  if (worst === undefined) return;
  const lost = worst.sent - worst.received;
  if (lost === 0) {
    reportRow({
      what: `  behind at ${Math.round(worst.rate)}/s: the last came`,
      value: worst.drainSeconds,
      unit: "s late",
    });
    return;
  }
  const places = Object.entries(worst.lost)
    .toSorted(([, a], [, b]) => b - a)
    .map(([place, count]) => `${place} ${Math.round(count)}`);
  reportRow({
    what: `  lost at ${Math.round(worst.rate)}/s: ${places.join(", ")}`,
    value: (100 * lost) / worst.sent,
    unit: "%",
  });
}
