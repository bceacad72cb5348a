import type { LastReadings, MetricKind, ReadingTable } from "./last-readings.ts";

/** A piece is made of about this many lines and tables looked at: one without lines is empty. */
const stepsEach = 250;

/**
 * The last readings in the Prometheus text format 0.0.4, in pieces: a metric for each field (`netif.bytes.in` is
 * `snmp_netif_bytes_in_total`), with the device's name and address, and what identifies its row, as labels. No piece takes long to
 * make, however few of many devices have a reading of a field.
 */
export function* prometheusText(readings: LastReadings): Generator<string> {
  let piece = "";
  let steps = 0;
  for (const [field, kind] of readings.metrics()) {
    const name = metricName(field, kind);
    let hasHead = false;
    for (const table of readings.of(field)) {
      for (const line of linesOf(name, table)) {
        if (!hasHead) piece += `# HELP ${name} ${field} of polled devices.\n# TYPE ${name} ${kind}\n`;
        hasHead = true;
        piece += line;
        if (++steps % stepsEach !== 0) continue;
        yield piece;
        piece = "";
      }
      if (++steps % stepsEach !== 0) continue;
      yield piece;
      piece = "";
    }
  }
  if (piece !== "") yield piece;
}

function* linesOf(name: string, { device, labelNames, labels, values }: ReadingTable): Generator<string> {
  if (values === undefined) return;
  const names = labelNames.map(labelName);
  const start = `${name}{device="${escapeLabel(device.name)}",ip="${device.ip}"`;
  for (const [row, value] of values.entries()) {
    if (Number.isNaN(value)) continue;
    let line = start;
    for (const [i, label] of names.entries()) {
      const text = labels[row * names.length + i];
      if (text !== undefined) line += `,${label}="${escapeLabel(text)}"`;
    }
    yield `${line}} ${value}\n`;
  }
}

/** Counters alone end in `_total`; what promtool wants last, the unit, stays where the name of the field has it. */
function metricName(field: string, kind: MetricKind): string {
  const name = field.replaceAll(/[^a-zA-Z0-9]/g, "_").replace(/_total$/, "");
  return `snmp_${name}${kind === "counter" ? "_total" : ""}`;
}

function labelName(field: string): string {
  return field.replaceAll(/[^a-zA-Z0-9]/g, "_");
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
