import { EventEmitter } from "node:events";
import type { ISql, Sql, TransactionSql } from "postgres";
import {
  type DatabaseAccess,
  type Schema,
  type SchemaStep,
  Follower,
  messageOf,
  migrate,
  migrateMs,
  showDatabase,
  type Session,
} from "../base/postgresql/index.ts";
import type { Component, Log } from "../base/report/index.ts";
import type { FleetMember, FleetTables, LeaseState, Share } from "./membership.ts";

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
  {
    number: 4,
    least: 1,
    sql: `
      create table netgloss.fleet_note (
        fleet text collate "C" not null,
        key text collate "C" not null,
        version bigint not null,
        text text,
        written timestamptz not null,
        primary key (fleet, key)
      ) with (fillfactor = 70);
      create index fleet_note_version on netgloss.fleet_note (fleet, version);
      create index fleet_note_removed on netgloss.fleet_note (fleet, written) where text is null;
      comment on table netgloss.fleet_note is
        'What members say to all: alerts, silences, answers to attacks. Without a text a note was removed; such a row goes after a day.';`,
  },
  {
    number: 5,
    least: 1,
    sql: `
      create table netgloss.fleet_state (
        fleet text collate "C" not null,
        name text collate "C" not null,
        version uuid not null,
        text text not null,
        written timestamptz not null,
        primary key (fleet, name)
      ) with (fillfactor = 70);
      comment on table netgloss.fleet_state is
        'What people save (views), runs of reports, starts of collectors: each is replaced as a whole, by who has seen its version.';`,
  },
];

/** The tables of all fleets of a database. */
export const fleetSchema: Schema = { table: "fleet_migration", steps, command: "netgloss fleet migrate" };

/** The notification channel for changed fleets: the payload is the name of a fleet whose members, or what they hold, have changed. */
const fleetChannel = "netgloss_fleet";
/** The notification channel for requests between members. */
export const requestChannel = "netgloss_fleet_request";
/** The notification channel for replaced states. */
export const stateChannel = "netgloss_fleet_state";
/** The event of a new connection; it is no notification channel. */
const connectedEvent = "connected";

/** The single connection to the database that all parts of a fleet share. */
export class FleetConnection implements Component {
  readonly name = "connection to the fleet";
  /** The database as a URL without a user. */
  readonly database: string;
  readonly #log: Log;
  readonly #follower: Follower;
  readonly #notifications = new EventEmitter();

  /** @param log has a rate limit. */
  constructor(access: DatabaseAccess, log: Log) {
    this.database = showDatabase(access.address);
    this.#log = log;
    this.#follower = new Follower({
      access,
      log,
      what: "the database of the fleet",
      random: Math.random,
      connected: (session) => this.#connected(session),
      notified: (_session, payload, channel) => void this.#notifications.emit(channel, payload),
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
   * Runs queries. They must be short, because renewals of the lease wait for them.
   *
   * @throws Error at once while the database is away.
   */
  async ask<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const session = this.#follower.session();
    if (session === undefined)
      throw new Error(`the database of the fleet, ${this.database}, is away: ${this.#follower.reason()}`);
    try {
      return await session.ask(work);
    } catch (cause) {
      const message = `the database of the fleet, ${this.database}, has not done it: ${messageOf(cause)}`;
      throw new Error(message, { cause });
    }
  }

  /** Runs queries in one transaction, as `ask` does. */
  transaction<T>(work: (sql: TransactionSql) => Promise<T>): Promise<T> {
    return this.ask((sql) => sql.begin("isolation level read committed read write", work) as Promise<T>);
  }

  /** Calls the listener with each notification of a channel. @returns a function that ends that. */
  listen(channel: string, listener: (payload: string) => void): () => void {
    this.#notifications.on(channel, listener);
    return () => void this.#notifications.off(channel, listener);
  }

  /** Calls the listener after each connection to the database. @returns a function that ends that. */
  watch(listener: () => void): () => void {
    return this.listen(connectedEvent, listener);
  }

  isThere(): boolean {
    return this.#follower.session() !== undefined;
  }

  /** Returns why the database is away. */
  reason(): string {
    return this.#follower.reason();
  }

