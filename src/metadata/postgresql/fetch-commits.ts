import type { Mirror } from "./mirror.ts";
import type { Key } from "../../base/ip/index.ts";
import { Watchers, type EntryChange } from "../model/apply-writes.ts";
import type { Sql } from "postgres";
import type { UdmChange, ChangeHead, HistoryQuery, UdmHistory } from "../history/change.ts";
import { readChangeColumns, type ChangeColumns, type PlacedScopeChange, arrayLiteral } from "./entry-rows.ts";
import type { Log } from "../../base/report/index.ts";
import { UdmError } from "../model/udm-store.ts";

/** The position of a copy of the metadata in the log of a database. */
export interface Position {
  readonly store: string;
  /** The number of the last commit. */
  readonly number: number;
  /** The id of the commit's transaction. It is needed because a restored database uses its numbers a second time. */
  readonly save: string;
}

/** The state that the database reports. */
export interface DatabaseState {
  readonly store: string;
  readonly last: number;
  /** The number of the oldest kept commit. */
  readonly first: number;
  /** The `save` of the commit with the requested number; undefined where it is not kept. */
  readonly save: string | undefined;
  /** The approximate size of the log in bytes. */
  readonly logBytes: number;
  /** The server's time in milliseconds since the Unix epoch. */
  readonly time: number;
}

/** A commit of the log. Its `number` is the one in the history of its scope. */
export interface FetchedCommit extends UdmChange {
  /** The number in the log of all scopes. */
  readonly at: number;
  /** The scope of its entries; empty: global. */
  readonly scopeName: string;
  readonly scope?: PlacedScopeChange | undefined;
  readonly save: string;
}

/** The position before the first commit. */
const noSave = "00000000-0000-0000-0000-000000000000";
/** The most entries of a commit that is read as a list of changes. A larger one would need too much memory. */
const mostListed = 100_000;
/** The rows that are fetched at a time. */
const rowsAtOnce = 2000;
/** The commits that one query requests. */
const commitsAtOnce = 200;

/** The error for commits that the log no longer has. */
export class LogGapError extends Error {
  override readonly name = "LogGapError";
}

/** Reads the state of the database. @param number the commit whose id is requested. @param lock true locks the row that each commit locks. */
export async function readState(sql: Sql, number: number, lock = false): Promise<DatabaseState> {
  const query = `select store::text, last_number::float8 as last, first_number::float8 as first, log_bytes::float8 as "logBytes",
      (extract(epoch from clock_timestamp()) * 1000)::float8 as time from netgloss.udm_state`;
  const state = sql.unsafe<Omit<DatabaseState, "save">[]>(lock ? `${query} for update` : query).execute();
  const save = sql<{ save: string }[]>`select save::text from netgloss.udm_commit where number = ${number}`.execute();
  const [[row], [commit]] = await Promise.all([state, save]);
  if (row === undefined) throw new Error("the table netgloss.udm_state has no row");
  return { ...row, save: number === 0 ? noSave : commit?.save };
}

const heads = `select number, scope, change, definition, save, at, author, method, collector, layer, entries, without_changes
  from netgloss.udm_commit`;

const columns = `h.number::float8 as at, h.scope as "scopeName", h.change::float8 as number, h.definition::text as definition, h.save::text as save, (extract(epoch from h.at) * 1000)::float8 as time,
  h.author, h.method, h.collector, h.layer, h.entries,
  h.without_changes or h.entries > ${mostListed} as "isCut", c.key, c.before::text as before,
  c.before_file_only::text as "beforeFileOnly", c.after::text as after, c.after_file_only::text as "afterFileOnly"`;

interface CommitRow extends ChangeColumns {
  readonly at: number;
  readonly scopeName: string;
  readonly number: number;
  readonly definition: string | null;
  readonly save: string;
  readonly time: number;
  readonly author: string;
  readonly method: string;
  readonly collector: string;
  readonly layer: string | null;
  readonly entries: number;
  readonly isCut: boolean;
}

/** Yields the commits after a number, in order, without a gap; none where the log has no place for that number any more. */
export async function* commitsAfter(sql: Sql, number: number): AsyncGenerator<FetchedCommit> {
  for (let after = number; ;) {
    let count = 0;
    const question = `${heads} where number > $1 order by number limit ${commitsAtOnce}`;
    for await (const commit of readCommits(sql, question, [after], "asc")) {
      if (commit.at !== after + 1) throw new LogGapError(`commit ${after + 1} is missing`);
      after = commit.at;
      count++;
      yield commit;
    }
    if (count < commitsAtOnce) return;
  }
}

/**
 * Yields commits with their changes.
 *
 * @param question the query for the heads, a select over `netgloss.udm_commit`.
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
      if (head !== undefined && head.at !== row.at) {
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
  const { at, scopeName, number, definition, save, time, author, method, collector, layer, entries, isCut } = row;
  // A connection that breaks between two parts of an answer looks like the end of the answer.
  if (!isCut && changes.length !== entries) throw new Error(`the answer of the database breaks off in commit ${at}`);
  return {
    at,
    scopeName,
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
    ...(definition !== null && { scope: JSON.parse(definition) as PlacedScopeChange }),
  };
}

/** Returns a commit as a change in the history of its scope. */
export function changeOf(commit: FetchedCommit): UdmChange {
  const { number, time, author, method, collector, entries, isCut, changes, layer, scope } = commit;
  const change = { number, time, author, method, collector, entries, isCut, changes };
  const { before, after, next } = scope ?? {};
  return { ...change, ...(layer !== undefined && { layer }), ...(scope && { scope: { before, after, next } }) };
}

