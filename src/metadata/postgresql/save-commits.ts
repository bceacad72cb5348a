import type { Sql } from "postgres";
import type { EntryChange } from "../model/apply-writes.ts";
import { nextTurn } from "../model/next-turn.ts";
import { arrayLiteral, bytesOf, changeColumns, type ChangeColumns } from "./entry-rows.ts";
import { channel } from "./schema.ts";
import { respell, writeEntries, writeLog, type LogRow } from "./write-rows.ts";

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

/** Rows that are made into texts at a time, between two turns of the event loop. */
const rowsOfPart = 2500;

/**
 * Puts commits into the open transaction, which must hold the row of `udm_state`: the log, the entries, the number, the notification.
 *
 * @throws DivergenceError, or an error of the database.
 */
export async function saveCommits(
  sql: Sql,
  { save, collector, time, isSpeltFreely, commits }: NewCommits,
): Promise<void> {
  const log = commits.flatMap(({ number, changes }) =>
    changes.map((change, position) => ({ change, number, position })),
  );
  const net = netChanges(commits);
  const bytes = new Map<number, number>();
  /** The part that the server works on while the texts of the next are made. */
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
    if (isSpeltFreely) await respell(sql, entries);
    const written = allDone([...writeEntries(sql, entries), ...writeLog(sql, rows)]);
    written.catch(() => {});
    if (part < parts - 1) {
      await sent;
      await nextTurn();
    }
    sent = allDone([sent, written]);
    sent.catch(() => {});
  }
  const last = commits.at(-1)?.number ?? 0;
  const bytesOfCommits = commits.map(({ number }) => bytes.get(number) ?? 0);
  // All of a small transaction is on its way before any of it is answered.
  await allDone([
    sent,
    sql`insert into netgloss.udm_commit (number, save, at, author, method, collector, layer, entries, is_cut, bytes)
      select n, ${save}::uuid, to_timestamp(${time / 1000}::float8), author, method, ${collector}, layer, entries, is_cut, bytes
      from unnest(${arrayLiteral(commits.map(({ number }) => number))}::text::bigint[],
        ${arrayLiteral(commits.map(({ author }) => author))}::text::text[],
        ${arrayLiteral(commits.map(({ method }) => method))}::text::text[],
        ${arrayLiteral(commits.map(({ layer }) => layer ?? null))}::text::text[],
        ${arrayLiteral(commits.map(({ entries }) => entries))}::text::int[],
        ${arrayLiteral(commits.map(({ entries, changes }) => entries > changes.length))}::text::boolean[],
        ${arrayLiteral(bytesOfCommits)}::text::bigint[]) as c (n, author, method, layer, entries, is_cut, bytes)`,
    sql`update netgloss.udm_state set last_number = ${last}, log_bytes = log_bytes + ${bytesOfCommits.reduce((a, b) => a + b, 0)}`,
    sql`select pg_notify(${channel}, ${last}::text || ' ' || (extract(epoch from clock_timestamp()) * 1000)::bigint::text)`,
  ]);
}

/**
 * Waits for all questions of a transaction.
 *
 * @throws the error of the first that failed. Those behind it fail, too, because the transaction is aborted, and may be known earlier.
 */
async function allDone(questions: readonly PromiseLike<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(questions)) if (result.status === "rejected") throw result.reason;
}

/** {@link changeColumns}, which makes the texts of a change once. */
function rememberColumns(): (change: EntryChange) => ChangeColumns {
  const made = new Map<EntryChange, ChangeColumns>();
  return (change) => {
    const known = made.get(change) ?? changeColumns(change);
    made.set(change, known);
    return known;
  };
}

/** What all changes together do to each key; what layers say is in no entry. */
function netChanges(commits: readonly NewCommit[]): readonly EntryChange[] {
  const own = commits.filter(({ layer }) => layer === undefined);
  // A commit has each key once.
  if (own.length === 1) return own[0]?.changes ?? [];
  const byKey = new Map<string, EntryChange>();
  for (const now of own.flatMap(({ changes }) => changes)) {
    const key = (now.after ?? now.before)?.key.text ?? "";
    const earlier = byKey.get(key);
    byKey.set(key, earlier === undefined ? now : { before: earlier.before, after: now.after });
  }
  return [...byKey.values()];
}
