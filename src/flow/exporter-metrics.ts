import type { Labels, Metrics } from "../report/index.ts";
import type { Exporter } from "./exporters/exporter.ts";
import type { ExporterTable } from "./exporters/exporter-table.ts";

type Series = readonly [Labels, number];

/** How many exporters have metrics of their own, in each decoding thread. */
export const maxListedExporters = 1000;

/**
 * Metrics by exporter. Of more exporters than the limit, those first seen are listed: a sender that invents addresses
 * neither makes a scrape endless nor takes the place of one that is known.
 */
export function registerExporterMetrics(metrics: Metrics, exporters: ExporterTable, limit = maxListedExporters): void {
  const listed = (): readonly Exporter[] => {
    const all = [...exporters.all()];
    if (all.length <= limit) return all;
    return all.sort((a, b) => a.firstSeen - b.firstSeen || compareTexts(a.address, b.address)).slice(0, limit);
  };
  const byExporter = (read: (exporter: Exporter) => number) => (): Series[] =>
    listed().map((exporter): Series => [{ exporter: exporter.address }, read(exporter)]);

  metrics.counterFrom(
    "netgloss_flow_exporter_records_total",
    "Records of an exporter; their rate is rate() of this.",
    ["exporter"],
    byExporter(({ records }) => records),
  );
  metrics.gaugeFrom(
    "netgloss_flow_exporter_last_seen_timestamp_seconds",
    "When the last datagram of an exporter came, since the epoch.",
    ["exporter"],
    byExporter(({ lastSeen }) => lastSeen / 1000),
  );
  metrics.counterFrom(
    "netgloss_flow_exporter_missing_total",
    "Units missing from an exporter by its sequence numbers.",
    ["exporter", "protocol"],
    () => listed().flatMap(missingOf),
  );
  metrics.gaugeFrom(
    "netgloss_flow_exporters_unlisted",
    `Exporters without metrics of their own: there are more than ${limit} in a decoding thread.`,
    [],
    () => Math.max(0, exporters.size() - limit),
  );
}

function missingOf(exporter: Exporter): Series[] {
  const missing = new Map<string, number>();
  for (const { protocol, sequence } of exporter.domains()) {
    missing.set(protocol, (missing.get(protocol) ?? 0) + sequence.missing);
  }
  return Array.from(missing, ([protocol, count]): Series => [{ exporter: exporter.address, protocol }, count]);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
