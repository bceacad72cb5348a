import type { Metrics } from "../../../report/index.ts";

const operations = ["write", "touch", "remove", "find", "prune"] as const;
export type SharedOperation = (typeof operations)[number];

export interface SharedMetrics {
  wrote(rows: number): void;
  failed(operation: SharedOperation): void;
  leftOut(): void;
  ignored(): void;
  pruned(rows: number): void;
  asked(exporters: number): void;
  found(rows: number, ms: number): void;
}

/** @param exporters those held here. @param unwritten those of them that are to be written. */
export function createSharedMetrics(metrics: Metrics, exporters: () => number, unwritten: () => number): SharedMetrics {
  metrics.gaugeFrom(
    "netgloss_flow_shared_exporters",
    "Exporters whose state is shared by this collector.",
    [],
    exporters,
  );
  metrics.gaugeFrom(
    "netgloss_flow_shared_unwritten_exporters",
    "Exporters whose state is still to be written for the fleet.",
    [],
    unwritten,
  );
  const counter = (name: string, help: string) => metrics.counter(`netgloss_flow_shared_${name}_total`, help);
  const writes = counter("writes", "States of exporters written for the fleet.");
  const leftOut = counter("left_out", "States of exporters not shared because they are too large.");
  const ignored = counter("ignored", "States of exporters in the database of the fleet that cannot be read.");
  const pruned = counter("pruned", "States of silent exporters removed from the database of the fleet.");
  const asked = counter("asked", "Times the fleet was asked about an exporter.");
  const found = counter("found", "States of exporters that the database of the fleet had.");
  const failures = metrics.counter("netgloss_flow_shared_failures_total", "Failures to share the state of exporters.", {
    operation: operations,
  });
  const seconds = metrics.histogram(
    "netgloss_flow_shared_find_seconds",
    "Time until the database of the fleet answered about exporters.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  );
  for (const each of [writes, leftOut, ignored, pruned, asked, found]) each.add(0);
  return {
    wrote: (rows) => writes.add(rows),
    failed: (operation) => failures.add(1, { operation }),
    leftOut: () => leftOut.add(),
    ignored: () => ignored.add(),
    pruned: (rows) => pruned.add(rows),
    asked: (exporters_) => asked.add(exporters_),
    found(rows, ms) {
      found.add(rows);
      seconds.observe(ms / 1000);
    },
  };
}