  async #connected(session: Session): Promise<void> {
    const { database } = this;
    const made = await migrate(session, fleetSchema, migrateMs);
    if (made.length > 0) this.#log.info({ database, steps: made }, "created the tables of the fleet");
    for (const channel of [fleetChannel, requestChannel, stateChannel])
      await session.ask((sql) => sql.unsafe(`listen ${channel}`));
    this.#log.info({ database, server: session.server }, "connected to the database of the fleet");
    // The session can be used only after this function has returned.
    queueMicrotask(() => setImmediate(() => this.#notifications.emit(connectedEvent)));
  }
}

/** The time after which a key without a holder is forgotten. */
const forgetAfter = "30 days";

/**
 * The members of a fleet in the table `fleet_member`, and the holders of devices in `fleet_device`.
 *
 * A member lives as long as its row exists. Rows are removed once their lease is over, and never come back. Both renewal and removal lock the row, so a
 * row removed in one transaction cannot be renewed by an earlier one.
 *
 * The row of a device belongs to a session. It is free when it has no session, or one without a member. Taking needs a lock of the fleet, because
 * another table says whether the holder lives: a holder that took it just before must be seen as a member.
 */
export class PostgresqlFleetTables implements FleetTables {
  readonly #connection: FleetConnection;
  readonly #fleet: string;

  constructor(connection: FleetConnection, fleet: string) {
    this.#connection = connection;
    this.#fleet = fleet;
  }

  join({ name, session }: FleetMember, leaseMs: number, replaces: boolean): Promise<LeaseState> {
    return this.#connection.transaction(async (sql) => {
      await this.#lock(sql);
      await this.#removeExpired(sql);
      const [joined] = await sql`insert into netgloss.fleet_member (fleet, member, session, joined, until)
          values (${this.#fleet}, ${name}, ${session}, clock_timestamp(), clock_timestamp() + ${leaseMs} * interval '1 ms')
          on conflict (fleet, member) do update
          set session = excluded.session, joined = excluded.joined, until = excluded.until, devices = null
          where ${replaces} returning member`;
      if (joined === undefined) return { state: "replaced" };
      await this.#notify(sql);
      return await this.#held(sql);
    });
  }

  renew({ name, session }: FleetMember, leaseMs: number): Promise<LeaseState> {
    return this.#connection.transaction(async (sql) => {
      await this.#removeExpired(sql);
      const [renewed] = await sql`update netgloss.fleet_member
          set until = clock_timestamp() + ${leaseMs} * interval '1 ms'
          where fleet = ${this.#fleet} and member = ${name} and session = ${session} returning member`;
      if (renewed !== undefined) return await this.#held(sql);
      const [other] = await sql`select from netgloss.fleet_member where fleet = ${this.#fleet} and member = ${name}`;
      return { state: other === undefined ? "expired" : "replaced" };
    });
  }

  leave({ session }: FleetMember): Promise<void> {
    return this.#connection.transaction(async (sql) => {
      await sql`delete from netgloss.fleet_member where fleet = ${this.#fleet} and session = ${session}`;
      await this.#notify(sql);
    });
  }

  offer({ session }: FleetMember, digest: string, keys: readonly string[]): Promise<void> {
    return this.#connection.transaction(async (sql) => {
      await this.#lock(sql);
      await sql`insert into netgloss.fleet_device_list (fleet, digest, devices)
          values (${this.#fleet}, ${digest}, ${JSON.stringify(keys)}::text::json) on conflict do nothing`;
      await sql`update netgloss.fleet_member set devices = ${digest} where session = ${session}`;
      await sql`delete from netgloss.fleet_device_list l where fleet = ${this.#fleet} and not exists (
          select from netgloss.fleet_member m where m.fleet = l.fleet and m.devices = l.digest)`;
      await sql`delete from netgloss.fleet_device d where fleet = ${this.#fleet}
          and since < clock_timestamp() - ${forgetAfter}::interval
          and not exists (select from netgloss.fleet_member m where m.session = d.session)`;
      await this.#notify(sql);
    });
  }

  withdraw({ session }: FleetMember): Promise<void> {
    return this.#connection.transaction(async (sql) => {
      await sql`update netgloss.fleet_member set devices = null where session = ${session}`;
      await this.#notify(sql);
    });
  }

  list(digest: string): Promise<readonly string[] | undefined> {
    return this.#connection.ask(async (sql) => {
      const [row] = await sql<{ devices: string }[]>`
          select devices::text as devices from netgloss.fleet_device_list where fleet = ${this.#fleet} and digest = ${digest}`;
      return row === undefined ? undefined : (JSON.parse(row.devices) as string[]);
    });
  }

  take({ name, session }: FleetMember, keys: readonly string[]): Promise<readonly Share[]> {
    return this.#connection.transaction(async (sql) => {
      await this.#lock(sql);
      const known = await sql<{ key: string; holder: string | null; ageMs: number }[]>`
          select device as key, session::text as holder,
            extract(epoch from clock_timestamp() - since)::float8 * 1000 as "ageMs"
          from netgloss.fleet_device where fleet = ${this.#fleet} and device in (select json_array_elements_text(${JSON.stringify(keys)}::text::json))`;
      const before = new Map(known.map((row) => [row.key, row]));
      const taken = await sql<{ key: string; kept: string | null }[]>`
          insert into netgloss.fleet_device as d (fleet, device, session, member, since)
          select ${this.#fleet}, key, ${session}, ${name}, clock_timestamp() from json_array_elements_text(${JSON.stringify(keys)}::text::json) key
          where exists (select from netgloss.fleet_member where session = ${session})
          on conflict (fleet, device) do update
          set session = excluded.session, member = excluded.member, since = excluded.since
          where d.session is null or d.session = excluded.session
            or not exists (select from netgloss.fleet_member m where m.session = d.session)
          returning device as key, kept::text as kept`;
      return taken.map(({ key, kept }): Share => {
        const row = before.get(key);
        const from = row === undefined ? "nobody" : row.holder !== null && row.holder !== session ? "dead" : "released";
        return { key, kept: kept ?? undefined, from, ageMs: row?.ageMs ?? 0 };
      });
    });
  }

  release({ session }: FleetMember, kept: ReadonlyMap<string, string | undefined>): Promise<void> {
    return this.#connection.transaction(async (sql) => {
      await sql`update netgloss.fleet_device d
          set session = null, since = clock_timestamp(), kept = coalesce((given->>1)::json, d.kept)
          from json_array_elements(${JSON.stringify([...kept])}::text::json) given
          where d.fleet = ${this.#fleet} and d.device = given->>0 and d.session = ${session}`;
      await this.#notify(sql);
    });
  }

  keep({ session }: FleetMember, key: string, text: string): Promise<void> {
    return this.#connection.ask(async (sql) => {
      await sql`update netgloss.fleet_device set kept = ${text}::text::json
          where fleet = ${this.#fleet} and device = ${key} and session = ${session}`;
    });
  }

  watch(listener: () => void): () => void {
    const ends = [
      this.#connection.watch(listener),
      this.#connection.listen(fleetChannel, (fleet) => void (fleet === this.#fleet && listener())),
    ];
    return () => ends.forEach((end) => end());
  }

  /** Keeps others from joining the fleet or taking keys in it until the end of the transaction. Later statements see what earlier holders of the lock did. */
  async #lock(sql: ISql): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtextextended('netgloss fleet ' || ${this.#fleet}, 0))`;
  }

  async #notify(sql: ISql): Promise<void> {
    await sql`select pg_notify(${fleetChannel}, ${this.#fleet})`;
  }

  /** Removes expired rows except locked ones, which are being renewed or removed. */
  async #removeExpired(sql: ISql): Promise<void> {
    const gone = await sql`delete from netgloss.fleet_member where fleet = ${this.#fleet} and session in (
      select session from netgloss.fleet_member where fleet = ${this.#fleet} and until <= clock_timestamp() for update skip locked)
      returning member`;
    if (gone.length > 0) await this.#notify(sql);
  }

  async #held(sql: ISql): Promise<LeaseState> {
    const rows = await sql<{ name: string; session: string; devices: string | null }[]>`
      select member as name, session::text as session, devices from netgloss.fleet_member
      where fleet = ${this.#fleet} order by member`;
    const members = rows.map(({ name, session, devices }): FleetMember => ({
      name,
      session,
      devices: devices ?? undefined,
    }));
    return { state: "held", members };
  }
}

