import type { Sql } from "postgres";
import { sameEntry } from "../model/same-entry.ts";
import { arrayLiteral, joinTexts, listed, readRow, type ChangeColumns } from "./entry-rows.ts";

/** An entry of the database is not what the log of changes makes it: somebody has changed the table by hand. */
export class DivergenceError extends Error {
  override readonly name = "DivergenceError";
}

/** A row of the log. */
export interface LogRow extends ChangeColumns {
  /** Of the commit. */
  readonly number: number;
  readonly position: number;
}

/** Writes rows of the log. */
export function writeLog(sql: Sql, rows: readonly LogRow[]): Promise<unknown>[] {
  if (rows.length === 0) return [];
  const query = `insert into netgloss.udm_change (number, position, key, before, before_file_only, after, after_file_only)
    select number::bigint, position::int, key, before::json, before_file_only::json, after::json, after_file_only::json
    from ${tableOf("number", "position", "key", "before", "before_file_only", "after", "after_file_only")}`;
  return [ask(sql, query, rows, ["number", "position", "key", "before", "beforeFileOnly", "after", "afterFileOnly"])];
}

/** Writes entries; each must be there as the log says it was. @throws DivergenceError in one of the results */
export function writeEntries(sql: Sql, net: readonly ChangeColumns[]): Promise<unknown>[] {
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

/** Asks with a list for each column. It is on its way at once. */
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

/**
 * Spells entries of the table as a collector does, where they say the same.
 *
 * @throws DivergenceError when one says something else.
 */
export async function respell(sql: Sql, net: readonly ChangeColumns[]): Promise<void> {
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
