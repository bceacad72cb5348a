import type { FleetMember } from "./membership.ts";
import type { FleetConnection } from "./postgresql-tables.ts";

/** A text of all members, by its key. */
export interface FleetNote {
  readonly key: string;
  /** Greater than that of every note that was written before. */
  readonly version: number;
  /** Undefined: it was removed. */
  readonly text: string | undefined;
}

/** A note that is to be written, or to be removed. */
export interface NoteWrite {
  readonly key: string;
  /** The version that it takes the place of; 0: there is none, or it was removed. */
  readonly after: number;
  readonly text: string | undefined;
}

/** What a member writes, and what it wants to know. */
export interface NoteRound {
  /** The greatest version that it has read. */
  readonly since: number;
  readonly writes: readonly NoteWrite[];
}

/** What was written since, those that the member has written itself included. */
export interface NoteAnswer {
  /** By version, some thousand at most. */
  readonly notes: readonly FleetNote[];
  /** True if there are no more of them. */
  readonly isAll: boolean;
  /** The sessions of living members. */
  readonly living: readonly string[];
}

/** Notes of one round. */
export const notesAtOnce = 2000;

/**
 * Notes that all members of a fleet read and write, in the table `fleet_note`. A write names the version that it replaces: one that was
 * overtaken is left out, and its writer sees the other one. Writers take a lock of the fleet, so that versions become visible in their order,
 * and a reader that asks for later ones misses none.
 */
export class PostgresqlFleetNotes {
  readonly #connection: FleetConnection;
  readonly #fleet: string;

  constructor(connection: FleetConnection, fleet: string) {
    this.#connection = connection;
    this.#fleet = fleet;
  }

  /**
   * Writes what was not overtaken, all at once, and reads. A session that lives no more writes nothing.
   *
   * @throws Error while the database is away.
   */
  async exchange({ session }: FleetMember, { since, writes }: NoteRound): Promise<NoteAnswer> {
    if (writes.length > 0) await this.#write(session, writes);
    return this.#connection.ask(async (sql) => {
      // One statement: who lives is to be of the time of the notes.
      const [row] = await sql<{ notes: { key: string; version: number; text: string | null }[]; living: string[] }[]>`
        select
          (select coalesce(json_agg(note), '[]') from (
            select key, version, text from netgloss.fleet_note
            where fleet = ${this.#fleet} and version > ${since} order by version limit ${notesAtOnce}) note) as notes,
          (select coalesce(json_agg(session), '[]') from netgloss.fleet_member where fleet = ${this.#fleet}) as living`;
      const { notes, living } = row ?? { notes: [], living: [] };
      return {
        notes: notes.map(({ key, version, text }) => ({ key, version, text: text ?? undefined })),
        isAll: notes.length < notesAtOnce,
        living,
      };
    });
  }

  async #write(session: string, writes: readonly NoteWrite[]): Promise<void> {
    const given = JSON.stringify(writes.map(({ key, after, text = null }, i) => ({ key, after, text, nth: i })));
    await this.#connection.transaction(async (sql) => {
      await sql`select pg_advisory_xact_lock(hashtextextended('netgloss notes ' || ${this.#fleet}, 0))`;
      await sql`
        with first as (
          -- By the clock: the greatest version may be of a note that was forgotten.
          select greatest(coalesce(max(version), 0) + 1, (extract(epoch from clock_timestamp()) * 1e6)::bigint) as version
          from netgloss.fleet_note where fleet = ${this.#fleet}
        ), given as (
          select row.* from json_to_recordset(${given}::text::json) as row(key text, after bigint, text text, nth int)
          left join netgloss.fleet_note known on known.fleet = ${this.#fleet} and known.key = row.key
          where exists (select from netgloss.fleet_member where fleet = ${this.#fleet} and session = ${session})
            and row.after = case when known.text is null then 0 else known.version end
        )
        insert into netgloss.fleet_note (fleet, key, version, text, written)
        select ${this.#fleet}, key, first.version + nth, text, clock_timestamp() from given, first
        on conflict (fleet, key) do update
        set version = excluded.version, text = excluded.text, written = excluded.written`;
      await sql`delete from netgloss.fleet_note
        where fleet = ${this.#fleet} and text is null and written < clock_timestamp() - interval '1 day'`;
    });
  }
}
