import type { Session } from "../../postgresql/index.ts";

/** Commits removed at a time: whoever commits waits for the end of one removal only. */
const commitsAtOnce = 500;
/** One collector of several removes. "prune" as bytes, cut. */
const lockKey = 0x7072_756e;

/** Removes the oldest changes of the log until it has no more than this many bytes, about. The last one stays. */
export async function pruneLog(session: Session, maxBytes: number): Promise<void> {
  while (await session.ask(() => removeSome(session, maxBytes)));
}

/** @returns whether there is more to do. */
async function removeSome({ sql }: Session, maxBytes: number): Promise<boolean> {
  await sql.unsafe("begin isolation level read committed read write");
  try {
    const [lock] = await sql<{ ours: boolean }[]>`select pg_try_advisory_xact_lock(${lockKey}) as ours`;
    const [state] = await sql<{ excess: number; last: number }[]>`
      select log_bytes::float8 - ${maxBytes}::float8 as excess, last_number::float8 as last from netgloss.udm_state`;
    if (lock?.ours !== true || state === undefined || state.excess <= 0) {
      await sql.unsafe("rollback");
      return false;
    }
    const old = await sql<{ number: number; bytes: number }[]>`
      select number::float8 as number, bytes::float8 as bytes from netgloss.udm_commit
      where number < ${state.last} order by number limit ${commitsAtOnce}`;
    let freed = 0;
    let cut = 0;
    for (const { number, bytes } of old) {
      if (freed >= state.excess) break;
      freed += bytes;
      cut = number;
    }
    await sql`delete from netgloss.udm_change where number <= ${cut}`;
    await sql`delete from netgloss.udm_commit where number <= ${cut}`;
    await sql`update netgloss.udm_state set log_bytes = log_bytes - ${freed}, first_number = ${cut + 1} where ${cut} > 0`;
    await sql.unsafe("commit");
    return freed < state.excess && old.length === commitsAtOnce;
  } catch (error) {
    await sql.unsafe("rollback").catch(() => {});
    throw error;
  }
}
