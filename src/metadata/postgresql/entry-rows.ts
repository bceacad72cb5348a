import type { Sql } from "postgres";
import { messageOf } from "../../base/postgresql/index.ts";
import { type EntryChange, yieldToEventLoop } from "../model/apply-writes.ts";
import { entryTextPair, readEntryTexts } from "../model/render-entry.ts";
import { type UdmEntry, sameEntry } from "../model/entry.ts";
import type { ScopeChange } from "../model/scope.ts";
import { channel } from "./schema.ts";

/** Both sides of a change as columns of `udm_change`. */
export interface ChangeColumns {
  readonly key: string;
  readonly before: string | null;
  readonly beforeFileOnly: string | null;
  readonly after: string | null;
  readonly afterFileOnly: string | null;
}

function changeColumns({ before, after }: EntryChange): ChangeColumns {
  const old = before && entryTextPair(before);
  const now = after && entryTextPair(after);
  return {
    key: (after ?? before)?.key.text ?? "",
    before: old?.json ?? null,
    beforeFileOnly: old?.fileOnly ?? null,
    after: now?.json ?? null,
    afterFileOnly: now?.fileOnly ?? null,
  };
}

export function readChangeColumns(row: ChangeColumns): EntryChange {
  return {
    before: readSide(row.key, row.before, row.beforeFileOnly),
    after: readSide(row.key, row.after, row.afterFileOnly),
  };
}

function readSide(key: string, json: string | null, fileOnly: string | null): UdmEntry | undefined {
  return json === null ? undefined : readRow(key, json, fileOnly);
}

/** Reads the entry of a row. @throws Error that names the row where a collector cannot have written it. */
export function readRow(key: string, json: string, fileOnly: string | null): UdmEntry {
  let entry: UdmEntry;
  try {
    entry = readEntryTexts(json, fileOnly ?? undefined);
  } catch (error) {
    throw new Error(`the entry ${JSON.stringify(key)} of the database cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (entry.key.text === key) return entry;
  throw new Error(
    `the entry ${JSON.stringify(key)} of the database says another key: ${JSON.stringify(entry.key.text)}`,
  );
}

/** Estimates the bytes of a change in the database: its texts, rows and index entries. */
function bytesOf({ key, before, after }: ChangeColumns): number {
  return 100 + 2 * key.length + (before?.length ?? 0) + (after?.length ?? 0);
}

/** Returns texts as an array literal of PostgreSQL, for a parameter that is cast. */
export function arrayLiteral(texts: readonly (string | number | boolean | null)[]): string {
  const parts: string[] = [];
  for (const text of texts) {
    if (text === null) parts.push("NULL");
    else parts.push(typeof text === "string" ? `"${text.replaceAll(/["\\]/g, "\\$&")}"` : String(text));
  }
  return `{${parts.join(",")}}`;
}

/** Joins texts into one parameter, for keys and JSON, which have no control characters. The server splits it by {@link listed}. */
function joinTexts(texts: readonly (string | number | null)[]): string {
  return texts.map((text) => text ?? nothing).join(separator);
}

/**
 * Returns SQL that splits the text of {@link joinTexts} into an array. Array literals would cost both sides several times as much, because
 * they escape every quote of JSON.
 *
 * @param parameter the number of the parameter
 */
function listed(parameter: number): string {
  return `string_to_array($${parameter}::text, E'\\x01', E'\\x02')`;
}

const separator = "\u0001";
const nothing = "\u0002";

/** The error for an entry that differs from the log of changes, because somebody has changed the table by hand. */
export class DivergenceError extends Error {
  override readonly name = "DivergenceError";
}

/** A row of the log. */
interface LogRow extends ChangeColumns {
  /** The number of the commit. */
  readonly number: number;
  readonly position: number;
}

