import type { Metrics } from "../../base/report/index.ts";

const failures = ["open", "append", "shrink", "torn", "base"] as const;
export type HistoryFailure = (typeof failures)[number];

export interface HistoryMetrics {
  kept(changes: number, bytes: number): void;
  failed(what: HistoryFailure): void;
  edited(): void;
}

/** @param read changes that are kept, and their bytes. */
export function createHistoryMetrics(
  metrics: Metrics,
  read: () => { readonly changes: number; readonly bytes: number },
): HistoryMetrics {
  metrics.gaugeFrom("netgloss_udm_history_changes", "Changes of the metadata that are kept.", [], () => read().changes);
  metrics.gaugeFrom(
    "netgloss_udm_history_bytes",
    "Bytes of the files of the history of the metadata.",
    [],
    () => read().bytes,
  );
  const changes = metrics.counter(
    "netgloss_udm_history_changes_total",
    "Changes written to the history of the metadata.",
  );
  const bytes = metrics.counter(
    "netgloss_udm_history_written_bytes_total",
    "Bytes written to the history of the metadata.",
  );
  const edits = metrics.counter(
    "netgloss_udm_history_edits_total",
    "Times the metadata file differed at the start from what the history says, because a person edited it.",
  );
  const faults = metrics.counter(
    "netgloss_udm_history_failures_total",
    "Faults of the history of the metadata: it could not be opened, written, shortened; lines were torn and left out; or the whole state could not be kept.",
    { step: failures },
  );
  return {
    kept(count, size) {
      changes.add(count);
      bytes.add(size);
    },
    failed: (step) => faults.add(1, { step }),
    edited: () => edits.add(),
  };
}
