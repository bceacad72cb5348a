import { RuleEnricher, servicePorts, type InterfaceSource } from "../../enrich/index.ts";
import type { CustomElement, FlowPipelineOptions, Protocol } from "../../flow/index.ts";
import { joinLineEnrichers, type AllocateSlab, type Enricher, type Sink, type Workspace } from "../../record/index.ts";
import type { Clock, Log, Metrics } from "../../base/report/index.ts";
import type { Enrichment } from "../enrichment/enrichment.ts";
import { recordFilter } from "../shaping.ts";
import { flowShape, inTurn } from "../shaping.ts";
import type { PlainSettings } from "../settings/index.ts";

/** The needs of decoding that are not in the settings. */
export interface DecodingParts {
  /** The user's information elements. */
  readonly elements: readonly CustomElement[];
  /** The number of threads that decode, which share the limits. Default 1. */
  readonly threads?: number;
  readonly sink: Sink;
  readonly allocate?: AllocateSlab;
  readonly workspace?: Workspace;
  readonly enrichment: Pick<
    Enrichment,
    "netifs" | "names" | "apps" | "addresses" | "ownNames" | "rules" | "applications" | "samplingFile"
  >;
  /** Names the interfaces of exporters. */
  readonly interfaces?: (Enricher & InterfaceSource) | undefined;
  /** Reports whether SNMP knows an exporter by its address: then the traffic of its interfaces is summed. */
  readonly isMeasured?: ((address: string) => boolean) | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** Returns the options by which one thread turns datagrams into enriched lines, by the settings. */
export function decodingOptions(settings: PlainSettings, parts: DecodingParts): FlowPipelineOptions {
  const {
    elements,
    threads = 1,
    sink,
    allocate,
    workspace,
    enrichment,
    interfaces,
    isMeasured,
    log,
    metrics,
    clock,
  } = parts;
  const { ownNames } = enrichment;
  const named = [enrichment.netifs, interfaces, ownNames].filter((source) => source !== undefined);
  const rules = enrichment.rules && new RuleEnricher(enrichment.rules, named, metrics);
  return {
    elements,
    samplingRates: settings.SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF,
    samplingFile: enrichment.samplingFile,
    applications: enrichment.applications,
    optionsRecords: settings.SVC_FLOW_DECODER_OPTIONS_RECORDS_ENABLE,
    scaleCounters: settings.SVC_PROCESSOR_SCALE_COUNTERS_ENABLE,
    splitBiflows: settings.SVC_FLOW_DECODER_BIFLOW_SPLIT_ENABLE,
    protocolsOff: protocolsOff(settings),
    sflowSamples: {
      flows: settings.SVC_PROCESSOR_DECODE_SFLOW_FLOWS_ENABLE,
      counters: settings.SVC_PROCESSOR_DECODE_SFLOW_COUNTERS_ENABLE,
      keepsHeaders: settings.SVC_PROCESSOR_DECODE_SFLOW_FLOWS_KEEP_SAMPLES,
    },
    relays: settings.SVC_FLOW_DECODER_RELAYS,
    templateTtlMs: settings.SVC_FLOW_DECODER_TEMPLATE_TTL * 60_000,
    isShared: sharesExporters(settings),
    limits: {
      memoryInAll: Math.floor(settings.SVC_FLOW_DECODER_MEMORY_MAX_SIZE / threads),
      ...(sharesExporters(settings) && heldLimits),
    },
    filter: recordFilter(settings),
    shape: inTurn(inTurn(ownNames?.shape, rules?.shape), flowShape(settings, metrics, clock)),
    communityId: settings.SVC_PROCESSOR_ENRICH_COMMUNITYID_ENABLE,
    communityIdSeed: settings.SVC_PROCESSOR_ENRICH_COMMUNITYID_SEED,
    ends: endsOptions(settings),
    // The order of enrichers decides which source wins.
    // The operator's file of interfaces wins over SNMP, which keeps existing names. Metadata comes later and may replace the
    // others' values. Names from the API replace those of all other sources. Rules see all of these values.
    enricher: inOrder([
      enrichment.netifs,
      interfaces,
      enrichment.names,
      enrichment.apps,
      enrichment.addresses,
      ownNames,
      rules,
    ]),
    isMeasured,
    sink,
    ...(allocate !== undefined && { allocate }),
    workspace,
    log,
    metrics,
    clock,
  };
}

/** Limits of datagrams of a busy exporter that wait until the others have answered. */
const heldLimits = { waitingSets: 4096, waitingBytes: 4 * 1024 * 1024 };

/** Reports whether this collector and the others of its fleet share exporters' announcements. */
export function sharesExporters(
  settings: Pick<PlainSettings, "SVC_FLEET_NAME" | "SVC_FLEET_EXPORTERS_ENABLE">,
): boolean {
  return settings.SVC_FLEET_NAME !== "" && settings.SVC_FLEET_EXPORTERS_ENABLE;
}

/** Reports whether SNMP names the interfaces of exporters. */
export function hasInterfaceNames(settings: PlainSettings): boolean {
  return settings.SVC_INPUT_SNMP_ENABLE || settings.SVC_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE;
}

function protocolsOff(settings: PlainSettings): Protocol[] {
  const isOn: readonly (readonly [Protocol, boolean])[] = [
    ["netflow1", settings.SVC_PROCESSOR_DECODE_NETFLOW1_ENABLE],
    ["netflow5", settings.SVC_PROCESSOR_DECODE_NETFLOW5_ENABLE],
    ["netflow7", settings.SVC_PROCESSOR_DECODE_NETFLOW7_ENABLE],
    ["netflow9", settings.SVC_PROCESSOR_DECODE_NETFLOW9_ENABLE],
    ["ipfix", settings.SVC_PROCESSOR_DECODE_IPFIX_ENABLE],
    ["sflow", settings.SVC_PROCESSOR_DECODE_SFLOW5_ENABLE],
  ];
  return isOn.filter(([, on]) => !on).map(([protocol]) => protocol);
}

/** Returns the options for both ends of a flow together. */
function endsOptions(settings: PlainSettings): FlowPipelineOptions["ends"] {
  const joins = [
    ...(settings.SVC_PROCESSOR_ENRICH_JOIN_ASN ? (["as.label"] as const) : []),
    ...(settings.SVC_PROCESSOR_ENRICH_JOIN_GEOIP ? (["geo.city.name", "geo.country.name"] as const) : []),
    ...(settings.SVC_PROCESSOR_ENRICH_JOIN_SUBNETATTR ? (["ip.subnet.tags"] as const) : []),
    ...(settings.SVC_PROCESSOR_ENRICH_JOIN_SEC ? (["sec.threat.name"] as const) : []),
  ];
  const clientServer = settings.SVC_PROCESSOR_EXPAND_CLISRV
    ? { services: servicePorts(), withoutPorts: settings.SVC_PROCESSOR_EXPAND_CLISRV_NO_L4_PORTS }
    : undefined;
  const ids = settings.SVC_PROCESSOR_ENRICH_CONVERSATIONID_ENABLE
    ? { seed: settings.SVC_PROCESSOR_ENRICH_CONVERSATIONID_SEED }
    : undefined;
  if (clientServer === undefined && ids === undefined && joins.length === 0) return undefined;
  return { clientServer, ids, joins: new Set(joins) };
}

/** Returns an enricher that runs others in order. */
function inOrder(enrichers: readonly (Enricher | undefined)[]): Enricher {
  const present = enrichers.filter((enricher) => enricher !== undefined);
  return {
    enrich(record, rendered) {
      for (const enricher of present) enricher.enrich(record, rendered);
    },
    lines: joinLineEnrichers(present.map(({ lines }) => lines)),
  };
}
