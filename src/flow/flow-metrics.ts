import {
  dropReasons,
  setKinds,
  templateChanges,
  type DropReason,
  type SetKind,
  type TemplateChange,
  type PathCounts,
} from "./wire/records/decoder.ts";
import { protocols, type Protocol } from "./datagram.ts";
import type { Labels, Metrics } from "../base/report/index.ts";
import type { FlowEnds } from "./line/flow-ends.ts";
import type { CompiledPlans } from "./line/compiled-plans.ts";
import type { SlowFieldCounts } from "./line/line-writer.ts";
import type { OpenQuestions } from "./exporters/waiting-sets.ts";
import type { StateExchange } from "./exporters/state/state-exchange.ts";
import type { ExporterTable } from "./exporters/exporter-table.ts";
import type { Exporter } from "./exporters/exporter.ts";

/** Counts what happened to the datagrams of one protocol so far. Plain numbers, because counting is part of the hot path. */
export class ProtocolCounts {
  datagrams = 0;
  bytes = 0;
  flows = 0;
  options = 0;
  counters = 0;
  /** Records that name another exporter than their sender, which is no relay. */
  claims = 0;
  /** Sampling rates that cannot be, with each record that says one. */
  doubtedRates = 0;
  readonly sets: Record<SetKind, number> = zeros(setKinds);
  readonly templates: Record<TemplateChange, number> = zeros(templateChanges);
  readonly drops: Record<DropReason, number> = zeros(Object.keys(dropReasons) as DropReason[]);
  /** Data sets that came before their template. */
  waited = 0;
  /** Data sets that were held until other collectors had been asked. */
  held = 0;
  /** Sets that waited and were decoded when their template came. */
  replayed = 0;
  /** Units missing by sequence numbers. */
  missing = 0;
  /** Units among these that came late or never were missing. */
  recovered = 0;
  late = 0;
  /** Samples missing by the numbers of their data sources; of these, samples that came late. */
  samplesMissing = 0;
  samplesRecovered = 0;
  /** Samples that agents say they dropped. */
  samplerDrops = 0;
  resets = 0;
}

export type FlowCounts = Readonly<Record<Protocol, ProtocolCounts>>;

export function createFlowCounts(): FlowCounts {
  return Object.fromEntries(protocols.map((protocol) => [protocol, new ProtocolCounts()])) as FlowCounts;
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}

type Series = readonly [Labels, number];

/** Registers the metrics of decoding. They are read from the counts when asked for. */
export function registerFlowMetrics(
  metrics: Metrics,
  counts: FlowCounts,
  exporters: ExporterTable,
  restored: { readonly templates: number },
  slow: { readonly slowFields: Readonly<SlowFieldCounts>; readonly samples: Readonly<PathCounts> },
  plans: Pick<CompiledPlans, "size" | "counts">,
): void {
  registerProtocolMetrics(metrics, counts);
  metrics.counterFrom(
    "netgloss_flow_slow_fields_total",
    "Fields that take longer than ordinary ones, by reason: values, repeated elements, lists, packets, " +
      "estimates beyond 2^53, enrichment that may meet other names; whole samples of sFlow.",
    ["reason"],
    () => [
      ...Object.entries(slow.slowFields).map(([reason, count]): Series => [{ reason }, count]),
      [{ reason: "sample" }, slow.samples.interpreted],
    ],
  );
  metrics.counterFrom(
    "netgloss_flow_compiled_templates_total",
    "Templates by content whose program was made, or was dropped for lack of memory.",
    ["outcome"],
    () => Object.entries(plans.counts).map(([outcome, count]): Series => [{ outcome }, count]),
  );
  metrics.gaugeFrom("netgloss_flow_compiled_templates", "Templates whose program is kept.", [], () => plans.size);
  metrics.counterFrom(
    "netgloss_flow_templates_restored_total",
    "Templates known from an earlier run.",
    [],
    () => restored.templates,
  );
  registerStateMetrics(metrics, exporters);
}

