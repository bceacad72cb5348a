import { type CounterNames, plainCounters, scaledCounters } from "../../../src/flow/elements/mapping/element-names.ts";
import {
  type DecodeOutput,
  type RecordHead,
  bootTimeOf,
  rateSources,
  recordSampling,
  type FlowReader,
} from "../../../src/flow/wire/records/decoder.ts";
import type { SampleLines, SampleLister } from "../../../src/flow/wire/sflow/sample-records.ts";
import { InstructionTable } from "../../../src/flow/wire/steps/instruction-table.ts";
import { StepList, type ByteSource } from "../../../src/flow/wire/steps/steps.ts";
import {
  type RecordFields,
  type RenderedFields,
  LineBuffer,
  createWorkspace,
  createWorkspaceMemory,
} from "../../../src/record/index.ts";
import { addIcmp, completeFlow, createCommunityId } from "./model-completion.ts";
import { type Began, createNameEnds, createTrafficModel, seenOf } from "./model-ends.ts";
import { addNames, type Applications } from "../../../src/flow/exporters/options.ts";
import { flowRate, ManualRates } from "../../../src/flow/exporters/sampling.ts";
import { type RecordReader, createRecordReader } from "../../../src/flow/wire/records/record-reader.ts";
import { splitBiflow } from "./split-biflow.ts";
import { createDecoders } from "../../../src/flow/wire/decoders.ts";
import { ExporterTable, createRelays } from "../../../src/flow/exporters/exporter-table.ts";
import { defaultLimits } from "../../../src/flow/exporters/limits.ts";
import { templateSettings } from "../../../src/flow/flow-listener.ts";
import {
  createFlowCounts,
  registerExporterMetrics,
  registerFlowMetrics,
  registerLineMetrics,
  registerSharedMetrics,
} from "../../../src/flow/flow-metrics.ts";
import { FlowProcessor } from "../../../src/flow/flow-processor.ts";
import type { Exporter } from "../../../src/flow/exporters/exporter.ts";
import type { ExporterView, FlowPipeline, FlowPipelineOptions } from "../../../src/flow/index.ts";
import { createTimeFormat } from "../../../src/flow/elements/mapping/convert-type.ts";
import { FlowEnds } from "../../../src/flow/line/flow-ends.ts";
import { TrafficMeter } from "../../../src/flow/flow-processor.ts";
import { createSlowFieldCounts } from "../../../src/flow/line/line-writer.ts";
import { limitLog } from "../../../src/base/report/index.ts";

/** Makes a record of each sample, by the steps that its reader lists, and completes it by names. */
function createModelSamples(counters: CounterNames, take: TakeFlow): SampleLines {
  const instructions = new InstructionTable(undefined);
  const steps = new StepList(instructions, undefined);
  let source: ByteSource = { bytes: Buffer.alloc(0), view: new DataView(new ArrayBuffer(0)) };
  let head: RecordHead = [];
  let output: DecodeOutput | undefined;
  const waiting: (() => void)[] = [];
  const flush = (): void => {
    for (const pass of waiting.splice(0)) pass();
  };
  const pass = (form: number, at: number, end: number, rate: number | undefined, lister: SampleLister): void => {
    steps.clear();
    lister.list(form, at, end);
    const record: RecordFields = new Map(head);
    steps.putInto(record, 0, steps.end, source);
    addIcmp(record);
    completeFlow(record, rate, counters);
    if (output !== undefined) take(record, output);
  };
  return {
    instructions,
    steps,
    counters,
    base: 0,
    useListed() {},
    begin(datagram, fields, _exporter, to) {
      flush();
      const bytes = Buffer.from(datagram);
      source = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
      head = fields;
      output = to;
      return source;
    },
    add: (form, at, end, rate, lister) => void waiting.push(() => pass(form, at, end, rate, lister)),
    setAddresses() {},
    flush,
  };
}

/** Takes a flow, complete but for what enrichment adds and what is said of both ends. */
type TakeFlow = (record: RecordFields, output: DecodeOutput, began?: Began) => void;

/**
 * The slow and obvious way from a record's bytes to a flow, which the kernel is compared with: every field becomes one of a Map, step
 * by step, and the Map is completed by names.
 */
function createModelReader(
  reader: RecordReader,
  counters: CounterNames,
  takeFlow: TakeFlow,
  applications?: () => Applications | undefined,
): FlowReader {
  return {
    read(plan, range, context, sources, output) {
      const { own, whole } = sources;
      const rates = rateSources(sources);
      const head = new Set(context.head.map(([name]) => name));
      const complete = (record: RecordFields, isReverse: boolean): void => {
        addIcmp(record, sources.icmp);
        completeFlow(record, flowRate(record, recordSampling(plan), rates), counters);
        if (own !== undefined) addNames(record, own.names, whole?.names, applications?.());
        takeFlow(record, output, { hasInitiator: plan.hasInitiator, isReverse });
      };
      const isSplit = plan.slowSteps.some(({ kind }) => kind === "split");
      const take = (record: RecordFields): void => {
        const reverse = isSplit ? splitBiflow(record, head) : undefined;
        complete(record, false);
        if (reverse !== undefined) complete(reverse, true);
      };
      return reader.read(plan, range, { ...context, bootTime: bootTimeOf(sources) }, take, sources.lists);
    },
  };
}

