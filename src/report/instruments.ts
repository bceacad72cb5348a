import { checkNames, type FamilyReading, type MetricHead } from "./metric-family.ts";
import type { Labels } from "./metrics.ts";

/** A metric that counts by itself. */
export interface Instrument {
  read(): FamilyReading;
}

/** Values by their labels, in the order in which these came first. */
interface Series<T> {
  of(labels: Labels): T;
  all(): Iterable<readonly [Labels, T]>;
}

/** @throws Error for labels that the metric does not have. Without label names the one series is there from the start. */
function createSeries<T>({ name, labelNames }: Pick<MetricHead, "name" | "labelNames">, make: () => T): Series<T> {
  const series = new Map<string, readonly [Labels, T]>();
  const of = (labels: Labels): T => {
    let key = "";
    let count = 0;
    for (const label of labelNames) {
      const value = labels[label];
      if (value !== undefined) count++;
      key += `${value}\0`;
    }
    if (count !== labelNames.length || count !== Object.keys(labels).length) {
      throw new Error(`${name} has the labels ${labelNames.join(", ")}, not ${Object.keys(labels).join(", ")}`);
    }
    const known = series.get(key);
    if (known !== undefined) return known[1];
    const value = make();
    series.set(key, [{ ...labels }, value]);
    return value;
  };
  if (labelNames.length === 0) of({});
  return { of, all: () => series.values() };
}

export interface CountingInstrument extends Instrument {
  add(by: number, labels: Labels): void;
}

/** Goes up only. */
export function createCounter(head: MetricHead): CountingInstrument {
  checkNames(head);
  const series = createSeries(head, () => ({ value: 0 }));
  return {
    add(by, labels) {
      if (!(by >= 0)) throw new Error(`${head.name} cannot count ${by}`);
      series.of(labels).value += by;
    },
    read: () => ({
      ...head,
      type: "counter",
      samples: Array.from(series.all(), ([labels, { value }]) => [labels, value]),
    }),
  };
}

export interface GaugeInstrument extends Instrument {
  set(value: number, labels: Labels): void;
}

export function createGauge(head: MetricHead): GaugeInstrument {
  checkNames(head);
  const series = createSeries(head, () => ({ value: 0 }));
  return {
    set: (value, labels) => void (series.of(labels).value = value),
    read: () => ({
      ...head,
      type: "gauge",
      samples: Array.from(series.all(), ([labels, { value }]) => [labels, value]),
    }),
  };
}

export interface HistogramInstrument extends Instrument {
  observe(value: number, labels: Labels): void;
}

/** @param bounds upper bounds of the buckets, ascending; the one without an upper bound is added. */
export function createHistogram(head: MetricHead, bounds: readonly number[]): HistogramInstrument {
  checkNames(head);
  const { name } = head;
  const series = createSeries(head, () => ({ counts: bounds.map(() => 0), sum: 0, count: 0 }));
  return {
    observe(value, labels) {
      const one = series.of(labels);
      one.sum += value;
      one.count++;
      const bucket = bounds.findIndex((bound) => value <= bound);
      if (bucket >= 0) one.counts[bucket] = (one.counts[bucket] ?? 0) + 1;
    },
    read() {
      const samples: [Labels, number, string][] = [];
      for (const [labels, { counts, sum, count }] of series.all()) {
        let below = 0;
        for (const [i, bound] of bounds.entries()) {
          below += counts[i] ?? 0;
          samples.push([{ le: bound, ...labels }, below, `${name}_bucket`]);
        }
        samples.push([{ le: "+Inf", ...labels }, count, `${name}_bucket`]);
        samples.push([labels, sum, `${name}_sum`], [labels, count, `${name}_count`]);
      }
      return { ...head, labelNames: ["le", ...head.labelNames], type: "histogram", samples };
    },
  };
}
