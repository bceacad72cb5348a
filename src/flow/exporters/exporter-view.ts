import { senderPort } from "../datagram.ts";
import type { Domain, KnownTemplate, Sender } from "./domain.ts";
import type { Exporter } from "./exporter.ts";
import type { SketchWindow } from "./exporter-traffic.ts";
import type { Template } from "./plan.ts";
import { samplerElements, samplingElements } from "./sampling.ts";

export type ExporterView = Readonly<ReturnType<typeof viewExporter>>;
export type DomainView = Readonly<ReturnType<typeof viewDomain>>;
export type TemplateView = Readonly<ReturnType<typeof viewTemplate>>;

/** Returns what is known of an exporter, for people: a copy. Times in milliseconds since the epoch. */
export function viewExporter(exporter: Exporter) {
  const { address, relay, isRelay, firstSeen, lastSeen, datagrams, records, recordsPerSecond } = exporter;
  const { manualRate, fallbackRate } = exporter.rates();
  return {
    address,
    /** The relay whose records named it last. */
    relay,
    /** True if its records may name other exporters. */
    isRelay,
    firstSeen,
    lastSeen,
    /** Its own: none where a relay passes its records on. */
    datagrams,
    records,
    /** Over the last whole minute. */
    recordsPerSecond,
    /** The operator's sampling rate, which counts before those of the domains. */
    manualRate,
    /** The operator's rate for the case that the exporter says none. */
    fallbackRate,
    domains: Array.from(exporter.domains(), viewDomain) as readonly DomainView[],
    /** A sample of its flows, of the latest time first, by which exporters are compared. */
    sketch: exporter.recent.sketch() as readonly SketchWindow[],
  };
}

function viewDomain(domain: Domain) {
  const { protocol, id, port, agent, templates, waiting, sequence, samples, options, headerRate, clock } = domain;
  const { missing, recovered, received, gapAt, late, resets } = sequence;
  return {
    protocol,
    /** Observation domain (IPFIX), Source ID (NetFlow v9), engine type and id (v5), sub-agent (sFlow). */
    id,
    /** The agent whose sub-agent this is (sFlow). */
    agent,
    /** The port of the sender; the first one where it changes. Not for sFlow. */
    port: port === undefined ? undefined : senderPort(port),
    templates: Array.from(templates.values(), viewTemplate) as readonly TemplateView[],
    /** Data sets that wait for their template. */
    waitingSets: waiting.count(),
    /** Since when there are any. */
    waitingSince: waiting.since,
    /** The templates that they wait for. */
    waitingFor: waiting.templateIds(),
    /** Data sets that were given up for want of their template. */
    givenUpSets: waiting.dropped,
    /** Sequence units received, in the unit of `missing`. */
    received,
    /** Sequence units that never came: flows (NetFlow v5, v7), datagrams (v9, sFlow), data records (IPFIX). */
    missing: missing - recovered,
    /** When some were found missing last. */
    missingAt: gapAt,
    /** Samples missing by the numbers of their data sources, and samples that the agent says it dropped (sFlow). */
    missingSamples: samples.missing,
    samplerDrops: samples.drops,
    late,
    resets,
    /** Sampling rates by what they apply to. */
    sampling: [
      ...options.sampling.rates(),
      ...samples.rates(),
      ...(headerRate === undefined ? [] : [{ scope: "header", rate: headerRate }]),
    ] as readonly { readonly scope: string; readonly rate: number }[],
    /** The last change of a rate within one scope. */
    samplingChange: options.sampling.lastChange,
    /** Milliseconds that the exporter's clock is ahead of ours: the median over its last datagrams, where the protocol has an export time. */
    clockOffset: clock.offset === undefined ? undefined : Math.round(clock.offset),
    /** The ports that its datagrams came from. */
    senders: domain.senders.all().map(({ port: from, firstSeen, lastSeen, bootTime }): Sender => {
      return { port: senderPort(from), firstSeen, lastSeen, bootTime };
    }),
    /** The number of names that its options gave. */
    names: options.names.counts(),
    /** When the exporter started by its options. */
    bootTime: options.bootTime,
  };
}

function viewTemplate({ plan, definedAt, refreshedAt, origin }: KnownTemplate) {
  const { template } = plan;
  const kind: "flows" | "options" = template.scopeCount === undefined ? "flows" : "options";
  return {
    id: template.id,
    kind,
    fields: plan.lengths.length,
    /** The sampling that its records name: a rate, or a sampler whose rate options give. */
    sampling: samplingOf(template),
    /** True if its records name the exporter: exporterIPv4Address (130), exporterIPv6Address (131). */
    namesExporter: plan.exporterFields.length > 0,
    /** When it came for the first time. */
    definedAt,
    /** When it came for the last time; for a restored one, when it was read. */
    refreshedAt,
    /** `restored`: known from an earlier run, and has not come again yet. */
    origin,
  };
}

function samplingOf({ fields }: Template): "rate" | "sampler" | undefined {
  const said = fields.filter(({ pen, id }) => pen === 0 && samplingElements.has(id));
  if (said.some(({ id }) => !samplerElements.has(id))) return "rate";
  return said.length > 0 ? "sampler" : undefined;
}
