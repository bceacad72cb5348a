import type { Metrics } from "../../../base/report/index.ts";
import { sourceFaults } from "../source-fault.ts";
import { runResults, type RunResult, type SourceState } from "./source-state.ts";

/** What is counted of sources; there are few, so each has its own series. */
export interface SourceMetrics {
  /** Shows a source at zero. */
  known(name: string): void;
  ran(name: string, result: RunResult, ms: number, faultyRows: number): void;
  failed(name: string, code: string): void;
  copyFailed(name: string): void;
}

export function createSourceMetrics(metrics: Metrics, states: () => readonly SourceState[]): SourceMetrics {
  const runs = metrics.counter("netgloss_source_runs_total", "Runs of sources of metadata by result.", [
    "source",
    "result",
  ]);
  const failures = metrics.counter("netgloss_source_failures_total", "Failed runs of sources by reason.", [
    "source",
    "reason",
  ]);
  const faulty = metrics.counter("netgloss_source_faulty_rows_total", "Rows of sources that were left out.", [
    "source",
  ]);
  const copies = metrics.counter(
    "netgloss_source_copy_failures_total",
    "Times the last good copy of a source could not be kept or used.",
    ["source"],
  );
  const seconds = metrics.gauge("netgloss_source_run_seconds", "How long the last run of a source took.", ["source"]);
  const gauge = (name: string, help: string, of: (state: SourceState) => number): void =>
    metrics.gaugeFrom(name, help, ["source"], () => states().map((state) => [{ source: state.name }, of(state)]));
  gauge("netgloss_source_entries", "Entries of a source in use.", ({ entries }) => entries);
  gauge(
    "netgloss_source_last_good_timestamp_seconds",
    "When the entries of a source last came or were confirmed; 0 before.",
    ({ lastGood }) => (lastGood ?? 0) / 1000,
  );
  gauge("netgloss_source_held", "1 while a source waits for its change to be accepted.", ({ state }) =>
    state === "held" ? 1 : 0,
  );
  return {
    known(source) {
      for (const result of runResults) runs.add(0, { source, result });
      for (const reason of Object.keys(sourceFaults)) failures.add(0, { source, reason });
      faulty.add(0, { source });
      copies.add(0, { source });
    },
    ran(source, result, ms, faultyRows) {
      runs.add(1, { source, result });
      seconds.set(ms / 1000, { source });
      faulty.add(faultyRows, { source });
    },
    failed: (source, reason) => failures.add(1, { source, reason }),
    copyFailed: (source) => copies.add(1, { source }),
  };
}
