import { scaleCounter } from "../../exporters/sampling/scale-counters.ts";
import { nameText, putText } from "../text/line-text.ts";
import { writeAscii, writeSafeInteger } from "../text/write-values.ts";

const rateName = nameText("flow.sample_rate");
/** The estimates, in the order of the counters that are given. */
const estimateNames = [
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "flow.reverse.scaled.bytes",
  "flow.reverse.scaled.packets",
].map((name) => nameText(name));
const assumedText = nameText("flow.sampling.assumed", "true");

type Counter = number | bigint | undefined;

/**
 * Writes the rate and the estimates of the counters by it. A rate that is not known counts as 1, and a field says so.
 *
 * @param counters bytes and packets, then those of the reverse direction of a biflow.
 */
export function writeEstimates(
  out: DataView,
  at: number,
  rate: number | undefined,
  ...counters: readonly Counter[]
): number {
  const by = rate ?? 1;
  let end = putText(out, at, rateName);
  end = Number.isSafeInteger(by) ? writeSafeInteger(out, end, by) : writeAscii(out, end, String(by));
  for (let i = 0; i < counters.length; i++) {
    const counter = counters[i];
    const scaled = counter === undefined ? undefined : scaleCounter(counter, by);
    if (scaled === undefined) continue;
    end = putText(out, end, estimateNames[i] as (typeof estimateNames)[number]);
    end =
      typeof scaled === "number" && scaled >= 0
        ? writeSafeInteger(out, end, scaled)
        : writeAscii(out, end, `${scaled}`);
  }
  return rate === undefined ? putText(out, end, assumedText) : end;
}
