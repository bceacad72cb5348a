import { setImmediate } from "node:timers/promises";
import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";
import {
  checkNames,
  formatFamily,
  joinFamilies,
  readFamily,
  seriesOf,
  type MetricFamily,
  type ReadMetric,
} from "./metric-family.ts";

export type Labels = Readonly<Record<string, string | number>>;

export interface Counter {
  add(by?: number, labels?: Labels): void;
}

export interface Gauge {
  set(value: number, labels?: Labels): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

/** One value that is read when the metrics are: a plain number, or one for each set of labels. */
export type Reading = number | Iterable<readonly [Labels, number]>;

/**
 * The metrics of one collector. Names start with `netgloss_`, counters end in `_total`, units are seconds and bytes.
 * A name may be registered once.
 */
export interface Metrics {
  counter(name: string, help: string, labelNames?: readonly string[]): Counter;
  gauge(name: string, help: string, labelNames?: readonly string[]): Gauge;
  histogram(name: string, help: string, buckets: readonly number[], labelNames?: readonly string[]): Histogram;
  /** A counter kept as a plain number elsewhere, where counting is part of a hot path. */
  counterFrom(name: string, help: string, labelNames: readonly string[], read: () => Reading): void;
  /** A gauge that is read when asked for. */
  gaugeFrom(name: string, help: string, labelNames: readonly string[], read: () => Reading): void;
  /** Adds what is counted elsewhere, in other threads. Families of one name become one. It must not fail. */
  addSource(read: () => Promise<readonly MetricFamily[]>): void;
  /** All metrics as plain data, without those of sources. */
  families(): Promise<readonly MetricFamily[]>;
  /** All metrics in the Prometheus text format 0.0.4. */
  render(): Promise<string>;
  /** The current value of one time series; undefined when there is none with exactly these labels. */
  value(name: string, labels?: Labels): Promise<number | undefined>;
}

type PromMetric = PromCounter | PromGauge | PromHistogram;

/** A scrape of more series than these gives the event loop its turn in between. */
const seriesInOneTurn = 2000;

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  /** In the order in which they were registered. */
  const metrics = new Map<string, ReadMetric | PromMetric>();
  const sources: (() => Promise<readonly MetricFamily[]>)[] = [];

  const register = <M extends ReadMetric | PromMetric>(name: string, make: () => M): M => {
    if (metrics.has(name)) throw new Error(`${name} is registered already`);
    const metric = make();
    metrics.set(name, metric);
    return metric;
  };
  /** All of them are read before anything else can happen. */
  const readAll = (): Promise<MetricFamily>[] =>
    Array.from(metrics.values(), (metric) =>
      "read" in metric ? Promise.resolve(readFamily(metric)) : promFamily(metric),
    );
  const readEverything = async (): Promise<readonly MetricFamily[]> => {
    const own = Promise.all(readAll());
    if (sources.length === 0) return own;
    const byName = new Map<string, [MetricFamily, ...MetricFamily[]]>();
    for (const family of (await Promise.all([own, ...sources.map((read) => read())])).flat()) {
      const others = byName.get(family.name);
      if (others === undefined) byName.set(family.name, [family]);
      else others.push(family);
    }
    return [...byName.values()].map(joinFamilies);
  };
  const registerRead =
    (type: ReadMetric["type"]) =>
    (name: string, help: string, labelNames: readonly string[], read: () => Reading): void =>
      void register(name, () => {
        checkNames({ name, labelNames });
        return { name, type, help, labelNames, read };
      });

  return {
    counter(name, help, labelNames = []) {
      const counter = register(name, () => new PromCounter({ name, help, labelNames: [...labelNames], registers }));
      return { add: (by = 1, labels = {}) => counter.inc({ ...labels }, by) };
    },
    gauge(name, help, labelNames = []) {
      const gauge = register(name, () => new PromGauge({ name, help, labelNames: [...labelNames], registers }));
      return { set: (value, labels = {}) => gauge.set({ ...labels }, value) };
    },
    histogram(name, help, buckets, labelNames = []) {
      const histogram = register(
        name,
        () => new PromHistogram({ name, help, buckets: [...buckets], labelNames: [...labelNames], registers }),
      );
      return { observe: (value, labels = {}) => histogram.observe({ ...labels }, value) };
    },
    counterFrom: registerRead("counter"),
    gaugeFrom: registerRead("gauge"),
    addSource: (read) => void sources.push(read),
    families: () => Promise.all(readAll()),
    async render() {
      const families = await readEverything();
      let series = 0;
      const afterEach = (): Promise<void> | undefined =>
        ++series % seriesInOneTurn === 0 ? setImmediate() : undefined;
      const lines: string[] = [];
      for (const family of families) {
        for (const line of await formatFamily(family, afterEach)) lines.push(line);
        lines.push("");
      }
      return lines.join("\n");
    },
    async value(name, labels = {}) {
      for (const family of await readEverything()) {
        const same = family.samples.filter((one) => (one[2] ?? family.name) === name && sameLabels(one[0], labels));
        if (same.length > 0) return (await seriesOf({ ...family, samples: same })).values().next().value;
      }
      return undefined;
    },
  };
}

/** One of prom-client's as plain data. */
async function promFamily(metric: PromMetric): Promise<MetricFamily> {
  const { name, help, type, values } = await metric.get();
  const samples = values as readonly { metricName?: string; labels: Labels; value: number }[];
  const labelNames = new Set(samples.flatMap(({ labels }) => Object.keys(labels)));
  return {
    name,
    help,
    // At run time a text, whatever its declaration says.
    type: type as unknown as MetricFamily["type"],
    labelNames: [...labelNames],
    samples: samples.map(({ metricName, labels, value }) =>
      metricName === undefined ? [labels, value] : [labels, value, metricName],
    ),
  };
}

function sameLabels(a: Labels, b: Labels): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => String(a[name]) === String(b[name]));
}
