import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import {
  parseServerAddress,
  type ServerAddress,
  type TlsFiles,
  type DatabaseAccess,
} from "../../base/postgresql/index.ts";
import type { UdmPostgresqlStoreOptions } from "../../metadata/index.ts";
import { SettingsError, type Settings } from "../settings/index.ts";
import { startUdmFileThread } from "../threads/start-udm-file-thread.ts";

const urlName = "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL";

/** Reads the URL of the database. @throws Error that describes the fault of the URL, without its secrets. */
export function metadataDatabaseAddress(settings: Settings): ServerAddress {
  return parseServerAddress(settings[urlName].reveal());
}

/** Returns files that authenticate the database, and this collector to it; "" for none. */
export function metadataDatabaseTls(settings: Settings): {
  readonly caPath: string;
  readonly certPath: string;
  readonly keyPath: string;
} {
  return {
    caPath: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CA_CERT_FILEPATH,
    certPath: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CERT_FILEPATH,
    keyPath: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_KEY_FILEPATH,
  };
}

/**
 * Returns the options of the store on PostgreSQL.
 *
 * @throws SettingsError for a URL or a file that cannot be used.
 */
export function metadataDatabaseOptions(
  settings: Settings,
): Omit<UdmPostgresqlStoreOptions, "owned" | "log" | "metrics" | "clock" | "health"> {
  return {
    address: orSettingsProblem(urlName, () => metadataDatabaseAddress(settings)),
    tls: metadataDatabaseTlsFiles(settings),
    timeoutMs: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TIMEOUT * 1000,
    collector: settings.SVC_INSTANCE_NAME || hostname(),
    stateDirectory: settings.SVC_STATE_DIRECTORY_PATH,
    exportPath: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_EXPORT_PATH,
    historyBytes: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_HISTORY_SIZE,
    maxEntries: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES,
    limitName: "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES",
    startThread: startUdmFileThread,
  };
}

/** Reads the files of TLS. @throws SettingsError for a file that cannot be read. */
function metadataDatabaseTlsFiles(settings: Settings): TlsFiles {
  const { caPath, certPath, keyPath } = metadataDatabaseTls(settings);
  return { ca: contentOf(caPath), cert: contentOf(certPath), key: contentOf(keyPath) };
}

function contentOf(path: string): string | undefined {
  return path === "" ? undefined : orSettingsProblem("the database of the metadata", () => readFileSync(path, "utf8"));
}

/** Runs an action. @throws SettingsError in place of its error. */
function orSettingsProblem<T>(subject: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw new SettingsError([`${subject}: ${error instanceof Error ? error.message : String(error)}`]);
  }
}

/** The longest wait for another session's lock: the lease ends meanwhile. */
const lockTimeoutMs = 2000;

/** Returns the name of this collector in its fleet. */
export function fleetMemberName(settings: Settings): string {
  return settings.SVC_FLEET_MEMBER || settings.SVC_INSTANCE_NAME || `${hostname()}:${settings.SVC_API_PORT}`;
}

/** Reads the URL of the database. @throws Error that describes the fault of the URL, without its secrets. */
export function fleetDatabaseAddress(settings: Settings): DatabaseAccess["address"] {
  return parseServerAddress(urlOf(settings).url.reveal());
}

/** Returns the access to the fleet's database. @throws SettingsError for a URL or a file that cannot be used. */
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
