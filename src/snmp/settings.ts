import { join } from "node:path";
import {
  addressOrPrefix,
  bool,
  int,
  isSet,
  list,
  listenAddress,
  oneOf,
  orEmpty,
  path,
  plainText,
  row,
  secret,
  wordOrNumber,
  type ValuesOf,
} from "../base/settings/index.ts";
import { Secret } from "../base/text/index.ts";

/** The protocols that authenticate messages: RFC 3414 sections 6 and 7, RFC 7860. */
export const authenticationProtocols = ["noauth", "md5", "sha", "sha224", "sha256", "sha384", "sha512"] as const;
export type AuthenticationProtocol = (typeof authenticationProtocols)[number];

/**
 * The protocols that encrypt messages: DES (RFC 3414 section 8), AES-128 (RFC 3826), and longer AES keys, for which no RFC was
 * finished. These are extended by the method of Blumenthal (`aes192`, `aes256`; the AES-192 and AES-256 of net-snmp and most agents) or
 * of Reeder (`aes192c`, `aes256c`; Cisco devices).
 */
export const privacyProtocols = ["nopriv", "des", "aes", "aes192", "aes256", "aes192c", "aes256c"] as const;
export type PrivacyProtocol = (typeof privacyProtocols)[number];

type ValueOf = (name: string) => unknown;

function discoveredIn(own: unknown, valueOf: ValueOf): string {
  if (isSet(own)) return String(own);
  const kept =
    valueOf("SVC_INPUT_SNMP_PERSIST_ENABLE") === true ? valueOf("SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH") : "";
  return isSet(kept) ? join(String(kept), "discovered") : "";
}

const userPrefix = "SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_";
const isShort = (passphrase: Secret): boolean => Buffer.byteLength(passphrase.reveal()) < 8;

/**
 * Returns a check with a message for a setting of the version 3 user for exporters. It finds no fault while version 3 is not in use.
 */
function ofUser<T>(isWrong: (value: T, valueOf: ValueOf) => boolean, words: string) {
  return (value: T, valueOf: ValueOf): string | undefined => {
    const isUsed =
      valueOf("SVC_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE") === true &&
      valueOf("SVC_PROCESSOR_ENRICH_NETIF_SNMP_VERSION") === "v3";
    return isUsed && isWrong(value, valueOf) ? words : undefined;
  };
}

