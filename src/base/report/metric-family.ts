import type { Labels, Reading } from "./metrics.ts";

export interface MetricHead {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** A metric that is kept elsewhere and read when it is asked for. */
export interface ReadMetric extends MetricHead {
  readonly type: "counter" | "gauge";
  readonly read: () => Reading;
}

type Sample = readonly [Labels, number, name?: string];

/**
 * A reading of a metric. `labelNames` has all labels that its samples may have. Samples that are no list are read when they are
 * formatted, and have each set of labels once.
 */
export interface FamilyReading extends MetricHead {
  readonly type: "counter" | "gauge" | "histogram";
  /** A histogram's samples have names of their own: `<name>_bucket`, `<name>_sum`, `<name>_count`. */
  readonly samples: Iterable<Sample>;
}

/** The same as plain data. */
export interface MetricFamily extends FamilyReading {
  readonly samples: readonly Sample[];
}

/** Fails when Prometheus would refuse the names. @throws Error */
export function checkNames({ name, labelNames }: Pick<MetricHead, "name" | "labelNames">): void {
  if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new Error(`${name} is no name of a metric`);
  for (const label of labelNames) {
    if (!/^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/.test(label)) throw new Error(`${name}: ${label} is no name of a label`);
  }
}

export function readFamily({ read, ...head }: ReadMetric): FamilyReading {
  const reading = read();
  return { ...head, samples: typeof reading === "number" ? [[{}, reading]] : reading };
}

/**
 * One family of several, of which each has counted its part: counters and histograms add up, and so do gauges, of which
 * each says how much there is. Of times the latest counts.
 */
export function joinFamilies(families: readonly [FamilyReading, ...FamilyReading[]]): FamilyReading {
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
 * The value of each series, by its name and labels as the text format has them, in the order in which they were read. Readings
 * of a counter with the same labels are added, of a gauge the last one counts.
 *
 * @param afterEach is awaited where it gives a promise.
 * @throws Error when a reading has a label that the metric has not.
 */
export async function seriesOf(
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

/** The lines of series that are at hand. */
function* linesOf(series: Iterable<readonly [string, number]>): Generator<string> {
  const lineOf = createLineWriter();
  for (const [name, value] of series) yield lineOf(name, value);
}

/** The same of samples that are read one by one. None of them is kept: what outlives two small garbage collections costs a large one. */
function* linesOneByOne(family: FamilyReading): Generator<string> {
  const nameOf = createSeriesNamer(family);
  const lineOf = createLineWriter();
  for (const sample of family.samples) yield lineOf(nameOf(sample), sample[1]);
}

/** Of many series most have the value of the one before, and the end of its line. */
function createLineWriter(): (name: string, value: number) => string {
  let last: number | undefined;
  let ending = "";
  return (name, value) => {
    if (!Object.is(value, last)) ending = ` ${formatValue(value)}\n`;
    last = value;
    return name + ending;
  };
}

/** A piece is about this long, so that nobody has to put together, or to copy, a long answer at once. */
const pieceLength = 65_536;

/**
 * Metrics in the Prometheus text format 0.0.4, in pieces.
 *
 * @param afterEach is awaited where it gives a promise.
 * @throws Error when a reading has a label that the metric has not.
 */
export async function* formatFamilies(
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
 * Gives the name of a series: `name{a="1",b="2"}`, in the order of the metric's label names; without braces when it has no labels.
 * It puts together as few texts as it can: a scrape of many devices names hundreds of thousands of series.
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
