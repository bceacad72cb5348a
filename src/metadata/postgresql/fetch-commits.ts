import type { Mirror } from "./mirror.ts";
import type { Key } from "../../base/ip/index.ts";
import { Watchers, type EntryChange } from "../model/apply-writes.ts";
import type { Sql } from "postgres";
import type { UdmChange, ChangeHead, HistoryQuery, UdmHistory } from "../history/change.ts";
import { readChangeColumns, type ChangeColumns, arrayLiteral } from "./entry-rows.ts";
import type { Log } from "../../base/report/index.ts";
import { UdmError } from "../model/udm-store.ts";

/** Tells how far a copy of the metadata is, and of which database. */
export interface Position {
  readonly store: string;
  /** The number of the last commit. */
  readonly number: number;
  /** The id that the commit's transaction got: a database that was set back gives its numbers a second time. */
  readonly save: string;
}

/** The state that the database reports of itself. */
export interface DatabaseState {
  readonly store: string;
  readonly last: number;
  /** The oldest commit that is kept. */
  readonly first: number;
  /** The save of the commit with the number that was asked for; undefined when it is not kept. */
  readonly save: string | undefined;
  /** About what the log takes. */
  readonly logBytes: number;
  /** The clock of the server, in milliseconds since the epoch. */
  readonly time: number;
}

/** A commit of the log. */
export interface FetchedCommit extends UdmChange {
  readonly save: string;
}

/** The position before the first commit. */
const noSave = "00000000-0000-0000-0000-000000000000";
/** A commit of more entries is never read as a list of changes: it takes too much memory. */
const mostListed = 100_000;
/** Rows that come at a time. */
const rowsAtOnce = 2000;
/** Commits that one question asks for. */
const commitsAtOnce = 200;

/** The log begins behind what was asked for. */
export class LogGapError extends Error {
  override readonly name = "LogGapError";
}

/** @param number whose commit's id is asked for. @param lock whether to take the row that whoever commits holds. */
export async function readState(sql: Sql, number: number, lock = false): Promise<DatabaseState> {
  const query = `select store::text, last_number::float8 as last, first_number::float8 as first, log_bytes::float8 as "logBytes",
      (extract(epoch from clock_timestamp()) * 1000)::float8 as time from netgloss.udm_state`;
  const state = sql.unsafe<Omit<DatabaseState, "save">[]>(lock ? `${query} for update` : query).execute();
  const save = sql<{ save: string }[]>`select save::text from netgloss.udm_commit where number = ${number}`.execute();
  const [[row], [commit]] = await Promise.all([state, save]);
  if (row === undefined) throw new Error("the table netgloss.udm_state has no row");
  return { ...row, save: number === 0 ? noSave : commit?.save };
}

const heads = `select number, save, at, author, method, collector, layer, entries, is_cut from netgloss.udm_commit`;

const columns = `h.number::float8 as number, h.save::text as save, (extract(epoch from h.at) * 1000)::float8 as time,
  h.author, h.method, h.collector, h.layer, h.entries,
  h.is_cut or h.entries > ${mostListed} as "isCut", c.key, c.before::text as before,
  c.before_file_only::text as "beforeFileOnly", c.after::text as after, c.after_file_only::text as "afterFileOnly"`;

interface CommitRow extends ChangeColumns {
  readonly number: number;
  readonly save: string;
  readonly time: number;
  readonly author: string;
  readonly method: string;
  readonly collector: string;
  readonly layer: string | null;
  readonly entries: number;
  readonly isCut: boolean;
}

/** The commits behind a number, in order, without a gap; none when the log has no place for that number any more. */
export async function* commitsAfter(sql: Sql, number: number): AsyncGenerator<FetchedCommit> {
  for (let after = number; ;) {
    let count = 0;
    const question = `${heads} where number > $1 order by number limit ${commitsAtOnce}`;
    for await (const commit of readCommits(sql, question, [after], "asc")) {
      if (commit.number !== after + 1) throw new LogGapError(`commit ${after + 1} is missing`);
      after = commit.number;
      count++;
      yield commit;
    }
    if (count < commitsAtOnce) return;
  }
}

/**
 * Commits with their changes.
 *
 * @param question which heads: a select over `netgloss.udm_commit`.
 */
async function* readCommits(
  sql: Sql,
  question: string,
  parameters: readonly (string | number)[],
  order: "asc" | "desc",
): AsyncGenerator<FetchedCommit> {
  const text = `select ${columns} from (${question}) h left join netgloss.udm_change c
    on c.number = h.number and h.entries <= ${mostListed} order by h.number ${order}, c.position`;
  let head: CommitRow | undefined;
  let changes: EntryChange[] = [];
  const rows = sql.unsafe<CommitRow[]>(text, [...parameters], { prepare: true });
  for await (const part of rows.cursor(rowsAtOnce)) {
    for (const row of part) {
      if (head !== undefined && head.number !== row.number) {
        yield commitOf(head, changes);
        changes = [];
      }
      head = row;
      if (row.key !== null) changes.push(readChangeColumns(row));
    }
  }
  if (head !== undefined) yield commitOf(head, changes);
}

