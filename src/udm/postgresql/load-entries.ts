import type { Session } from "../../postgresql/index.ts";
import type { SharedIndex } from "../index/index-contract.ts";
import { createLentBuilder } from "../index/lent-builder.ts";
import { nextTurn } from "../model/next-turn.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import { readRow } from "./entry-rows.ts";
import { readState, type Position } from "./fetch-commits.ts";

/** All entries of a database, as of one commit. */
export interface LoadedEntries {
  readonly index: UdmIndex;
  readonly position: Position;
}

/** Rows that come at a time, and are worked on between two turns of the event loop. */
const rowsAtOnce = 500;

/**
 * Reads all entries from one snapshot of the database. Nothing else may change the index meanwhile.
 *
 * @param before the current state, which is given back when it has the same entries.
 * @throws Error; UdmError `resource_exhausted`
 */
export async function loadEntries(
  session: Session,
  shared: SharedIndex,
  before: UdmIndex | undefined,
): Promise<LoadedEntries> {
  const { sql } = session;
  await session.ask(() => sql.unsafe("begin isolation level repeatable read read only"));
  const { last } = await session.ask(() => readState(sql, 0));
  const { store, save = "" } = await session.ask(() => readState(sql, last));
  const position = { store, number: last, save };
  const loan = shared.lend(before);
  let built: ReturnType<ReturnType<typeof createLentBuilder>["finish"]>;
  try {
    const builder = createLentBuilder(loan);
    const query =
      'select key, entry::text as entry, file_only::text as "fileOnly" from netgloss.udm_entry order by key';
    const rows = sql.unsafe<{ key: string; entry: string; fileOnly: string | null }[]>(query).cursor(rowsAtOnce);
    const iterator = rows[Symbol.asyncIterator]();
    for (;;) {
      const part = await session.ask(() => iterator.next());
      if (part.done === true) break;
      for (const { key, entry, fileOnly } of part.value) builder.add(readRow(key, entry, fileOnly));
      await nextTurn();
    }
    builder.sort();
    built = builder.finish();
  } catch (error) {
    shared.takeBack(loan);
    throw error;
  }
  if (built === undefined) shared.takeBack(loan);
  const index = built === undefined ? (before ?? shared.empty()) : shared.adopt(loan, built);
  await session.ask(() => sql.unsafe("commit"));
  return { index, position };
}