/** Writes rows of the log. */
function writeLog(sql: Sql, rows: readonly LogRow[]): Promise<unknown>[] {
  if (rows.length === 0) return [];
  const query = `insert into netgloss.udm_change (number, position, key, before, before_file_only, after, after_file_only)
    select number::bigint, position::int, key, before::json, before_file_only::json, after::json, after_file_only::json
    from ${tableOf("number", "position", "key", "before", "before_file_only", "after", "after_file_only")}`;
  return [ask(sql, query, rows, ["number", "position", "key", "before", "beforeFileOnly", "after", "afterFileOnly"])];
}

/** Writes entries of a scope. Each must have the previous state that the log has. @throws DivergenceError in one of the results */
function writeEntries(sql: Sql, scope: string, net: readonly ChangeColumns[]): Promise<unknown>[] {
  const created = net.filter(({ before, after }) => before === null && after !== null);
  const changed = net.filter(({ before, after }) => before !== null && after !== null);
  const gone = net.filter(({ before, after }) => before !== null && after === null);
  const steps: Promise<unknown>[] = [];
  if (created.length > 0) {
    const query = `insert into netgloss.udm_entry (scope, key, entry, file_only) select $4::text, key, after::json, after_file_only::json
      from ${tableOf("key", "after", "after_file_only")} on conflict do nothing`;
    steps.push(expect(ask(sql, query, created, ["key", "after", "afterFileOnly"], scope), created));
  }
  const isAsKnown = (parameter: number): string =>
    `e.scope = $${parameter}::text and e.key = u.key and e.entry::text = u.before and e.file_only::text is not distinct from u.before_file_only`;
  if (changed.length > 0) {
    const query = `update netgloss.udm_entry e set entry = u.after::json, file_only = u.after_file_only::json
      from ${tableOf("key", "before", "before_file_only", "after", "after_file_only")} where ${isAsKnown(6)}`;
    const columns = ["key", "before", "beforeFileOnly", "after", "afterFileOnly"] as const;
    steps.push(expect(ask(sql, query, changed, columns, scope), changed));
  }
  if (gone.length > 0) {
    const query = `delete from netgloss.udm_entry e using ${tableOf("key", "before", "before_file_only")} where ${isAsKnown(4)}`;
    steps.push(expect(ask(sql, query, gone, ["key", "before", "beforeFileOnly"], scope), gone));
  }
  return steps;
}

/** Returns SQL for a table `u` with these text columns, one for each list parameter in order. */
function tableOf(...columns: readonly string[]): string {
  return `unnest(${columns.map((_, i) => listed(i + 1)).join(", ")}) as u (${columns.join(", ")})`;
}

/** Sends a query at once, with a list for each column and then the other parameters. */
function ask<C extends string>(
  sql: Sql,
  query: string,
  rows: readonly Readonly<Record<C, string | number | null>>[],
  columns: readonly C[],
  ...rest: readonly string[]
): Promise<{ readonly count: number }> {
  const lists = columns.map((name) => joinTexts(rows.map((row) => row[name])));
  return sql.unsafe(query, [...lists, ...rest], { prepare: true }).execute();
}

async function expect(query: Promise<{ readonly count: number }>, rows: readonly ChangeColumns[]): Promise<void> {
  const { count } = await query;
  if (count === rows.length) return;
  const keys = rows.length === 1 ? `the entry ${JSON.stringify(rows[0]?.key)}` : `${rows.length - count} entries`;
  throw new DivergenceError(`${keys} of the table netgloss.udm_entry were changed by hand`);
}

/**
 * Rewrites entries of the table in the collector's spelling, where their content is the same.
 *
 * @throws DivergenceError where the content of an entry differs.
 */
