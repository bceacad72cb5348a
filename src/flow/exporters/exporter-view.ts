import type { NameTable } from "./options.ts";
import { senderPort } from "../intake/socket.ts";
import type { RateChange } from "./sampling.ts";
import { samplerElements, samplingElements } from "./sampling.ts";
import type { Template } from "./plan.ts";
import type { SeenWindow } from "./exporter-traffic.ts";
import type { Sender } from "./domain.ts";
import type { Protocol } from "../protocol.ts";
import type { Domain, TemplateOrigin } from "./domain.ts";
import type { Exporter } from "./exporter.ts";

/** What is known of an exporter, for people: a copy. */
export interface ExporterView {
  readonly address: string;
  /** The relay whose records named it last. */
  readonly relay: string | undefined;
  /** Whether its records may name other exporters. */
  readonly isRelay: boolean;
  /** Milliseconds since the epoch. */
  readonly firstSeen: number;
  readonly lastSeen: number;
  /** Its own: none where a relay passes its records on. */
  readonly datagrams: number;
  readonly records: number;
  /** Over the last whole minute. */
  readonly recordsPerSecond: number;
  /** The operator's sampling rate, which stands before those of the domains. */
  readonly manualRate: number | undefined;
  /** The operator's rate for the case that the exporter says none. */
  readonly fallbackRate: number | undefined;
  readonly domains: readonly DomainView[];
  /** A sample of its flows, of the latest time first, by which exporters are compared. */
  readonly seenFlows: readonly SeenWindow[];
}

export interface DomainView {
  readonly protocol: Protocol;
  /** Observation domain (IPFIX), Source ID (NetFlow v9), engine type and id (v5), sub-agent (sFlow). */
  readonly id: number;
  /** The agent whose sub-agent this is (sFlow). */
  readonly agent: string | undefined;
  /** Of the sender; the first one where it changes. Not for sFlow. */
  readonly port: number | undefined;
  readonly templates: readonly TemplateView[];
  /** Data sets that wait for their template. */
  readonly waitingSets: number;
  /** Since when there are any, milliseconds since the epoch. */
  readonly waitingSince: number | undefined;
  /** The templates that they wait for. */
  readonly waitingFor: readonly number[];
  /** Data sets that were given up for want of their template. */
  readonly givenUpSets: number;
  /** Sequence units received, in the unit of `missing`. */
  readonly received: number;
  /** Sequence units that never came: flows (NetFlow v5, v7), datagrams (v9, sFlow), data records (IPFIX). */
  readonly missing: number;
  /** When some were found missing last, milliseconds since the epoch. */
  readonly missingAt: number | undefined;
  /** Samples missing by the numbers of their data sources, and samples that the agent says it dropped (sFlow). */
  readonly missingSamples: number;
  readonly samplerDrops: number;
  readonly late: number;
  readonly resets: number;
  /** Sampling rates by what they apply to. */
  readonly sampling: readonly { readonly scope: string; readonly rate: number }[];
  /** The last change of a rate within one scope. */
  readonly samplingChange: RateChange | undefined;
  /** Milliseconds that the exporter's clock is ahead of ours, where the protocol has an export time. */
  readonly clockOffset: number | undefined;
  /** The ports that its datagrams came from. */
  readonly senders: readonly Readonly<Sender>[];
  /** How many names its options gave. */
  readonly names: ReturnType<NameTable["counts"]>;
  /** When the exporter started by its options, milliseconds since the epoch. */
  readonly bootTime: number | undefined;
}

export interface TemplateView {
  readonly id: number;
  readonly kind: "flows" | "options";
  readonly fields: number;
  /** What its records say of sampling: a rate, or a sampler whose rate options give. */
  readonly sampling: "rate" | "sampler" | undefined;
  /** Whether its records name the exporter: exporterIPv4Address (130), exporterIPv6Address (131). */
  readonly namesExporter: boolean;
  /** When it came for the first time, milliseconds since the epoch. */
  readonly definedAt: number;
  /** When it came for the last time; for a restored one, when it was read. */
  readonly refreshedAt: number;
  /** `restored`: known from an earlier run, and has not come again yet. */
  readonly origin: TemplateOrigin;
}

export function viewExporter(exporter: Exporter): ExporterView {
  const { address, relay, isRelay, firstSeen, lastSeen, datagrams, records, recordsPerSecond } = exporter;
  const { manualRate, fallbackRate } = exporter.rates();
  const domains = Array.from(exporter.domains(), viewDomain);
  return {
    address,
    relay,
    isRelay,
    firstSeen,
    lastSeen,
    datagrams,
    records,
    recordsPerSecond,
    manualRate,
    fallbackRate,
    domains,
    seenFlows: exporter.seenFlows(),
  };
}

function viewDomain(domain: Domain): DomainView {
  const { protocol, id, port, agent, templates, waiting, sequence, samples, options, headerRate, clockOffset } = domain;
  const { missing, recovered, received, gapAt, late, resets } = sequence;
  return {
    protocol,
    id,
    port: port === undefined ? undefined : senderPort(port),
    agent,
    templates: Array.from(templates, ([templateId, { plan, definedAt, refreshedAt, origin }]) => ({
      id: templateId,
      kind: plan.template.scopeCount === undefined ? "flows" : "options",
      fields: plan.lengths.length,
      sampling: samplingOf(plan.template),
      namesExporter: plan.exporterFields.length > 0,
      definedAt,
      refreshedAt,
      origin,
    })),
    waitingSets: waiting.count(),
    waitingSince: waiting.since,
    waitingFor: waiting.templateIds(),
    givenUpSets: waiting.dropped,
    received,
    missing: missing - recovered,
    missingAt: gapAt,
    missingSamples: samples.missing,
    samplerDrops: samples.drops,
    late,
    resets,
    sampling: [
      ...options.sampling.rates(),
      ...samples.rates(),
      ...(headerRate === undefined ? [] : [{ scope: "header", rate: headerRate }]),
    ],
    samplingChange: options.sampling.lastChange,
    clockOffset: clockOffset === undefined ? undefined : Math.round(clockOffset),
    senders: Array.from(domain.senders.all(), viewSender),
    names: options.names.counts(),
    bootTime: options.bootTime,
  };
}

function viewSender({ port, firstSeen, lastSeen, bootTime }: Readonly<Sender>): Sender {
  return { port: senderPort(port), firstSeen, lastSeen, bootTime };
}

function samplingOf({ fields }: Template): TemplateView["sampling"] {
  const said = fields.filter(({ pen, id }) => pen === 0 && samplingElements.has(id));
  if (said.some(({ id }) => !samplerElements.has(id))) return "rate";
  return said.length > 0 ? "sampler" : undefined;
}
