import { setImmediate } from "node:timers/promises";
import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";
import { checkNames, formatReadMetric, readValues, seriesOf, type ReadMetric } from "./read-metric.ts";

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
  /** All metrics in the Prometheus text format 0.0.4. */
  render(): Promise<string>;
  /** The current value of one time series; undefined when there is none with exactly these labels. */
  value(name: string, labels?: Labels): Promise<number | undefined>;
}

/** A scrape of more series than these gives the event loop its turn in between. */
const seriesInOneTurn = 2000;

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  /** In the order in which they were registered; undefined: the registry has it. */
  const metrics = new Map<string, ReadMetric | undefined>();

  const register = (name: string, readMetric?: ReadMetric): void => {
    if (metrics.has(name)) throw new Error(`${name} is registered already`);
    if (readMetric !== undefined) checkNames(readMetric);
    metrics.set(name, readMetric);
  };
  const registerRead =
    (type: ReadMetric["type"]) =>
    (name: string, help: string, labelNames: readonly string[], read: () => Reading): void =>
      register(name, { name, type, help, labelNames, read });

  return {
    counter(name, help, labelNames = []) {
      register(name);
      const counter = new PromCounter({ name, help, labelNames: [...labelNames], registers });
      return { add: (by = 1, labels = {}) => counter.inc({ ...labels }, by) };
    },
    gauge(name, help, labelNames = []) {
      register(name);
      const gauge = new PromGauge({ name, help, labelNames: [...labelNames], registers });
      return { set: (value, labels = {}) => gauge.set({ ...labels }, value) };
    },
    histogram(name, help, buckets, labelNames = []) {
      register(name);
      const histogram = new PromHistogram({
        name,
        help,
        buckets: [...buckets],
        labelNames: [...labelNames],
        registers,
      });
      return { observe: (value, labels = {}) => histogram.observe({ ...labels }, value) };
    },
    counterFrom: registerRead("counter"),
    gaugeFrom: registerRead("gauge"),
    async render() {
      // All of them are read before anything else can happen; only writing them out takes turns.
      const read = Array.from(metrics, ([name, metric]) =>
        metric === undefined ? registry.getSingleMetricAsString(name) : Promise.resolve(readValues(metric)),
      );
      let series = 0;
      const afterEach = (): Promise<void> | undefined =>
        ++series % seriesInOneTurn === 0 ? setImmediate() : undefined;
      const lines: string[] = [];
      for (const one of await Promise.all(read)) {
        if (typeof one === "string") lines.push(one);
        else for (const line of await formatReadMetric(one, afterEach)) lines.push(line);
        lines.push("");
      }
      return lines.join("\n");
    },
    async value(name, labels = {}) {
      const metric = metrics.get(name);
      if (metric !== undefined) {
        const same = readValues(metric).values.filter((one) => sameLabels(one[0], labels));
        return (await seriesOf({ metric, values: same })).values().next().value;
      }
      for (const one of await registry.getMetricsAsJSON()) {
        for (const sample of one.values as { metricName?: string; labels: Labels; value: number }[]) {
          if ((sample.metricName ?? one.name) === name && sameLabels(sample.labels, labels)) return sample.value;
        }
      }
      return undefined;
    },
  };
}

function sameLabels(a: Labels, b: Labels): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => String(a[name]) === String(b[name]));
}
