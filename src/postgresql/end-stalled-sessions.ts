import type { Sql } from "postgres";

/** A collector sends a statement at once: who has not sent the rest of one after this time is away. Seconds. */
const stalledSeconds = 10;

/**
 * Ends the sessions of collectors that hold locks and of which the server has only a part of a statement, because their connection is half open.
 * The server itself would keep them until TCP gives up: to it that is no transaction in which nothing happens. Who only reads, and is
 * slow to take its rows, looks alike and stays.
 *
 * @returns how many were ended: of the same role and database only.
 */
export async function endStalledSessions(sql: Sql): Promise<number> {
  const ended = await sql`
    select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity a
    where datname = current_database() and usename = current_user and pid <> pg_catalog.pg_backend_pid()
      and starts_with(application_name, 'netgloss') and state = 'active' and wait_event = 'ClientRead'
      and state_change < clock_timestamp() - ${`${stalledSeconds} seconds`}::interval
      and (backend_xid is not null
        or exists (select from pg_catalog.pg_locks l where l.pid = a.pid and locktype = 'advisory' and granted))`;
  return ended.length;
}