async function respell(sql: Sql, scope: string, net: readonly ChangeColumns[]): Promise<void> {
  const known = new Map(net.flatMap((one) => (one.before === null ? [] : [[one.key, one] as const])));
  if (known.size === 0) return;
  const rows = await sql<{ key: string; entry: string; fileOnly: string | null }[]>`
    select key, entry::text as entry, file_only::text as "fileOnly" from netgloss.udm_entry
    where scope = ${scope} and key = any(${arrayLiteral([...known.keys()])}::text::text[])`;
  for (const { key, entry, fileOnly } of rows) {
    const { before, beforeFileOnly } = known.get(key) as ChangeColumns;
    if (entry === before && fileOnly === beforeFileOnly) continue;
    if (before === null || !sameEntry(readRow(key, entry, fileOnly), readRow(key, before, beforeFileOnly))) {
      throw new DivergenceError(`the entry ${JSON.stringify(key)} of the table netgloss.udm_entry was changed by hand`);
    }
    await sql`update netgloss.udm_entry set entry = ${before}::text::json, file_only = ${beforeFileOnly}::text::json
      where scope = ${scope} and key = ${key}`;
  }
}

/** A new commit. */
export interface NewCommit {
  readonly number: number;
  /** The number in the history of its scope. */
  readonly change: number;
  /** The change of a scope's definition, with its place; undefined where the commit changes no definition. */
  readonly definition?: PlacedScopeChange | undefined;
  readonly author: string;
  readonly method: string;
  readonly layer: string | undefined;
  /** The number of entries that differ. For a layer, `changes` may have fewer. */
  readonly entries: number;
  readonly changes: readonly EntryChange[];
}

/** The change of a scope, with the scope before which it is tried now; undefined where it is the last. */
export interface PlacedScopeChange extends ScopeChange {
  readonly place?: string | undefined;
}

/** The commits that one transaction adds. */
interface NewCommits {
  /** The scope of all commits. */
  readonly scope: string;
  /** A unique id. */
  readonly save: string;
  readonly collector: string;
  /** The time in milliseconds since the Unix epoch. */
  readonly time: number;
  /** True where entries may have another spelling than a collector's. They are then read before they are overwritten. */
  readonly isSpeltFreely: boolean;
  readonly commits: readonly NewCommit[];
}

/** The rows that are converted to text in one turn of the event loop. */
const rowsOfPart = 2500;

/**
 * Writes commits in the open transaction, which must have locked the row of `udm_state`: the log, the entries, the number, the notification.
 *
 * @throws DivergenceError, or an error of the database.
 */
export async function saveCommits(
  sql: Sql,
  { scope, save, collector, time, isSpeltFreely, commits }: NewCommits,
): Promise<void> {
  const log = commits.flatMap(({ number, changes }) =>
    changes.map((change, position) => ({ change, number, position })),
  );
  const net = netChanges(commits);
  const bytes = new Map<number, number>();
  /** The part that the server processes while the texts of the next part are made. */
  let sent: Promise<unknown> = Promise.resolve();
  const parts = Math.ceil(Math.max(log.length, net.length) / rowsOfPart);
  for (let part = 0; part < parts; part++) {
    const [from, to] = [part * rowsOfPart, (part + 1) * rowsOfPart];
    const columnsOf = rememberColumns();
    const entries = net.slice(from, to).map(columnsOf);
    const rows = log.slice(from, to).map(({ change, number, position }): LogRow => {
      const { key, before, beforeFileOnly, after, afterFileOnly } = columnsOf(change);
      return { number, position, key, before, beforeFileOnly, after, afterFileOnly };
    });
    for (const row of rows) bytes.set(row.number, (bytes.get(row.number) ?? 0) + bytesOf(row));
    if (isSpeltFreely) await respell(sql, scope, entries);
    const written = allDone([...writeEntries(sql, scope, entries), ...writeLog(sql, rows)]);
    written.catch(() => {});
    if (part < parts - 1) {
      await sent;
      await yieldToEventLoop();
    }
    sent = allDone([sent, written]);
    sent.catch(() => {});
  }
  const { number: last = 0, change: lastChange = 0 } = commits.at(-1) ?? {};
  const bytesOfCommits = commits.map(({ number }) => bytes.get(number) ?? 0);
  // A small transaction is sent completely before the first answer.
  await allDone([
    sent,
    ...commits.flatMap(({ definition }) => (definition === undefined ? [] : writeScope(sql, definition))),
    sql`insert into netgloss.udm_numbering (scope, last_change) values (${scope}, ${lastChange})
      on conflict (scope) do update set last_change = excluded.last_change`,
    sql`insert into netgloss.udm_commit (number, scope, change, definition, save, at, author, method, collector, layer, entries, without_changes, bytes)
      select n, ${scope}, change, definition::json, ${save}::uuid, to_timestamp(${time / 1000}::float8), author, method, ${collector}, layer, entries, is_cut, bytes
      from unnest(${arrayLiteral(commits.map(({ number }) => number))}::text::bigint[],
        ${arrayLiteral(commits.map(({ author }) => author))}::text::text[],
        ${arrayLiteral(commits.map(({ method }) => method))}::text::text[],
        ${arrayLiteral(commits.map(({ layer }) => layer ?? null))}::text::text[],
        ${arrayLiteral(commits.map(({ entries }) => entries))}::text::int[],
        ${arrayLiteral(commits.map(({ entries, changes }) => entries > changes.length))}::text::boolean[],
        ${arrayLiteral(bytesOfCommits)}::text::bigint[],
        ${arrayLiteral(commits.map(({ change }) => change))}::text::bigint[],
        ${arrayLiteral(commits.map(({ definition }) => (definition ? JSON.stringify(definition) : null)))}::text::text[])
        as c (n, author, method, layer, entries, is_cut, bytes, change, definition)`,
    sql`update netgloss.udm_state set last_number = ${last}, log_bytes = log_bytes + ${bytesOfCommits.reduce((a, b) => a + b, 0)}`,
    sql`select pg_notify(${channel}, ${last}::text || ' ' || (extract(epoch from clock_timestamp()) * 1000)::bigint::text)`,
  ]);
}

