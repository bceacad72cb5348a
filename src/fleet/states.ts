import { type FleetConnection, stateChannel } from "./postgresql-tables.ts";

/** A state of a fleet at one time, as the table has it. */
export interface FleetStateRow {
  /** A UUID that changes with each write; undefined: there is no such state yet. */
  readonly version: string | undefined;
  /** The text; undefined where the caller already knows this version. */
  readonly text: string | undefined;
  /** The sessions of living members. */
  readonly living: readonly string[];
}

/** A change of a state. */
export interface FleetStateWrite {
  /** The version that it replaces; undefined: there is none. */
  readonly after: string | undefined;
  /** The new version: a unique UUID. */
  readonly version: string;
  readonly text: string;
}

/**
 * Texts of a fleet that are replaced as a whole, in the table `fleet_state`.
 *
 * A write names the version that it replaces and is dropped if another came first, so no writer overwrites what it has not seen.
 *
 * The writer chooses the id of the new version. If the answer is lost, it can find out by that id whether the write was carried out.
 */
export class PostgresqlFleetStates {
  readonly #connection: FleetConnection;
  readonly #fleet: string;

  constructor(connection: FleetConnection, fleet: string) {
    this.#connection = connection;
    this.#fleet = fleet;
  }

  /** Reads a state. @param known the version whose text the caller has. @throws Error while the database is away. */
  read(name: string, known: string | undefined): Promise<FleetStateRow> {
    return this.#connection.ask(async (sql) => {
      // A single statement reads both: a session that the text names is then among the living ones, or is over.
      const [row] = await sql<{ version: string | null; text: string | null; living: string[] }[]>`
        select state.version::text as version,
          case when state.version is distinct from ${known ?? null}::uuid then state.text end as text,
          (select coalesce(json_agg(session), '[]') from netgloss.fleet_member where fleet = ${this.#fleet}) as living
        from (select 1) as one
        left join netgloss.fleet_state state on state.fleet = ${this.#fleet} and state.name = ${name}`;
      return { version: row?.version ?? undefined, text: row?.text ?? undefined, living: row?.living ?? [] };
    });
  }

  /**
   * Writes a state.
   *
   * @returns false where another write came first and nothing was written.
   * @throws Error where the database was away, or the connection broke.
   */
  write(name: string, { after, version, text }: FleetStateWrite): Promise<boolean> {
    return this.#connection.ask(async (sql) => {
      const payload = JSON.stringify({ fleet: this.#fleet, name });
      const written = await sql`
        with written as (
          insert into netgloss.fleet_state as state (fleet, name, version, text, written)
          select ${this.#fleet}::text, ${name}::text, ${version}::uuid, ${text}::text, clock_timestamp()
          where ${after ?? null}::uuid is null or exists (
            select from netgloss.fleet_state
            where fleet = ${this.#fleet} and name = ${name} and version = ${after ?? null}::uuid)
          on conflict (fleet, name) do update
          set version = excluded.version, text = excluded.text, written = excluded.written
          where state.version = ${after ?? null}::uuid
          returning name
        )
        select pg_notify(${stateChannel}, ${payload}) from written`;
      return written.length > 0;
    });
  }

  /** Calls the listener when a state may have changed: after a write, or a new connection to the database. @returns a function that ends that. */
  watch(name: string, listener: () => void): () => void {
    const expected = JSON.stringify({ fleet: this.#fleet, name });
    const ends = [
      this.#connection.watch(listener),
      this.#connection.listen(stateChannel, (payload) => void (payload === expected && listener())),
    ];
    return () => ends.forEach((end) => end());
  }
}