function commitOf(row: CommitRow, changes: readonly EntryChange[]): FetchedCommit {
  const { number, save, time, author, method, collector, layer, entries, isCut } = row;
  // A connection that breaks between two parts of an answer looks like its end.
  if (!isCut && changes.length !== entries)
    throw new Error(`the answer of the database breaks off in commit ${number}`);
  return {
    number,
    save,
    time: Math.round(time),
    author,
    method,
    collector,
    entries,
    isCut,
    changes,
    ...(layer !== null && { layer }),
  };
}

/** The history in the database. Watchers get each change when this collector learns of it. */
export class SharedHistory implements UdmHistory {
  readonly #mirror: () => Pick<Mirror, "position" | "number" | "firstKept">;
  readonly #isOn: boolean;
  readonly #ask: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;
  readonly #watchers: Watchers<[UdmChange]>;

  /** @param ask asks the database. @throws Error while it is away. */
  constructor(
    mirror: () => Pick<Mirror, "position" | "number" | "firstKept">,
    isOn: boolean,
    ask: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>,
    log: Log,
  ) {
    this.#mirror = mirror;
    this.#isOn = isOn;
    this.#ask = ask;
    this.#watchers = new Watchers(log, "a listener to changes of metadata failed");
  }

  isOn(): boolean {
    return this.#isOn;
  }

  /** A database that was set back, or another one, gives numbers again. */
  epoch(): string {
    return (this.#mirror().position()?.store ?? "").replaceAll("-", "");
  }

  last(): number {
    return this.#mirror().number();
  }

  first(): number {
    return this.#mirror().firstKept();
  }

  list({ key, author, withoutLayers = false, after = 0, before, limit }: HistoryQuery): Promise<UdmChange[]> {
    const parameters: (string | number)[] = [after];
    const parameter = (value: string | number): string => `$${parameters.push(value)}`;
    const conditions = ["number > $1"];
    if (before !== undefined) conditions.push(`number < ${parameter(before)}`);
    if (author !== undefined) conditions.push(`author = ${parameter(author)}`);
    if (withoutLayers) conditions.push("layer is null");
    if (key !== undefined) {
      conditions.push(`number in (select number from netgloss.udm_change where key = ${parameter(key.text)})`);
    }
    return this.#read(
      `${heads} where ${conditions.join(" and ")} order by number desc limit ${parameter(limit)}`,
      parameters,
    );
  }

  async get(number: number): Promise<UdmChange | undefined> {
    return (await this.#read(`${heads} where number = $1`, [number]))[0];
  }

  headsBetween(from: number, to: number, limit: number): Promise<readonly ChangeHead[]> {
    return this.#question(async (sql) => {
      const rows = await sql<(ChangeHead & { layer: string | null })[]>`
        select number::float8 as number, (extract(epoch from at) * 1000)::float8 as time, author, method, entries, collector, layer
        from netgloss.udm_commit where at >= to_timestamp(${from / 1000}::float8) and at < to_timestamp(${to / 1000}::float8)
        order by number desc limit ${limit}`;
      return rows.map(({ number, time, author, method, entries, collector, layer }) => {
        return { number, time: Math.round(time), author, method, entries, collector, layer: layer ?? undefined };
      });
    });
  }

  lastOf(keys: readonly Key[]): Promise<readonly (ChangeHead | undefined)[]> {
    return this.#question(async (sql) => {
      const rows = await sql.unsafe<(ChangeHead & { key: string })[]>(
        `select k.key, h.number::float8 as number, (extract(epoch from h.at) * 1000)::float8 as time, h.author, h.method, h.entries, h.collector
          from unnest($1::text::text[]) as k (key) cross join lateral (
            select c.number from netgloss.udm_change c join netgloss.udm_commit o on o.number = c.number and o.layer is null
            where c.key = k.key order by c.number desc limit 1) l
          join netgloss.udm_commit h on h.number = l.number`,
        [arrayLiteral(keys.map(({ text }) => text))],
        { prepare: true },
      );
      const byKey = new Map(rows.map(({ key, ...head }) => [key, { ...head, time: Math.round(head.time) }]));
      return keys.map(({ text }) => byKey.get(text));
    });
  }

  watch(listener: (change: UdmChange) => void): () => void {
    return this.#watchers.add(listener);
  }

  /** Calls the watchers. */
  notify(change: UdmChange): void {
    this.#watchers.notify(change);
  }

  async #question<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    try {
      return await this.#ask(work);
    } catch (error) {
      const message = `the history is in the database, which does not answer: ${error instanceof Error ? error.message : String(error)}`;
      throw new UdmError("unavailable", message, [], { cause: error });
    }
  }

  #read(text: string, parameters: readonly (string | number)[]): Promise<UdmChange[]> {
    return this.#question(async (sql) => {
      const changes: UdmChange[] = [];
      for await (const { save: _, ...change } of readCommits(sql, text, parameters, "desc")) changes.push(change);
      return changes;
    });
  }
}
