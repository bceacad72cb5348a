import {
  createLineBuffer,
  createWorkspace,
  createWorkspaceMemory,
  type AllocateSlab,
  type Enricher,
  type ShapeLines,
  type Sink,
  type Workspace,
} from "../record/index.ts";
import { copyingLines } from "./line/copying-lines.ts";
import { limitLog, type Clock, type Log, type Metrics } from "../report/index.ts";
import type { PathCounts } from "./wire/decoder/flow-reader.ts";
import type { Filter } from "../filter/index.ts";
import { acceptLine, createRecordFilter } from "./line/writer/record-filter.ts";
import { createFlowEnds, type FlowEndsOptions } from "./line/roles/flow-ends.ts";
import { createTrafficMeter } from "./line/traffic-meter.ts";
import { createLineWriter } from "./line/writer/line-writer.ts";
import { createSlowFieldCounts } from "./line/writer/slow-fields.ts";
import { createDecoders } from "./wire/decoders.ts";
import type { SflowSamples } from "./wire/sflow/sflow-decoder.ts";
import type { Protocol } from "./protocol.ts";
import type { CustomElement } from "./elements/custom/custom-element.ts";
import { createElementSource } from "./elements/custom/element-source.ts";
import { createExporterTable } from "./exporters/exporter-table.ts";
import { isFarFromKept } from "./exporters/domain.ts";
import type { Exporter } from "./exporters/exporter.ts";
import { viewExporter, type ExporterView } from "./exporters/exporter-view.ts";
import { defaultLimits, type Limits } from "./exporters/limits/limits.ts";
import { createFlowCounts } from "./flow-counts.ts";
import { registerExporterMetrics } from "./exporter-metrics.ts";
import { registerFlowMetrics, registerRoleMetrics, registerSharedMetrics } from "./flow-metrics.ts";
import { createFlowProcessor } from "./flow-processor.ts";
import { nameCounters, plainCounters, scaledCounters } from "./elements/mapping/counter-names.ts";
import { rememberNames } from "./elements/mapping/remember-names.ts";
import { createTimeFormat } from "./elements/mapping/time-format.ts";
import type { Applications } from "./exporters/options/name-table.ts";
import type { ExporterTraffic } from "./exporters/interface-traffic.ts";
import { createRelays, stateKey } from "./exporters/relays.ts";
import { createManualRates, type RatesFile, type SamplingRates } from "./exporters/sampling/manual-rates.ts";
import { createSampleLines } from "./line/writer/sample-lines.ts";
import {
  exporterState,
  restoreExporter,
  type ExporterState,
  type StateReport,
} from "./exporters/state/exporter-state.ts";
import { adoptStates, type AdoptedCounts } from "./exporters/state/adopt-states.ts";
import type { SharedAnswer } from "./exporters/state/shared-exporters.ts";
import { createOpenQuestions } from "./exporters/open-questions.ts";
import { buildPlan } from "./exporters/templates/build-plan.ts";
import { createRecordReader } from "./wire/template/record-reader.ts";
import type { TemplateSettings } from "./wire/template/decode-sets.ts";

