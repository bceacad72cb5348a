import { createDecoders } from "../../../src/flow/wire/decoders.ts";
import { createExporterTable } from "../../../src/flow/exporters/exporter-table.ts";
import { defaultLimits } from "../../../src/flow/exporters/limits.ts";
import { registerExporterMetrics } from "../../../src/flow/flow-listener.ts";
import { createFlowCounts } from "../../../src/flow/flow-metrics.ts";
import { registerFlowMetrics, registerLineMetrics, registerSharedMetrics } from "../../../src/flow/flow-metrics.ts";
import { createFlowProcessor } from "../../../src/flow/flow-processor.ts";
import type { Exporter } from "../../../src/flow/exporters/exporter.ts";
import type { ExporterView, FlowPipeline, FlowPipelineOptions } from "../../../src/flow/index.ts";
import { createTimeFormat } from "../../../src/flow/elements/mapping/time-format.ts";
import { plainCounters, scaledCounters } from "../../../src/flow/elements/mapping/counter-names.ts";
import { createFlowEnds } from "../../../src/flow/line/flow-ends.ts";
import { createRelays } from "../../../src/flow/exporters/exporter-table.ts";
import { createTrafficMeter } from "../../../src/flow/line/traffic-meter.ts";
import { createManualRates } from "../../../src/flow/exporters/sampling.ts";
import { createSlowFieldCounts } from "../../../src/flow/line/line-writer.ts";
import { templateSettings } from "../../../src/flow/flow-listener.ts";
import { createRecordReader } from "../../../src/flow/wire/records/record-reader.ts";
import { createSampleLines } from "../../../src/flow/line/sample-lines.ts";
import { createLineBuffer, createWorkspace, createWorkspaceMemory } from "../../../src/record/index.ts";
import { limitLog } from "../../../src/base/report/index.ts";
import { createModelReader } from "./model-reader.ts";
import { seenOf } from "./model-seen.ts";

/** What is compared of a pipeline and its model. */
export interface ComparedPipeline extends Pick<FlowPipeline, "process" | "take" | "flush" | "tidy" | "traffic"> {
  readonly exporters: () => readonly Pick<ExporterView, "address" | "seenFlows">[];
}

/** A pipeline in which every record is a Map until it is a line; nothing of the kernel is in it. */
export function createModelPipeline(options: FlowPipelineOptions): ComparedPipeline {
  const { enricher, sink, log, metrics, clock, communityId, optionsRecords = false, splitBiflows = false } = options;
  const limitedLog = limitLog(log, clock);
  const counters = (options.scaleCounters ?? true) ? scaledCounters : plainCounters;

  const limits = { ...defaultLimits, ...options.limits };
  const counts = createFlowCounts();
  const exporters = createExporterTable(
    limits,
    createManualRates(options.samplingRates ?? new Map()),
    createRelays(options.relays ?? []),
  );
  const settings = templateSettings({
    elements: options.elements,
    counters,
    splitBiflows,
    maxFields: limits.fieldsPerTemplate,
  });
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
  const lines = createLineBuffer();
  const workspace = createWorkspace(createWorkspaceMemory(0));
  const ends = createFlowEnds(options.ends, undefined);
  let source: Exporter | undefined;
  const traffic = createTrafficMeter({ workspace, counters, isMeasured: options.isMeasured });
  // The model drops nothing, and does not count what was swapped.
  registerLineMetrics(metrics, ends, { filtered: () => 0, icmpSwapped: () => 0, unmeasured: () => traffic.lost() });
  const processor = createFlowProcessor({
    decoders: createDecoders({
      times,
      reader,
      flows: createModelReader(reader, counters, options.applications),
      counters,
      ...(options.sflowSamples !== undefined && { sflowSamples: options.sflowSamples }),
      samples: createSampleLines({
        lines,
        enricher: undefined,
        communityId,
        workspace,
        ends,
        counters,
        book: undefined,
        counts: samples,
      }),
      settings,
    }),
    exporters,
    counts,
    enricher,
    lines,
    sink,
    communityId,
    communityIdSeed: options.communityIdSeed ?? 0,
    ends,
    workspace,
    traffic: {
      ...traffic,
      use(exporter) {
        source = exporter;
        traffic.use(exporter);
      },
      note(record) {
        const seen = seenOf(record);
        if (seen !== undefined) source?.noteSeen(seen.hash, seen.directions);
        traffic.note(record);
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
    take: (bytes, address, port, receivedAt) => processor.take(bytes, address, port, receivedAt),
    flush: () => processor.flush(),
    traffic() {
      traffic.at(clock.now());
      return Array.from(exporters.all()).flatMap((exporter) => exporter.traffic() ?? []);
    },
    exporters: () =>
      Array.from(exporters.all(), (exporter) => ({ address: exporter.address, seenFlows: exporter.seenFlows() })),
    tidy: () => exporters.tidy(clock.now(), 0),
  };
}

function assertUnused(): never {
  throw new TypeError("the model has no programs");
}
