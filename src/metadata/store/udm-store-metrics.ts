import type { Metrics } from "../../base/report/index.ts";
import type { SharedIndexStats } from "../index/index-contract.ts";
import type { UdmErrorCode } from "../model/udm-error.ts";

const loadFailures = ["io", "content", "locked", "other"] as const;
export type LoadFailure = (typeof loadFailures)[number];
const commitResults = [
  "ok",
  "error",
  "invalid_argument",
  "not_found",
  "already_exists",
  "failed_precondition",
  "unavailable",
  "resource_exhausted",
] as const satisfies readonly CommitResult[];
type CommitResult = "ok" | "error" | UdmErrorCode;

/** What a store reports of its loads and commits. */
export interface StoreMetrics {
  /** The file was read; this many of its entries break the rules for values. */
  loaded(warnings: number): void;
  loadFailed(reason: LoadFailure): void;
  /** A load found a file that a person has changed although the store owns it. */
  editIgnored(): void;
  /** One batch was answered after `ms` milliseconds of waiting and working. */
  committed(result: CommitResult, ms: number): void;
  /** This many batches are about to be saved at once. */
  groupSize(batches: number): void;
}

export function createStoreMetrics(
  metrics: Metrics,
  entries: () => number,
  stats: () => SharedIndexStats,
): StoreMetrics {
  metrics.gaugeFrom("netgloss_udm_entries", "Metadata entries in use.", [], entries);
  metrics.gaugeFrom(
    "netgloss_udm_index_bytes",
    "Memory of the metadata index: of its tree, of entries, used before and now free, and address space reserved.",
    ["part"],
    () => {
      const { tree, entries: blocks, free, reserved } = stats();
      return Object.entries({ tree, entries: blocks, free, reserved }).map(([part, bytes]) => [{ part }, bytes]);
    },
  );
  metrics.gaugeFrom(
    "netgloss_udm_index_pinned_snapshots",
    "Snapshots of the metadata that are kept: the current one, those of lists in progress, and those that are not garbage-collected yet.",
    [],
    () => stats().heldSnapshots,
  );
  const loads = metrics.counter("netgloss_udm_loads_total", "Times the metadata file was read.");
  const warnings = metrics.counter(
    "netgloss_udm_load_warnings_total",
    "Entries of the metadata file that break the rules for values, or have characters that are not seen; they are used as written.",
  );
  const failures = metrics.counter(
    "netgloss_udm_load_failures_total",
    "Times the metadata file could not be used, by reason.",
    { reason: loadFailures },
  );
  const editsIgnored = metrics.counter(
    "netgloss_udm_edits_ignored_total",
    "Times a reload found the metadata file changed by hand while the API owns it. The next write keeps the edit under another name.",
  );
  const commits = metrics.counter("netgloss_udm_commits_total", "Write requests by result.", { result: commitResults });
  const commitSeconds = metrics.histogram(
    "netgloss_udm_commit_seconds",
    "Time from a write request to its answer, the waiting for others included.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const groupSizes = metrics.histogram(
    "netgloss_udm_commit_group_size",
    "Write requests answered by one replacement of the file.",
    [1, 2, 4, 8, 16, 32, 64, 128, 256],
  );
  return {
    loaded: (count) => {
      loads.add();
      warnings.add(count);
    },
    editIgnored: () => editsIgnored.add(),
    loadFailed: (reason) => failures.add(1, { reason }),
    committed: (result, ms) => {
      commits.add(1, { result });
      commitSeconds.observe(ms / 1000);
    },
    groupSize: (batches) => groupSizes.observe(batches),
  };
}
