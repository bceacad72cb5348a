import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import type { ApiServerOptions } from "../api/index.ts";
import { createFlowListener, createStateStore, type FlowListener, type StateStore } from "../flow/index.ts";
import { compileLineFilter, type Filter } from "../filter/index.ts";
import {
  agentFor,
  createFileSink,
  createLineFilter,
  createMonitorSink,
  createOutputMetrics,
  createStdoutSink,
  filteredSink,
  rollupSink,
} from "../output/index.ts";
import type { Enricher, Sink } from "../record/index.ts";
import type { Clock, Component, Health, Log, Metrics } from "../report/index.ts";
import {
  createSnmp,
  definitionPathsIn,
  type Credential,
  type DefinitionPaths,
  type InterfaceChange,
  type Snmp,
} from "../snmp/index.ts";
import { createUdmFileStore, type UdmFileStore } from "../udm/index.ts";
import { nodeFileIo, runAfter } from "../file/index.ts";
import { createLastCopies, createSources, type Sources } from "../sources/index.ts";
import { decodingOptions } from "./decoding-options.ts";
import type { Enrichment } from "./enrichment.ts";
import { filterOf, recordFilter } from "./filters.ts";
import {
  createExporterInterfaces,
  type ExporterInterfaces,
  type ExporterInterfacesOptions,
} from "./exporter-interfaces.ts";
import { flowElements } from "./flow-elements.ts";
import { flowStreams } from "./flow-streams.ts";
import { packagePath } from "./package-root.ts";
import { missingForMetadataApi, plainSettings, receivesFlows, type Settings } from "./settings/index.ts";
import { rollupFields } from "./rollups.ts";
import { recordEdits, thinningOf } from "./shaping.ts";
import { startUdmFileThread } from "./start-udm-file-thread.ts";
import { createStateFiles } from "./state-files.ts";
import { storeOutputs } from "./outputs/store-outputs.ts";
import { createDeliveringOutput, type DeliveringOutput } from "./threads/delivering-output.ts";
import { createFlowThreads, type FlowThreads } from "./threads/flow-threads.ts";

/** What every room is given to report by. */
export interface Reporting {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly health: Health;
}

/** The store of metadata: owned when the API may change it, else only read; undefined when there is to be none. */
export function createMetadata(settings: Settings, reporting: Reporting): UdmFileStore | undefined {
  const path = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH;
  if (!settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE || path === "") return undefined;
  return createUdmFileStore({
    ...reporting,
    path,
    owned: missingForMetadataApi(settings).length === 0,
    refreshMs: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_REFRESH_RATE * 60_000,
    startThread: startUdmFileThread,
    stateDirectory: settings.SVC_STATE_DIRECTORY_PATH,
    historyBytes: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_HISTORY_SIZE,
    maxEntries: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES,
    limitName: "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES",
  });
}

/** Sources of metadata beside what people write; undefined when none are set up. */
export function createSourcesPart(
  settings: Settings,
  metadata: UdmFileStore | undefined,
  env: Readonly<Record<string, string | undefined>>,
  reporting: Reporting,
): Sources | undefined {
  const path = settings.SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH;
  if (path === "" || metadata === undefined) return undefined;
  const state = settings.SVC_STATE_DIRECTORY_PATH;
  if (state === "") {
    reporting.log.info({}, "last good copies of sources are not kept: SVC_STATE_DIRECTORY_PATH is empty");
  }
  const copies =
    state === "" ? undefined : createLastCopies(join(state, "sources"), nodeFileIo, randomBytes(6).toString("hex"));
  return createSources({
    ...reporting,
    path,
    readFile: (file) => nodeFileIo.read(file),
    layers: metadata.layers,
    copies,
    agentFor,
    env,
    after: runAfter,
    random: Math.random,
  });
}

/** A part that takes records and has a life. */
export type Output = Sink & Component & { reopen?(): void };

