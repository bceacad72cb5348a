import {
  type Enricher,
  type Sink,
  type ShapeLines,
  type AllocateSlab,
  type Workspace,
  createWorkspace,
  createWorkspaceMemory,
  createLineBuffer,
} from "../record/index.ts";
import { type SamplingRates, type RatesFile, createManualRates } from "./exporters/sampling.ts";
import type { Applications } from "./exporters/options.ts";
import { type FlowEndsOptions, FlowEnds } from "./line/flow-ends.ts";
import type { CustomElement } from "./elements/custom-elements.ts";
import type { Protocol } from "./protocol.ts";
import type { SflowSamples } from "./wire/sflow/sflow-decoder.ts";
import { type Limits, defaultLimits } from "./exporters/limits.ts";
import type { Filter } from "../record/index.ts";
import {
  type Log,
  type Metrics,
  type Clock,
  type Labels,
  limitLog,
  type Component,
  type Health,
} from "../base/report/index.ts";
import type { StateReport, ExporterState } from "./exporters/state/exporter-state.ts";
import type { SharedAnswer, SharedExporters } from "./exporters/state/shared-store.ts";
import type { SenderStanding } from "./intake/ring-writer.ts";
import { type ExporterView, viewExporter } from "./exporters/exporter-view.ts";
import type { ExporterTraffic } from "./exporters/exporter.ts";
import type { Exporter } from "./exporters/exporter.ts";
import { type ExporterTable, createExporterTable } from "./exporters/exporter-table.ts";
import { createElementSource } from "./elements/custom-elements.ts";
import { type CounterNames, nameCounters, scaledCounters, plainCounters } from "./elements/mapping/counter-names.ts";
import { rememberNames } from "./elements/custom-elements.ts";
import { buildPlan } from "./exporters/build-plan.ts";
import type { TemplateSettings } from "./wire/records/decode-sets.ts";
import { createFlowCounts } from "./flow-metrics.ts";
import { standingOf } from "./exporters/exporter-table.ts";
import { senderAddress } from "./intake/socket.ts";
import { createRelays } from "./exporters/exporter-table.ts";
import { createStateExchange } from "./exporters/state/state-exchange.ts";
import { createOpenQuestions } from "./exporters/open-questions.ts";
import { createTimeFormat } from "./elements/mapping/convert-type.ts";
import { createRecordReader } from "./wire/records/record-reader.ts";
import { copyingLines, createSlowFieldCounts, LineWriter } from "./line/line-writer.ts";
import { RecordFilter } from "./line/filter-program.ts";
import type { PathCounts } from "./wire/records/decoder.ts";
import { KernelSampleLines } from "./line/sample-lines.ts";
import { registerFlowMetrics, registerLineMetrics, registerSharedMetrics } from "./flow-metrics.ts";
import { TrafficMeter } from "./line/traffic-meter.ts";
import { createFlowProcessor } from "./flow-processor.ts";
import { createDecoders } from "./wire/decoders.ts";
import { createFlowReceiver, type FlowReceiver, type FlowReceiverOptions } from "./intake/flow-receiver.ts";
import { createStateKeeper } from "./exporters/state/state-store.ts";
import type { StateStore } from "./exporters/state/state-store.ts";

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
  /** How an exporter stands where not all have room. @param address as a socket gives it. */
  standing(address: string): SenderStanding;
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

export const tidyEveryMs = 60_000;

type Series = readonly [Labels, number];

/** How many exporters have metrics of their own, in each decoding thread. */
export const maxListedExporters = 1000;

/**
 * Metrics by exporter. Of more exporters than the limit, those first seen are listed: a sender that invents addresses
 * neither makes a scrape endless nor takes the place of one that is known.
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

interface TemplateSettingsOptions {
  /** Elements in addition to those of the registries. Left out: none. */
  readonly elements?: readonly CustomElement[] | undefined;
  /** Those of flows; options keep the names that exporters give them. */
  readonly counters: CounterNames;
  readonly splitBiflows: boolean;
  readonly maxFields: number;
}

