import { fleetSchema } from "../../fleet/index.ts";
import { messageOf, migrateDatabase } from "../../postgresql/index.ts";
import { fleetDatabaseAccess } from "../fleet-database.ts";
import { SettingsError, type Settings } from "../settings/index.ts";
import { CommandError } from "./command-error.ts";
import type { Terminal } from "./terminal.ts";

/** @throws CommandError, SettingsError */
export async function migrateFleet(settings: Settings, terminal: Terminal): Promise<void> {
  const { SVC_FLEET_POSTGRESQL_URL: own, SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: shared } = settings;
  if (!own.isSet && !shared.isSet) throw new SettingsError(["SVC_FLEET_POSTGRESQL_URL must be set"]);
  try {
    const steps = await migrateDatabase(fleetSchema, fleetDatabaseAccess(settings), AbortSignal.timeout(600_000));
    terminal.out(steps.length === 0 ? "the tables are up to date\n" : `made step ${steps.join(", ")} of the tables\n`);
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    throw new CommandError("unavailable", messageOf(error));
  }
}
