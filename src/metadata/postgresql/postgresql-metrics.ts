import type { Metrics } from "../../base/report/index.ts";

const fullLoads = ["first", "pruned", "set_back", "changed_by_hand", "big_commit", "asked"] as const;
/** Why all entries are read. */
export type FullLoadReason = (typeof fullLoads)[number];
const failures = ["connect", "follow", "load", "commit", "copy", "export", "prune"] as const;
export type FailureStep = (typeof failures)[number];
const outcomes = ["committed", "not_committed", "unknown"] as const;

export interface PostgresqlMetrics {
  connected(): void;
  failed(step: FailureStep): void;
  fullLoad(reason: FullLoadReason): void;
  /** Commits of other collectors that were taken over. */
  followed(commits: number): void;
  /** A commit of another collector is seen here, this many milliseconds after it was made. */
  seen(ms: number): void;
  /** A transaction found that others had committed since. */
  overtaken(): void;
  resolved(outcome: (typeof outcomes)[number]): void;
}

export interface PostgresqlReadings {
  readonly isConnected: () => boolean;
  /** How many commits are known of that are not seen here yet. */
  readonly behind: () => number;
  /** For how long the database has been away; 0 while it is there. */
  readonly staleMs: () => number;
  readonly logBytes?: () => number;
}

export function createPostgresqlMetrics(metrics: Metrics, readings: PostgresqlReadings): PostgresqlMetrics {
  metrics.gaugeFrom("netgloss_udm_postgresql_connected", "Whether the database of the metadata is there.", [], () =>
    readings.isConnected() ? 1 : 0,
  );
  metrics.gaugeFrom(
    "netgloss_udm_postgresql_behind_commits",
    "Commits of the metadata that are known of and not seen here yet.",
    [],
    readings.behind,
  );
  metrics.gaugeFrom(
    "netgloss_udm_postgresql_stale_seconds",
    "For how long the database of the metadata has been away; 0 while it is there.",
    [],
    () => readings.staleMs() / 1000,
  );
  const connections = metrics.counter(
    "netgloss_udm_postgresql_connections_total",
    "Times a connection that follows the database of the metadata was made.",
  );
  const failed = metrics.counter(
    "netgloss_udm_postgresql_failures_total",
    "Failures of the database of the metadata, by step.",
    {
      step: failures,
    },
  );
  const loads = metrics.counter(
    "netgloss_udm_postgresql_full_loads_total",
    "Times all entries were read from the database, by reason.",
    { reason: fullLoads },
  );
  const followed = metrics.counter(
    "netgloss_udm_postgresql_followed_commits_total",
    "Commits of other collectors that were taken over.",
  );
  const seconds = metrics.histogram(
    "netgloss_udm_postgresql_seen_seconds",
    "Time from the commit of another collector to its being seen here, by the clock of the database.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const overtaken = metrics.counter(
    "netgloss_udm_postgresql_overtaken_total",
    "Transactions that found commits of other collectors not seen here before, and were made on top of them.",
  );
  const resolved = metrics.counter(
    "netgloss_udm_postgresql_lost_answers_total",
    "Commits whose answer was lost with the connection, by what the database said of them afterwards.",
    { outcome: outcomes },
  );
  return {
    connected: () => connections.add(),
    failed: (step) => failed.add(1, { step }),
    fullLoad: (reason) => loads.add(1, { reason }),
    followed: (commits) => followed.add(commits),
    seen: (ms) => seconds.observe(Math.max(0, ms) / 1000),
    overtaken: () => overtaken.add(),
    resolved: (outcome) => resolved.add(1, { outcome }),
  };
}
