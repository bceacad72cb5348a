import { setImmediate } from "node:timers/promises";
import {
  checkNames,
  type FamilyReading,
  type MetricHead,
  formatFamilies,
  joinFamilies,
  readFamily,
  seriesOf,
  type MetricFamily,
  type ReadMetric,
} from "./metric-family.ts";

/** A metric that counts by itself. */
interface Instrument {
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

interface CountingInstrument extends Instrument {
  add(by: number, labels: Labels): void;
}

/** Goes up only. */
function createCounter(head: MetricHead): CountingInstrument {
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

interface GaugeInstrument extends Instrument {
  set(value: number, labels: Labels): void;
}

function createGauge(head: MetricHead): GaugeInstrument {
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

interface HistogramInstrument extends Instrument {
  observe(value: number, labels: Labels): void;
}

/** @param bounds upper bounds of the buckets, ascending; the one without an upper bound is added. */
function createHistogram(head: MetricHead, bounds: readonly number[]): HistogramInstrument {
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

export type Labels = Readonly<Record<string, string | number>>;

/** Label names; or, by name, the values known beforehand: each combination of them is there from the start, at zero. */
export type LabelNames = readonly string[] | Readonly<Record<string, readonly string[]>>;

export interface Counter {
  add(by?: number, labels?: Labels): void;
}

export interface Gauge {
  set(value: number, labels?: Labels): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

/**
 * One value that is read when the metrics are: a plain number, or one for each set of labels. A generator of many is read
 * piece by piece, so that a scrape does not hold the event loop; it gives each set of labels once.
 */
export type Reading = number | Iterable<readonly [Labels, number]>;

/**
 * The metrics of one collector. Names start with `netgloss_`, but for those that all programs share (`process_`, `nodejs_`);
 * counters end in `_total`, units are seconds and bytes. What `promtool check metrics` objects to is a fault.
 * A name may be registered once.
 */
export interface Metrics {
  counter(name: string, help: string, labels?: LabelNames): Counter;
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
  /** All metrics, with those of sources added up. */
  everything(): Promise<readonly FamilyReading[]>;
  /** All metrics in the Prometheus text format 0.0.4. */
  render(): Promise<string>;
  /**
   * The same in pieces, for an answer: thousands of devices make megabytes. What is a plain number or a list is as it was when the
   * first piece was asked for; readings by a generator are made with their piece.
   */
  pieces(): AsyncIterable<string>;
  /** The current value of one time series; undefined when there is none with exactly these labels. */
  value(name: string, labels?: Labels): Promise<number | undefined>;
}

/** A scrape reads this many series, or writes this many lines, before it gives the event loop its turn. */
const stepsInOneTurn = 1000;

export function createMetrics(): Metrics {
  /** In the order in which they were registered. */
  const metrics = new Map<string, Instrument>();
  const sources: (() => Promise<readonly MetricFamily[]>)[] = [];

  const register = <M extends Instrument>(name: string, make: () => M): M => {
    if (metrics.has(name)) throw new Error(`${name} is registered already`);
    const metric = make();
    metrics.set(name, metric);
    return metric;
  };
  /** All of them are read before anything else can happen, but for samples that are given one by one. */
  const readAll = (): readonly FamilyReading[] => Array.from(metrics.values(), (metric) => metric.read());
  const readEverything = async (): Promise<readonly FamilyReading[]> => {
    const own = readAll();
    if (sources.length === 0) return own;
    const byName = new Map<string, [FamilyReading, ...FamilyReading[]]>();
    for (const family of [own, ...(await Promise.all(sources.map((read) => read())))].flat()) {
      const others = byName.get(family.name);
      if (others === undefined) byName.set(family.name, [family]);
      else others.push(family);
    }
    return [...byName.values()].map(joinFamilies);
  };
  async function* pieces(): AsyncGenerator<string> {
    let steps = 0;
    const afterEach = (): Promise<void> | undefined => (++steps % stepsInOneTurn === 0 ? setImmediate() : undefined);
    yield* formatFamilies(await readEverything(), afterEach);
  }
  const registerRead =
    (type: ReadMetric["type"]) =>
    (name: string, help: string, labelNames: readonly string[], read: () => Reading): void =>
      void register(name, () => {
        checkNames({ name, labelNames });
        return { read: () => readFamily({ name, type, help, labelNames, read }) };
      });

  return {
    counter(name, help, labels = []) {
      const labelNames = isList(labels) ? labels : Object.keys(labels);
      const counter = register(name, () => createCounter({ name, help, labelNames }));
      if (!isList(labels)) for (const known of combinations(labels)) counter.add(0, known);
      return { add: (by = 1, of = {}) => counter.add(by, of) };
    },
    gauge(name, help, labelNames = []) {
      const gauge = register(name, () => createGauge({ name, help, labelNames }));
      return { set: (value, labels = {}) => gauge.set(value, labels) };
    },
    histogram(name, help, buckets, labelNames = []) {
      const histogram = register(name, () => createHistogram({ name, help, labelNames }, buckets));
      return { observe: (value, labels = {}) => histogram.observe(value, labels) };
    },
    counterFrom: registerRead("counter"),
    gaugeFrom: registerRead("gauge"),
    addSource: (read) => void sources.push(read),
    families: async () =>
      readAll().map(({ name, type, help, labelNames, samples }) => {
        return { name, type, help, labelNames, samples: [...samples] };
      }),
    everything: readEverything,
    pieces,
    async render() {
      const texts: string[] = [];
      for await (const piece of pieces()) texts.push(piece);
      return texts.join("");
    },
    async value(name, labels = {}) {
      for (const family of await readEverything()) {
        if (family.name !== name && !name.startsWith(`${family.name}_`)) continue;
        const same = [...family.samples].filter(
          (one) => (one[2] ?? family.name) === name && sameLabels(one[0], labels),
        );
        if (same.length > 0) return (await seriesOf({ ...family, samples: same })).values().next().value;
      }
      return undefined;
    },
  };
}

function isList(labels: LabelNames): labels is readonly string[] {
  return Array.isArray(labels);
}

/** Every combination of one value for each label. */
function combinations(labels: Readonly<Record<string, readonly string[]>>): readonly Labels[] {
  let found: readonly Labels[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    found = found.flatMap((one) => values.map((value) => Object.assign({ [label]: value }, one)));
  }
  return found;
}

function sameLabels(a: Labels, b: Labels): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => String(a[name]) === String(b[name]));
}
