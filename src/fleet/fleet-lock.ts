import type { ISql } from "postgres";

/** Until the end of the transaction nobody else joins the fleet or takes keys in it. A statement after this one sees all that did before. */
export async function lockFleet(sql: ISql, fleet: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('netgloss fleet ' || ${fleet}, 0))`;
}

/** Notifications under this name carry the name of a fleet whose members, or what they hold, have changed. */
export const channel = "netgloss_fleet";

export async function notifyFleet(sql: ISql, fleet: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${fleet})`;
}
