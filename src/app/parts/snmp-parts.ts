import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { addressKey, keyContains, parseAddress, parseKey } from "../../base/ip/index.ts";
import { compileLineFilter, type Enricher, type Sink } from "../../record/index.ts";
import { createLineFilter, filteredSink } from "../../output/index.ts";
import {
  Snmp,
  definitionPathsIn,
  ifType,
  readLabels,
  type Credential,
  type DefinitionPaths,
  type DeviceSharing,
  type DiscoverySettings,
  type TrapSettings,
} from "../../snmp/index.ts";
import { ExporterInterfaces, type ExporterInterfacesOptions } from "../enrichment/exporter-interfaces.ts";
import { compileTrapCondition, recordFilter } from "../shaping.ts";
import { packagePath } from "../package-root.ts";
import type { Settings } from "../settings/index.ts";
import { discoveredDirectory } from "../../snmp/settings.ts";
import { receivesFlows } from "../../flow/settings.ts";
import { recordEdits } from "../shaping.ts";
import type { Progress, Reporting } from "../../base/report/index.ts";

/** The sources that other parts give to SNMP. */
export interface SnmpSources {
  readonly enricher: Enricher;
  readonly sink: Sink;
  readonly progress: Progress;
  readonly exporters: ExporterInterfacesOptions["exporters"];
  /** Undefined: this collector polls all devices. */
  readonly sharing: DeviceSharing | undefined;
}

export function createSnmpPart(
  settings: Settings,
  { enricher, sink, progress, exporters, sharing }: SnmpSources,
  reporting: Reporting,
): Snmp | undefined {
  const traps = settings.SVC_INPUT_TRAP_ENABLE ? trapSettings(settings) : undefined;
  if (!settings.SVC_INPUT_SNMP_ENABLE && traps === undefined) return undefined;
  const discovery = discoverySettings(settings);
  const given = snmpPaths(settings);
  const paths =
    discovery === undefined || given.devices.includes(discovery.devicesDirectory)
      ? given
      : { ...given, devices: [...given.devices, discovery.devicesDirectory] };
  const dropped = reporting.metrics.counter(
    "netgloss_snmp_filtered_records_total",
    "Records dropped by SVC_PROCESSOR_FILTER_KEEP and SVC_PROCESSOR_FILTER_DROP.",
  );
  dropped.add(0);
  const filter = recordFilter(settings);
  const lineFilter = createLineFilter({
    matches: filter && compileLineFilter(filter),
    filtered: (records) => dropped.add(records),
    dropFields: settings.SVC_PROCESSOR_DROP_FIELDS,
    edits: recordEdits(settings),
  });
  return new Snmp({
    ...reporting,
    // Without polling, the definitions only name the values of traps.
    paths: settings.SVC_INPUT_SNMP_ENABLE ? paths : { ...paths, devices: [] },
    ...(traps !== undefined && { traps }),
    infersLinks: settings.SVC_INPUT_SNMP_ENABLE && settings.SVC_INPUT_SNMP_TOPOLOGY_ENABLE,
    addsRates: settings.SVC_INPUT_SNMP_RATES_ENABLE,
    naming: settings.SVC_INPUT_SNMP_NAMING,
    ...(discovery !== undefined && { discovery }),
    progress,
    sharing,
    exporters: async () => (await exporters()).map(({ address }) => address),
    keepsReadings: settings.SVC_INPUT_SNMP_PROMETHEUS_ENABLE,
    persistDirectory: settings.SVC_INPUT_SNMP_PERSIST_ENABLE ? settings.SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH : "",
    keepsCounters: receivesFlows(settings),
    enricher,
    sink: lineFilter === undefined ? sink : filteredSink(sink, lineFilter),
  });
}

/** Returns the settings of discovery; undefined when no networks are searched. */
export function discoverySettings(settings: Settings): DiscoverySettings | undefined {
  const networksPath = settings.SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH;
  if (networksPath === "" || !settings.SVC_INPUT_SNMP_ENABLE) return undefined;
  return {
    networksPath,
    devicesDirectory: discoveredDirectory(settings),
    intervalMs: settings.SVC_INPUT_SNMP_DISCOVERY_INTERVAL * 3_600_000,
    maxAddresses: settings.SVC_INPUT_SNMP_DISCOVERY_MAX_ADDRESSES,
    perSecond: settings.SVC_INPUT_SNMP_DISCOVERY_MAX_RATE,
    maxInFlight: settings.SVC_INPUT_SNMP_DISCOVERY_MAX_IN_FLIGHT,
    candidates: settings.SVC_INPUT_SNMP_DISCOVERY_CANDIDATES,
  };
}

