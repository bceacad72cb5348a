import type { RecordFields } from "../record/index.ts";
import { scaleCounters } from "./sampling/scale-counters.ts";

/**
 * Adds what follows from the fields of a flow: the IP version by its addresses where the exporter does not give it, and
 * estimates of the counters.
 *
 * @param rate one of how many packets was looked at; undefined when that is not known, then there are no estimates.
 */
export function completeFlow(record: RecordFields, rate: number | undefined): void {
  if (!record.has("ip.version.ver")) {
    const address = record.get("flow.src.ip.addr") ?? record.get("flow.dst.ip.addr");
    if (typeof address === "string") record.set("ip.version.ver", address.includes(":") ? 6 : 4);
  }
  if (rate !== undefined) scaleCounters(record, rate);
}
