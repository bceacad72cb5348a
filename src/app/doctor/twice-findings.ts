import type { ExporterView } from "../../flow/index.ts";
import { bothDirections, endOf, overlaps, type Overlap } from "./compare-flows.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { exporterText } from "./exporter-text.ts";
import type { Facts } from "./facts.ts";
import { list, percent, time } from "./wording.ts";

/** Less may be flows that take turns between two paths. */
const leastShare = 0.05;
const manyShare = 0.25;

/**
 * Flows that two exporters report.
 *
 * @param address of the exporter to look at; left out: all, and each pair is named once.
 */
export function sameFlows(facts: Facts, address?: string): Diagnosis[] {
  const { exporters } = facts;
  const called = (one: string): string => exporterText(one, facts);
  const found = overlaps(exporters, address).filter(({ share }) => share >= leastShare);
  const about = (overlap: Overlap): ExporterView => (overlap.more.address === address ? overlap.more : overlap.fewer);
  const addresses = [...new Set(found.map((overlap) => about(overlap).address))];
  return addresses.map((one) => {
    const pairs = found.filter((overlap) => about(overlap).address === one);
    const parts = pairs.map((pair) =>
      pair.fewer.address === one
        ? `${called(pair.more.address)} (about ${percent(round(pair.share))} of those of ${called(one)})`
        : `${called(pair.fewer.address)} (about ${percent(round(pair.share))} of those of ${called(pair.fewer.address)})`,
    );
    return {
      id: "same-flows",
      severity: pairs.some(({ share }) => share >= manyShare) ? "warning" : "note",
      exporter: one,
      sentence: `Flows of ${called(one)} come from another exporter, too: ${list(parts)}. Sums over all exporters count them once for each.`,
      evidence: {
        with: pairs.slice(0, 8).map(({ fewer, more, share, shared, compared, from, to }) => ({
          exporter: fewer.address === one ? more.address : fewer.address,
          share: round(share),
          sameInSample: shared,
          sample: compared,
          from: time(from),
          to: time(to),
        })),
      },
      advice:
        "Devices on one path each report what passes them. Export at the edge only, or add up one exporter at a time " +
        "(`SVC_PROCESSOR_FILTER_DROP=exporter = …` leaves one out). If both addresses are one device, let it export by one of them.",
    };
  });
}

/** Flows that an exporter reports on the way in and again on the way out. */
export function inAndOut(exporter: ExporterView, facts: Facts): Diagnosis[] {
  const found = bothDirections(exporter);
  if (found === undefined) return [];
  const { window, both, known } = found;
  const share = both / known;
  if (share < leastShare) return [];
  const { address } = exporter;
  return [
    {
      id: "both-directions",
      severity: share >= manyShare ? "warning" : "note",
      exporter: address,
      sentence: `${exporterText(address, facts)} exports about ${percent(round(share))} of its flows twice: on the way in (ingress) and on the way out (egress).`,
      evidence: { inBoth: both, sample: known, from: time(window.start), to: time(endOf(window)) },
      advice:
        "Bind the flow monitor in one direction: ingress on all interfaces sees every flow once (Cisco: `ip flow monitor … input`). " +
        "Or add up one direction only (`flow.direction.name`).",
    },
  ];
}

/** Estimates from a sample: two digits behind the point say all that they know. */
function round(share: number): number {
  return Math.round(100 * share) / 100;
}