/** Those to files and pipes, and those to stores. */
export function createOutputs(
  settings: Settings,
  reporting: Reporting,
): { readonly outputs: readonly Output[]; readonly stores: readonly DeliveringOutput[] } {
  const outputs: Output[] = [];
  const outputMetrics = createOutputMetrics(reporting.metrics);
  const shared = { ...reporting, metrics: outputMetrics };
  const filtered = <T extends Output>(output: T, name: string, filter: Filter | undefined, thinRate = 0): T => {
    const lineFilter = createLineFilter({
      matches: filter && compileLineFilter(filter),
      filtered: (records) => outputMetrics.filtered(name, records),
      thinning: thinningOf(settings, {
        maxRate: thinRate,
        byExporter: false,
        clock: reporting.clock,
        thinned: (records) => outputMetrics.thinned(name, records),
      }),
    });
    return lineFilter === undefined ? output : filteredSink(output, lineFilter);
  };
  const rolledUp = <T extends Output>(output: T, name: string, names: readonly string[]): T => {
    if (names.length === 0) return output;
    const fields = rollupFields(name, names);
    return rollupSink(output, {
      fields,
      maxGroups: settings.SVC_PROCESSOR_ROLLUP_MAX_GROUPS,
      intervalMs: 1000 * settings.SVC_PROCESSOR_ROLLUP_INTERVAL,
      clock: reporting.clock,
      report: outputMetrics.rollup(name),
    });
  };
  if (settings.SVC_OUTPUT_FILE_ENABLE) {
    const file = createFileSink({
      ...shared,
      path: settings.SVC_OUTPUT_FILE_PATH,
      maxBytes: settings.SVC_OUTPUT_FILE_MAX_SIZE,
      maxFiles: settings.SVC_OUTPUT_FILE_MAX_BACKUPS,
      queueBytes: settings.SVC_OUTPUT_FILE_QUEUE_SIZE,
    });
    const filter = filterOf("SVC_OUTPUT_FILE_FILTER", settings.SVC_OUTPUT_FILE_FILTER);
    const fields = settings.SVC_OUTPUT_FILE_ROLLUP_FIELDS;
    outputs.push(filtered(rolledUp(file, "file", fields), "file", filter, settings.SVC_OUTPUT_FILE_THIN_RATE));
  }
  if (settings.SVC_OUTPUT_STDOUT_ENABLE) {
    const stdout = createStdoutSink({
      ...shared,
      isPretty: settings.SVC_OUTPUT_STDOUT_FORMAT === "json_pretty",
      maxRate: settings.SVC_OUTPUT_STDOUT_RATE,
      queueBytes: settings.SVC_OUTPUT_STDOUT_QUEUE_SIZE,
    });
    const filter = filterOf("SVC_OUTPUT_STDOUT_FILTER", settings.SVC_OUTPUT_STDOUT_FILTER);
    const fields = settings.SVC_OUTPUT_STDOUT_ROLLUP_FIELDS;
    outputs.push(filtered(rolledUp(stdout, "stdout", fields), "stdout", filter));
  }
  if (settings.SVC_OUTPUT_MONITOR_ENABLE) {
    outputs.push(createMonitorSink({ ...reporting, intervalMs: 1000 * settings.SVC_OUTPUT_MONITOR_INTERVAL }));
  }
  const stores = storeOutputs(settings).map(({ before, delivery, store }) => {
    const logLevel = settings.SVC_LOG_LEVEL;
    const output = createDeliveringOutput({ ...reporting, delivery, store, outputMetrics, logLevel });
    const { name } = delivery;
    const filter = filterOf(name, before.filter);
    return filtered(rolledUp(output, name, before.rollupFields), name, filter, before.thinRate);
  });
  return { outputs, stores };
}

/** Flows, wherever they are decoded. */
export type Flows = FlowListener & Partial<Pick<FlowThreads, "reload">>;

/** What exporters say once, kept over a restart; undefined when nothing is to be kept. */
export function createFlowState(settings: Settings, reporting: Reporting): StateStore | undefined {
  if (!receivesFlows(settings)) return undefined;
  const directory = settings.SVC_STATE_DIRECTORY_PATH;
  if (directory === "") {
    reporting.log.info({}, "templates of flows are not kept over a restart: SVC_STATE_DIRECTORY_PATH is empty");
    return undefined;
  }
  const run = randomBytes(6).toString("hex");
  return createStateStore({ ...reporting, files: createStateFiles(join(directory, "flow"), nodeFileIo, run) });
}

/** What decoding gets from the other parts, in whichever thread it runs. */
export interface FlowSources {
  /** Of this thread. */
  readonly enrichment: Enrichment;
  readonly metadata: UdmFileStore | undefined;
  readonly snmp: Snmp | undefined;
  /** Names the interfaces of exporters, polled ones included; undefined: SNMP does. */
  readonly exporterInterfaces: ExporterInterfaces | undefined;
  readonly state: StateStore | undefined;
  readonly sink: Sink;
}

/** Receives and decodes flows: in threads of their own, or in this one when the settings want none. */
export function createFlows(settings: Settings, sources: FlowSources, reporting: Reporting): Flows | undefined {
  if (!receivesFlows(settings)) return undefined;
  const { enrichment, metadata, snmp, exporterInterfaces, state, sink } = sources;
  const { elements, warnings } = flowElements(settings);
  for (const warning of warnings) reporting.log.warn({}, warning);
  const plain = plainSettings(settings);
  const count = decodingThreads(settings);
  const streams = flowStreams(settings);
  if (count > 0) {
    const named = snmp && ((listener: (change: InterfaceChange) => void) => snmp.watchInterfaces(listener));
    const watchInterfaces = exporterInterfaces === undefined ? named : exporterInterfaces.watch;
    return createFlowThreads({
      ...reporting,
      settings: plain,
      elements,
      count,
      streams,
      metadata,
      sink,
      watchInterfaces,
      state,
    });
  }
  return createFlowListener({
    ...reporting,
    ...decodingOptions(plain, {
      ...reporting,
      elements,
      sink,
      enrichment,
      interfaces: exporterInterfaces?.enricher ?? snmp?.interfaceEnricher,
    }),
    ip: settings.SVC_FLOW_SERVER_UDP_IP,
    ports: settings.SVC_FLOW_SERVER_UDP_ENABLE ? settings.SVC_FLOW_SERVER_UDP_PORT : [],
    streams,
    receiveBufferBytes: settings.SVC_FLOW_SERVER_UDP_READ_BUFFER_MAX_SIZE,
    ...(state !== undefined && { state }),
  });
}

