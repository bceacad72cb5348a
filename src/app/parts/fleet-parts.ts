import { runAfter } from "../../file/index.ts";
import { createFleet, type Fleet } from "../../fleet/index.ts";
import { limitLog } from "../../report/index.ts";
import type { DeviceSharing } from "../../snmp/index.ts";
import { createDeviceSharing } from "./device-sharing.ts";
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

/** How SNMP devices are shared with the fleet; undefined: this collector polls all of its own. */
export function createDeviceSharingPart(
  settings: Settings,
  fleet: Fleet | undefined,
  reporting: Reporting,
): DeviceSharing | undefined {
  if (fleet === undefined || !settings.SVC_FLEET_SNMP_ENABLE || !settings.SVC_INPUT_SNMP_ENABLE) return undefined;
  return createDeviceSharing({
    ...reporting,
    log: limitLog(reporting.log, reporting.clock),
    fleet,
    leaseMs: settings.SVC_FLEET_LEASE_SECONDS * 1000,
    keepsWithoutLease: settings.SVC_FLEET_SNMP_WITHOUT_DATABASE === "keep",
    after: runAfter,
  });
}
