import type { Clock, Health, Log } from "../../base/report/index.ts";

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

export interface DatabaseHealthOptions {
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
