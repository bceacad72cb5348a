import { setImmediate } from "node:timers/promises";

interface MetricHead {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

type Sample = readonly [Labels, number, name?: string];

/**
 * A reading of a metric. `labelNames` lists all labels that its samples may have. Samples in an iterator are read when they are formatted, and each set
 * of labels may occur only once.
 */
export interface FamilyReading extends MetricHead {
  readonly type: "counter" | "gauge" | "histogram";
  /** A histogram's samples have names of their own: `<name>_bucket`, `<name>_sum`, `<name>_count`. */
  readonly samples: Iterable<Sample>;
}

/** A metric and its samples as plain data. */
export interface MetricFamily extends FamilyReading {
  readonly samples: readonly Sample[];
}

/** Checks names by the rules of Prometheus. @throws Error */
function checkNames({ name, labelNames }: Pick<MetricHead, "name" | "labelNames">): void {
  if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new Error(`${name} is no name of a metric`);
  for (const label of labelNames) {
    if (!/^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/.test(label)) throw new Error(`${name}: ${label} is no name of a label`);
  }
}

/** Joins families of which each has counted a part. Counters, histograms and gauges are added up; for times the latest counts. */
function joinFamilies(families: readonly [FamilyReading, ...FamilyReading[]]): FamilyReading {
  const [first] = families;
  if (families.length === 1) return first;
  const isTime = first.name.endsWith("_timestamp_seconds");
  const sums = new Map<string, [Labels, number, string?]>();
  for (const { samples } of families) {
    for (const [labels, value, name] of samples) {
      const key = JSON.stringify([name, Object.entries(labels).map(([label, of]) => [label, String(of)])]);
      const sum = sums.get(key);
      if (sum === undefined) sums.set(key, name === undefined ? [labels, value] : [labels, value, name]);
      else sum[1] = isTime ? Math.max(sum[1], value) : sum[1] + value;
    }
  }
  return { ...first, samples: [...sums.values()] };
}

/**
 * Returns the value of each series by its name and labels in the text format, in the order of reading. Counters with equal labels are added; for gauges
 * the last reading counts.
 *
 * @param afterEach awaited where it returns a promise.
 * @throws Error when a reading has a label that the metric does not have.
 */
async function seriesOf(
  family: FamilyReading,
  afterEach: () => Promise<void> | undefined = () => undefined,
): Promise<ReadonlyMap<string, number>> {
  const series = new Map<string, number>();
  const nameOf = createSeriesNamer(family);
  for (const sample of family.samples) {
    const text = nameOf(sample);
    const earlier = family.type === "counter" ? (series.get(text) ?? 0) : 0;
    series.set(text, earlier + sample[1]);
    const turn = afterEach();
    if (turn !== undefined) await turn;
  }
  return series;
}

/** Returns the lines of series in memory. */
function* linesOf(series: Iterable<readonly [string, number]>): Generator<string> {
  const lineOf = createLineWriter();
  for (const [name, value] of series) yield lineOf(name, value);
}

/**
 * Returns the lines of samples that are read one by one. It keeps none of them: what survives two small garbage collections makes a large one more
 * expensive.
 */
function* linesOneByOne(family: FamilyReading): Generator<string> {
  const nameOf = createSeriesNamer(family);
  const lineOf = createLineWriter();
  for (const sample of family.samples) yield lineOf(nameOf(sample), sample[1]);
}

/** Returns a writer of lines. It reuses the last value: many series have the same value as the one before, and so the same end of line. */
function createLineWriter(): (name: string, value: number) => string {
  let last: number | undefined;
  let ending = "";
  return (name, value) => {
    if (!Object.is(value, last)) ending = ` ${formatValue(value)}\n`;
    last = value;
    return name + ending;
  };
}

/** Approximate length of a chunk, so that nobody has to build or copy a long answer at once. */
const pieceLength = 65_536;

/**
 * Formats metrics in the Prometheus text format 0.0.4, in chunks.
 *
 * @param afterEach awaited where it returns a promise.
 * @throws Error when a reading has a label that the metric does not have.
 */
async function* formatFamilies(
  families: Iterable<FamilyReading>,
  afterEach: () => Promise<void> | undefined,
): AsyncGenerator<string> {
  let piece = "";
  let between = "";
  for (const family of families) {
    const { name, type, help } = family;
    const isList = Array.isArray(family.samples);
    const lines = isList ? linesOf(await seriesOf(family, afterEach)) : linesOneByOne(family);
    piece += `${between}# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    between = "\n";
    for (const line of lines) {
      piece += line;
      const turn = afterEach();
      if (turn !== undefined) await turn;
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = "";
    }
  }
  yield piece;
}

/**
 * Returns a function that names a series: `name{a="1",b="2"}`, in the order of the metric's label names; without braces when it has no labels. It joins
 * as few strings as possible: a scrape of many devices names hundreds of thousands of series.
 */
function createSeriesNamer(family: FamilyReading): (sample: Sample) => string {
  const { labelNames } = family;
  const first = labelNames.map((label) => `{${label}="`);
  const further = labelNames.map((label) => `",${label}="`);
  return ([labels, , name = family.name]) => {
    let text = name;
    let count = 0;
    for (let i = 0; i < labelNames.length; i++) {
      const value = labels[labelNames[i] as string];
      if (value === undefined) continue;
      text += (count === 0 ? first[i] : further[i]) as string;
      text += escapeLabel(String(value));
      count++;
    }
    for (const _ in labels) count--;
    if (count < 0) throw new Error(`${family.name} was read with labels other than ${labelNames.join(", ")}`);
    return text === name ? text : `${text}"}`;
  };
}

function escapeLabel(text: string): string {
  return /["\\\n]/.test(text) ? escapeHelp(text).replaceAll('"', '\\"') : text;
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function formatValue(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

/** A metric that keeps its own count. */
interface Instrument {
  read(): FamilyReading;
}

/** Values by labels, in the order of their first use. Without label names, the single series exists from the start. */
class Series<T> {
  readonly #head: MetricHead;
  readonly #make: () => T;
  readonly #series = new Map<string, readonly [Labels, T]>();

  constructor(head: MetricHead, make: () => T) {
    checkNames(head);
    this.#head = head;
    this.#make = make;
    if (head.labelNames.length === 0) this.of({});
  }

  /** Returns the value for labels. @throws Error for labels that the metric does not have. */
  of(labels: Labels): T {
    const { name, labelNames } = this.#head;
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
    const known = this.#series.get(key);
    if (known !== undefined) return known[1];
    const value = this.#make();
    this.#series.set(key, [{ ...labels }, value]);
    return value;
  }

  all(): Iterable<readonly [Labels, T]> {
    return this.#series.values();
  }
}

/** A counter, which only increases, or a gauge. */
class ValueInstrument implements Instrument, Counter, Gauge {
  readonly #head: MetricHead;
  readonly #type: "counter" | "gauge";
  readonly #series: Series<{ value: number }>;

  constructor(type: "counter" | "gauge", head: MetricHead) {
    this.#type = type;
    this.#head = head;
    this.#series = new Series(head, () => ({ value: 0 }));
  }

  add(by = 1, labels: Labels = {}): void {
    if (!(by >= 0)) throw new Error(`${this.#head.name} cannot count ${by}`);
    this.#series.of(labels).value += by;
  }

  set(value: number, labels: Labels = {}): void {
    this.#series.of(labels).value = value;
  }

  read(): FamilyReading {
    const samples = Array.from(this.#series.all(), ([labels, { value }]) => [labels, value] as const);
    return { ...this.#head, type: this.#type, samples };
  }
}

class HistogramInstrument implements Instrument, Histogram {
  readonly #head: MetricHead;
  readonly #bounds: readonly number[];
  readonly #series: Series<{ readonly counts: number[]; sum: number; count: number }>;

  /** @param bounds upper bounds of the buckets, ascending. The unbounded bucket is added. */
  constructor(head: MetricHead, bounds: readonly number[]) {
    this.#head = head;
    this.#bounds = bounds;
    this.#series = new Series(head, () => ({ counts: bounds.map(() => 0), sum: 0, count: 0 }));
  }

  observe(value: number, labels: Labels = {}): void {
    const one = this.#series.of(labels);
    one.sum += value;
    one.count++;
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) one.counts[bucket] = (one.counts[bucket] ?? 0) + 1;
  }

  read(): FamilyReading {
    const { name, labelNames } = this.#head;
    const samples: [Labels, number, string][] = [];
    for (const [labels, { counts, sum, count }] of this.#series.all()) {
      let below = 0;
      for (const [i, bound] of this.#bounds.entries()) {
        below += counts[i] ?? 0;
        samples.push([{ le: bound, ...labels }, below, `${name}_bucket`]);
      }
      samples.push([{ le: "+Inf", ...labels }, count, `${name}_bucket`]);
      samples.push([labels, sum, `${name}_sum`], [labels, count, `${name}_count`]);
    }
    return { ...this.#head, labelNames: ["le", ...labelNames], type: "histogram", samples };
  }
}

export type Labels = Readonly<Record<string, string | number>>;

/** Label names, or values known in advance by label name. Each combination of known values exists from the start, at zero. */
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
 * A value that is read at each scrape: a plain number, or one for each set of labels. A generator of many values is read chunk by chunk, so that a
 * scrape does not block the event loop. It yields each set of labels once.
 */
export type Reading = number | Iterable<readonly [Labels, number]>;

/**
 * The metrics of one collector. Names start with `netgloss_`, except those that all programs share (`process_`, `nodejs_`). Counters end in `_total`;
 * units are seconds and bytes. An objection of `promtool check metrics` is a bug. Each name is registered only once.
 */
export interface Metrics {
  counter(name: string, help: string, labels?: LabelNames): Counter;
  gauge(name: string, help: string, labelNames?: readonly string[]): Gauge;
  histogram(name: string, help: string, buckets: readonly number[], labelNames?: readonly string[]): Histogram;
  /** Registers a counter that a hot path keeps as a plain number elsewhere. */
  counterFrom(name: string, help: string, labelNames: readonly string[], read: () => Reading): void;
  /** Registers a gauge that is read at each scrape. */
  gaugeFrom(name: string, help: string, labelNames: readonly string[], read: () => Reading): void;
  /** Adds metrics counted elsewhere, such as in other threads. Families with the same name are joined. The source must not fail. */
  addSource(read: () => Promise<readonly MetricFamily[]>): void;
  /** Returns all metrics as plain data, without those of sources. */
  families(): Promise<readonly MetricFamily[]>;
  /** Returns all metrics, with those of sources added up. */
  everything(): Promise<readonly FamilyReading[]>;
  /** Returns all metrics in the Prometheus text format 0.0.4. */
  render(): Promise<string>;
  /**
   * Returns the text format in chunks, because thousands of devices make megabytes. Plain numbers and lists are read when the first chunk is requested,
   * generators with their chunk.
   */
  pieces(): AsyncIterable<string>;
  /** Returns the current value of one time series; undefined when none has exactly these labels. */
  value(name: string, labels?: Labels): Promise<number | undefined>;
}

/** Returns the same metrics under other names, with other help texts. */
export function renamedMetrics(
  metrics: Metrics,
  rename: (name: string) => string,
  describe: (help: string) => string,
): Metrics {
  return {
    ...metrics,
    counter: (name, help, labels) => metrics.counter(rename(name), describe(help), labels),
    gauge: (name, help, labels) => metrics.gauge(rename(name), describe(help), labels),
    histogram: (name, help, buckets, labels) => metrics.histogram(rename(name), describe(help), buckets, labels),
    counterFrom: (name, help, labels, read) => metrics.counterFrom(rename(name), describe(help), labels, read),
    gaugeFrom: (name, help, labels, read) => metrics.gaugeFrom(rename(name), describe(help), labels, read),
  };
}

/** Number of series read, or lines written, before a scrape yields to the event loop. */
const stepsInOneTurn = 1000;

export function createMetrics(): Metrics {
  /** Instruments in the order of registration. */
  const metrics = new Map<string, Instrument>();
  const sources: (() => Promise<readonly MetricFamily[]>)[] = [];

  const register = <M extends Instrument>(name: string, make: () => M): M => {
    if (metrics.has(name)) throw new Error(`${name} is registered already`);
    const metric = make();
    metrics.set(name, metric);
    return metric;
  };
  /** Reads all metrics at once, except samples that are read one by one. */
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
    (type: "counter" | "gauge") =>
    (name: string, help: string, labelNames: readonly string[], read: () => Reading): void =>
      void register(name, () => {
        checkNames({ name, labelNames });
        return {
          read() {
            const reading = read();
            return { name, type, help, labelNames, samples: typeof reading === "number" ? [[{}, reading]] : reading };
          },
        };
      });

  return {
    counter(name, help, labels = []) {
      const labelNames = isLabelList(labels) ? labels : Object.keys(labels);
      const counter = register(name, () => new ValueInstrument("counter", { name, help, labelNames }));
      if (!isLabelList(labels)) for (const known of combinations(labels)) counter.add(0, known);
      return counter;
    },
    gauge: (name, help, labelNames = []) =>
      register(name, () => new ValueInstrument("gauge", { name, help, labelNames })),
    histogram: (name, help, buckets, labelNames = []) =>
      register(name, () => new HistogramInstrument({ name, help, labelNames }, buckets)),
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

function isLabelList(labels: LabelNames): labels is readonly string[] {
  return Array.isArray(labels);
}

/** Returns every combination of one value for each label. */
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
