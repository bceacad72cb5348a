import { eachCounter, type CounterNames } from "../elements/mapping/counter-names.ts";
import { cutEstimate, largestEstimate, scaleCounter } from "../exporters/scale-counters.ts";
import { nameText, putText } from "./line-head.ts";
import { writeAscii, writeSafeInteger } from "./line-head.ts";

const rateName = nameText("flow.sample_rate");
const overflowText = nameText("flow.sampling.overflow", "true");
const assumedText = nameText("flow.sampling.assumed", "true");

/**
 * Writes the rate and the estimates of the counters by it. A rate that is not known counts as 1, and a field says so.
 *
 * @param counters bytes and packets, then those of the reverse direction of a biflow.
 */
export type WriteEstimates = (
  out: DataView,
  at: number,
  rate: number | undefined,
  ...counters: readonly (number | bigint | undefined)[]
) => number;

export function createWriteEstimates(names: CounterNames): WriteEstimates {
  const estimateNames = eachCounter(names).map(({ estimate }) => nameText(estimate));
  return (out, at, rate, ...counters) => {
    const by = rate ?? 1;
    let end = putText(out, at, rateName);
    end = Number.isSafeInteger(by) ? writeSafeInteger(out, end, by) : writeAscii(out, end, String(by));
    let isCut = false;
    for (let i = 0; i < counters.length; i++) {
      const counter = counters[i];
      const scaled = counter === undefined ? undefined : scaleCounter(counter, by);
      if (scaled === undefined) continue;
      end = putText(out, end, estimateNames[i] as (typeof estimateNames)[number]);
      end =
        typeof scaled === "number" && scaled >= 0
          ? writeSafeInteger(out, end, scaled)
          : writeAscii(out, end, `${cutEstimate(scaled)}`);
      isCut ||= scaled > largestEstimate;
    }
    if (isCut) end = putText(out, end, overflowText);
    return rate === undefined ? putText(out, end, assumedText) : end;
  };
}
