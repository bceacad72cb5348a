import type { ExporterView } from "../../flow/index.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { exporterText } from "./exporter-text.ts";
import type { Facts } from "./facts.ts";
import { span, time } from "./wording.ts";

/** Queues and short outages of NTP make less. */
const toleratedMs = 2 * 60_000;
const quarterMs = 15 * 60_000;
/** How exact a clock in the wrong time zone is. */
const zoneExactMs = 90_000;
const maxZoneMs = 14 * 3_600_000 + zoneExactMs;
/** A clock that was never set shows a time soon after its epoch. */
const unsetBefore = Date.UTC(2005, 0, 1);

/** The time of export in its datagrams differs from the time at which they came. */
export function clockOff({ address, domains, lastSeen }: ExporterView, facts: Facts): Diagnosis[] {
  const offsets = domains.flatMap(({ clockOffset }) => clockOffset ?? []);
  const [offset] = offsets.toSorted((a, b) => Math.abs(b) - Math.abs(a));
  if (offset === undefined || Math.abs(offset) < toleratedMs) return [];
  const exportTime = lastSeen + offset;
  const isUnset = exportTime < unsetBefore;
  const off = Math.abs(offset);
  const fromQuarter = Math.abs(off - Math.round(off / quarterMs) * quarterMs);
  const isZone = !isUnset && off >= quarterMs - zoneExactMs && off <= maxZoneMs && fromQuarter <= zoneExactMs;
  const zone = Math.round(off / quarterMs) * quarterMs;
  const way = offset > 0 ? "ahead of" : "behind";
  const called = exporterText(address, facts);
  const sentence = isUnset
    ? `The clock of ${called} was never set: it says ${time(exportTime)}.`
    : isZone
      ? `The clock of ${called} is ${span(zone)} ${way} the collector's: it looks like local time in place of UTC.`
      : `The clock of ${called} is ${span(off)} ${way} the collector's.`;
  return [
    {
      id: "clock-off",
      severity: "warning",
      exporter: address,
      sentence,
      evidence: {
        offsetSeconds: Math.round(offset / 1000),
        exportTime: time(exportTime),
        receivedAt: time(lastSeen),
        timeZone: isZone,
      },
      advice:
        (isZone
          ? "Set the device's time zone, or its clock to UTC, "
          : "Have the device and this host set their clocks by NTP, ") +
        "and check which of the two is wrong. Until then start and end of its flows (flow.start.timestamp, flow.end.timestamp) are off; @timestamp is right.",
    },
  ];
}
