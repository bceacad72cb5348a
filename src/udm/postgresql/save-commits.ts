import type { Sql } from "postgres";
import type { EntryChange } from "../model/apply-writes.ts";
import { itemsATurn, nextTurn } from "../model/next-turn.ts";
import { sameEntry } from "../model/same-entry.ts";
import { arrayLiteral, bytesOf, changeColumns, joinTexts, listed, readRow, type ChangeColumns } from "./entry-rows.ts";
import { channel } from "./schema.ts";

/** A commit to be made. */
export interface NewCommit {
  readonly number: number;
  readonly author: string;
  readonly method: string;
  readonly layer: string | undefined;
  /** How many entries differ; `changes` may have fewer, of a layer. */
  readonly entries: number;
  readonly changes: readonly EntryChange[];
}

/** What one transaction adds. */
export interface NewCommits {
  /** An id that nothing else has. */
  readonly save: string;
  readonly collector: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Whether entries may be spelt otherwise than a collector spells them: they are read before they are written over. */
  readonly isSpeltFreely: boolean;
  readonly commits: readonly NewCommit[];
}

/** An entry of the database is not what the log of changes makes it: somebody has changed the table by hand. */
export class DivergenceError extends Error {
  override readonly name = "DivergenceError";
}

/**
 * Puts commits into the open transaction, which must hold the row of `udm_state`: the log, the entries, the number, the notification.
 *
 * @throws DivergenceError, or an error of the database.
 */
export async function saveCommits(
  sql: Sql,
  { save, collector, time, isSpeltFreely, commits }: NewCommits,
): Promise<void> {
  const log = commits.map((commit) => ({ commit, columns: commit.changes.map(changeColumns) }));
  const bytes = log.map(({ columns }) => columns.reduce((sum, one) => sum + bytesOf(one), 0));
  const last = commits.at(-1)?.number ?? 0;
  const net = netChanges(log.flatMap(({ commit, columns }) => (commit.layer === undefined ? columns : [])));
  if (isSpeltFreely) await respell(sql, net);
  // All of them are on their way before the first is answered; the server works on the entries while the lists of the log are made.
  const written = Promise.all(writeEntries(sql, net));
  written.catch(() => {});
  if (net.length > itemsATurn) await nextTurn();
  await Promise.all([
    written,
    sql`insert into netgloss.udm_commit (number, save, at, author, method, collector, layer, entries, is_cut, bytes)
      select n, ${save}::uuid, to_timestamp(${time / 1000}::float8), author, method, ${collector}, layer, entries, is_cut, bytes
      from unnest(${arrayLiteral(commits.map(({ number }) => number))}::text::bigint[],
        ${arrayLiteral(commits.map(({ author }) => author))}::text::text[],
        ${arrayLiteral(commits.map(({ method }) => method))}::text::text[],
        ${arrayLiteral(commits.map(({ layer }) => layer ?? null))}::text::text[],
        ${arrayLiteral(commits.map(({ entries }) => entries))}::text::int[],
        ${arrayLiteral(commits.map(({ entries, changes }) => entries > changes.length))}::text::boolean[],
        ${arrayLiteral(bytes)}::text::bigint[]) as c (n, author, method, layer, entries, is_cut, bytes)`,
    ...writeChanges(sql, log),
    sql`update netgloss.udm_state set last_number = ${last}, log_bytes = log_bytes + ${bytes.reduce((a, b) => a + b, 0)}`,
    sql`select pg_notify(${channel}, ${last}::text || ' ' || (extract(epoch from clock_timestamp()) * 1000)::bigint::text)`,
  ]);
}

function writeChanges(
  sql: Sql,
  log: readonly { readonly commit: NewCommit; readonly columns: readonly ChangeColumns[] }[],
): Promise<unknown>[] {
  const rows = log.flatMap(({ commit, columns }) =>
    columns.map((one, position) => ({ ...one, number: commit.number, position })),
  );
  if (rows.length === 0) return [];
  const query = `insert into netgloss.udm_change (number, position, key, before, before_file_only, after, after_file_only)
    select number::bigint, position::int, key, before::json, before_file_only::json, after::json, after_file_only::json
    from ${tableOf("number", "position", "key", "before", "before_file_only", "after", "after_file_only")}`;
  return [ask(sql, query, rows, ["number", "position", "key", "before", "beforeFileOnly", "after", "afterFileOnly"])];
}

