import * as zlib from "node:zlib";
import { discoveredDirectory } from "./discovered-directory.ts";
import type { Settings } from "./settings-table.ts";
import { storeWords, type StoreWord } from "./delivery-settings.ts";
import { instanceSetting } from "./output-instances.ts";

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
 * Judges the settings as a whole: combinations that cannot work, and those that are probably not meant.
 *
 * @param origins where each comes from: `default` for those that nobody has set.
 */
export function checkSettings(
  settings: Settings,
  origins: ReadonlyMap<keyof Settings, string>,
): { problems: string[]; warnings: string[] } {
  const problems: string[] = [];
  const warnings: string[] = [];
  const needs = (on: keyof Settings, name: keyof Settings, isSet: boolean): void => {
    if (settings[on] === true && !isSet) problems.push(`${name} must be set, because ${on} is true`);
  };
  needs("SVC_API_BASIC_AUTH_ENABLE", "SVC_API_BASIC_AUTH_USERNAME", settings.SVC_API_BASIC_AUTH_USERNAME !== "");
  needs("SVC_API_BASIC_AUTH_ENABLE", "SVC_API_BASIC_AUTH_PASSWORD", settings.SVC_API_BASIC_AUTH_PASSWORD.isSet);
  needs("SVC_API_TLS_ENABLE", "SVC_API_TLS_CERT_FILEPATH", settings.SVC_API_TLS_CERT_FILEPATH !== "");
  needs("SVC_API_TLS_ENABLE", "SVC_API_TLS_KEY_FILEPATH", settings.SVC_API_TLS_KEY_FILEPATH !== "");
  const needsFor = (name: keyof Settings, other: keyof Settings, isSet: boolean): void => {
    if (settings[name] !== "" && !isSet) problems.push(`${name} has no use without ${other}`);
  };
  needsFor("SVC_API_TLS_CLIENT_CA_CERT_FILEPATH", "SVC_API_TLS_ENABLE", settings.SVC_API_TLS_ENABLE);
  needsFor("SVC_API_TLS_CLIENT_CA_CERT_FILEPATH", "SVC_API_USERS_PATH", settings.SVC_API_USERS_PATH !== "");
  if (settings.SVC_API_OIDC_ENABLE) {
    const found = checkOidc(settings);
    problems.push(...found.problems);
    warnings.push(...found.warnings);
  }
  problems.push(...exploreProblems(settings), ...metadataDatabaseProblems(settings), ...fleetProblems(settings));
  warnings.push(...uselessFleetSettings(settings));
  needs("SVC_OUTPUT_FILE_ENABLE", "SVC_OUTPUT_FILE_PATH", settings.SVC_OUTPUT_FILE_PATH !== "");
  for (const database of ["ASN", "GEOIP"] as const) {
    const path = `SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_${database}_PATH` as const;
    needs(`SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_${database}_ENABLE`, path, settings[path] !== "");
  }
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH !== "") {
    const because = "because SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH is set";
    if (!settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE) {
      problems.push(`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE must be true, ${because}`);
    }
    const isFile = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "file";
    if (isFile && settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH === "") {
      problems.push(
        `SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH must be set, ${because}; the file need not exist`,
      );
    }
  }
  needs(
    "SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE",
    "SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH",
    settings.SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH !== "",
  );
  for (const kind of ["ID", "IPPORT"] as const) {
    const path = `SVC_PROCESSOR_ENRICH_APP_${kind}_PATH` as const;
    needs(`SVC_PROCESSOR_ENRICH_APP_${kind}_ENABLE`, path, settings[path] !== "");
  }
  needs(
    "SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE",
    "SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH",
    settings.SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH !== "",
  );
  needs(
    "SVC_FLOW_SERVER_TLS_ENABLE",
    "SVC_FLOW_SERVER_TLS_CERT_FILEPATH",
    settings.SVC_FLOW_SERVER_TLS_CERT_FILEPATH !== "",
  );
  needs(
    "SVC_FLOW_SERVER_TLS_ENABLE",
    "SVC_FLOW_SERVER_TLS_KEY_FILEPATH",
    settings.SVC_FLOW_SERVER_TLS_KEY_FILEPATH !== "",
  );
  const { SVC_FLOW_SERVER_TCP_PORT: tcpPort, SVC_FLOW_SERVER_TLS_PORT: tlsPort } = settings;
  const isTwice = settings.SVC_FLOW_SERVER_TCP_ENABLE && settings.SVC_FLOW_SERVER_TLS_ENABLE && tcpPort === tlsPort;
  if (isTwice && tcpPort !== 0 && settings.SVC_FLOW_SERVER_TCP_IP === settings.SVC_FLOW_SERVER_TLS_IP) {
    problems.push("SVC_FLOW_SERVER_TLS_PORT must not be SVC_FLOW_SERVER_TCP_PORT");
  }
  if (!receivesFlows(settings) && !settings.SVC_INPUT_SNMP_ENABLE && !settings.SVC_INPUT_TRAP_ENABLE) {
    warnings.push(
      "no input is on: set SVC_FLOW_SERVER_UDP_ENABLE to receive flows, SVC_INPUT_SNMP_ENABLE to poll devices, SVC_INPUT_TRAP_ENABLE to receive traps",
    );
  } else if (!settings.SVC_OUTPUT_STDOUT_ENABLE && !settings.SVC_OUTPUT_FILE_ENABLE && !hasStore(settings)) {
    warnings.push("no output is on, records go nowhere: set SVC_OUTPUT_FILE_ENABLE or SVC_OUTPUT_STDOUT_ENABLE");
  }
  for (const word of storeWords) {
    const on = `SVC_OUTPUT_${word}_ENABLE` as const;
    const addresses = word === "KAFKA" ? "SVC_OUTPUT_KAFKA_BROKERS" : (`SVC_OUTPUT_${word}_ADDRESSES` as const);
    const mode = `SVC_OUTPUT_${word}_SPOOL_MODE` as const;
    needs(on, addresses, settings[addresses].length > 0);
    const compression = compressionOf(word);
    if (settings[on] && compression !== undefined && settings[compression] === "zstd" && !("zstdCompress" in zlib)) {
      problems.push(`${compression} cannot be zstd with Node ${process.version}: 22.15 or later is needed`);
    }
    if (settings[on] && settings[mode] === "always" && settings.SVC_STATE_DIRECTORY_PATH === "") {
      problems.push(`SVC_STATE_DIRECTORY_PATH must be set, because ${mode} is always`);
    }
    const asked = ([mode, `SVC_OUTPUT_${word}_SPOOL_MAX_SIZE`] as const).find(
      (name) => (origins.get(name) ?? "default") !== "default",
    );
    if (
      settings[on] &&
      settings[mode] === "overflow" &&
      asked !== undefined &&
      settings.SVC_STATE_DIRECTORY_PATH === ""
    )
      warnings.push(`${asked} asks for a spool, but there is none: SVC_STATE_DIRECTORY_PATH is empty`);
  }
  if (settings.SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH === "") {
    if (settings.SVC_INPUT_SNMP_DISCOVERY_CANDIDATES.length > 0) {
      problems.push("SVC_INPUT_SNMP_DISCOVERY_CANDIDATES has no use without SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH");
    }
  } else {
    const because = "because SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH is set";
    if (!settings.SVC_INPUT_SNMP_ENABLE) problems.push(`SVC_INPUT_SNMP_ENABLE must be true, ${because}`);
    if (discoveredDirectory(settings) === "") {
      problems.push(`SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH must be set, ${because}`);
    }
  }
  if (settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE) problems.push(...exporterUserProblems(settings));
  if (settings.SVC_OUTPUT_KAFKA_ENABLE && settings.SVC_OUTPUT_KAFKA_SASL_ENABLE) {
    const isToken = settings.SVC_OUTPUT_KAFKA_SASL_MECHANISM === "OAUTHBEARER";
    for (const name of isToken ? kafkaToken : kafkaUser) {
      const value = settings[name];
      needs("SVC_OUTPUT_KAFKA_SASL_ENABLE", name, typeof value === "string" ? value !== "" : value.isSet);
    }
  }
  if (settings.SVC_OUTPUT_SYSLOG_ENABLE && settings.SVC_OUTPUT_SYSLOG_PROTOCOL === "udp") {
    if (settings.SVC_OUTPUT_SYSLOG_TLS_ENABLE) {
      problems.push("SVC_OUTPUT_SYSLOG_PROTOCOL must be tcp, because SVC_OUTPUT_SYSLOG_TLS_ENABLE is true");
    }
  }
  if (settings.SVC_OUTPUT_NATS_ENABLE) {
    const given = natsCredentials.filter((name) => {
      const value = settings[name];
      return typeof value === "string" ? value !== "" : value.isSet;
    });
    if (given.length > 1) problems.push(`only one of ${given.join(", ")} may be set`);
  }
  for (const instance of settings.outputInstances) {
    const own = `SVC_OUTPUT_${instance.word}_`;
    const show = (text: string): string => text.replaceAll(own, instanceSetting(instance, own));
    const found = checkSettings(instance.settings, instance.origins);
    problems.push(...found.problems.filter((problem) => problem.includes(own)).map(show));
    warnings.push(...found.warnings.filter((warning) => warning.includes(own)).map(show));
    const on = `${own}ENABLE` as `SVC_OUTPUT_${StoreWord}_ENABLE`;
    if (!instance.origins.has(on)) warnings.push(`${show(on)} is not set: this output is off`);
  }
  return { problems, warnings };
}

