import type { ISql, Sql, TransactionSql } from "postgres";
import {
  type Schema,
  type SchemaStep,
  Follower,
  type FollowerOptions,
  messageOf,
  migrate,
  migrateMs,
  showDatabase,
  type Session,
} from "../base/postgresql/index.ts";
import type { Component, Log } from "../base/report/index.ts";

/** Until the end of the transaction nobody else joins the fleet or takes keys in it. A statement after this one sees all that did before. */
export async function lockFleet(sql: ISql, fleet: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('netgloss fleet ' || ${fleet}, 0))`;
}

/** Notifications under this name carry the name of a fleet whose members, or what they hold, have changed. */
export const fleetChannel = "netgloss_fleet";

export async function notifyFleet(sql: ISql, fleet: string): Promise<void> {
  await sql`select pg_notify(${fleetChannel}, ${fleet})`;
}

const steps: readonly SchemaStep[] = [
  {
    number: 1,
    least: 1,
    sql: `
      create table netgloss.fleet_member (
        fleet text collate "C" not null,
        member text collate "C" not null,
        session uuid not null unique,
        joined timestamptz not null,
        until timestamptz not null,
        primary key (fleet, member)
      ) with (fillfactor = 50);
      comment on table netgloss.fleet_member is
        'Collectors that live. A row is removed once its lease is over by the clock of the database; its session never comes back then.';`,
  },
  {
    number: 2,
    least: 1,
    sql: `
      create table netgloss.fleet_exporter (
        fleet text collate "C" not null,
        sender text collate "C" not null,
        exporter text collate "C" not null,
        member text collate "C" not null,
        written timestamptz not null,
        seen timestamptz not null,
        clock double precision not null,
        state text not null,
        primary key (fleet, sender, exporter, member)
      ) with (fillfactor = 70);
      comment on table netgloss.fleet_exporter is
        'What exporters said to each collector: templates, sampling rates, names. A row is written by its member alone.';
      comment on column netgloss.fleet_exporter.clock is
        'The time of writing by the clock of the member, in milliseconds since the epoch: the times in the state are of that clock.';`,
  },
  {
    number: 3,
    least: 1,
    sql: `
      alter table netgloss.fleet_member add column devices text;
      create table netgloss.fleet_device_list (
        fleet text collate "C" not null,
        digest text not null,
        devices json not null,
        primary key (fleet, digest)
      );
      comment on table netgloss.fleet_device_list is 'Devices that members could poll. Members with the same definitions share a list.';
      create table netgloss.fleet_device (
        fleet text collate "C" not null,
        device text collate "C" not null,
        session uuid,
        member text not null,
        since timestamptz not null,
        kept json,
        primary key (fleet, device)
      ) with (fillfactor = 70);
      comment on table netgloss.fleet_device is
        'Who polls which device: the member with this session, if there is one. What the next one is to know of the device is kept.';`,
  },
];

/** The tables of all fleets of a database. */
export const fleetSchema: Schema = { table: "fleet_migration", steps, command: "netgloss fleet migrate" };

/** The one connection to the database that all parts of a fleet share. */
export class FleetConnection implements Component {
  readonly name = "connection to the fleet";
  /** The database as a URL without a user. */
  readonly database: string;
  readonly #log: Log;
  readonly #follower: Follower;
  readonly #channels = new Map<string, ((payload: string) => void)[]>();
  readonly #watchers = new Set<() => void>();

  /** @param options `log` is limited in rate. */
  constructor(options: Pick<FollowerOptions, "access" | "after" | "random" | "clock"> & { readonly log: Log }) {
    const { access, log } = options;
    this.database = showDatabase(access.address);
    this.#log = log;
    this.#follower = new Follower({
      ...options,
      what: "the database of the fleet",
      connected: (session) => this.#connected(session),
      notified: (_session, payload, channel) => {
        for (const listener of this.#channels.get(channel) ?? []) listener(payload);
      },
      beat: async (session) => void (await session.ask((sql) => sql`select`)),
      lost: (reason) => log.warn({ database: this.database, reason }, "the database of the fleet does not answer"),
    });
  }

  start(): Promise<void> {
    return this.#follower.start();
  }

  stop(): Promise<void> {
    return this.#follower.stop();
  }

  /**
   * Runs work that asks the database. Keep it short: renewals of the lease wait for it.
   *
   * @throws Error at once while the database is away.
   */
  async ask<T>(work: (sql: Sql) => Promise<T>, timeoutMs?: number): Promise<T> {
    const session = this.#follower.session();
    if (session === undefined)
      throw new Error(`the database of the fleet, ${this.database}, is away: ${this.#follower.reason()}`);
    try {
      return await session.ask(work, timeoutMs);
    } catch (cause) {
      const message = `the database of the fleet, ${this.database}, has not done it: ${messageOf(cause)}`;
      throw new Error(message, { cause });
    }
  }

  /** The same in one transaction. */
  transaction<T>(work: (sql: TransactionSql) => Promise<T>): Promise<T> {
    return this.ask((sql) => sql.begin("isolation level read committed read write", work) as Promise<T>);
  }

  /** Calls the listener with each notification of a channel. Must be called before the start. */
  listen(channel: string, listener: (payload: string) => void): void {
    this.#channels.set(channel, [...(this.#channels.get(channel) ?? []), listener]);
  }

  /** Calls the listener when the database was connected to. @returns what ends that. */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  isThere(): boolean {
    return this.#follower.session() !== undefined;
  }

  /** Why it is away. */
  reason(): string {
    return this.#follower.reason();
  }

  async #connected(session: Session): Promise<void> {
    const { database } = this;
    const made = await migrate(session, fleetSchema, migrateMs);
    if (made.length > 0) this.#log.info({ database, steps: made }, "created the tables of the fleet");
    for (const channel of this.#channels.keys()) await session.ask((sql) => sql.unsafe(`listen ${channel}`));
    this.#log.info({ database, server: session.server }, "connected to the database of the fleet");
    // The session is of use once this has returned.
    queueMicrotask(() => setImmediate(() => this.#watchers.forEach((listener) => listener())));
  }
}
