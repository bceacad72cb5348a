import { noFlow, seenWindowMs, type ExporterView, type SeenWindow } from "../../flow/index.ts";

/** Less says nothing. */
const leastCompared = 32;
const leastShared = 8;

/** What the samples of two exporters have in common. */
export interface Overlap {
  /** The part of the flows of the one that reports fewer which the other reports, too: an estimate, 0 to 1. */
  readonly share: number;
  /** How many flows of the samples are the same, of how many that could be. */
  readonly shared: number;
  readonly compared: number;
  readonly fewer: ExporterView;
  readonly more: ExporterView;
  /** When the samples were taken, milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/**
 * The pairs of exporters that report the same flows, those with the greatest share first.
 *
 * @param address only pairs with this one; left out: all.
 */
export function overlaps(exporters: readonly ExporterView[], address?: string): readonly Overlap[] {
  const starts = new Set(exporters.flatMap(({ seenFlows }) => seenFlows.map(({ start }) => start)));
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

/** How many flows of a sample were seen in both directions, of how many whose direction is known. */
export function bothDirections({
  seenFlows,
}: ExporterView): { window: SeenWindow; both: number; known: number } | undefined {
  const counted = seenFlows.map((window) => ({
    window,
    both: window.directions.filter((seen) => seen === 3).length,
    known: window.directions.filter((seen) => seen !== 0).length,
  }));
  const [most] = counted.toSorted((a, b) => b.known - a.known);
  return most === undefined || most.known < leastCompared ? undefined : most;
}

export function endOf({ start }: Pick<SeenWindow, "start">): number {
  return start + seenWindowMs;
}

interface Sample {
  readonly exporter: ExporterView;
  readonly window: SeenWindow;
  /** An estimate of how many flows it was taken from. */
  readonly flows: number;
  readonly filled: number;
}

function samplesOf(exporters: readonly ExporterView[], start: number): Sample[] {
  return exporters.flatMap((exporter) => {
    const window = exporter.seenFlows.find((each) => each.start === start);
    if (window === undefined) return [];
    const { flows, filled } = estimate(window.least);
    return filled < leastCompared ? [] : [{ exporter, window, flows, filled }];
  });
}

/** Pairs with at least one flow in common. Most exporters have none, so not every pair is looked at. */
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

/** The number of flows by the least of their hashes in each cell, which the more flows there are the smaller are. */
function estimate(least: Uint32Array): { flows: number; filled: number } {
  let filled = 0;
  let sum = 0;
  for (const value of least) {
    if (value < noFlow) filled++;
    sum += (value + 0.5) / noFlow;
  }
  return { flows: (filled * least.length) / Math.max(sum, Number.EPSILON), filled };
}