/**
 * In how many threads of their own flows are decoded; 0 is in the main thread. Receiving and the main thread need little
 * in comparison with decoding, so no core is left for them.
 */
export function decodingThreads(settings: Settings): number {
  if (!receivesFlows(settings)) return 0;
  const poolSize = settings.SVC_PROCESSOR_POOL_SIZE;
  if (poolSize === "main") return 0;
  return poolSize === "auto" || poolSize === 0 ? Math.min(8, availableParallelism()) : poolSize;
}

export function createSnmpPart(
  settings: Settings,
  enricher: Enricher,
  sink: Sink,
  reporting: Reporting,
): Snmp | undefined {
  if (!settings.SVC_INPUT_SNMP_ENABLE) return undefined;
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
  return createSnmp({
    ...reporting,
    paths: snmpPaths(settings),
    persistDirectory: settings.SVC_INPUT_SNMP_PERSIST_ENABLE ? settings.SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH : "",
    enricher,
    sink: lineFilter === undefined ? sink : filteredSink(sink, lineFilter),
  });
}

/** Asks exporters for the names of their interfaces; undefined when the settings do not want it. */
export function createExporterInterfacesPart(
  settings: Settings,
  snmp: Snmp | undefined,
  exporters: ExporterInterfacesOptions["exporters"],
  reporting: Reporting,
): ExporterInterfaces | undefined {
  if (!settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE || !receivesFlows(settings)) return undefined;
  return createExporterInterfaces({
    ...reporting,
    credentials: exporterCredentials(settings),
    port: settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_PORT,
    retries: settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_RETRIES,
    timeoutMs: 1000 * settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_TIMEOUT,
    ttlMs: 1000 * settings.SVC_PROCESSOR_ENRICH_NETIF_TTL,
    exporters,
    watchPolled: snmp && ((listener) => snmp.watchInterfaces(listener)),
  });
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

/** The directories of the settings; those of the program where nothing is set. */
export function snmpPaths(settings: Settings): DefinitionPaths {
  const ours = definitionPathsIn(packagePath("definitions"));
  const given = (paths: readonly string[], own: readonly string[]): readonly string[] =>
    paths.length > 0 ? paths : own;
  const groups = settings.SVC_INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH;
  // Our sysObjectIDs lead to our device groups; those of an operator need sysObjectIDs of their own.
  const hasOurGroups = groups.length === 0 || groups.some((path) => ours.deviceGroups.includes(resolve(path)));
  return {
    devices: given(settings.SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH, ours.devices),
    deviceGroups: given(groups, ours.deviceGroups),
    objectGroups: given(settings.SVC_INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH, ours.objectGroups),
    objects: given(settings.SVC_INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH, ours.objects),
    defaults: given(settings.SVC_INPUT_SNMP_DEFAULTS_DIRECTORY_PATH, ours.defaults),
    autodiscover: given(settings.SVC_INPUT_SNMP_AUTODISCOVER_DIRECTORY_PATH, hasOurGroups ? ours.autodiscover : []),
    enums: given(settings.SVC_PROCESSOR_SNMP_ENUM_DEFINITIONS_DIRECTORY_PATH, ours.enums),
  };
}

/** The options of the API that come from the settings alone. */
export function apiOptions(
  settings: Settings,
): Pick<
  ApiServerOptions,
  | "ip"
  | "port"
  | "tls"
  | "basicAuth"
  | "authMetrics"
  | "maxBodyBytes"
  | "maxBatchSize"
  | "unknownFields"
  | "allowedHosts"
> {
  return {
    ip: settings.SVC_API_IP,
    port: settings.SVC_API_PORT,
    ...(settings.SVC_API_TLS_ENABLE && {
      tls: {
        certPath: settings.SVC_API_TLS_CERT_FILEPATH,
        keyPath: settings.SVC_API_TLS_KEY_FILEPATH,
        ...(settings.SVC_API_TLS_CLIENT_CA_CERT_FILEPATH !== "" && {
          clientCaPath: settings.SVC_API_TLS_CLIENT_CA_CERT_FILEPATH,
        }),
      },
    }),
    ...(settings.SVC_API_BASIC_AUTH_ENABLE && {
      basicAuth: {
        username: settings.SVC_API_BASIC_AUTH_USERNAME,
        password: settings.SVC_API_BASIC_AUTH_PASSWORD.reveal(),
      },
    }),
    authMetrics: settings.SVC_API_BASIC_AUTH_METRICS_ENABLE,
    maxBodyBytes: settings.SVC_API_MAX_BODY_SIZE,
    maxBatchSize: settings.SVC_API_MAX_BATCH_SIZE,
    unknownFields: settings.SVC_API_UNKNOWN_FIELDS,
    allowedHosts: settings.SVC_API_ALLOWED_HOSTS,
  };
}
