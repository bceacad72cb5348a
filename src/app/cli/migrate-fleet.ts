import { fleetSchema } from "../../fleet/index.ts";
import { migrateDatabase, showDatabase } from "../../base/postgresql/index.ts";
import { fleetDatabaseAccess } from "../parts/databases.ts";
import { SettingsError, type Settings } from "../settings/index.ts";
import { makeTables } from "./make-tables.ts";
import type { Terminal } from "./terminal.ts";

/** @throws CommandError, SettingsError */
export async function migrateFleet(settings: Settings, terminal: Terminal): Promise<void> {
  const { SVC_FLEET_POSTGRESQL_URL: own, SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: shared } = settings;
  if (!own.isSet && !shared.isSet) throw new SettingsError(["SVC_FLEET_POSTGRESQL_URL must be set"]);
  const access = fleetDatabaseAccess(settings);
  const place = showDatabase(access.address);
  await makeTables(`the fleet in ${place}`, (signal) => migrateDatabase(fleetSchema, access, signal), terminal);
}