/** Every entry must be there as the log says it was. */
function writeEntries(sql: Sql, net: readonly ChangeColumns[]): Promise<unknown>[] {
  const created = net.filter(({ before, after }) => before === null && after !== null);
  const changed = net.filter(({ before, after }) => before !== null && after !== null);
  const gone = net.filter(({ before, after }) => before !== null && after === null);
  const steps: Promise<unknown>[] = [];
  if (created.length > 0) {
    const query = `insert into netgloss.udm_entry (key, entry, file_only) select key, after::json, after_file_only::json
      from ${tableOf("key", "after", "after_file_only")} on conflict do nothing`;
    steps.push(expect(ask(sql, query, created, ["key", "after", "afterFileOnly"]), created));
  }
  const isAsKnown =
    "e.key = u.key and e.entry::text = u.before and e.file_only::text is not distinct from u.before_file_only";
  if (changed.length > 0) {
    const query = `update netgloss.udm_entry e set entry = u.after::json, file_only = u.after_file_only::json
      from ${tableOf("key", "before", "before_file_only", "after", "after_file_only")} where ${isAsKnown}`;
    const columns = ["key", "before", "beforeFileOnly", "after", "afterFileOnly"] as const;
    steps.push(expect(ask(sql, query, changed, columns), changed));
  }
  if (gone.length > 0) {
    const query = `delete from netgloss.udm_entry e using ${tableOf("key", "before", "before_file_only")} where ${isAsKnown}`;
    steps.push(expect(ask(sql, query, gone, ["key", "before", "beforeFileOnly"]), gone));
  }
  return steps;
}

/** Lists of the parameters, in their order, as a table `u` with these columns of texts. */
function tableOf(...columns: readonly string[]): string {
  return `unnest(${columns.map((_, i) => listed(i + 1)).join(", ")}) as u (${columns.join(", ")})`;
}

/** Asks with a list for each column. */
function ask<C extends string>(
  sql: Sql,
  query: string,
  rows: readonly Readonly<Record<C, string | number | null>>[],
  columns: readonly C[],
): Promise<{ readonly count: number }> {
  const lists = columns.map((name) => joinTexts(rows.map((row) => row[name])));
  return sql.unsafe(query, lists, { prepare: true }).execute();
}

async function expect(query: Promise<{ readonly count: number }>, rows: readonly ChangeColumns[]): Promise<void> {
  const { count } = await query;
  if (count === rows.length) return;
  const keys = rows.length === 1 ? `the entry ${JSON.stringify(rows[0]?.key)}` : `${rows.length - count} entries`;
  throw new DivergenceError(`${keys} of the table netgloss.udm_entry were changed by hand`);
}

/** What all changes together do to each key. */
function netChanges(columns: readonly ChangeColumns[]): readonly ChangeColumns[] {
  const byKey = new Map<string, ChangeColumns>();
  for (const now of columns) {
    const earlier = byKey.get(now.key);
    const { before, beforeFileOnly } = earlier ?? now;
    byKey.set(now.key, { ...now, before, beforeFileOnly });
  }
  return [...byKey.values()];
}

/**
 * Spells entries of the table as a collector does, where they say the same.
 *
 * @throws DivergenceError when one says something else.
 */
async function respell(sql: Sql, net: readonly ChangeColumns[]): Promise<void> {
  const known = new Map(net.flatMap((one) => (one.before === null ? [] : [[one.key, one] as const])));
  if (known.size === 0) return;
  const rows = await sql<{ key: string; entry: string; fileOnly: string | null }[]>`
    select key, entry::text as entry, file_only::text as "fileOnly" from netgloss.udm_entry
    where key = any(${arrayLiteral([...known.keys()])}::text::text[])`;
  for (const { key, entry, fileOnly } of rows) {
    const { before, beforeFileOnly } = known.get(key) as ChangeColumns;
    if (entry === before && fileOnly === beforeFileOnly) continue;
    if (before === null || !sameEntry(readRow(key, entry, fileOnly), readRow(key, before, beforeFileOnly))) {
      throw new DivergenceError(`the entry ${JSON.stringify(key)} of the table netgloss.udm_entry was changed by hand`);
    }
    await sql`update netgloss.udm_entry set entry = ${before}::text::json, file_only = ${beforeFileOnly}::text::json where key = ${key}`;
  }
}
