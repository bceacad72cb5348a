import {
  type Enricher,
  type Filter,
  type Sink,
  type ShapeLines,
  type AllocateSlab,
  type Workspace,
  createWorkspace,
  createWorkspaceMemory,
  LineBuffer,
} from "../record/index.ts";
import { type Clock, type Component, type Health, type Reporting, limitLog } from "../base/report/index.ts";
import { type CustomElement, createElementSource, rememberNames } from "./elements/custom-elements.ts";
import { type CounterNames, nameCounters, scaledCounters, plainCounters } from "./elements/mapping/element-names.ts";
import { createTimeFormat } from "./elements/mapping/convert-type.ts";
import { buildPlan } from "./exporters/build-plan.ts";
import { ExporterTable, createRelays, reputationOf } from "./exporters/exporter-table.ts";
import type { ExporterTraffic } from "./exporters/exporter-traffic.ts";
import { type ExporterView, viewExporter } from "./exporters/exporter-view.ts";
import { type Limits, defaultLimits } from "./exporters/limits.ts";
import { OpenQuestions } from "./exporters/waiting-sets.ts";
import type { Applications } from "./exporters/options.ts";
import { type SamplingRates, type RatesFile, ManualRates } from "./exporters/sampling.ts";
import type { StateReport, ExporterState } from "./exporters/state/exporter-state.ts";
import type { SharedAnswer, SharedStore } from "./exporters/state/shared-store.ts";
import { StateExchange } from "./exporters/state/state-exchange.ts";
import { StatePersistence, type StateStore } from "./exporters/state/state-store.ts";
import {
  createFlowCounts,
  registerExporterMetrics,
  registerFlowMetrics,
  registerLineMetrics,
  registerSharedMetrics,
} from "./flow-metrics.ts";
import { FlowProcessor } from "./flow-processor.ts";
import { FlowReceiver, type FlowReceiverOptions, type StreamCredentials } from "./intake/flow-receiver.ts";
import type { SenderReputation } from "./intake/ring-writer.ts";
import { senderAddress } from "./datagram.ts";
import { RecordFilter } from "./line/filter-program.ts";
import { FlowEnds, type FlowEndsOptions } from "./line/flow-ends.ts";
import { copyingLines, createSlowFieldCounts, LineWriter } from "./line/line-writer.ts";
import { KernelSampleLines } from "./line/sample-lines.ts";
import { TrafficMeter } from "./flow-processor.ts";
import type { Protocol } from "./datagram.ts";
import { createDecoders } from "./wire/decoders.ts";
import type { PathCounts } from "./wire/records/decoder.ts";
import type { TemplateSettings } from "./wire/records/decode-sets.ts";
import { createRecordReader } from "./wire/records/record-reader.ts";
import type { SflowSamples } from "./wire/sflow/sflow-decoder.ts";

