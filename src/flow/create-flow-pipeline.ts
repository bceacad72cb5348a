import type { FlowPipelineOptions, FlowPipeline } from "./flow-pipeline.ts";
import { scaledCounters, plainCounters } from "./elements/mapping/counter-names.ts";
import { type Limits, defaultLimits } from "./exporters/limits/limits.ts";
import { createFlowCounts } from "./flow-counts.ts";
import { createExporterTable } from "./exporters/exporter-table.ts";
import { standingOf } from "./exporters/quality.ts";
import { senderAddress } from "./intake/net/sender-address.ts";
import { createManualRates } from "./exporters/sampling/manual-rates.ts";
import { createRelays } from "./exporters/relays.ts";
import { createStateExchange } from "./exporters/state/state-exchange.ts";
import { templateSettings } from "./template-settings.ts";
import { createOpenQuestions } from "./exporters/open-questions.ts";
import { limitLog } from "../report/index.ts";
import { createTimeFormat } from "./elements/mapping/time-format.ts";
import { createRecordReader } from "./wire/template/record-reader.ts";
import { createWorkspace, createWorkspaceMemory, createLineBuffer } from "../record/index.ts";
import { copyingLines } from "./line/copying-lines.ts";
import { createRecordFilter, acceptLine } from "./line/writer/record-filter.ts";
import { createSlowFieldCounts } from "./line/writer/slow-fields.ts";
import type { PathCounts } from "./wire/decoder/flow-reader.ts";
import { createFlowEnds } from "./line/roles/flow-ends.ts";
import { createLineWriter } from "./line/writer/line-writer.ts";
import { createSampleLines } from "./line/writer/sample-lines.ts";
import { registerFlowMetrics, registerLineMetrics, registerSharedMetrics } from "./flow-metrics.ts";
import { registerExporterMetrics } from "./exporter-metrics.ts";
import { createTrafficMeter } from "./line/traffic-meter.ts";
import { createFlowProcessor } from "./flow-processor.ts";
import { createDecoders } from "./wire/decoders.ts";
import { viewExporter } from "./exporters/exporter-view.ts";

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
  registerFlowMetrics(metrics, counts, exporters, states.restored, { slowFields, samples: paths }, flows.plans);
  registerExporterMetrics(metrics, exporters);
  registerSharedMetrics(metrics, states.adopted, questions);
  const traffic = createTrafficMeter({ workspace, counters, isMeasured: options.isMeasured });
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
