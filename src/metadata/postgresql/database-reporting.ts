import type { Counter, Histogram, Metrics, Reporting } from "../../base/report/index.ts";

/** Reports to the log and the readiness check whether the database is available. */
export class DatabaseHealth {
  /** The name of the readiness check. */
  readonly #name: string;
  readonly #location: string;
  readonly #at: () => number | undefined;
  readonly #reporting: Reporting;
  #heardAt = 0;
  #isAway = true;
  #wasLost = false;

  /**
   * @param name the name of the readiness check.
   * @param location the database as a URL without a user.
   * @param at returns the number of the commit in use.
   */
  constructor(name: string, location: string, at: () => number | undefined, reporting: Reporting) {
    this.#name = name;
    this.#location = location;
    this.#at = at;
    this.#reporting = reporting;
  }

  connected(fields: { readonly server: string; readonly change: number; readonly entries: number }): void {
    this.#reporting.log.info(
      fields,
      this.#wasLost ? "the database of the metadata is back" : "metadata read from the database",
    );
    this.#isAway = false;
    this.#wasLost = false;
    this.#heardAt = this.#reporting.clock.now();
    this.#reporting.health.set({ name: this.#name, ready: true });
  }

  /** Records an answer of the database. */
  heard(): void {
    this.#heardAt = this.#reporting.clock.now();
  }

  /** Records a lost connection. @param hasState true where memory has entries. */
  lost(reason: string, hasState: boolean): void {
    this.#isAway = true;
    this.#wasLost = true;
    this.#reporting.health.set({
      name: this.#name,
      ready: hasState,
      ...(hasState && { degraded: true }),
      detail: this.detail(reason),
    });
    this.#reporting.log.warn({ database: this.#location, reason }, "the database of the metadata does not answer");
  }

  /** Records that a copy on disk is in use. */
  copyRead(heardAt: number, entries: number, change: number): void {
    this.#heardAt = heardAt;
    this.#reporting.health.set({
      name: this.#name,
      ready: true,
      degraded: true,
      detail: this.detail("it has not been asked yet"),
    });
    this.#reporting.log.info(
      { entries, change, of: new Date(heardAt).toISOString() },
      "metadata read from the last copy of the database",
    );
  }

  /** Returns the milliseconds since the last answer while the database is unavailable. */
  staleMs(): number {
    return this.#isAway && this.#heardAt > 0 ? Math.max(0, this.#reporting.clock.now() - this.#heardAt) : 0;
  }

  /** Returns the time of the last answer, in milliseconds since the Unix epoch; 0 for never. */
  heardAt(): number {
    return this.#heardAt;
  }

  /** Returns the text for people about the fault. */
  detail(reason: string): string {
    const change = this.#at();
    const base = `the database of the metadata, ${this.#location}, is away: ${reason}`;
    if (change === undefined) return `${base}; there is no metadata`;
    const asOf = this.#heardAt === 0 ? "" : ` of ${new Date(this.#heardAt).toISOString()}`;
    return `${base}; the metadata is as of change ${change}${asOf}, and cannot be written`;
  }
}

const fullLoads = ["first", "pruned", "set_back", "changed_by_hand", "big_commit", "asked"] as const;
/** The reason for reading all entries. */
export type FullLoadReason = (typeof fullLoads)[number];
const failures = ["connect", "follow", "load", "commit", "copy", "export", "prune"] as const;
export type FailureStep = (typeof failures)[number];
const outcomes = ["committed", "not_committed", "unknown"] as const;

/** The metrics of the database. */
export class PostgresqlMetrics {
  readonly #connections: Counter;
  readonly #failed: Counter;
  readonly #loads: Counter;
  readonly #followed: Counter;
  readonly #seconds: Histogram;
  readonly #overtaken: Counter;
  readonly #resolved: Counter;

  /**
   * @param behind returns the number of known commits that are not applied here yet.
   * @param staleMs returns the milliseconds for which the database has been unavailable; 0 while it is available.
   */
  constructor(metrics: Metrics, isConnected: () => boolean, behind: () => number, staleMs: () => number) {
    metrics.gaugeFrom("netgloss_udm_postgresql_connected", "Whether the database of the metadata is there.", [], () =>
      isConnected() ? 1 : 0,
    );
    metrics.gaugeFrom(
      "netgloss_udm_postgresql_behind_commits",
      "Commits of the metadata that are known of and not seen here yet.",
      [],
      behind,
    );
    metrics.gaugeFrom(
      "netgloss_udm_postgresql_stale_seconds",
      "For how long the database of the metadata has been away; 0 while it is there.",
      [],
      () => staleMs() / 1000,
    );
    this.#connections = metrics.counter(
      "netgloss_udm_postgresql_connections_total",
      "Times a connection that follows the database of the metadata was made.",
    );
    this.#failed = metrics.counter(
      "netgloss_udm_postgresql_failures_total",
      "Failures of the database of the metadata, by step.",
      { step: failures },
    );
    this.#loads = metrics.counter(
      "netgloss_udm_postgresql_full_loads_total",
      "Times all entries were read from the database, by reason.",
      { reason: fullLoads },
    );
    this.#followed = metrics.counter(
      "netgloss_udm_postgresql_followed_commits_total",
      "Commits of other collectors that were taken over.",
    );
    this.#seconds = metrics.histogram(
      "netgloss_udm_postgresql_seen_seconds",
      "Time from the commit of another collector to its being seen here, by the clock of the database.",
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    );
    this.#overtaken = metrics.counter(
      "netgloss_udm_postgresql_overtaken_total",
      "Transactions that found commits of other collectors not seen here before, and were made on top of them.",
    );
    this.#resolved = metrics.counter(
      "netgloss_udm_postgresql_lost_answers_total",
      "Commits whose answer was lost with the connection, by what the database said of them afterwards.",
      { outcome: outcomes },
    );
  }

  connected(): void {
    this.#connections.add();
  }

  failed(step: FailureStep): void {
    this.#failed.add(1, { step });
  }

  fullLoad(reason: FullLoadReason): void {
    this.#loads.add(1, { reason });
  }

  /** Counts applied commits of other collectors. */
  followed(commits: number): void {
    this.#followed.add(commits);
  }

  /** Records the milliseconds between another collector's commit and its application here. */
  seen(ms: number): void {
    this.#seconds.observe(Math.max(0, ms) / 1000);
  }

  /** Counts a transaction that found newer commits of others. */
  overtaken(): void {
    this.#overtaken.add();
  }

  resolved(outcome: (typeof outcomes)[number]): void {
    this.#resolved.add(1, { outcome });
  }
}
