import { runAfter } from "../../file/index.ts";
import { createFleet, type Fleet } from "../../fleet/index.ts";
import { fleetDatabaseAccess, fleetMemberName } from "../fleet-database.ts";
import type { Settings } from "../settings/index.ts";
import type { Reporting } from "./reporting.ts";

/**
 * The fleet that this collector is a member of; undefined when it works alone.
 *
 * @throws SettingsError for a database that cannot be asked as it is set.
 */
export function createFleetPart(settings: Settings, reporting: Reporting): Fleet | undefined {
  if (settings.SVC_FLEET_NAME === "") return undefined;
  return createFleet({
    ...reporting,
    access: fleetDatabaseAccess(settings),
    fleet: settings.SVC_FLEET_NAME,
    member: fleetMemberName(settings),
    leaseMs: settings.SVC_FLEET_LEASE_SECONDS * 1000,
    after: runAfter,
    random: Math.random,
  });
}
