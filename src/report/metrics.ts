import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";

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

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];

  const readInto = (
    metric: { reset(): void },
    put: (labels: Labels, value: number) => void,
    read: () => Reading,
  ): void => {
    metric.reset();
    const reading = read();
    if (typeof reading === "number") put({}, reading);
    else for (const [labels, value] of reading) put(labels, value);
  };

  return {
    counter(name, help, labelNames = []) {
      const counter = new PromCounter({ name, help, labelNames: [...labelNames], registers });
      return { add: (by = 1, labels = {}) => counter.inc({ ...labels }, by) };
    },
    gauge(name, help, labelNames = []) {
      const gauge = new PromGauge({ name, help, labelNames: [...labelNames], registers });
      return { set: (value, labels = {}) => gauge.set({ ...labels }, value) };
    },
    histogram(name, help, buckets, labelNames = []) {
      const histogram = new PromHistogram({
        name,
        help,
        buckets: [...buckets],
        labelNames: [...labelNames],
        registers,
      });
      return { observe: (value, labels = {}) => histogram.observe({ ...labels }, value) };
    },
    counterFrom(name, help, labelNames, read) {
      const counter: PromCounter = new PromCounter({
        name,
        help,
        labelNames: [...labelNames],
        registers,
        collect: () => readInto(counter, (labels, value) => counter.inc({ ...labels }, value), read),
      });
    },
    gaugeFrom(name, help, labelNames, read) {
      const gauge: PromGauge = new PromGauge({
        name,
        help,
        labelNames: [...labelNames],
        registers,
        collect: () => readInto(gauge, (labels, value) => gauge.set({ ...labels }, value), read),
      });
    },
    render: () => registry.metrics(),
    async value(name, labels = {}) {
      const metrics = await registry.getMetricsAsJSON();
      for (const metric of metrics) {
        for (const sample of metric.values as { metricName?: string; labels: Labels; value: number }[]) {
          if ((sample.metricName ?? metric.name) === name && sameLabels(sample.labels, labels)) return sample.value;
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