export interface FlowPipelineOptions extends Pick<Reporting, "log" | "metrics" | "clock"> {
  readonly enricher: Enricher;
  readonly sink: Sink;
  /** Sampling rates by exporter address or CIDR in canonical text; they win over what exporters say. */
  readonly samplingRates?: SamplingRates;
  /** The same from a file that may change; undefined while there is none. */
  readonly samplingFile?: (() => RatesFile | undefined) | undefined;
  /** Returns what the operator says of applications by their ids; undefined while there is nothing. */
  readonly applications?: (() => Applications | undefined) | undefined;
  /** True if records get `flow.community.id`; it costs about a tenth of a microsecond each. */
  readonly communityId: boolean;
  /** The seed, of sixteen bits. Default 0, as other tools have it. */
  readonly communityIdSeed?: number;
  /** The fields about both ends of a flow together: client and server, identifiers, joined fields. Left out: nothing. */
  readonly ends?: FlowEndsOptions | undefined;
  /** True if records of options data (interface names, sampling) leave like flows. Default false: they are only read. */
  readonly optionsRecords?: boolean;
  /** True if the plain names of counters are those of the estimates by the sampling rate. Default true. */
  readonly scaleCounters?: boolean;
  /** True if a record of both directions of a biflow becomes one of each. Default false: it stays one. */
  readonly splitBiflows?: boolean;
  /** Elements in addition to those of the registries, checked by `readElements`. */
  readonly elements?: readonly CustomElement[];
  /** Protocols whose datagrams are counted and not decoded. Default: none. */
  readonly protocolsOff?: readonly Protocol[];
  /** The samples of sFlow that become records. Default: both. */
  readonly sflowSamples?: SflowSamples;
  readonly limits?: Partial<Limits>;
  /**
   * True if other collectors are asked about exporters that are new here, come back, or of which data sets wait: the addresses are in what
   * `exportState` gives, which is then to be called several times a second; the answers come by `importShared`. Default false.
   */
  readonly isShared?: boolean;
  /** Addresses and CIDRs in canonical text of senders whose records may name other exporters. Default: none. */
  readonly relays?: readonly string[];
  /** Tells whether it is added up what passes the interfaces of an exporter, given by its address. Left out: of none. */
  readonly isMeasured?: ((address: string) => boolean) | undefined;
  /** Changes lines before they leave; left out: they stay as they are. */
  readonly shape?: ShapeLines | undefined;
  /** Only records that match it become lines. Left out: all. */
  readonly filter?: Filter | undefined;
  /** Templates that were not received again within this time are forgotten. Default 0: never. */
  readonly templateTtlMs?: number;
  /** Allocates memory for the lines: in the workspace, if they are to be written fast. Left out: in memory of their own. */
  readonly allocate?: AllocateSlab;
  /** The workspace in which records are decoded, unless the enricher has its tables in one; left out: one of its own. */
  readonly workspace?: Workspace | undefined;
}

export const tidyEveryMs = 60_000;

/**
 * Returns how a pipeline reads templates: with the registries and the user's own elements.
 *
 * @param counters those of flows; options keep the names that exporters give them.
 */
export function templateSettings(
  elements: readonly CustomElement[],
  counters: CounterNames,
  splitBiflows: boolean,
  maxFields: number,
): TemplateSettings {
  const exported = createElementSource(elements);
  const ofFlows = rememberNames(nameCounters(exported, counters));
  const ofOptions = rememberNames(exported);
  return {
    maxFields,
    planTemplate: (template) =>
      buildPlan(template, { elements: template.scopeCount === undefined ? ofFlows : ofOptions, splitBiflows }),
  };
}

/** Makes what writes lines: of records by their templates, and of samples. */
function createWriters(options: FlowPipelineOptions, settings: TemplateSettings, counters: CounterNames) {
  const { enricher, communityId, communityIdSeed = 0 } = options;
  const times = createTimeFormat();
  const reader = createRecordReader(times, settings.planTemplate, counters);
  const workspace = enricher.lines?.workspace ?? options.workspace ?? createWorkspace(createWorkspaceMemory(0));
  const { allocate, sink } =
    options.allocate === undefined ? copyingLines(workspace, options.sink) : { ...options, allocate: options.allocate };
  const filter = options.filter && new RecordFilter(options.filter);
  const lines = new LineBuffer(allocate, filter && ((bytes, start, end) => filter.accepts(bytes, start, end)));
  const slowFields = createSlowFieldCounts();
  const paths: PathCounts = { compiled: 0, interpreted: 0 };
  const ends = new FlowEnds(options.ends, workspace);
  const common = { lines, enricher, communityId, filter, workspace, ends, counters };
  const { applications } = options;
  const flows = new LineWriter({ ...common, reader, times, communityIdSeed, applications, counts: slowFields });
  const samples = new KernelSampleLines(common, flows.instructions, paths);
  return { times, reader, workspace, sink, filter, lines, slowFields, paths, ends, flows, samples };
}

