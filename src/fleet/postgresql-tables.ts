import type { ISql } from "postgres";
import { type FleetConnection, fleetChannel, lockFleet, notifyFleet } from "./fleet-connection.ts";
import type { FleetMember, LeaseState, MembershipTables } from "./membership.ts";
import type { Share, ShareTables } from "./shares.ts";

/**
 * The members of a fleet in the table `fleet_member`.
 *
 * A member lives as long as its row is there. Rows go once their lease is over, and never come back: what was removed in one transaction
 * cannot be renewed by one that began before, as both lock the row.
 */
export class PostgresqlMembershipTables implements MembershipTables {
  readonly #connection: FleetConnection;
  readonly #fleet: string;
  readonly #watchers = new Set<() => void>();

  constructor(connection: FleetConnection, fleet: string) {
    this.#connection = connection;
    this.#fleet = fleet;
    connection.listen(fleetChannel, (payload) => {
      if (payload === fleet) this.#notify();
    });
    connection.watch(() => this.#notify());
  }

  join({ name, session }: FleetMember, leaseMs: number, replaces: boolean): Promise<LeaseState> {
    return this.#connection.transaction(async (sql) => {
      await lockFleet(sql, this.#fleet);
      await this.#removeExpired(sql);
      const [joined] = await sql`insert into netgloss.fleet_member (fleet, member, session, joined, until)
          values (${this.#fleet}, ${name}, ${session}, clock_timestamp(), clock_timestamp() + ${leaseMs} * interval '1 ms')
          on conflict (fleet, member) do update
          set session = excluded.session, joined = excluded.joined, until = excluded.until, devices = null
          where ${replaces} returning member`;
      if (joined === undefined) return { state: "replaced" };
      await notifyFleet(sql, this.#fleet);
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
      await notifyFleet(sql, this.#fleet);
    });
  }

  watch(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  #notify(): void {
    this.#watchers.forEach((listener) => listener());
  }

  /** Removes expired rows except locked ones: a renewal of the row, or another one's removal, is under way. */
  async #removeExpired(sql: ISql): Promise<void> {
    const gone = await sql`delete from netgloss.fleet_member where fleet = ${this.#fleet} and session in (
      select session from netgloss.fleet_member where fleet = ${this.#fleet} and until <= clock_timestamp() for update skip locked)
      returning member`;
    if (gone.length > 0) await notifyFleet(sql, this.#fleet);
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

/** The time after which a key that nobody holds is forgotten. */
const forgetAfter = "30 days";

/**
 * Keeps who holds which device, in the table `fleet_device`. A row belongs to a session: it is free when it has none, or one without a member.
 *
 * Taking happens under a lock of the fleet, because whether the holder of a row lives is read from another table: who took it a little
 * before must be seen as a member.
 */
export class PostgresqlShareTables implements ShareTables {
  readonly #connection: FleetConnection;
  readonly #fleet: string;

  constructor(connection: FleetConnection, fleet: string) {
    this.#connection = connection;
    this.#fleet = fleet;
  }

  offer({ session }: FleetMember, digest: string, keys: readonly string[]): Promise<void> {
    return this.#connection.transaction(async (sql) => {
      await lockFleet(sql, this.#fleet);
      await sql`insert into netgloss.fleet_device_list (fleet, digest, devices)
          values (${this.#fleet}, ${digest}, ${JSON.stringify(keys)}::text::json) on conflict do nothing`;
      await sql`update netgloss.fleet_member set devices = ${digest} where session = ${session}`;
      await sql`delete from netgloss.fleet_device_list l where fleet = ${this.#fleet} and not exists (
          select from netgloss.fleet_member m where m.fleet = l.fleet and m.devices = l.digest)`;
      await sql`delete from netgloss.fleet_device d where fleet = ${this.#fleet}
          and since < clock_timestamp() - ${forgetAfter}::interval
          and not exists (select from netgloss.fleet_member m where m.session = d.session)`;
      await notifyFleet(sql, this.#fleet);
    });
  }

  withdraw({ session }: FleetMember): Promise<void> {
    return this.#connection.transaction(async (sql) => {
      await sql`update netgloss.fleet_member set devices = null where session = ${session}`;
      await notifyFleet(sql, this.#fleet);
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
      await lockFleet(sql, this.#fleet);
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
      await notifyFleet(sql, this.#fleet);
    });
  }

  keep({ session }: FleetMember, key: string, text: string): Promise<void> {
    return this.#connection.ask(async (sql) => {
      await sql`update netgloss.fleet_device set kept = ${text}::text::json
          where fleet = ${this.#fleet} and device = ${key} and session = ${session}`;
    });
  }
}

/** The exporter that a row belongs to. */
interface ExporterKey {
  /** The exporter whose datagrams said it. */
  readonly sender: string;
  /** The sender, or one that it names. */
  readonly exporter: string;
}

/** Messages of an exporter to this collector. Ages are in milliseconds. */
interface ExporterRow extends ExporterKey {
  readonly text: string;
  readonly madeMsAgo: number;
  readonly silentMs: number;
  readonly clock: number;
}

/** Messages of an exporter to some collector. */
interface FoundExporterRow extends ExporterKey {
  readonly text: string;
  readonly ageMs: number;
  readonly silentMs: number;
  readonly clock: number;
}

/** An exporter that went round a whole fleet has more rows than anybody needs. */
const rowsPerExporter = 8;
/** The greatest size of one answer. */
const maxFoundBytes = 32 * 1024 * 1024;
/** Removed at once, so that nobody waits for long. */
const prunedAtOnce = 5000;

/**
 * Messages of exporters to the collectors of a fleet, in the table `fleet_exporter`. Each row has one writer, so that nobody waits for a
 * lock but those that remove old ones. All that answers later fails with an Error while the database is away.
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

  /** Calls the listener when the database was connected to. @returns what ends that. */
  watch(listener: () => void): () => void {
    return this.#connection.watch(listener);
  }

  /** Writes rows of this member. */
  async write(rows: readonly ExporterRow[]): Promise<void> {
    const given = rows.map(({ sender, exporter, text, madeMsAgo, silentMs, clock }) => {
      return { sender, exporter, state: text, made: madeMsAgo, silent: silentMs, clock };
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

  /** Says when exporters of this member were heard. @returns those that have no row. */
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
  async find(senders: readonly string[], maxSilentMs: number): Promise<readonly FoundExporterRow[]> {
    const rows = await this.#connection.ask(
      (sql) => sql<FoundExporterRow[]>`
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

  /** Removes rows of all members whose exporters are silent for longer. @returns how many. */
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
