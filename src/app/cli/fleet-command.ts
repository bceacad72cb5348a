import { fleetSchema } from "../../fleet/index.ts";
import { migrateDatabase, showDatabase } from "../../base/postgresql/index.ts";
import { fleetDatabaseAccess } from "../parts/databases.ts";
import { SettingsError } from "../settings/index.ts";
import type { DefineCommand } from "./command.ts";
import { addConfigOption, commandSettings } from "./command.ts";
import { makeTables } from "./make-tables.ts";

/** Defines `fleet`: prepares the data that several collectors share, without a collector. */
export const defineFleet: DefineCommand = (fleet, { terminal }) => {
  const migrate = addConfigOption(fleet.command("migrate"))
    .description("make the tables of the fleet in the PostgreSQL database of the settings, or bring them up to date")
    .action(async () => {
      const { settings } = await commandSettings(migrate, terminal);
      const { SVC_FLEET_POSTGRESQL_URL: own, SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: shared } = settings;
      if (!own.isSet && !shared.isSet) throw new SettingsError(["SVC_FLEET_POSTGRESQL_URL must be set"]);
      const access = fleetDatabaseAccess(settings);
      const place = showDatabase(access.address);
      await makeTables(`the fleet in ${place}`, (signal) => migrateDatabase(fleetSchema, access, signal), terminal);
    });
};