/** A message of one exporter to one collector. Ages are in milliseconds by the clock of the table. */
interface ExporterRow {
  /** The exporter whose datagrams carried it. */
  readonly sender: string;
  /** The sender, or an exporter that it names. */
  readonly exporter: string;
  readonly text: string;
  readonly ageMs: number;
  readonly silentMs: number;
  readonly clock: number;
}

type ExporterKey = Pick<ExporterRow, "sender" | "exporter">;

/** Maximum number of rows for an exporter: one that changes between all collectors of a fleet has more rows than needed. */
const rowsPerExporter = 8;
/** Maximum size of one answer. */
const maxFoundBytes = 32 * 1024 * 1024;
/** Maximum number of rows removed at once, so that others wait only briefly. */
const prunedAtOnce = 5000;

/**
 * Messages of exporters to the collectors of a fleet, in the table `fleet_exporter`. Each row has one writer, so only the removal of old rows waits for
 * locks. All asynchronous calls fail with an Error while the database is away.
 */
export class PostgresqlExporterTable {
  readonly #connection: FleetConnection;
  readonly #fleet: string;
  readonly #member: string;

  constructor(connection: FleetConnection, fleet: string, member: string) {
    this.#connection = connection;
    this.#fleet = fleet;
    this.#member = member;
  }