/** The settings for polling devices, finding them, and receiving traps. */
export const snmpSettings = {
  SVC_INPUT_SNMP_ENABLE: row(bool, false, "Polls devices by SNMP."),
  SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: row(
    list(path),
    [],
    "Directories of device definitions. Empty is definitions/devices of the program, which has none.",
    "/etc/netgloss/devices",
  ),
  SVC_INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH: row(
    list(path),
    [],
    "Directories of device groups. Empty is definitions/device_groups of the program. To add to these, list both directories.",
    "/usr/lib/netgloss/definitions/device_groups,/etc/netgloss/device_groups",
  ),
  SVC_INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH: row(
    list(path),
    [],
    "Directories of object groups. Empty is definitions/object_groups of the program.",
    "/usr/lib/netgloss/definitions/object_groups,/etc/netgloss/object_groups",
  ),
  SVC_INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH: row(
    list(path),
    [],
    "Directories of objects. Empty is definitions/objects of the program.",
    "/usr/lib/netgloss/definitions/objects,/etc/netgloss/objects",
  ),
  SVC_INPUT_SNMP_DEFAULTS_DIRECTORY_PATH: row(
    list(path),
    [],
    "Directories of defaults. A later one overrides an earlier one. Empty is definitions/defaults of the program.",
    "/usr/lib/netgloss/definitions/defaults,/etc/netgloss/defaults",
  ),
  SVC_INPUT_SNMP_AUTODISCOVER_DIRECTORY_PATH: row(
    list(path),
    [],
    "Directories that map sysObjectIDs to device groups. Empty is definitions/autodiscover of the program, unless the device groups are without those of the program.",
    "/usr/lib/netgloss/definitions/autodiscover,/etc/netgloss/autodiscover",
  ),
  SVC_PROCESSOR_SNMP_ENUM_DEFINITIONS_DIRECTORY_PATH: row(
    list(path),
    [],
    "Directories of enumerations. Empty is definitions/enums of the program.",
    "/usr/lib/netgloss/definitions/enums,/etc/netgloss/enums",
  ),
  SVC_INPUT_SNMP_NAMING: row(
    oneOf(["netgloss", "netobserv"]),
    "netgloss",
    "How values are called: `netobserv` as NetObserv's dashboards filter them, tables by their rows (`IF-MIB::ifXEntry`), severities of traps as `Critical` and `Informational`.",
  ),
  SVC_INPUT_SNMP_PROMETHEUS_ENABLE: row(
    bool,
    false,
    "Keeps the readings of the last polls and serves them at GET /metrics/snmp in the Prometheus text format.",
  ),
  SVC_INPUT_SNMP_TOPOLOGY_ENABLE: row(
    bool,
    true,
    "Infers the links between polled devices from what they say of each other, for GET /api/v1/topology, the map, and records of links.",
  ),
  SVC_INPUT_SNMP_RATES_ENABLE: row(
    bool,
    false,
    "Adds to each counter of a record its change since the previous poll: <field>_delta, and <field>_rate per second.",
  ),
  SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH: row(
    path,
    "",
    "A YAML file of networks that are searched for SNMP devices; see docs/snmp.md#finding-devices. Empty: none are.",
    { example: "/etc/netgloss/networks.yml", needs: [{ must: { SVC_INPUT_SNMP_ENABLE: true } }] },
  ),
  SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH: row(
    path,
    "",
    "The directory in which discovery writes a file for each device that it finds. Its devices are polled. Empty is discovered/ in SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH.",
    {
      example: "/etc/netgloss/discovered",
      fault: (own, valueOf) =>
        isSet(valueOf("SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH")) && discoveredIn(own, valueOf) === ""
          ? "must be set, because SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH is set"
          : undefined,
    },
  ),
  SVC_INPUT_SNMP_DISCOVERY_INTERVAL: row(
    int(0, 8760, "hours"),
    24,
    "How often the networks are searched. 0: only when asked to.",
  ),
  SVC_INPUT_SNMP_DISCOVERY_MAX_ADDRESSES: row(
    int(1, 1_048_576, "addresses"),
    65_536,
    "The most addresses that the ranges of all networks may have. With more, nothing is searched.",
  ),
  SVC_INPUT_SNMP_DISCOVERY_MAX_RATE: row(
    int(1, 10_000, "messages per second"),
    100,
    "The most messages that discovery sends in a second.",
  ),
  SVC_INPUT_SNMP_DISCOVERY_MAX_IN_FLIGHT: row(
    int(1, 4096, "addresses"),
    256,
    "The most addresses that discovery asks at the same time.",
  ),
  SVC_INPUT_SNMP_DISCOVERY_CANDIDATES: row(
    list(oneOf(["lldp", "cdp", "arp", "flow"])),
    [],
    "Addresses outside of the ranges that discovery asks, too, where `ranges` or `allow` of a network have them: neighbours of polled devices (`lldp`, `cdp`, `arp`), exporters of flows (`flow`).",
    { example: "lldp,cdp,flow", belongsTo: ["SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH"] },
  ),
  SVC_INPUT_TRAP_ENABLE: row(bool, false, "Receives SNMP traps and informs of versions 1, 2c and 3 by UDP."),
  SVC_INPUT_TRAP_LISTENER_IP: row(listenAddress, "0.0.0.0", "The address on which traps are received.", "::"),
  SVC_INPUT_TRAP_LISTENER_PORT: row(
    int(0, 65_535),
    8162,
    "The port on which traps are received. The usual one, 162, needs rights that a service has by its unit. 0 lets the system choose.",
  ),
  SVC_INPUT_TRAP_LISTENER_TCP_ENABLE: row(
    bool,
    false,
    "Receives traps and informs by TCP (RFC 3430), too, on the same port.",
  ),
  SVC_INPUT_TRAP_LISTENER_CREDENTIALS_DIRECTORY_PATH: row(
    path,
    "",
    "The directory of files with `communities` and `v3_credentials` whose traps count. Empty: every community, and the users of polled devices.",
    "/etc/netgloss/traps",
  ),
  SVC_INPUT_TRAP_RULES_PATH: row(
    path,
    "",
    "A YAML file of rules that drop traps, rename them, or give them a severity and a category; see docs/snmp.md. Empty: there are none.",
    "/etc/netgloss/traps/rules.yml",
  ),
  SVC_INPUT_TRAP_LISTENER_AUTHORITATIVE_ENGINE_ID: row(
    orEmpty(plainText),
    "",
    "The engine id under which informs of version 3 are received: hexadecimal, else taken as text. Empty: one made from the name of the host.",
    "80000000056e6574676c6f7373",
  ),
  SVC_INPUT_TRAP_LISTENER_SOURCES: row(
    list(addressOrPrefix),
    [],
    "Addresses and CIDRs whose traps count. Empty is all.",
    "192.0.2.0/24,2001:db8::/32",
  ),
  SVC_INPUT_TRAP_LISTENER_UNTIMELY_SOURCES: row(
    list(addressOrPrefix),
    [],
    "Addresses and CIDRs of senders whose engine boots do not grow when they start again: their traps of version 3 count although they look like old ones. Old traps can be repeated from there.",
    "192.0.2.0/24,2001:db8::/32",
  ),
  SVC_INPUT_TRAP_LISTENER_MAX_RATE: row(
    int(0, 1_000_000, "traps per second"),
    100,
    "Traps of one sender in a second that become records, five seconds' worth at once. The next record says how many were left out. 0 is no limit.",
  ),
  SVC_INPUT_SNMP_PERSIST_ENABLE: row(
    bool,
    true,
    "Keeps the plans of discovered devices over a restart, where SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH names a directory.",
  ),
  SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH: row(
    path,
    "",
    "The directory that keeps the plans of discovered devices over a restart. Empty: each start discovers again.",
    "/var/lib/netgloss/snmp",
  ),
};

