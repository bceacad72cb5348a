import type { Clock, Health, Log, Metrics } from "../../base/report/index.ts";

/** Says to log and readiness whether the database is there. */
export interface DatabaseHealth {
  connected(fields: { readonly server: string; readonly change: number; readonly entries: number }): void;
  /** It has answered. */
  heard(): void;
  /** @param hasState whether there are entries in memory. */
  lost(reason: string, hasState: boolean): void;
  /** A copy on disk is in use. */
  copyRead(heardAt: number, entries: number, change: number): void;
  /** Milliseconds since the database was heard of, while it is away. */
  staleMs(): number;
  /** When the database was last heard of, in milliseconds since the epoch; 0 for never. */
  heardAt(): number;
  /** What is the matter, for people. */
  detail(reason: string): string;
}

interface DatabaseHealthOptions {
  /** The database as a URL without a user. */
  readonly place: string;
  /** The number of the commit that is in use. */
  readonly at: () => number | undefined;
  readonly log: Log;
  readonly clock: Clock;
  readonly health: Health;
}

/** Name of the readiness check. */
const name = "metadata";

export function createDatabaseHealth({ place, at, log, clock, health }: DatabaseHealthOptions): DatabaseHealth {
  let heardAt = 0;
  let isAway = true;
  let wasLost = false;

  const detail = (reason: string): string => {
    const change = at();
    const base = `the database of the metadata, ${place}, is away: ${reason}`;
    if (change === undefined) return `${base}; there is no metadata`;
    const asOf = heardAt === 0 ? "" : ` of ${new Date(heardAt).toISOString()}`;
    return `${base}; the metadata is as of change ${change}${asOf}, and cannot be written`;
  };

  return {
    connected(fields) {
      log.info(fields, wasLost ? "the database of the metadata is back" : "metadata read from the database");
      isAway = false;
      wasLost = false;
      heardAt = clock.now();
      health.set({ name, ready: true });
    },
    heard: () => void (heardAt = clock.now()),
    lost(reason, hasState) {
      isAway = true;
      wasLost = true;
      health.set({ name, ready: hasState, ...(hasState && { degraded: true }), detail: detail(reason) });
      log.warn({ database: place, reason }, "the database of the metadata does not answer");
    },
    copyRead(at_, entries, change) {
      heardAt = at_;
      health.set({ name, ready: true, degraded: true, detail: detail("it has not been asked yet") });
      log.info(
        { entries, change, of: new Date(at_).toISOString() },
        "metadata read from the last copy of the database",
      );
    },
    staleMs: () => (isAway && heardAt > 0 ? Math.max(0, clock.now() - heardAt) : 0),
    heardAt: () => heardAt,
    detail,
  };
}

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

interface PostgresqlReadings {
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
