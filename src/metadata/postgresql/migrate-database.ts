import { migrateDatabase as migrateSchema } from "../../base/postgresql/index.ts";
import type { UdmPostgresqlStoreOptions } from "./postgresql-store-contract.ts";
import { udmSchema } from "./schema.ts";

/**
 * Makes the tables of metadata in a database, or brings them to what this version needs.
 *
 * @returns the steps that were made.
 * @throws Error that says why they cannot be made.
 */
export function migrateDatabase(
  {
    address,
    tls,
    timeoutMs,
    collector,
  }: Pick<UdmPostgresqlStoreOptions, "address" | "tls" | "timeoutMs" | "collector">,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const applicationName = `netgloss ${collector}`;
  return migrateSchema(udmSchema, { address, files: tls, timeoutMs, applicationName }, signal);
}