/** Registers what is counted by protocol. */
function registerProtocolMetrics(metrics: Metrics, counts: FlowCounts): void {
  const byProtocol = (name: string, help: string, read: (counts: ProtocolCounts) => number): void =>
    metrics.counterFrom(name, help, ["protocol"], () =>
      Object.entries(counts).map(([protocol, of]): Series => [{ protocol }, read(of)]),
    );
  const byKind = (
    name: string,
    help: string,
    label: string,
    read: (counts: ProtocolCounts) => Readonly<Record<string, number>>,
  ): void =>
    metrics.counterFrom(name, help, ["protocol", label], () =>
      Object.entries(counts).flatMap(([protocol, of]) =>
        Object.entries(read(of)).map(([kind, count]): Series => [{ protocol, [label]: kind }, count]),
      ),
    );

  byProtocol("netgloss_flow_datagrams_total", "Datagrams received.", (of) => of.datagrams);
  byProtocol("netgloss_flow_bytes_total", "Bytes of datagrams received.", (of) => of.bytes);
  byProtocol("netgloss_flow_records_total", "Flow records decoded.", (of) => of.flows);
  byProtocol("netgloss_flow_options_records_total", "Records of options data decoded.", (of) => of.options);
  byProtocol("netgloss_flow_counters_records_total", "Records of counters decoded.", (of) => of.counters);
  byProtocol(
    "netgloss_flow_exporter_claims_ignored_total",
    "Records that name another exporter than their sender, which is not in SVC_FLOW_DECODER_RELAYS.",
    (of) => of.claims,
  );
  byProtocol(
    "netgloss_flow_doubted_rates_total",
    "Sampling rates of 1:16777216 and beyond, which cannot be: read in the other byte order, or not used.",
    (of) => of.doubtedRates,
  );
  byKind("netgloss_flow_sets_total", "Sets and samples in datagrams.", "kind", (of) => of.sets);
  byKind("netgloss_flow_templates_total", "Templates received, by what they changed.", "change", (of) => of.templates);
  byKind("netgloss_flow_drops_total", "What could not be decoded, by reason.", "reason", (of) => of.drops);
  byProtocol("netgloss_flow_sets_waited_total", "Data sets that came before their template.", (of) => of.waited);
  byProtocol(
    "netgloss_flow_sets_replayed_total",
    "Waiting data sets that were decoded when their template came.",
    (of) => of.replayed,
  );
  byProtocol(
    "netgloss_flow_sets_held_total",
    "Data sets of exporters that were new here or came back, held until the other collectors of the fleet had been asked.",
    (of) => of.held,
  );
  byProtocol(
    "netgloss_flow_missing_total",
    "Flows (NetFlow v5, v7), datagrams (v9, sFlow), data records (IPFIX) missing by sequence numbers.",
    (of) => of.missing,
  );
  byProtocol(
    "netgloss_flow_recovered_total",
    "Units counted as missing that came late or were never missing.",
    (of) => of.recovered,
  );
  byProtocol(
    "netgloss_flow_samples_missing_total",
    "Samples missing by the numbers of their data sources.",
    (of) => of.samplesMissing,
  );
  byProtocol(
    "netgloss_flow_samples_recovered_total",
    "Samples counted as missing that came late.",
    (of) => of.samplesRecovered,
  );
  byProtocol("netgloss_flow_sampler_drops_total", "Samples that agents say they dropped.", (of) => of.samplerDrops);
  byProtocol("netgloss_flow_late_total", "Datagrams that came out of order.", (of) => of.late);
  byProtocol("netgloss_flow_sequence_resets_total", "Restarts of sequence numbers.", (of) => of.resets);
}

/** Registers what exporters make the collector remember. */
function registerStateMetrics(metrics: Metrics, exporters: ExporterTable): void {
  metrics.counterFrom(
    "netgloss_flow_evicted_total",
    "State of exporters that was evicted, by a limit or by age.",
    ["what"],
    () => evictedSeries(exporters),
  );
  metrics.gaugeFrom("netgloss_flow_exporters", "Exporters known.", [], () => exporters.size());
  metrics.gaugeFrom("netgloss_flow_templates", "Templates known.", [], () => {
    let count = 0;
    for (const exporter of exporters.all()) count += exporter.templates.size;
    return count;
  });
  const { waiting, memory } = exporters.shared;
  metrics.gaugeFrom("netgloss_flow_waiting_sets", "Data sets that wait for their template.", [], () => waiting.sets);
  metrics.gaugeFrom(
    "netgloss_flow_waiting_bytes",
    "Bytes of data sets that wait for their template.",
    [],
    () => waiting.bytes,
  );
  metrics.gaugeFrom(
    "netgloss_flow_memory_bytes",
    "Approximate memory for the state of exporters: templates, options, waiting data sets.",
    [],
    () => memory.used,
  );
  metrics.gaugeFrom(
    "netgloss_flow_memory_max_bytes",
    "Limit of the memory for the state of exporters.",
    [],
    () => memory.max,
  );
  metrics.counterFrom(
    "netgloss_flow_memory_freed_bytes_total",
    "Memory taken back from exporters: because all was in use (full), or because they were silent for an hour (idle).",
    ["reason"],
    () => Object.entries(exporters.freed).map(([reason, bytes]): Series => [{ reason }, bytes]),
  );
}

