import type { Labels, Reading } from "./metrics.ts";

/** A metric that is kept elsewhere and read when it is asked for. */
export interface ReadMetric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly read: () => Reading;
}

/** What a metric read at one moment. Nothing that happens later changes it. */
export interface ReadValues {
  readonly metric: ReadMetric;
  readonly values: readonly (readonly [Labels, number])[];
}

/** Fails when Prometheus would refuse the names. @throws Error */
export function checkNames({ name, labelNames }: ReadMetric): void {
  if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new Error(`${name} is no name of a metric`);
  for (const label of labelNames) {
    if (!/^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/.test(label)) throw new Error(`${name}: ${label} is no name of a label`);
  }
}

export function readValues(metric: ReadMetric): ReadValues {
  const reading = metric.read();
  return { metric, values: typeof reading === "number" ? [[{}, reading]] : [...reading] };
}

/**
 * The value of each series, by its labels as the text format has them, in the order in which they were read. Readings
 * of a counter with the same labels are added, of a gauge the last one counts.
 *
 * @param afterEach is awaited where it gives a promise.
 * @throws Error when a reading has a label that the metric has not.
 */
export async function seriesOf(
  { metric, values }: ReadValues,
  afterEach: () => Promise<void> | undefined = () => undefined,
): Promise<ReadonlyMap<string, number>> {
  const series = new Map<string, number>();
  for (const [labels, value] of values) {
    const text = labelsText(metric, labels);
    const earlier = metric.type === "counter" ? (series.get(text) ?? 0) : 0;
    series.set(text, earlier + value);
    const turn = afterEach();
    if (turn !== undefined) await turn;
  }
  return series;
}

/** The metric in the Prometheus text format 0.0.4, from `# HELP` on, without a line feed at the end. */
export async function formatReadMetric(
  read: ReadValues,
  afterEach: () => Promise<void> | undefined,
): Promise<readonly string[]> {
  const { name, type, help } = read.metric;
  const lines = [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`];
  for (const [labels, value] of await seriesOf(read, afterEach)) lines.push(`${name}${labels} ${formatValue(value)}`);
  return lines;
}

/** `{a="1",b="2"}`, in the order of the metric's label names; empty without labels. */
function labelsText({ name, labelNames }: ReadMetric, labels: Labels): string {
  let text = "";
  let open = Object.keys(labels).length;
  for (const label of labelNames) {
    const value = labels[label];
    if (value === undefined) continue;
    text += `${text === "" ? "{" : ","}${label}="${escapeLabel(String(value))}"`;
    open--;
  }
  if (open > 0) throw new Error(`${name} was read with labels other than ${labelNames.join(", ")}`);
  return text === "" ? "" : `${text}}`;
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
