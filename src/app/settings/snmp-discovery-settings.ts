import { int, list, oneOf, path, row } from "../../base/settings/index.ts";

const group = "SNMP";

/** How networks are searched for devices. */
export const snmpDiscoverySettings = {
  SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH: row(
    group,
    path,
    "",
    "A YAML file of networks that are searched for SNMP devices; see docs/snmp.md#finding-devices. Empty: none are.",
    { example: "/etc/netgloss/networks.yml", needs: [{ must: { SVC_INPUT_SNMP_ENABLE: true } }] },
  ),
  SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH: row(
    group,
    path,
    "",
    "The directory in which discovery writes a file for each device that it finds. Its devices are polled. Empty is discovered/ in SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH.",
    "/etc/netgloss/discovered",
  ),
  SVC_INPUT_SNMP_DISCOVERY_INTERVAL: row(
    group,
    int(0, 8760, "hours"),
    24,
    "How often the networks are searched. 0: only when asked to.",
  ),
  SVC_INPUT_SNMP_DISCOVERY_MAX_ADDRESSES: row(
    group,
    int(1, 1_048_576, "addresses"),
    65_536,
    "The most addresses that the ranges of all networks may have. With more, nothing is searched.",
  ),
  SVC_INPUT_SNMP_DISCOVERY_MAX_RATE: row(
    group,
    int(1, 10_000, "messages per second"),
    100,
    "The most messages that discovery sends in a second.",
  ),
  SVC_INPUT_SNMP_DISCOVERY_MAX_IN_FLIGHT: row(
    group,
    int(1, 4096, "addresses"),
    256,
    "The most addresses that discovery asks at the same time.",
  ),
  SVC_INPUT_SNMP_DISCOVERY_CANDIDATES: row(
    group,
    list(oneOf(["lldp", "cdp", "arp", "flow"])),
    [],
    "Addresses outside of the ranges that discovery asks, too, where `ranges` or `allow` of a network have them: neighbours of polled devices (`lldp`, `cdp`, `arp`), exporters of flows (`flow`).",
    { example: "lldp,cdp,flow", belongsTo: ["SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH"] },
  ),
} as const;