function evictedSeries({ shared: { evictions } }: ExporterTable): Series[] {
  return [
    [{ what: "exporter" }, evictions.exporters],
    [{ what: "silent_exporter" }, evictions.silentExporters],
    [{ what: "domain" }, evictions.domains],
    [{ what: "template" }, evictions.templates],
    [{ what: "expired_template" }, evictions.expiredTemplates],
    [{ what: "option" }, evictions.options],
    [{ what: "source" }, evictions.sources],
    [{ what: "waiting_set" }, evictions.waitingSets],
    [{ what: "firewall_flow" }, evictions.firewallFlows],
  ];
}

/**
 * Registers what becomes of flow records on their way to lines, and by which rules clients were found.
 *
 * @param counts `unmeasured`: bytes that the traffic of interfaces leaves out.
 */
export function registerLineMetrics(
  metrics: Metrics,
  ends: Pick<FlowEnds, "methods">,
  counts: Readonly<Record<"filtered" | "icmpSwapped" | "unmeasured", () => number>>,
): void {
  metrics.counterFrom(
    "netgloss_flow_filtered_records_total",
    "Records dropped by SVC_PROCESSOR_FILTER_KEEP and SVC_PROCESSOR_FILTER_DROP.",
    [],
    counts.filtered,
  );
  metrics.counterFrom(
    "netgloss_flow_icmp_swapped_total",
    "Flows whose type and code of ICMPv6 arrived in each other's place.",
    [],
    counts.icmpSwapped,
  );
  metrics.counterFrom(
    "netgloss_flow_clisrv_total",
    "Flows between two addresses by the rule that says which is the client; none: no rule does.",
    ["method"],
    () => ends.methods().map(([method, flows]) => [{ method }, flows] as const),
  );
  metrics.counterFrom(
    "netgloss_flow_traffic_unmeasured_total",
    "Bytes of flows that were not added up by interface for want of room: `netgloss doctor` does not compare them with SNMP.",
    [],
    counts.unmeasured,
  );
}

/** Registers what other collectors of the fleet were asked, and what their answers were good for. */
export function registerSharedMetrics(
  metrics: Metrics,
  shared: StateExchange["shared"],
  questions: Pick<OpenQuestions, "refused"> | undefined,
): void {
  metrics.counterFrom(
    "netgloss_flow_templates_shared_total",
    "Templates that other collectors of the fleet know: taken, or left because the exporter has restarted since or was not heard there for long.",
    ["result"],
    () => Object.entries(shared).map(([result, templates]): Series => [{ result }, templates]),
  );
  metrics.counterFrom(
    "netgloss_flow_shared_refused_total",
    "Exporters that other collectors were not asked about because too many queries were open.",
    [],
    () => questions?.refused ?? 0,
  );
}

/** The number of exporters that have metrics of their own, in each decoding thread. */
export const maxListedExporters = 1000;

/**
 * Metrics by exporter. Of more exporters than the limit, those first seen are listed: a sender that invents addresses
 * neither makes a scrape endless nor replaces one that is known.
 */
export function registerExporterMetrics(metrics: Metrics, exporters: ExporterTable, limit = maxListedExporters): void {
  const listed = (): readonly Exporter[] => {
    const all = [...exporters.all()];
    if (all.length <= limit) return all;
    return all.sort((a, b) => a.firstSeen - b.firstSeen || compareTexts(a.address, b.address)).slice(0, limit);
  };
  const byExporter = (read: (exporter: Exporter) => number) => (): Series[] =>
    listed().map((exporter): Series => [{ exporter: exporter.address }, read(exporter)]);

  metrics.counterFrom(
    "netgloss_flow_exporter_records_total",
    "Records of an exporter; their rate is rate() of this.",
    ["exporter"],
    byExporter(({ records }) => records),
  );
  metrics.gaugeFrom(
    "netgloss_flow_exporter_last_seen_timestamp_seconds",
    "When the last datagram of an exporter came, since the epoch.",
    ["exporter"],
    byExporter(({ lastSeen }) => lastSeen / 1000),
  );
  metrics.counterFrom(
    "netgloss_flow_exporter_missing_total",
    "Units missing from an exporter by its sequence numbers.",
    ["exporter", "protocol"],
    () => listed().flatMap(missingOf),
  );
  metrics.gaugeFrom(
    "netgloss_flow_exporters_unlisted",
    `Exporters without metrics of their own: there are more than ${limit} in a decoding thread.`,
    [],
    () => Math.max(0, exporters.size() - limit),
  );
}

function missingOf(exporter: Exporter): Series[] {
  const missing = new Map<string, number>();
  for (const { protocol, sequence } of exporter.domains()) {
    missing.set(protocol, (missing.get(protocol) ?? 0) + sequence.missing);
  }
  return Array.from(missing, ([protocol, count]): Series => [{ exporter: exporter.address, protocol }, count]);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
