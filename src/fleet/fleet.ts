import { randomUUID } from "node:crypto";
import { Membership, type FleetMember, type FleetTables } from "./membership.ts";
import { FleetConnection, PostgresqlFleetTables, requestChannel } from "./postgresql-tables.ts";
import { limitLog, Pause, type Component, type Reporting } from "../base/report/index.ts";
import type { DatabaseAccess } from "../base/postgresql/index.ts";

interface Message {
  readonly fleet: string;
  readonly id: string;
  readonly kind: "ask" | "taken" | "done";
  readonly to: string;
  readonly from: string;
  readonly body: string;
}

const takenMs = 5000;
/** Maximum size of a request. A PostgreSQL notification has less than 8000 bytes. */
const maxBody = 4000;

/** Requests between members, sent through the database. Nothing is stored: a request does not reach a member that is not connected. */
export class FleetRequests {
  readonly #connection: FleetConnection;
  readonly #fleet: string;
  readonly #member: string;
  /** Receives the messages about each request of this member, by request id. */
  readonly #asked = new Map<string, (message: Message) => void>();
  #handle: (body: string) => Promise<string> | undefined = () => undefined;

  constructor(connection: FleetConnection, fleet: string, member: string) {
    this.#connection = connection;
    this.#fleet = fleet;
    this.#member = member;
    connection.listen(requestChannel, (payload) => {
      const message = JSON.parse(payload) as Message;
      if (message.fleet !== fleet || message.to !== member) return;
      if (message.kind !== "ask") this.#asked.get(message.id)?.(message);
      // The member that asked does not wait for the answer of one that is cut off.
      else this.#serveOne(message).catch(() => {});
    });
  }

  /**
   * Sends a request. Resolves when the other member has begun. The answer, `done`, never rejects and may never come: a caller that no longer waits calls
   * `forget`.
   *
   * @param body at most 4 KB.
   * @throws Error when the other member does not confirm in time that it has begun, or the database is away.
   */
  async ask(to: string, body: string): Promise<{ readonly done: Promise<string>; readonly forget: () => void }> {
    const id = randomUUID();
    const forget = (): void => void this.#asked.delete(id);
    const late = new Pause();
    let isTaken = false;
    const done = new Promise<string>((resolve) => {
      this.#asked.set(id, ({ kind, body: answer }) => {
        isTaken = true;
        late.end();
        if (kind !== "done") return;
        forget();
        resolve(answer);
      });
    });
    try {
      const isOver = late.pause(takenMs);
      const sent = this.#send({ id, kind: "ask", to, body });
      await Promise.race([isOver, sent.then(() => isOver)]);
      if (!isTaken) throw new Error(`the collector ${to} does not answer`);
    } catch (error) {
      late.end();
      forget();
      throw error;
    }
    return { done, forget };
  }

  /** Answers requests to this member. @param handler returns undefined for a request that is not for it. */
  serve(handler: (body: string) => Promise<string> | undefined): void {
    this.#handle = handler;
  }

  async #send(message: Omit<Message, "fleet" | "from">): Promise<void> {
    const text = JSON.stringify({
      ...message,
      body: message.body.slice(0, maxBody),
      fleet: this.#fleet,
      from: this.#member,
    } satisfies Message);
    await this.#connection.ask((sql) => sql`select pg_notify(${requestChannel}, ${text})`);
  }

  async #serveOne({ id, from, body }: Message): Promise<void> {
    const answer = this.#handle(body);
    if (answer === undefined) return;
    await this.#send({ id, kind: "taken", to: from, body: "" });
    await this.#send({ id, kind: "done", to: from, body: await answer });
  }
}

/** A text that all members share, by its key. */
export interface FleetNote {
  readonly key: string;
  /** A version greater than that of every note written before. */
  readonly version: number;
  /** The content; undefined: the note was removed. */
  readonly text: string | undefined;
}

/** A note to write or to remove. */
export interface NoteWrite {
  readonly key: string;
  /** The version that it replaces; 0: there is no note, or it was removed. */
  readonly after: number;
  readonly text: string | undefined;
}

/** The notes that a member writes, and the version up to which it has read. */
export interface NoteRound {
  /** The greatest version that it has read. */
  readonly since: number;
  readonly writes: readonly NoteWrite[];
}

/** The notes written since then, including those of the member itself. */
export interface NoteAnswer {
  /** The notes by version, several thousand at most. */
  readonly notes: readonly FleetNote[];
  /** True if there are no more notes. */
  readonly isAll: boolean;
  /** The sessions of living members. */
  readonly living: readonly string[];
}

/** Maximum number of notes in one round. */
const notesAtOnce = 2000;

/**
 * Notes that all members of a fleet read and write, in the table `fleet_note`.
 *
 * A write names the version that it replaces. If another write came first, it is dropped, and its writer sees the other one.
 *
 * Writers take a lock of the fleet, so that versions become visible in order and a reader of later ones misses none.
 */
export class PostgresqlFleetNotes {
  readonly #connection: FleetConnection;
  readonly #fleet: string;

  constructor(connection: FleetConnection, fleet: string) {
    this.#connection = connection;
    this.#fleet = fleet;
  }

  /**
   * Writes all notes whose versions are still current, in one transaction, and reads. The write of a session that no longer lives is dropped.
   *
   * @throws Error while the database is away.
   */
  async exchange({ session }: FleetMember, { since, writes }: NoteRound): Promise<NoteAnswer> {
    if (writes.length > 0) await this.#write(session, writes);
    return this.#connection.ask(async (sql) => {
      // A single statement reads both, so that the living members match the notes.
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

/** The fleet as one of its collectors sees it. It joins a fleet whose members share a database. A start does not wait for a database that is away. */
export class Fleet implements Component {
  readonly name: string;
  readonly fleet: string;
  readonly connection: FleetConnection;
  readonly tables: FleetTables;
  readonly membership: Membership;
  readonly requests: FleetRequests;
  readonly notes: PostgresqlFleetNotes;

  /** @param member the name of this collector. */
  constructor(access: DatabaseAccess, fleet: string, member: string, leaseMs: number, reporting: Reporting) {
    const { metrics, clock } = reporting;
    const log = limitLog(reporting.log, clock);
    this.name = `fleet ${fleet}`;
    this.fleet = fleet;
    this.connection = new FleetConnection(access, log);
    this.tables = new PostgresqlFleetTables(this.connection, fleet);
    this.membership = new Membership(this.tables, fleet, member, leaseMs, { ...reporting, log });
    this.requests = new FleetRequests(this.connection, fleet, member);
    this.notes = new PostgresqlFleetNotes(this.connection, fleet);
    metrics.gaugeFrom("netgloss_fleet_connected", "Whether the database of the fleet is connected.", [], () =>
      this.connection.isThere() ? 1 : 0,
    );
    const help = "Names of the fleet and of this member, as labels; the value is 1.";
    metrics.gaugeFrom("netgloss_fleet_info", help, ["fleet", "member"], () => [[{ fleet, member }, 1]]);
  }

  async start(): Promise<void> {
    await this.connection.start();
    await this.membership.start();
  }

  async stop(): Promise<void> {
    await this.membership.stop();
    await this.connection.stop();
  }
}