/** The settings for requests to flow exporters for the names of their interfaces, by SNMP. */
export const netifSnmpSettings = {
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE: row(
    bool,
    false,
    "Asks each exporter of flows by SNMP for the names of its interfaces. Devices that are polled are not asked. Flows from a forged address make the collector send SNMP to that address.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_PORT: row(int(1, 65_535), 161, "The UDP port of SNMP on exporters."),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_VERSION: row(
    wordOrNumber({ v1: "1", v2c: "2", v3: "3" }),
    "v2c",
    "The version of SNMP for exporters.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_COMMUNITIES: row(
    secret,
    new Secret("public"),
    "The communities for exporters, separated by commas, tried in order. The default is `public`.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_TIMEOUT: row(
    int(1, 60, "seconds"),
    2,
    "How long to wait for an exporter's answer to each try.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_RETRIES: row(int(0, 10, "tries"), 1, "Tries after the first."),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_USERNAME: row(orEmpty(plainText), "", "The user for exporters with SNMPv3.", {
    example: "netgloss",
    fault: ofUser((user) => user === "" || Buffer.byteLength(user) > 32, "must have 1 to 32 bytes"),
  }),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PROTOCOL: row(
    oneOf(authenticationProtocols),
    "noauth",
    "The authentication protocol of that user.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PASSPHRASE: row(
    secret,
    new Secret(""),
    "The authentication passphrase of that user, 8 bytes at least.",
    {
      fault: ofUser(
        (passphrase, valueOf) => isShort(passphrase) && valueOf(`${userPrefix}AUTHENTICATION_PROTOCOL`) !== "noauth",
        "must have 8 bytes at least",
      ),
    },
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PROTOCOL: row(
    oneOf(privacyProtocols),
    "nopriv",
    "The privacy protocol of that user.",
    {
      fault: ofUser(
        (protocol, valueOf) => protocol !== "nopriv" && valueOf(`${userPrefix}AUTHENTICATION_PROTOCOL`) === "noauth",
        `needs ${userPrefix}AUTHENTICATION_PROTOCOL`,
      ),
    },
  ),
  SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PASSPHRASE: row(
    secret,
    new Secret(""),
    "The privacy passphrase of that user, 8 bytes at least.",
    {
      fault: ofUser(
        (passphrase, valueOf) => isShort(passphrase) && valueOf(`${userPrefix}PRIVACY_PROTOCOL`) !== "nopriv",
        "must have 8 bytes at least",
      ),
    },
  ),
  SVC_PROCESSOR_ENRICH_NETIF_TTL: row(
    int(60, 31_536_000, "seconds"),
    7200,
    "How long the names of an exporter's interfaces are used before it is asked again.",
  ),
};

export type SnmpSettings = ValuesOf<typeof snmpSettings>;

/** Returns the directory for the device files from network discovery; empty if the settings name none. */
export function discoveredDirectory(settings: SnmpSettings): string {
  return discoveredIn(
    settings.SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH,
    (name) => settings[name as keyof SnmpSettings],
  );
}
