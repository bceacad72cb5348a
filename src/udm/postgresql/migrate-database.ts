import { migrate } from "./schema.ts";
import { openSession } from "./session.ts";
import type { UdmPostgresqlStoreOptions } from "./postgresql-store-contract.ts";

/** For making tables; an index of millions of rows takes a while. */
export const migrateMs = 600_000;

/**
 * Makes the tables of a database, or brings them to what this version needs.
 *
 * @returns the steps that were made.
 * @throws Error that says why they cannot be made.
 */
export async function migrateDatabase(
  {
    address,
    tls,
    timeoutMs,
    collector,
  }: Pick<UdmPostgresqlStoreOptions, "address" | "tls" | "timeoutMs" | "collector">,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const applicationName = `netgloss ${collector}`;
  const access = { address, files: tls, timeoutMs, lockTimeoutMs: migrateMs, applicationName };
  const session = await openSession(access, signal);
  try {
    return await migrate(session, migrateMs);
  } finally {
    session.close();
  }
}