  isThere(): boolean {
    return this.#connection.isThere();
  }

  /** Calls the listener after each connection to the database. @returns a function that ends that. */
  watch(listener: () => void): () => void {
    return this.#connection.watch(listener);
  }

  /** Writes rows of this member. */
  async write(rows: readonly ExporterRow[]): Promise<void> {
    const given = rows.map(({ sender, exporter, text, ageMs, silentMs, clock }) => {
      return { sender, exporter, state: text, made: ageMs, silent: silentMs, clock };
    });
    await this.#connection.ask(
      (sql) => sql`
        insert into netgloss.fleet_exporter (fleet, sender, exporter, member, written, seen, clock, state)
        select ${this.#fleet}, sender, exporter, ${this.#member}, clock_timestamp() - made * interval '1 ms',
          clock_timestamp() - silent * interval '1 ms', clock, state
        from json_to_recordset(${JSON.stringify(given)}::text::json)
          as row (sender text, exporter text, state text, made float8, silent float8, clock float8)
        on conflict (fleet, sender, exporter, member) do update
        set written = excluded.written, seen = excluded.seen, clock = excluded.clock, state = excluded.state`,
    );
  }

  /** Records when exporters of this member were last heard. @returns those without a row. */
  async touch(rows: readonly (ExporterKey & { readonly silentMs: number })[]): Promise<readonly ExporterKey[]> {
    const given = rows.map(({ sender, exporter, silentMs }) => ({ sender, exporter, silent: silentMs }));
    const touched = await this.#connection.ask(
      (sql) => sql<ExporterKey[]>`
        update netgloss.fleet_exporter as mine set seen = clock_timestamp() - row.silent * interval '1 ms'
        from json_to_recordset(${JSON.stringify(given)}::text::json) as row (sender text, exporter text, silent float8)
        where mine.fleet = ${this.#fleet} and mine.member = ${this.#member} and mine.sender = row.sender
          and mine.exporter = row.exporter
        returning mine.sender, mine.exporter`,
    );
    const known = new Set(touched.map(nameOf));
    return rows.filter((row) => !known.has(nameOf(row))).map(({ sender, exporter }) => ({ sender, exporter }));
  }

  /** Removes rows of this member. */
  async remove(keys: readonly ExporterKey[]): Promise<void> {
    const given = keys.map(({ sender, exporter }) => ({ sender, exporter }));
    await this.#connection.ask(
      (sql) => sql`
        delete from netgloss.fleet_exporter as mine
        using json_to_recordset(${JSON.stringify(given)}::text::json) as row (sender text, exporter text)
        where mine.fleet = ${this.#fleet} and mine.member = ${this.#member} and mine.sender = row.sender
          and mine.exporter = row.exporter`,
    );
  }

  /** Finds for each exporter of some senders the rows of the members that heard it last, within this time. */
  async find(senders: readonly string[], maxSilentMs: number): Promise<readonly ExporterRow[]> {
    const rows = await this.#connection.ask(
      (sql) => sql<ExporterRow[]>`
        select sender, exporter, state as text, clock,
          (extract(epoch from clock_timestamp() - written) * 1000)::float8 as "ageMs",
          (extract(epoch from clock_timestamp() - seen) * 1000)::float8 as "silentMs"
        from (
          select *, row_number() over (partition by sender, exporter order by seen desc, member) as rank,
            sum(octet_length(state)) over (order by seen desc, sender, exporter, member) as bytes
          from netgloss.fleet_exporter
          where fleet = ${this.#fleet} and seen > clock_timestamp() - ${maxSilentMs}::float8 * interval '1 ms'
            and sender in (select json_array_elements_text(${JSON.stringify(senders)}::text::json))
        ) as ranked where rank <= ${rowsPerExporter} and bytes <= ${maxFoundBytes}
        order by seen desc, sender, exporter, member`,
    );
    return [...rows];
  }

  /** Removes rows of all members whose exporters have been silent for longer. @returns the number of rows. */
  async prune(silentMs: number): Promise<number> {
    const gone = await this.#connection.ask(
      (sql) => sql`
        delete from netgloss.fleet_exporter where fleet = ${this.#fleet} and (sender, exporter, member) in (
          select sender, exporter, member from netgloss.fleet_exporter
          where fleet = ${this.#fleet} and seen < clock_timestamp() - ${silentMs}::float8 * interval '1 ms'
          limit ${prunedAtOnce} for update skip locked)`,
    );
    return gone.count;
  }
}

function nameOf({ sender, exporter }: ExporterKey): string {
  return `${exporter} ${sender}`;
}
