import type { NameCounts } from "./options/name-table.ts";
import { senderPort } from "../intake/tcp/session-port.ts";
import type { Protocol } from "../protocol.ts";
import type { Domain } from "./domain.ts";
import type { Exporter } from "./exporter.ts";

/** What is known of an exporter, for people: a copy. */
export interface ExporterView {
  readonly address: string;
  /** Milliseconds since the epoch. */
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly datagrams: number;
  readonly records: number;
  /** Over the last whole minute. */
  readonly recordsPerSecond: number;
  /** The operator's sampling rate, which stands before those of the domains. */
  readonly manualRate: number | undefined;
  readonly domains: readonly DomainView[];
}

export interface DomainView {
  readonly protocol: Protocol;
  /** Observation domain (IPFIX), Source ID (NetFlow v9), engine type and id (v5), sub-agent (sFlow). */
  readonly id: number;
  /** The agent whose sub-agent this is (sFlow). */
  readonly agent: string | undefined;
  /** Of the sender, where templates are scoped by it. */
  readonly port: number | undefined;
  readonly templates: readonly TemplateView[];
  /** Data sets that wait for their template. */
  readonly waitingSets: number;
  /** Sequence units that never came: flows (NetFlow v5, v7), datagrams (v9, sFlow), data records (IPFIX). */
  readonly missing: number;
  /** Samples missing by the numbers of their data sources, and samples that the agent says it dropped (sFlow). */
  readonly missingSamples: number;
  readonly samplerDrops: number;
  readonly late: number;
  readonly resets: number;
  /** Sampling rates by what they apply to. */
  readonly sampling: readonly { readonly scope: string; readonly rate: number }[];
  /** How many names its options gave. */
  readonly names: NameCounts;
  /** When the exporter started by its options, milliseconds since the epoch. */
  readonly bootTime: number | undefined;
}

export interface TemplateView {
  readonly id: number;
  readonly kind: "flows" | "options";
  readonly fields: number;
  /** When it came for the first time, milliseconds since the epoch. */
  readonly definedAt: number;
  /** When it came for the last time; for a restored one, when it was read. */
  readonly refreshedAt: number;
  /** `restored`: known from an earlier run, and has not come again yet. */
  readonly origin: "received" | "restored";
}

export function viewExporter(exporter: Exporter): ExporterView {
  const { address, firstSeen, lastSeen, datagrams, records, recordsPerSecond, manualRate } = exporter;
  const domains = Array.from(exporter.domains(), viewDomain);
  return { address, firstSeen, lastSeen, datagrams, records, recordsPerSecond, manualRate, domains };
}

function viewDomain({ protocol, id, port, agent, templates, waiting, sequence, samples, options }: Domain): DomainView {
  const { missing, recovered, late, resets } = sequence;
  return {
    protocol,
    id,
    port: port === undefined ? undefined : senderPort(port),
    agent,
    templates: Array.from(templates, ([templateId, { plan, definedAt, refreshedAt, isRestored }]) => ({
      id: templateId,
      kind: plan.template.scopeCount === undefined ? "flows" : "options",
      fields: plan.lengths.length,
      definedAt,
      refreshedAt,
      origin: isRestored ? "restored" : "received",
    })),
    waitingSets: waiting.count(),
    missing: missing - recovered,
    missingSamples: samples.missing,
    samplerDrops: samples.drops,
    late,
    resets,
    sampling: [...options.sampling.rates(), ...samples.rates()],
    names: options.names.counts(),
    bootTime: options.bootTime,
  };
}
