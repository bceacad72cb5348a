import { brokenRules } from "../../base/settings/index.ts";
import { discoveredDirectory } from "./discovered-directory.ts";
import { localRows, outputSettings, outputsOf, storesOf, type StoreSettings } from "./output-settings.ts";
import { settingsTable, type SettingName, type Settings } from "./settings-table.ts";

const required = ["SVC_API_OIDC_ISSUER", "SVC_API_OIDC_CLIENT_ID", "SVC_API_OIDC_REDIRECT_URL"] as const;
const callback = "/login/callback";

/** Judges the settings of the sign-in at an issuer, which is on. */
function checkOidc(settings: Settings): { problems: string[]; warnings: string[] } {
  const problems: string[] = required
    .filter((name) => settings[name] === "")
    .map((name) => `${name} must be set, because SVC_API_OIDC_ENABLE is true`);
  const warnings: string[] = [];
  const { SVC_API_OIDC_ISSUER: issuer, SVC_API_OIDC_REDIRECT_URL: redirect } = settings;
  if (isClear(issuer)) problems.push("SVC_API_OIDC_ISSUER must be an https URL, because it is on another host");
  if (redirect !== "" && !new URL(redirect).pathname.endsWith(callback)) {
    problems.push(`SVC_API_OIDC_REDIRECT_URL must end with ${callback}`);
  }
  if (isClear(redirect)) {
    warnings.push("SVC_API_OIDC_REDIRECT_URL is of http: whoever can read the network can take over sessions");
  }
  if (!settings.SVC_API_OIDC_SCOPES.includes("openid")) problems.push("SVC_API_OIDC_SCOPES must have openid");
  if (settings.SVC_API_OIDC_ROLES.size === 0) {
    problems.push("SVC_API_OIDC_ROLES must be set, because without a role nobody can sign in");
  }
  return { problems, warnings };
}

/** Whether what is sent to a URL can be read on the way. */
function isClear(url: string): boolean {
  if (url === "") return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname);
}

/**
 * Judges the settings as a whole: what the rows rule, and what takes more than a rule.
 *
 * @param origins where each comes from: `default` for those that nobody has set.
 */
export function checkSettings(
  settings: Settings,
  origins: ReadonlyMap<string, string>,
): { problems: string[]; warnings: string[] } {
  const valueOf = (name: string): unknown => settings[name as SettingName];
  const oidc = settings.SVC_API_OIDC_ENABLE ? checkOidc(settings) : { problems: [], warnings: [] };
  const stores = storesOf(settings).map((store) => checkStore(store, settings, origins));
  return {
    problems: [
      ...brokenRules(ownRows, valueOf),
      ...oidc.problems,
      ...metadataProblems(settings),
      ...fleetProblems(settings),
      ...portProblems(settings),
      ...discoveryProblems(settings),
      ...exporterUserProblems(settings),
      ...localProblems(settings),
      ...stores.flatMap(({ problems }) => problems),
    ],
    warnings: [
      ...oidc.warnings,
      ...uselessFleetSettings(settings),
      ...idleWarnings(settings),
      ...stores.flatMap(({ warnings }) => warnings),
    ],
  };
}

/** Rows whose rules name settings by their full names; those of outputs name their own. */
const ownRows = Object.fromEntries(Object.entries(settingsTable).filter(([name]) => !(name in outputSettings)));

/** Judges the outputs of this host. */
function localProblems(settings: Settings): string[] {
  return Object.entries(localRows).flatMap(([word, rows]) => {
    const show = (name: string): string => (name in rows ? `SVC_OUTPUT_${word}_${name}` : name);
    return brokenRules(rows, (name) => settings[show(name) as SettingName], show);
  });
}

function checkStore(
  { kind, values, show, origins: own }: StoreSettings,
  settings: Settings,
  origins: ReadonlyMap<string, string>,
): { problems: string[]; warnings: string[] } {
  const warnings: string[] = [];
  const isGiven = (name: string): boolean => {
    const full = `SVC_OUTPUT_${kind.word}_${name}`;
    return own === undefined ? (origins.get(full) ?? "default") !== "default" : own.has(full);
  };
  if (own !== undefined && !isGiven("ENABLE")) warnings.push(`${show("ENABLE")} is not set: this output is off`);
  if (!values.ENABLE) return { problems: [], warnings };
  const valueOf = (name: string): unknown =>
    name in kind.rows ? values[name as keyof typeof values] : settings[name as SettingName];
  const problems = brokenRules(kind.rows, valueOf, (name) => (name in kind.rows ? show(name) : name));
  const asked = ["SPOOL_MODE", "SPOOL_MAX_SIZE"].find(isGiven);
  if (values.SPOOL_MODE === "overflow" && asked !== undefined && settings.SVC_STATE_DIRECTORY_PATH === "") {
    warnings.push(`${show(asked)} asks for a spool, but there is none: SVC_STATE_DIRECTORY_PATH is empty`);
  }
  return { problems, warnings };
}