/** Reads the number of the last change of the named scopes, or of all scopes. Scopes without changes are left out. */
export async function readLastChanges(sql: Sql, scopes?: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.unsafe<{ scope: string; last: number }[]>(
    `select scope, last_change::float8 as last from netgloss.udm_numbering ${scopes === undefined ? "" : "where scope = any($1::text::text[])"}`,
    scopes === undefined ? [] : [arrayLiteral(scopes)],
  );
  return new Map(rows.map(({ scope, last }) => [scope, last]));
}

/** Reads the number of the oldest kept change of each scope that has one. */
export async function readFirstChanges(sql: Sql): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ scope: string; first: number | null }[]>`select n.scope, (select min(change)::float8
    from netgloss.udm_commit c where c.scope = n.scope) as first from netgloss.udm_numbering n`;
  return new Map(rows.flatMap(({ scope, first }) => (first === null ? [] : [[scope, first]])));
}

/** The history of a scope in the database. Watchers get each change when this collector receives it. */
export class SharedHistory implements UdmHistory {
  readonly closed: AbortSignal | undefined;
  readonly #scope: string;
  readonly #mirror: () => Pick<Mirror, "position" | "lastOf" | "firstOf">;
  readonly #isOn: boolean;
  readonly #ask: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;
  readonly #watchers: Watchers<[UdmChange]>;

  /**
   * @param scope the name of the scope; empty for global entries.
   * @param ask queries the database. @throws Error while it is unavailable.
   * @param closed aborts when the scope is removed.
   */
  constructor(
    scope: string,
    mirror: () => Pick<Mirror, "position" | "lastOf" | "firstOf">,
    isOn: boolean,
    ask: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>,
    log: Log,
    closed?: AbortSignal,
  ) {
    this.closed = closed;
    this.#scope = scope;
    this.#mirror = mirror;
    this.#isOn = isOn;
    this.#ask = ask;
    this.#watchers = new Watchers(log, "a listener to changes of metadata failed");
  }

  isOn(): boolean {
    return this.#isOn;
  }

  /** Returns the epoch. A restored database, or another one, uses numbers again. */
  epoch(): string {
    return (this.#mirror().position()?.store ?? "").replaceAll("-", "");
  }

  last(): number {
    return this.#mirror().lastOf(this.#scope);
  }

  first(): number {
    return this.#mirror().firstOf(this.#scope);
  }

  list({ key, author, withoutLayers = false, after = 0, before, limit }: HistoryQuery): Promise<UdmChange[]> {
    const parameters: (string | number)[] = [after, this.#scope];
    const parameter = (value: string | number): string => `$${parameters.push(value)}`;
    const conditions = ["change > $1", "scope = $2"];
    if (before !== undefined) conditions.push(`change < ${parameter(before)}`);
    if (author !== undefined) conditions.push(`author = ${parameter(author)}`);
    if (withoutLayers) conditions.push("layer is null");
    if (key !== undefined) {
      conditions.push(`number in (select number from netgloss.udm_change where key = ${parameter(key.text)})`);
    }
    return this.#read(
      `${heads} where ${conditions.join(" and ")} order by change desc limit ${parameter(limit)}`,
      parameters,
    );
  }

  async get(number: number): Promise<UdmChange | undefined> {
    return (await this.#read(`${heads} where scope = $1 and change = $2`, [this.#scope, number]))[0];
  }

  headsBetween(from: number, to: number, limit: number): Promise<readonly ChangeHead[]> {
    return this.#question(async (sql) => {
      const rows = await sql<(ChangeHead & { layer: string | null })[]>`
        select change::float8 as number, (extract(epoch from at) * 1000)::float8 as time, author, method, entries, collector, layer
        from netgloss.udm_commit where scope = ${this.#scope} and at >= to_timestamp(${from / 1000}::float8) and at < to_timestamp(${to / 1000}::float8)
        order by change desc limit ${limit}`;
      return rows.map(({ number, time, author, method, entries, collector, layer }) => {
        return { number, time: Math.round(time), author, method, entries, collector, layer: layer ?? undefined };
      });
    });
  }

  lastOf(keys: readonly Key[]): Promise<readonly (ChangeHead | undefined)[]> {
    return this.#question(async (sql) => {
      const rows = await sql.unsafe<(ChangeHead & { key: string })[]>(
        `select k.key, h.change::float8 as number, (extract(epoch from h.at) * 1000)::float8 as time, h.author, h.method, h.entries, h.collector
          from unnest($1::text::text[]) as k (key) cross join lateral (
            select c.number from netgloss.udm_change c join netgloss.udm_commit o on o.number = c.number and o.layer is null and o.scope = $2
            where c.key = k.key order by c.number desc limit 1) l
          join netgloss.udm_commit h on h.number = l.number`,
        [arrayLiteral(keys.map(({ text }) => text)), this.#scope],
        { prepare: true },
      );
      const byKey = new Map(rows.map(({ key, ...head }) => [key, { ...head, time: Math.round(head.time) }]));
      return keys.map(({ text }) => byKey.get(text));
    });
  }

  watch(listener: (change: UdmChange) => void): () => void {
    return this.#watchers.add(listener);
  }

  /** Notifies the watchers of a change. */
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
      for await (const commit of readCommits(sql, text, parameters, "desc")) changes.push(changeOf(commit));
      return changes;
    });
  }
}
