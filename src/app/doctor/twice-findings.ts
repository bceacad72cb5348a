import { noFlow, sketchWindowMs, type ExporterView, type SketchWindow } from "../../flow/index.ts";
import { type Diagnosis, exporterText, list, percent, time } from "./diagnosis.ts";
import type { Facts } from "./facts.ts";

/** The least numbers of flows for a finding. */
const leastCompared = 32;
const leastShared = 8;

/** The flows that the samples of two exporters have in common. */
interface Overlap {
  /** The share of the flows of the exporter with fewer flows that the other reports, too: an estimate, 0 to 1. */
  readonly share: number;
  /** The number of flows in both samples, and of those that could be. */
  readonly shared: number;
  readonly compared: number;
  readonly fewer: ExporterView;
  readonly more: ExporterView;
  /** The time of the samples, milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the pairs of exporters that report the same flows, with the greatest share first.
 *
 * @param address only pairs with this one; absent: all.
 */
export function overlaps(exporters: readonly ExporterView[], address?: string): readonly Overlap[] {
  const starts = new Set(exporters.flatMap(({ sketch }) => sketch.map(({ start }) => start)));
  const best = new Map<string, Overlap>();
  for (const start of starts) {
    const samples = samplesOf(exporters, start);
    for (const [first, second] of pairsOf(samples)) {
      if (address !== undefined && first.exporter.address !== address && second.exporter.address !== address) continue;
      const found = compare(first, second);
      const key = `${first.exporter.address} ${second.exporter.address}`;
      if (found !== undefined && found.compared > (best.get(key)?.compared ?? 0)) best.set(key, found);
    }
  }
  return [...best.values()].toSorted((a, b) => b.share - a.share);
}

/** Counts the flows of a sample that were seen in both directions, of those whose direction is known. */
function bothDirections({ sketch }: ExporterView): { window: SketchWindow; both: number; known: number } | undefined {
  const counted = sketch.map((window) => ({
    window,
    both: window.directions.filter((seen) => seen === 3).length,
    known: window.directions.filter((seen) => seen !== 0).length,
  }));
  const [most] = counted.toSorted((a, b) => b.known - a.known);
  return most === undefined || most.known < leastCompared ? undefined : most;
}

function endOf({ start }: Pick<SketchWindow, "start">): number {
  return start + sketchWindowMs;
}

interface Sample {
  readonly exporter: ExporterView;
  readonly window: SketchWindow;
  /** An estimate of the number of flows from which it was taken. */
  readonly flows: number;
  readonly filled: number;
}

function samplesOf(exporters: readonly ExporterView[], start: number): Sample[] {
  return exporters.flatMap((exporter) => {
    const window = exporter.sketch.find((each) => each.start === start);
    if (window === undefined) return [];
    const { flows, filled } = estimate(window.least);
    return filled < leastCompared ? [] : [{ exporter, window, flows, filled }];
  });
}

/** Returns pairs with at least one flow in common. Most exporters have none, so not every pair is examined. */
function pairsOf(samples: readonly Sample[]): Iterable<readonly [Sample, Sample]> {
  const byFlow = new Map<number, Sample[]>();
  const pairs = new Map<string, readonly [Sample, Sample]>();
  for (const sample of samples) {
    sample.window.least.forEach((value, cell) => {
      if (value === noFlow) return;
      const flow = value * sample.window.least.length + cell;
      const others = byFlow.get(flow);
      if (others === undefined) byFlow.set(flow, [sample]);
      else {
        for (const other of others) pairs.set(`${other.exporter.address} ${sample.exporter.address}`, [other, sample]);
        others.push(sample);
      }
    });
  }
  return pairs.values();
}

function compare(first: Sample, second: Sample): Overlap | undefined {
  const a = first.window.least;
  const b = second.window.least;
  const union = estimate(a.map((value, cell) => Math.min(value, b[cell] as number)));
  const shared = a.filter((value, cell) => value !== noFlow && value === b[cell]).length;
  if (shared < leastShared) return undefined;
  const [fewer, more] = first.flows <= second.flows ? [first, second] : [second, first];
  const common = (shared / union.filled) * union.flows;
  return {
    share: Math.min(1, common / fewer.flows),
    shared,
    compared: union.filled,
    fewer: fewer.exporter,
    more: more.exporter,
    from: first.window.start,
    to: endOf(first.window),
  };
}

/** Estimates the number of flows from the least hash in each cell: the more flows, the smaller it is. */
function estimate(least: Uint32Array): { flows: number; filled: number } {
  let filled = 0;
  let sum = 0;
  for (const value of least) {
    if (value < noFlow) filled++;
    sum += (value + 0.5) / noFlow;
  }
  return { flows: (filled * least.length) / Math.max(sum, Number.EPSILON), filled };
}

/** The share below which flows may merely alternate between two paths. */
const leastShare = 0.05;
const manyShare = 0.25;

/**
 * Finds flows that two exporters report.
 *
 * @param address of the exporter to examine; absent: all, and each pair is named once.
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

/** Finds flows that an exporter reports both on ingress and on egress. */
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

/** Rounds an estimate from a sample, which is not more exact than two decimals. */
function round(share: number): number {
  return Math.round(100 * share) / 100;
}