/** Warns of a collector that takes no records, or sends them nowhere. */
function idleWarnings(settings: Settings): string[] {
  if (!receivesFlows(settings) && !settings.SVC_INPUT_SNMP_ENABLE && !settings.SVC_INPUT_TRAP_ENABLE) {
    return [
      "no input is on: set SVC_FLOW_SERVER_UDP_ENABLE to receive flows, SVC_INPUT_SNMP_ENABLE to poll devices, SVC_INPUT_TRAP_ENABLE to receive traps",
    ];
  }
  if (outputsOf(settings).some(({ values }) => values.ENABLE)) return [];
  return ["no output is on, records go nowhere: set SVC_OUTPUT_FILE_ENABLE or SVC_OUTPUT_STDOUT_ENABLE"];
}

function portProblems(settings: Settings): string[] {
  const { SVC_FLOW_SERVER_TCP_PORT: tcpPort, SVC_FLOW_SERVER_TLS_PORT: tlsPort } = settings;
  const areBothOn = settings.SVC_FLOW_SERVER_TCP_ENABLE && settings.SVC_FLOW_SERVER_TLS_ENABLE;
  const isTwice = areBothOn && tcpPort === tlsPort && tcpPort !== 0;
  return isTwice && settings.SVC_FLOW_SERVER_TCP_IP === settings.SVC_FLOW_SERVER_TLS_IP
    ? ["SVC_FLOW_SERVER_TLS_PORT must not be SVC_FLOW_SERVER_TCP_PORT"]
    : [];
}

function discoveryProblems(settings: Settings): string[] {
  if (settings.SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH === "" || discoveredDirectory(settings) !== "") return [];
  return [
    "SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH must be set, because SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH is set",
  ];
}

/** The rules for users of SNMPv3, which hold before the first request. */
function exporterUserProblems(settings: Settings): string[] {
  if (!settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE) return [];
  if (settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_VERSION !== "v3") return [];
  const problems: string[] = [];
  const name = (last: string): string => `SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_${last}`;
  const isAuthenticated = settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PROTOCOL !== "noauth";
  const isPrivate = settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PROTOCOL !== "nopriv";
  const isShort = (text: string): boolean => Buffer.byteLength(text) < 8;
  const user = settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_USERNAME;
  if (user === "" || Buffer.byteLength(user) > 32) problems.push(`${name("USERNAME")} must have 1 to 32 bytes`);
  if (isPrivate && !isAuthenticated)
    problems.push(`${name("PRIVACY_PROTOCOL")} needs ${name("AUTHENTICATION_PROTOCOL")}`);
  if (isAuthenticated && isShort(settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PASSPHRASE.reveal())) {
    problems.push(`${name("AUTHENTICATION_PASSPHRASE")} must have 8 bytes at least`);
  }
  if (isPrivate && isShort(settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PASSPHRASE.reveal())) {
    problems.push(`${name("PRIVACY_PASSPHRASE")} must have 8 bytes at least`);
  }
  return problems;
}

/** Whether flow records are received, by whatever transport. */
export function receivesFlows(settings: Settings): boolean {
  return (
    settings.SVC_FLOW_SERVER_UDP_ENABLE || settings.SVC_FLOW_SERVER_TCP_ENABLE || settings.SVC_FLOW_SERVER_TLS_ENABLE
  );
}

/** The names of the three settings that turn the metadata API on that are not set, in the order of the contract; a database takes the place of the file. */
export function missingForMetadataApi(settings: Settings): (keyof Settings)[] {
  const isShared = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "postgresql";
  const needed = {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE,
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE,
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH:
      isShared || settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH !== "",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL:
      !isShared || settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL.isSet,
  };
  return (Object.keys(needed) as (keyof typeof needed)[]).filter((name) => !needed[name]);
}

function metadataProblems(settings: Settings): string[] {
  const isFile = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "file";
  if (isFile) {
    const isNeeded = settings.SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH !== "";
    return isNeeded && settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH === ""
      ? [
          "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH must be set, because SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH is set; the file need not exist",
        ]
      : [];
  }
  const cert = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CERT_FILEPATH;
  const key = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_KEY_FILEPATH;
  if ((cert === "") === (key === "")) return [];
  return [
    "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CERT_FILEPATH and SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_KEY_FILEPATH belong together: set both",
  ];
}

function fleetProblems(settings: Settings): string[] {
  if (settings.SVC_FLEET_NAME === "" || settings.SVC_FLEET_POSTGRESQL_URL.isSet) return [];
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL.isSet) return [];
  return [
    "SVC_FLEET_POSTGRESQL_URL or SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL must be set, because SVC_FLEET_NAME is",
  ];
}

/** No problem: `fleet migrate` makes the tables of all fleets, and needs no name. */
function uselessFleetSettings(settings: Settings): string[] {
  if (settings.SVC_FLEET_NAME !== "") return [];
  const set = [
    ...(settings.SVC_FLEET_MEMBER === "" ? [] : ["SVC_FLEET_MEMBER"]),
    ...(settings.SVC_FLEET_POSTGRESQL_URL.isSet ? ["SVC_FLEET_POSTGRESQL_URL"] : []),
  ];
  return set.map((name) => `${name} has no use without SVC_FLEET_NAME: this collector works alone`);
}
