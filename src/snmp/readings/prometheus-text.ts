import type { LastReadings, MetricKind } from "./last-readings.ts";

/** Pieces of about this many lines. */
const linesEach = 500;

/**
 * The last readings in the Prometheus text format 0.0.4, in pieces: a metric for each field (`netif.bytes.in` is
 * `snmp_netif_bytes_in_total`), with the device's name and address, and what tells its row apart, as labels.
 */
export function* prometheusText(readings: LastReadings): Generator<string> {
  let piece = "";
  let lines = 0;
  for (const [field, kind] of readings.metrics()) {
    const name = metricName(field, kind);
    let hasHead = false;
    for (const { device, labels, value } of readings.of(field)) {
      if (!hasHead) piece += `# HELP ${name} ${field} of polled devices.\n# TYPE ${name} ${kind}\n`;
      hasHead = true;
      const rest = labels.map(([label, text]) => `,${labelName(label)}="${escapeLabel(text)}"`).join("");
      piece += `${name}{device="${escapeLabel(device.name)}",ip="${device.ip}"${rest}} ${value}\n`;
      if (++lines % linesEach !== 0) continue;
      yield piece;
      piece = "";
    }
  }
  if (piece !== "") yield piece;
}

/** Counters end in `_total`; what promtool wants last, the unit, stays where the name of the field has it. */
function metricName(field: string, kind: MetricKind): string {
  return `snmp_${field.replaceAll(/[^a-zA-Z0-9]/g, "_")}${kind === "counter" ? "_total" : ""}`;
}

function labelName(field: string): string {
  return field.replaceAll(/[^a-zA-Z0-9]/g, "_");
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
