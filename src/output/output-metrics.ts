import type { Metrics } from "../base/report/index.ts";
import type { RollupReport } from "./shape/rollup-sink.ts";

/** Why an output did not write records. */
export const dropReasons = ["queue_full", "closed", "stopped", "spool_full", "spool_damaged", "thread_died"] as const;
export type DropReason = (typeof dropReasons)[number];

/** What one output counts. */
export interface OutputReport {
  written(records: number, bytes: number): void;
  dropped(reason: DropReason, records: number, bytes: number): void;
  /** Left out because only a few are wanted. */
  leftOut(records: number): void;
  failed(operation: string, code: string): void;
  rotated(): void;
}

/** The metrics of all outputs of one collector. */
export interface OutputMetrics {
  /** `queueBytes` is read when metrics are. The name is the label `output`. */
  output(name: string, queueBytes: () => number): OutputReport;
  /** Records that are left out before they reach an output, because its filter is not true of them. */
  filtered(output: string, records: number): void;
  /** What happens to records that are added up for an output. */
  rollup(output: string): RollupReport;
  /** Records that others stand for, because there are more than the output's rate. */
  thinned(output: string, records: number): void;
}

export function createOutputMetrics(metrics: Metrics): OutputMetrics {
  const queues = new Map<string, () => number>();
  const records = metrics.counter("netgloss_output_records_total", "Records written.", ["output"]);
  const bytes = metrics.counter("netgloss_output_bytes_total", "Bytes written.", ["output"]);
  const droppedRecords = metrics.counter(
    "netgloss_output_dropped_records_total",
    "Records lost: queue_full, closed (the reader is gone), stopped (not written before the end), spool_full, spool_damaged or thread_died.",
    ["output", "reason"],
  );
  const droppedBytes = metrics.counter("netgloss_output_dropped_bytes_total", "Bytes of the records lost.", [
    "output",
    "reason",
  ]);
  const leftOut = metrics.counter(
    "netgloss_output_left_out_records_total",
    "Records left out because of the rate limit of the output.",
    ["output"],
  );
  const filtered = metrics.counter(
    "netgloss_output_filtered_records_total",
    "Records left out because they do not match the filter of the output.",
    ["output"],
  );
  const thinned = metrics.counter(
    "netgloss_output_thinned_records_total",
    "Records left out because there are more than the rate of the output; others stand for them.",
    ["output"],
  );
  const failures = metrics.counter("netgloss_output_errors_total", "System calls that failed.", [
    "output",
    "operation",
    "code",
  ]);
  const rotations = metrics.counter("netgloss_output_rotations_total", "Output files rotated because of their size.", [
    "output",
  ]);
  metrics.gaugeFrom("netgloss_output_queue_bytes", "Bytes that wait to be written.", ["output"], () =>
    [...queues].map(([output, read]) => [{ output }, read()] as const),
  );

  const rolledUp = metrics.counter(
    "netgloss_output_rollup_records_total",
    "Flow records that were added to those of their group.",
    ["output"],
  );
  const overflowed = metrics.counter(
    "netgloss_output_rollup_overflow_records_total",
    "Flow records that were not added up, because there were more groups than SVC_PROCESSOR_ROLLUP_MAX_GROUPS; they left as they are.",
    ["output"],
  );
  const sums = metrics.counter("netgloss_output_rollup_written_records_total", "Records that were made of groups.", [
    "output",
  ]);
  const groups = new Map<string, () => number>();
  metrics.gaugeFrom("netgloss_output_rollup_groups", "Groups that are being added up.", ["output"], () =>
    [...groups].map(([output, read]) => [{ output }, read()] as const),
  );

  return {
    rollup(output) {
      for (const counter of [rolledUp, overflowed, sums]) counter.add(0, { output });
      return {
        added: (count) => rolledUp.add(count, { output }),
        overflowed: (count) => overflowed.add(count, { output }),
        written: (count) => sums.add(count, { output }),
        groups: (read) => void groups.set(output, read),
      };
    },
    thinned: (output, count) => thinned.add(count, { output }),
    filtered: (output, count) => filtered.add(count, { output }),
    output(output, queueBytes) {
      queues.set(output, queueBytes);
      const name = { output };
      records.add(0, name);
      bytes.add(0, name);
      leftOut.add(0, name);
      filtered.add(0, name);
      thinned.add(0, name);
      rotations.add(0, name);
      for (const reason of dropReasons) {
        droppedRecords.add(0, { output, reason });
        droppedBytes.add(0, { output, reason });
      }
      return {
        written(recordCount, byteCount) {
          records.add(recordCount, name);
          bytes.add(byteCount, name);
        },
        dropped(reason, recordCount, byteCount) {
          droppedRecords.add(recordCount, { output, reason });
          droppedBytes.add(byteCount, { output, reason });
        },
        leftOut: (count) => leftOut.add(count, name),
        failed: (operation, code) => failures.add(1, { output, operation, code }),
        rotated: () => rotations.add(1, name),
      };
    },
  };
}