const natsCredentials = [
  "SVC_OUTPUT_NATS_USERNAME",
  "SVC_OUTPUT_NATS_TOKEN",
  "SVC_OUTPUT_NATS_NKEY_SEED",
  "SVC_OUTPUT_NATS_CREDENTIALS_FILEPATH",
] as const;

function compressionOf(word: StoreWord) {
  if (word === "NATS" || word === "SYSLOG") return undefined;
  return word === "KAFKA" ? "SVC_OUTPUT_KAFKA_PRODUCER_COMPRESSION" : (`SVC_OUTPUT_${word}_COMPRESSION` as const);
}

/** The rules for users of SNMPv3, which hold before the first request. */
function exporterUserProblems(settings: Settings): string[] {
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

const kafkaToken = ["SVC_OUTPUT_KAFKA_SASL_TOKEN_FILEPATH"] as const;
const kafkaUser = ["SVC_OUTPUT_KAFKA_SASL_USERNAME", "SVC_OUTPUT_KAFKA_SASL_PASSWORD"] as const;

const hasStore = (settings: Settings): boolean =>
  storeWords.some((word) => settings[`SVC_OUTPUT_${word}_ENABLE`]) ||
  settings.outputInstances.some((instance) => hasStore(instance.settings));

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

function metadataDatabaseProblems(settings: Settings): string[] {
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE !== "postgresql") return [];
  const because = "because SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE is postgresql";
  const problems: string[] = [];
  if (!settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL.isSet) {
    problems.push(`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL must be set, ${because}`);
  }
  const cert = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CERT_FILEPATH;
  const key = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_KEY_FILEPATH;
  if ((cert === "") !== (key === "")) {
    problems.push(
      "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_CERT_FILEPATH and SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_TLS_KEY_FILEPATH belong together: set both",
    );
  }
  return problems;
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

function exploreProblems(settings: Settings): string[] {
  if (!settings.SVC_EXPLORE_ENABLE) return [];
  if (settings.SVC_EXPLORE_STORE === "duckdb") {
    return settings.SVC_EXPLORE_PATH === "" ? ["SVC_EXPLORE_PATH must be set, because SVC_EXPLORE_ENABLE is true"] : [];
  }
  const because = "because SVC_EXPLORE_STORE is clickhouse";
  const problems: string[] = [];
  if (!settings.SVC_OUTPUT_CLICKHOUSE_ENABLE) problems.push(`SVC_OUTPUT_CLICKHOUSE_ENABLE must be true, ${because}`);
  if (settings.SVC_OUTPUT_CLICKHOUSE_ECS_ENABLE)
    problems.push(`SVC_OUTPUT_CLICKHOUSE_ECS_ENABLE must be false, ${because}`);
  return problems;
}
