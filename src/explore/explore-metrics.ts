import type { Metrics } from "../report/index.ts";
import type { DuckDbStore } from "./duckdb/duckdb-store.ts";
import type { Rollups } from "./duckdb/rollups.ts";
import type { Intake } from "./intake/intake.ts";
import type { SamplingJudge } from "./sampling/index.ts";

interface Counted {
  readonly intake: () => Intake | undefined;
  readonly store: () => DuckDbStore | undefined;
  readonly rollups: () => Rollups | undefined;
  readonly judge: Pick<SamplingJudge, "factor" | "sampledOut">;
}

export function reportMetrics(metrics: Metrics, { intake, store, rollups, judge }: Counted): void {
  metrics.counterFrom("netgloss_explore_rows_total", "Flow records that Explore keeps.", [], () => [
    [{}, intake()?.counts.rows ?? 0],
  ]);
  metrics.counterFrom(
    "netgloss_explore_sampled_out_records_total",
    "Records that Explore does not keep because others stand for them.",
    [],
    () => [[{}, judge.sampledOut]],
  );
  metrics.gaugeFrom("netgloss_explore_sampling", "How many records one that Explore keeps stands for.", [], () => [
    [{}, judge.factor],
  ]);
  metrics.gaugeFrom("netgloss_explore_bytes", "Bytes of Explore's files of records.", [], () => [
    [{}, store()?.bytes() ?? 0],
  ]);
  metrics.gaugeFrom(
    "netgloss_explore_unsorted_files",
    "Complete files of records that Explore has still to sort; none is sorted while records wait to be taken.",
    [],
    () => [[{}, store()?.sorter.waiting ?? 0]],
  );
  metrics.counterFrom(
    "netgloss_explore_sorted_rows_total",
    "Flow records of files that Explore has sorted.",
    [],
    () => [[{}, store()?.sorter.sortedRows ?? 0]],
  );
  metrics.counterFrom(
    "netgloss_explore_sort_failures_total",
    "Files of records that Explore could not sort; they stay as they are and take more room.",
    [],
    () => [[{}, store()?.sorter.failures ?? 0]],
  );
  metrics.gaugeFrom("netgloss_explore_rollup_bytes", "Bytes of Explore's rollups.", [], () => [
    [{}, rollups()?.bytes() ?? 0],
  ]);
  metrics.counterFrom(
    "netgloss_explore_rollup_failures_total",
    "Files of records of which Explore could not make rollups; it tries again.",
    [],
    () => [[{}, rollups()?.failures ?? 0]],
  );
  metrics.counterFrom(
    "netgloss_explore_damaged_files_total",
    "Files of Explore that could not be read and were set aside.",
    [],
    () => [[{}, (store()?.setAside ?? 0) + (rollups()?.setAside ?? 0)]],
  );
}
