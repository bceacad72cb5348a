import type { TransactionSql } from "postgres";
import type { FleetConnection } from "./fleet-connection.ts";
import { lockFleet, notifyFleet } from "./fleet-connection.ts";
import type { FleetMember } from "./membership.ts";
import type { Share, ShareTables } from "./shares.ts";

/** What nobody holds is forgotten after this time. */
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
    return this.#transaction(async (sql) => {
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
    return this.#transaction(async (sql) => {
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
    return this.#transaction(async (sql) => {
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
    return this.#transaction(async (sql) => {
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

  #transaction<T>(work: (sql: TransactionSql) => Promise<T>): Promise<T> {
    return this.#connection.ask((sql) => sql.begin("isolation level read committed read write", work) as Promise<T>);
  }
}