export interface FlowPipelineOptions {
  readonly enricher: Enricher;
  readonly sink: Sink;
  /** Sampling rates by exporter address or CIDR in canonical text; they win over what exporters say. */
  readonly samplingRates?: SamplingRates;
  /** The same from a file that may change; undefined while there is none. */
  readonly samplingFile?: (() => RatesFile | undefined) | undefined;
  /** What the operator says of applications by their ids; undefined while there is nothing. */
  readonly applications?: (() => Applications | undefined) | undefined;
  /** Whether records get `flow.community.id`; it costs about a tenth of a microsecond each. */
  readonly communityId: boolean;
  /** Of sixteen bits. Default 0, as other tools have it. */
  readonly communityIdSeed?: number;
  /** What is said of both ends of a flow together: client and server, identifiers, joined fields. Left out: nothing. */
  readonly ends?: FlowEndsOptions | undefined;
  /** Whether records of options data (interface names, sampling) leave like flows. Default false: they are only read. */
  readonly optionsRecords?: boolean;
  /** Whether the plain names of counters are those of the estimates by the sampling rate. Default true. */
  readonly scaleCounters?: boolean;
  /** Whether a record of both directions of a biflow becomes one of each. Default false: it stays one. */
  readonly splitBiflows?: boolean;
  /** Elements in addition to those of the registries, checked by `readElements`. */
  readonly elements?: readonly CustomElement[];
  /** Protocols whose datagrams are counted and not decoded. Default: none. */
  readonly protocolsOff?: readonly Protocol[];
  /** Which samples of sFlow become records. Default: both. */
  readonly sflowSamples?: SflowSamples;
  readonly limits?: Partial<Limits>;
  /**
   * Whether other collectors are asked about exporters that are new here, come back, or of which data sets wait: the addresses are in what
   * `exportState` gives, which is then to be called several times a second; the answers come by `importShared`. Default false.
   */
  readonly isShared?: boolean;
  /** Addresses and CIDRs in canonical text of senders whose records may name other exporters. Default: none. */
  readonly relays?: readonly string[];
  /** Whether it is added up what passes the interfaces of an exporter, given by its address. Left out: of none. */
  readonly isMeasured?: ((address: string) => boolean) | undefined;
  /** Changes lines before they leave; left out: they stay as they are. */
  readonly shape?: ShapeLines | undefined;
  /** Only records that match it become lines. Left out: all. */
  readonly filter?: Filter | undefined;
  /** Templates that were not received again within this time are forgotten. Default 0: never. */
  readonly templateTtlMs?: number;
  /** Where the lines are to lie: in the workspace, if they are to be written fast. Left out: in memory of their own. */
  readonly allocate?: AllocateSlab;
  /** Where records are decoded, unless the enricher has its tables in one; left out: in one of its own. */
  readonly workspace?: Workspace | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** From datagrams to lines, without the sockets: everything that one thread needs to decode flows. */
export interface FlowPipeline {
  /**
   * Takes a datagram of any protocol. Whatever its bytes are, this does not throw; what cannot be decoded is counted.
   * The lines of its records are with the sink when the call returns.
   *
   * @param bytes are not kept.
   * @param address of the sender, as a socket gives it.
   * @param receivedAt milliseconds since the epoch; left out: now.
   */
  process(bytes: Buffer, address: string, port: number, receivedAt?: number): void;
  /** The same of one of several datagrams: their lines are with the sink after the next call of {@link FlowPipeline.flush}. */
  take(bytes: Buffer, address: string, port: number, receivedAt?: number): void;
  flush(): void;
  /** Forgets what has become too old: sets that wait, templates, silent exporters. To be called every {@link tidyEveryMs}. */
  tidy(): void;
  /**
   * What exporters said once and what happened to it since the last call: all that a later run needs to decode from
   * its first datagram on.
   *
   * @param which `all`: as if everything had changed.
   */
  exportState(which: "changed" | "all"): StateReport;
  /**
   * Takes what earlier runs knew, before the first datagram. What is known already stands.
   *
   * @param states of the exporters that this pipeline is responsible for.
   */
  importState(states: readonly ExporterState[]): void;
  /** Takes what other collectors know of senders that `exportState` asked about, and decodes what waited for it. */
  importShared(answer: SharedAnswer): void;
  /** All exporters heard of, the one silent for longest first. */
  exporters(): readonly ExporterView[];
  /** What passed the interfaces of those that are measured, by whole minutes. */
  traffic(): readonly ExporterTraffic[];
}

/** Exporters send their templates every half hour at the latest; after that a number may mean another template. */
const waitingMaxAgeMs = 30 * 60_000;

export const tidyEveryMs = 60_000;
/** Who was heard is said in such intervals. */
const heardEveryMs = 60_000;

/**
 * Registers its metrics, so there is one for each {@link Metrics}.
 *
 * @throws KernelError where flows cannot be decoded in this process.
 */
export function createFlowPipeline(options: FlowPipelineOptions): FlowPipeline {
  const { enricher, log, metrics, clock, communityId, optionsRecords = false, templateTtlMs = 0 } = options;
  const { communityIdSeed = 0 } = options;
  const { splitBiflows = false, protocolsOff = [], sflowSamples } = options;
  const counters = (options.scaleCounters ?? true) ? scaledCounters : plainCounters;
  const exported = createElementSource(options.elements ?? []);
  const elements = rememberNames(nameCounters(exported, counters));
  const optionsElements = rememberNames(exported);
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const counts = createFlowCounts();
  const exporters = createExporterTable(
    limits,
    createManualRates(options.samplingRates ?? new Map(), options.samplingFile),
    createRelays(options.relays ?? []),
  );
  const templates: TemplateSettings = {
    maxFields: limits.fieldsPerTemplate,
    planTemplate: (template) =>
      buildPlan(template, { elements: template.scopeCount === undefined ? elements : optionsElements, splitBiflows }),
  };
  const restored = { templates: 0 };
  const adopted: AdoptedCounts = { taken: 0, restarted: 0, stale: 0 };
  const questions = options.isShared === true ? createOpenQuestions((address) => exporters.find(address)) : undefined;
  let heardAt = clock.now();
  const limitedLog = limitLog(log, clock);
  const times = createTimeFormat();
  const reader = createRecordReader(times, templates.planTemplate, counters);
  const workspace = enricher.lines?.workspace ?? options.workspace ?? createWorkspace(createWorkspaceMemory(0));
  const { allocate, sink } =
    options.allocate === undefined ? copyingLines(workspace, options.sink) : { ...options, allocate: options.allocate };
  const filter = options.filter && createRecordFilter(options.filter);
  const lines = createLineBuffer(allocate, filter && ((bytes, start, end) => acceptLine(filter, bytes, start, end)));
  const slowFields = createSlowFieldCounts();
  const paths: PathCounts = { compiled: 0, interpreted: 0 };
  const ends = createFlowEnds(options.ends, workspace);
  const flows = createLineWriter({
    reader,
    times,
    lines,
    enricher,
    workspace,
    communityId,
    communityIdSeed,
    applications: options.applications,
    filter,
    ends,
    counters,
    counts: slowFields,
  });
  const samples = createSampleLines({
    lines,
    enricher: enricher.lines,
    communityId,
    filter,
    workspace,
    ends,
    counters,
    book: flows.book,
    counts: paths,
  });
  registerFlowMetrics(metrics, counts, exporters, restored, { slowFields, samples: paths }, flows.plans);
  registerExporterMetrics(metrics, exporters);
  registerSharedMetrics(metrics, adopted, questions);
  metrics.counterFrom(
    "netgloss_flow_filtered_records_total",
    "Records dropped by SVC_PROCESSOR_FILTER_KEEP and SVC_PROCESSOR_FILTER_DROP.",
    [],
    () => filter?.dropped ?? 0,
  );
  metrics.counterFrom(
    "netgloss_flow_icmp_swapped_total",
    "Flows whose type and code of ICMPv6 arrived in each other's place.",
    [],
    () => flows.icmpSwapped(),
  );
  registerRoleMetrics(metrics, ends);
  const traffic = createTrafficMeter({ workspace, counters, isMeasured: options.isMeasured });
  metrics.counterFrom(
    "netgloss_flow_traffic_unmeasured_total",
    "Bytes of flows that were not added up by interface for want of room: `netgloss doctor` does not compare them with SNMP.",
    [],
    () => traffic.lost(),
  );
  const processor = createFlowProcessor({
    decoders: createDecoders({
      times,
      reader,
      flows,
      samples,
      counters,
      settings: templates,
      questions,
      ...(sflowSamples !== undefined && { sflowSamples }),
    }),
    off: new Set(protocolsOff),
    exporters,
    counts,
    enricher,
    lines,
    sink,
    communityId,
    communityIdSeed,
    questions,
    shape: options.shape,
    ends,
    workspace,
    traffic,
    optionsRecords,
    log: limitedLog,
    clock,
  });
  return {
    process(bytes, address, port, receivedAt) {
      processor.take(bytes, address, port, receivedAt);
      processor.flush();
    },
    take: (bytes, address, port, receivedAt) => processor.take(bytes, address, port, receivedAt),
    flush: () => processor.flush(),
    tidy() {
      const now = clock.now();
      exporters.tidy(now, {
        waiting: now - waitingMaxAgeMs,
        templates: templateTtlMs > 0 ? now - templateTtlMs : Number.NEGATIVE_INFINITY,
        exporters: now - limits.silentMs,
      });
    },
    exportState(which) {
      const now = clock.now();
      for (const exporter of questions?.late(which === "all" ? Infinity : now) ?? []) processor.release(exporter);
      const changed: ExporterState[] = [];
      const heard: [string, number][] = [];
      const isHeardDue = now - heardAt >= heardEveryMs;
      const forgotten = [...exporters.takeForgotten()];
      for (const exporter of exporters.all()) {
        if (isHeardDue && exporter.lastSeen > heardAt) {
          heard.push([keyOf(exporter), exporter.lastSeen]);
          for (const domain of exporter.domains()) if (isFarFromKept(domain)) exporter.isChanged = true;
        }
        if (which === "changed" && !exporter.isChanged) continue;
        exporter.isChanged = false;
        exporter.keptAt = now;
        for (const domain of exporter.domains()) {
          domain.kept = { bootTime: domain.senders.latest()?.bootTime, number: domain.number };
        }
        const state = exporterState(exporter);
        const { address, relay } = exporter;
        // Of one that is named and sends itself what it sends counts.
        if (relay !== undefined && state?.relay === undefined) forgotten.push(stateKey(address, relay));
        if (state !== undefined) changed.push(state);
        else if (relay === undefined || exporter.datagrams > 0) forgotten.push(address);
      }
      if (isHeardDue) heardAt = now;
      return { changed, forgotten, heard, asked: questions?.due(now) ?? [] };
    },
    importState(states) {
      const now = clock.now();
      for (const state of states) {
        restored.templates += restoreExporter(exporters, state, now, templates, now - limits.silentMs);
      }
    },
    importShared({ asked, states }) {
      const now = clock.now();
      for (const address of asked) {
        const exporter = exporters.find(address);
        if (exporter === undefined) continue;
        adoptStates(exporters, exporter, states, now, templates, adopted);
        processor.release(exporter);
      }
    },
    traffic() {
      traffic.at(clock.now());
      return Array.from(exporters.all()).flatMap((exporter) => exporter.traffic() ?? []);
    },
    exporters: () => Array.from(exporters.all(), viewExporter).toSorted((a, b) => a.lastSeen - b.lastSeen),
  };
}

/** What its state is kept by: see `exporterState`. */
function keyOf({ address, relay, datagrams }: Exporter): string {
  return stateKey(address, relay !== undefined && datagrams === 0 ? relay : undefined);
}
