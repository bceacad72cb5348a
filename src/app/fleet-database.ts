import { hostname } from "node:os";
import { parseServerAddress, type DatabaseAccess } from "../base/postgresql/index.ts";
import { metadataDatabaseTlsFiles, orSettingsProblem } from "./metadata-database.ts";
import type { Settings } from "./settings/index.ts";

/** The longest wait for somebody else's lock: the lease ends meanwhile. */
const lockTimeoutMs = 2000;

/** The name of this collector in its fleet. */
export function fleetMemberName(settings: Settings): string {
  return settings.SVC_FLEET_MEMBER || settings.SVC_INSTANCE_NAME || `${hostname()}:${settings.SVC_API_PORT}`;
}

/** @throws Error that says what is wrong with the URL, without what is secret in it. */
export function fleetDatabaseAddress(settings: Settings): DatabaseAccess["address"] {
  return parseServerAddress(urlOf(settings).url.reveal());
}

/** @throws SettingsError for a URL or a file that cannot be used. */
export function fleetDatabaseAccess(settings: Settings): DatabaseAccess {
  const timeoutMs = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TIMEOUT * 1000;
  return {
    address: orSettingsProblem(urlOf(settings).name, () => fleetDatabaseAddress(settings)),
    files: metadataDatabaseTlsFiles(settings),
    timeoutMs,
    lockTimeoutMs: Math.min(lockTimeoutMs, timeoutMs),
    applicationName: `netgloss fleet ${fleetMemberName(settings)}`,
  };
}

function urlOf(settings: Settings) {
  const name = settings.SVC_FLEET_POSTGRESQL_URL.isSet
    ? "SVC_FLEET_POSTGRESQL_URL"
    : "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL";
  return { name, url: settings[name] } as const;
}