function trapSettings(settings: Settings): TrapSettings {
  const isAmong = (texts: readonly string[]): ((address: string) => boolean) => {
    const keys = texts.map(parseKey);
    return (address) => {
      const parsed = parseAddress(address);
      return parsed !== undefined && keys.some((key) => keyContains(key, addressKey(parsed)));
    };
  };
  const sources = settings.SVC_INPUT_TRAP_LISTENER_SOURCES;
  return {
    address: settings.SVC_INPUT_TRAP_LISTENER_IP,
    port: settings.SVC_INPUT_TRAP_LISTENER_PORT,
    tcp: settings.SVC_INPUT_TRAP_LISTENER_TCP_ENABLE,
    credentialsDirectory: settings.SVC_INPUT_TRAP_LISTENER_CREDENTIALS_DIRECTORY_PATH,
    rulesPath: settings.SVC_INPUT_TRAP_RULES_PATH,
    naming: settings.SVC_INPUT_SNMP_NAMING,
    compileCondition: compileTrapCondition,
    engineId: settings.SVC_INPUT_TRAP_LISTENER_AUTHORITATIVE_ENGINE_ID,
    maxRate: settings.SVC_INPUT_TRAP_LISTENER_MAX_RATE,
    isAllowed: sources.length === 0 ? () => true : isAmong(sources),
    acceptsUntimely: isAmong(settings.SVC_INPUT_TRAP_LISTENER_UNTIMELY_SOURCES),
  };
}

/** The labels of ifType, among the definitions that come with the program. */
const typeLabels = "definitions/enums/integer/ietf/if-mib.yml";

/** Creates the part that asks exporters for the names of their interfaces; undefined when the settings do not want it. */
export function createExporterInterfacesPart(
  settings: Settings,
  snmp: Snmp | undefined,
  exporters: ExporterInterfacesOptions["exporters"],
  reporting: Reporting,
): ExporterInterfaces | undefined {
  if (!settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE || !receivesFlows(settings)) return undefined;
  return new ExporterInterfaces(
    {
      credentials: exporterCredentials(settings),
      port: settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_PORT,
      retries: settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_RETRIES,
      timeoutMs: 1000 * settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_TIMEOUT,
      ttlMs: 1000 * settings.SVC_PROCESSOR_ENRICH_NETIF_TTL,
      exporters,
      types: async () => readLabels(await readFile(packagePath(typeLabels), "utf8")).get(ifType),
      watchPolled: snmp && ((listener) => snmp.watchInterfaces(listener)),
    },
    reporting,
  );
}

function exporterCredentials(settings: Settings): Credential[] {
  const version = settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_VERSION;
  if (version !== "v3") {
    const communities = settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_COMMUNITIES.reveal().split(",");
    return communities.map((community) => ({ version: version === "v1" ? "1" : "2c", community: community.trim() }));
  }
  return [
    {
      version: "3",
      username: settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_USERNAME,
      authenticationProtocol: settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PROTOCOL,
      authenticationPassphrase: settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PASSPHRASE.reveal(),
      privacyProtocol: settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PROTOCOL,
      privacyPassphrase: settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PASSPHRASE.reveal(),
    },
  ];
}

/** Returns the directories of the settings; those of the program where nothing is set. That of discovery is included once it exists. */
export function snmpPaths(settings: Settings): DefinitionPaths {
  const ours = definitionPathsIn(packagePath("definitions"));
  const given = (paths: readonly string[], own: readonly string[]): readonly string[] =>
    paths.length > 0 ? paths : own;
  const groups = settings.SVC_INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH;
  // Our sysObjectIDs refer to our device groups; an operator's groups need sysObjectIDs of their own.
  const hasOurGroups = groups.length === 0 || groups.some((path) => ours.deviceGroups.includes(resolve(path)));
  const devices = given(settings.SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH, ours.devices);
  const found = discoverySettings(settings)?.devicesDirectory;
  const hasFound = found !== undefined && !devices.includes(found) && existsSync(found);
  return {
    devices: hasFound ? [...devices, found] : devices,
    deviceGroups: given(groups, ours.deviceGroups),
    objectGroups: given(settings.SVC_INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH, ours.objectGroups),
    objects: given(settings.SVC_INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH, ours.objects),
    defaults: given(settings.SVC_INPUT_SNMP_DEFAULTS_DIRECTORY_PATH, ours.defaults),
    autodiscover: given(settings.SVC_INPUT_SNMP_AUTODISCOVER_DIRECTORY_PATH, hasOurGroups ? ours.autodiscover : []),
    enums: given(settings.SVC_PROCESSOR_SNMP_ENUM_DEFINITIONS_DIRECTORY_PATH, ours.enums),
  };
}