/** From datagrams to lines, without the sockets: everything that one thread needs to decode flows. */
export class FlowPipeline {
  /** Takes one of several datagrams: their lines are with the sink after its next `flush`. */
  readonly processor: FlowProcessor;
  readonly #clock: Clock;
  readonly #templateTtlMs: number;
  readonly #exporters: ExporterTable;
  readonly #traffic: TrafficMeter;
  readonly #states: StateExchange;

  /**
   * Registers its metrics, so there is one for each {@link Metrics}.
   *
   * @throws KernelError where flows cannot be decoded in this process.
   */
  constructor(options: FlowPipelineOptions) {
    const { enricher, metrics, clock, sflowSamples } = options;
    const counters = (options.scaleCounters ?? true) ? scaledCounters : plainCounters;
    const limits: Limits = { ...defaultLimits, ...options.limits };
    const counts = createFlowCounts();
    const rates = new ManualRates(options.samplingRates ?? new Map(), options.samplingFile);
    const exporters = new ExporterTable(limits, rates, createRelays(options.relays ?? []));
    const { elements = [], splitBiflows = false } = options;
    const settings = templateSettings(elements, counters, splitBiflows, limits.fieldsPerTemplate);
    const questions = options.isShared === true ? new OpenQuestions((address) => exporters.find(address)) : undefined;
    const writers = createWriters(options, settings, counters);
    const { workspace, filter, slowFields, paths, ends, flows } = writers;
    this.#clock = clock;
    this.#templateTtlMs = options.templateTtlMs ?? 0;
    this.#exporters = exporters;
    this.#traffic = new TrafficMeter(workspace, options.isMeasured);
    this.processor = new FlowProcessor({
      ...writers,
      decoders: createDecoders({
        ...writers,
        counters,
        settings,
        questions,
        ...(sflowSamples !== undefined && { sflowSamples }),
      }),
      off: new Set(options.protocolsOff),
      exporters,
      counts,
      enricher,
      questions,
      shape: options.shape,
      traffic: this.#traffic,
      optionsRecords: options.optionsRecords ?? false,
      log: limitLog(options.log, clock),
      clock,
    });
    this.#states = new StateExchange(exporters, questions, settings, this.processor, clock);
    const slow = { slowFields, samples: paths };
    registerFlowMetrics(metrics, counts, exporters, this.#states.restored, slow, flows.plans);
    registerExporterMetrics(metrics, exporters);
    registerSharedMetrics(metrics, this.#states.shared, questions);
    registerLineMetrics(metrics, ends, {
      filtered: () => filter?.dropped ?? 0,
      icmpSwapped: () => flows.icmpSwapped(),
      unmeasured: () => this.#traffic.lost(),
    });
  }

  /**
   * Takes a datagram of any protocol. Whatever its bytes are, this does not throw; what cannot be decoded is counted.
   * The lines of its records are with the sink when the call returns.
   *
   * @param bytes are not kept.
   * @param address of the sender, as a socket gives it.
   * @param receivedAt milliseconds since the epoch; left out: now.
   */
  process(bytes: Buffer, address: string, port: number, receivedAt?: number): void {
    this.processor.take(bytes, address, port, receivedAt);
    this.processor.flush();
  }

  /** Returns the reputation of an exporter, which counts where not all have room. @param address as a socket gives it. */
  reputation(address: string): SenderReputation {
    const exporter = this.#exporters.find(senderAddress(address));
    return exporter === undefined ? "unknown" : reputationOf(exporter, this.#clock.now());
  }

  /** Forgets what has become too old: sets that wait, templates, silent exporters. To be called every {@link tidyEveryMs}. */
  tidy(): void {
    this.#exporters.tidy(this.#clock.now(), this.#templateTtlMs);
  }

  /**
   * Returns what exporters said once and what happened to it since the last call: all that a later run needs to decode from
   * its first datagram on.
   *
   * @param which `all`: as if everything had changed.
   */
  exportState(which: "changed" | "all"): StateReport {
    return this.#states.give(which);
  }

  /**
   * Takes what earlier runs knew, before the first datagram. What is known already stands.
   *
   * @param states of the exporters that this pipeline is responsible for.
   */
  importState(states: readonly ExporterState[]): void {
    this.#states.restore(states);
  }

  /** Takes what other collectors know of senders that `exportState` asked about, and decodes what waited for it. */
  importShared(answer: SharedAnswer): void {
    this.#states.takeShared(answer);
  }

  /** All exporters heard of, the one silent for longest first. */
  exporters(): readonly ExporterView[] {
    return Array.from(this.#exporters.all(), viewExporter).toSorted((a, b) => a.lastSeen - b.lastSeen);
  }

  /** Returns what passed the interfaces of those that are measured, by whole minutes. */
  traffic(): readonly ExporterTraffic[] {
    this.#traffic.at(this.#clock.now());
    return Array.from(this.#exporters.all()).flatMap((exporter) => exporter.traffic() ?? []);
  }
}

export interface FlowListenerOptions extends FlowPipelineOptions, Omit<FlowReceiverOptions, "take" | "offer"> {
  readonly health: Health;
  /** The store in which what exporters say once outlives a restart; left out: it does not. */
  readonly state?: StateStore | undefined;
  /** The store in which the collectors of a fleet share what exporters say; left out: this one is alone. */
  readonly shared?: SharedStore | undefined;
  /** Called when it has stopped and the last lines are with the sink. */
  readonly stopped?: () => void;
}

const checkName = "flow";

/**
 * Receives flows and writes a line for every one to the sink, all in the calling thread. Its start fails with a
 * FlowListenError when a port cannot be opened.
 */
export class FlowListener implements Component {
  readonly name: string = "flow listener";
  readonly #options: FlowListenerOptions;
  readonly #pipeline: FlowPipeline;
  readonly #receiver: FlowReceiver;
  readonly #persistence: StatePersistence | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FlowListenerOptions) {
    const { state, shared, log } = options;
    const pipeline = new FlowPipeline(options);
    this.#options = options;
    this.#pipeline = pipeline;
    this.#receiver = new FlowReceiver({
      ...options,
      take: (bytes, address, port) => pipeline.process(bytes, address, port),
      offer(bytes, address, port) {
        pipeline.process(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), address, port);
        return true;
      },
    });
    if (state !== undefined || shared !== undefined) {
      const failed = (error: unknown): void => log.error({ error }, "the state of exporters could not be restored");
      this.#persistence = new StatePersistence({
        store: state,
        shared,
        sources: [pipeline],
        responsible: () => 0,
        failed,
      });
    }
    this.#setReady(false, "not listening yet");
  }

  async start(): Promise<void> {
    await this.#persistence?.start();
    await this.#receiver.start();
    this.#timer = setInterval(() => this.#pipeline.tidy(), tidyEveryMs);
    this.#timer.unref();
    this.#setReady(true);
  }

  async stop(): Promise<void> {
    this.#setReady(false, "stopped");
    clearInterval(this.#timer);
    await this.#receiver.stop();
    await this.#persistence?.stop();
    this.#options.stopped?.();
  }

  /** The ports of UDP that are open, in the order given. */
  ports(): readonly number[] {
    return this.#receiver.ports();
  }

  /** Returns the ports of TCP and TLS. */
  streamPorts(): readonly number[] {
    return this.#receiver.streamPorts();
  }

  /** For TLS handshakes from now on. */
  setCredentials(credentials: StreamCredentials): void {
    this.#receiver.setCredentials(credentials);
  }

  /** All exporters heard of, the one silent for longest first. */
  exporters(): Promise<readonly ExporterView[]> {
    return Promise.resolve(this.#pipeline.exporters());
  }

  /** Returns what passed the interfaces of those that are measured, by whole minutes. */
  traffic(): Promise<readonly ExporterTraffic[]> {
    return Promise.resolve(this.#pipeline.traffic());
  }

  #setReady(ready: boolean, detail?: string): void {
    this.#options.health.set({ name: checkName, ready, ...(detail !== undefined && { detail }) });
  }
}