/** Inserts a scope into the table at its place, or removes it. */
function writeScope(sql: Sql, { before, after, next, place }: PlacedScopeChange): PromiseLike<unknown>[] {
  const text = after && JSON.stringify(after);
  if (text === undefined) return [sql`delete from netgloss.udm_scope where name = ${before?.name ?? ""}`];
  const name = after?.name ?? "";
  if (before !== undefined && next === place) {
    return [sql`update netgloss.udm_scope set definition = ${text}::text::json where name = ${name}`];
  }
  return [
    sql`delete from netgloss.udm_scope where name = ${name}`,
    sql`update netgloss.udm_scope set place = place + 1
      where place >= (select place from netgloss.udm_scope where name = ${place ?? ""}::text)`,
    sql`insert into netgloss.udm_scope (name, place, definition) values (${name}, coalesce(
      (select place - 1 from netgloss.udm_scope where name = ${place ?? ""}::text),
      (select max(place) + 1 from netgloss.udm_scope), 1), ${text}::text::json)`,
  ];
}

/**
 * Waits for all queries of a transaction.
 *
 * @throws the error of the first query that failed. The queries after it also fail, because the transaction is aborted. Their errors may arrive earlier.
 */
async function allDone(questions: readonly PromiseLike<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(questions)) if (result.status === "rejected") throw result.reason;
}

/** Returns {@link changeColumns} with a cache, so that the texts of a change are made once. */
function rememberColumns(): (change: EntryChange) => ChangeColumns {
  const made = new Map<EntryChange, ChangeColumns>();
  return (change) => {
    const known = made.get(change) ?? changeColumns(change);
    made.set(change, known);
    return known;
  };
}

/** Returns the combined change of each key. Changes of layers are left out, because the table has no entries of layers. */
function netChanges(commits: readonly NewCommit[]): readonly EntryChange[] {
  const own = commits.filter(({ layer }) => layer === undefined);
  // A commit has each key only once.
  if (own.length === 1) return own[0]?.changes ?? [];
  const byKey = new Map<string, EntryChange>();
  for (const now of own.flatMap(({ changes }) => changes)) {
    const key = (now.after ?? now.before)?.key.text ?? "";
    const earlier = byKey.get(key);
    byKey.set(key, earlier === undefined ? now : { before: earlier.before, after: now.after });
  }
  return [...byKey.values()];
}
