import { nameText, putText } from "./line-text.ts";
import { writeAscii, writeSafeInteger } from "./write-values.ts";

const rateName = nameText("flow.sample_rate");
const octetsName = nameText("flow.scaled.bytes");
const packetsName = nameText("flow.scaled.packets");

/**
 * Writes the rate and the estimates of the counters as {@link scaleCounters} gives them; a counter that is absent is -1.
 * Returns -1 where an estimate is beyond 2^53-1.
 */
export function writeEstimates(out: DataView, at: number, rate: number, octets: number, packets: number): number {
  let end = putText(out, at, rateName);
  end = Number.isSafeInteger(rate) ? writeSafeInteger(out, end, rate) : writeAscii(out, end, String(rate));
  if (octets >= 0) {
    const scaled = Math.round(octets * rate);
    if (!Number.isSafeInteger(octets) || !Number.isSafeInteger(scaled)) return -1;
    end = writeSafeInteger(out, putText(out, end, octetsName), scaled);
  }
  if (packets >= 0) {
    const scaled = Math.round(packets * rate);
    if (!Number.isSafeInteger(packets) || !Number.isSafeInteger(scaled)) return -1;
    end = writeSafeInteger(out, putText(out, end, packetsName), scaled);
  }
  return end;
}