/** What is compared of a pipeline and its model. */
export interface ComparedPipeline extends Pick<FlowPipeline, "process" | "tidy" | "traffic"> {
  readonly processor: Pick<FlowPipeline["processor"], "take" | "flush">;
  readonly exporters: () => readonly Pick<ExporterView, "address" | "sketch">[];
}

/** A pipeline in which every record is a Map until it is a line; nothing of the kernel is in it. */
export function createModelPipeline(options: FlowPipelineOptions): ComparedPipeline {
  const { enricher, sink, log, metrics, clock, communityId, optionsRecords = false, splitBiflows = false } = options;
  const limitedLog = limitLog(log, clock);
  const counters = (options.scaleCounters ?? true) ? scaledCounters : plainCounters;

  const limits = { ...defaultLimits, ...options.limits };
  const counts = createFlowCounts();
  const exporters = new ExporterTable(
    limits,
    new ManualRates(options.samplingRates ?? new Map()),
    createRelays(options.relays ?? []),
  );
  const settings = templateSettings(options.elements ?? [], counters, splitBiflows, limits.fieldsPerTemplate);
  const times = createTimeFormat();
  const reader = createRecordReader(times, settings.planTemplate, counters);
  const samples = { compiled: 0, interpreted: 0 };
  const plans = { size: 0, counts: { compiled: 0, evicted: 0 }, find: () => assertUnused() };
  registerFlowMetrics(
    metrics,
    counts,
    exporters,
    { templates: 0 },
    { slowFields: createSlowFieldCounts(), samples },
    plans,
  );
  registerExporterMetrics(metrics, exporters);
  registerSharedMetrics(metrics, { taken: 0, restarted: 0, stale: 0 }, undefined);
  const lines = new LineBuffer();
  const workspace = createWorkspace(createWorkspaceMemory(0));
  const ends = new FlowEnds(options.ends, workspace);
  let source: Exporter | undefined;
  const traffic = new TrafficMeter(workspace, options.isMeasured);
  const communityIdOf = createCommunityId(options.communityIdSeed ?? 0);
  const nameEnds = createNameEnds(options.ends, workspace);
  const noteTraffic = createTrafficModel(workspace, counters);
  const rendered: RenderedFields[] = [];
  const takeFlow: TakeFlow = (record, output, began) => {
    const seen = seenOf(record);
    if (seen !== undefined) source?.sketchFlow(seen.hash, seen.directions);
    noteTraffic(record);
    const id = communityId ? communityIdOf(record) : undefined;
    if (id !== undefined) record.set("flow.community.id", id);
    const client = nameEnds(record, began);
    rendered.length = 0;
    enricher.enrich(record, rendered);
    ends.complete(record, rendered, client);
    lines.append(record, rendered);
    output.wrote(1);
  };
  // The model drops nothing, and does not count what was swapped.
  registerLineMetrics(metrics, ends, { filtered: () => 0, icmpSwapped: () => 0, unmeasured: () => traffic.lost() });
  const processor = new FlowProcessor({
    decoders: createDecoders({
      times,
      reader,
      flows: createModelReader(reader, counters, takeFlow, options.applications),
      counters,
      ...(options.sflowSamples !== undefined && { sflowSamples: options.sflowSamples }),
      samples: createModelSamples(counters, takeFlow),
      settings,
    }),
    exporters,
    counts,
    enricher,
    lines,
    sink,
    ends,
    workspace,
    traffic: {
      at: (now) => traffic.at(now),
      use(exporter) {
        source = exporter;
        traffic.use(exporter);
      },
    },
    optionsRecords,
    log: limitedLog,
    clock,
  });
  return {
    process(bytes, address, port, receivedAt) {
      processor.take(bytes, address, port, receivedAt);
      processor.flush();
    },
    processor,
    traffic() {
      traffic.at(clock.now());
      return Array.from(exporters.all()).flatMap((exporter) => exporter.traffic() ?? []);
    },
    exporters: () =>
      Array.from(exporters.all(), (exporter) => ({ address: exporter.address, sketch: exporter.recent.sketch() })),
    tidy: () => exporters.tidy(clock.now(), 0),
  };
}

function assertUnused(): never {
  throw new TypeError("the model has no programs");
}