/** How a pipeline reads templates: with the registries and the user's own elements. */
export function templateSettings(options: TemplateSettingsOptions): TemplateSettings {
  const { counters, splitBiflows, maxFields } = options;
  const exported = createElementSource(options.elements ?? []);
  const ofFlows = rememberNames(nameCounters(exported, counters));
  const ofOptions = rememberNames(exported);
  return {
    maxFields,
    planTemplate: (template) =>
      buildPlan(template, { elements: template.scopeCount === undefined ? ofFlows : ofOptions, splitBiflows }),
  };
}

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
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const counts = createFlowCounts();
  const exporters = createExporterTable(
    limits,
    createManualRates(options.samplingRates ?? new Map(), options.samplingFile),
    createRelays(options.relays ?? []),
  );
  const templates = templateSettings({
    elements: options.elements,
    counters,
    splitBiflows,
    maxFields: limits.fieldsPerTemplate,
  });
  const questions = options.isShared === true ? createOpenQuestions((address) => exporters.find(address)) : undefined;
  const states = createStateExchange({
    exporters,
    questions,
    templates,
    silentMs: limits.silentMs,
    release: (exporter) => processor.release(exporter),
    clock,
  });
  const limitedLog = limitLog(log, clock);
  const times = createTimeFormat();
  const reader = createRecordReader(times, templates.planTemplate, counters);
  const workspace = enricher.lines?.workspace ?? options.workspace ?? createWorkspace(createWorkspaceMemory(0));
  const { allocate, sink } =
    options.allocate === undefined ? copyingLines(workspace, options.sink) : { ...options, allocate: options.allocate };
  const filter = options.filter && new RecordFilter(options.filter);
  const lines = createLineBuffer(allocate, filter && ((bytes, start, end) => filter.accepts(bytes, start, end)));
  const slowFields = createSlowFieldCounts();
  const paths: PathCounts = { compiled: 0, interpreted: 0 };
  const ends = new FlowEnds(options.ends, workspace);
  const parts = { lines, enricher, workspace, communityId, filter, ends, counters };
  const { applications } = options;
  const flows = new LineWriter({ ...parts, reader, times, communityIdSeed, applications, counts: slowFields });
  const samples = new KernelSampleLines(parts, flows.book, paths);
  registerFlowMetrics(metrics, counts, exporters, states.restored, { slowFields, samples: paths }, flows.plans);
  registerExporterMetrics(metrics, exporters);
  registerSharedMetrics(metrics, states.adopted, questions);
  const traffic = new TrafficMeter(workspace, options.isMeasured);
  registerLineMetrics(metrics, ends, {
    filtered: () => filter?.dropped ?? 0,
    icmpSwapped: () => flows.icmpSwapped(),
    unmeasured: () => traffic.lost(),
  });
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
    standing(address) {
      const exporter = exporters.find(senderAddress(address));
      return exporter === undefined ? "unknown" : standingOf(exporter, clock.now());
    },
    tidy: () => exporters.tidy(clock.now(), templateTtlMs),
    exportState: (which) => states.give(which),
    importState: (known) => states.restore(known),
    importShared: (answer) => states.adopt(answer),
    traffic() {
      traffic.at(clock.now());
      return Array.from(exporters.all()).flatMap((exporter) => exporter.traffic() ?? []);
    },
    exporters: () => Array.from(exporters.all(), viewExporter).toSorted((a, b) => a.lastSeen - b.lastSeen),
  };
}

export interface FlowListenerOptions extends FlowPipelineOptions, Omit<FlowReceiverOptions, "take" | "offer"> {
  readonly health: Health;
  /** Where what exporters say once outlives a restart; left out: it does not. */
  readonly state?: StateStore;
  /** Where the collectors of a fleet share what exporters say; left out: this one is alone. */
  readonly shared?: SharedExporters | undefined;
}

export interface FlowListener extends Component, Pick<FlowReceiver, "ports" | "streamPorts" | "setCredentials"> {
  /** All exporters heard of, the one silent for longest first. */
  exporters(): Promise<readonly ExporterView[]>;
  /** What passed the interfaces of those that are measured, by whole minutes. */
  traffic(): Promise<readonly ExporterTraffic[]>;
}

const checkName = "flow";

/**
 * Receives flows and writes a line for every one to the sink, all in the calling thread. Its start fails with a
 * FlowListenError when a port cannot be opened.
 */
export function createFlowListener(options: FlowListenerOptions): FlowListener {
  const { health, state, shared, log } = options;
  const pipeline = createFlowPipeline(options);
  const receiver = createFlowReceiver({
    ...options,
    take: (bytes, address, port) => pipeline.process(bytes, address, port),
    offer(bytes, address, port) {
      pipeline.process(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), address, port);
      return true;
    },
  });
  const keeper =
    state === undefined && shared === undefined
      ? undefined
      : createStateKeeper({
          store: state,
          shared,
          sources: [pipeline],
          responsible: () => 0,
          failed: (error) => log.error({ error }, "the state of exporters could not be restored"),
        });
  let timer: NodeJS.Timeout | undefined;

  health.set({ name: checkName, ready: false, detail: "not listening yet" });

  return {
    name: "flow listener",
    async start() {
      await keeper?.start();
      await receiver.start();
      timer = setInterval(() => pipeline.tidy(), tidyEveryMs);
      timer.unref();
      health.set({ name: checkName, ready: true });
    },
    async stop() {
      health.set({ name: checkName, ready: false, detail: "stopped" });
      clearInterval(timer);
      await receiver.stop();
      await keeper?.stop();
    },
    ports: () => receiver.ports(),
    streamPorts: () => receiver.streamPorts(),
    setCredentials: (credentials) => receiver.setCredentials(credentials),
    exporters: async () => pipeline.exporters(),
    traffic: async () => pipeline.traffic(),
  };
}
