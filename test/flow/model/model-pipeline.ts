import { createDecoders } from "../../../src/flow/wire/decoders.ts";
import { createElementSource } from "../../../src/flow/elements/custom/element-source.ts";
import { createExporterTable } from "../../../src/flow/exporters/exporter-table.ts";
import { defaultLimits } from "../../../src/flow/exporters/limits/limits.ts";
import { registerExporterMetrics } from "../../../src/flow/exporter-metrics.ts";
import { createFlowCounts } from "../../../src/flow/flow-counts.ts";
import { registerFlowMetrics, registerRoleMetrics, registerSharedMetrics } from "../../../src/flow/flow-metrics.ts";
import { createFlowProcessor } from "../../../src/flow/flow-processor.ts";
import type { Exporter } from "../../../src/flow/exporters/exporter.ts";
import type { ExporterView, FlowPipeline, FlowPipelineOptions } from "../../../src/flow/index.ts";
import { createTimeFormat } from "../../../src/flow/elements/mapping/time-format.ts";
import { nameCounters, plainCounters, scaledCounters } from "../../../src/flow/elements/mapping/counter-names.ts";
import { rememberNames } from "../../../src/flow/elements/mapping/remember-names.ts";
import { createFlowEnds } from "../../../src/flow/line/roles/flow-ends.ts";
import { createRelays } from "../../../src/flow/exporters/relays.ts";
import { createTrafficMeter } from "../../../src/flow/line/traffic-meter.ts";
import { createManualRates } from "../../../src/flow/exporters/sampling/manual-rates.ts";
import { createSlowFieldCounts } from "../../../src/flow/line/writer/slow-fields.ts";
import { buildPlan } from "../../../src/flow/exporters/templates/build-plan.ts";
import { createRecordReader } from "../../../src/flow/wire/template/record-reader.ts";
import { createSampleLines } from "../../../src/flow/line/writer/sample-lines.ts";
import { createLineBuffer, createWorkspace, createWorkspaceMemory } from "../../../src/record/index.ts";
import { limitLog } from "../../../src/report/index.ts";
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
  const exported = createElementSource(options.elements ?? []);
  const elements = rememberNames(nameCounters(exported, counters));

  const limits = { ...defaultLimits, ...options.limits };
  const counts = createFlowCounts();
  const exporters = createExporterTable(
    limits,
    createManualRates(options.samplingRates ?? new Map()),
    createRelays(options.relays ?? []),
  );
  const settings = {
    maxFields: limits.fieldsPerTemplate,
    planTemplate: (template: Parameters<typeof buildPlan>[0]) =>
      buildPlan(template, { elements: template.scopeCount === undefined ? elements : exported, splitBiflows }),
  };
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
  metrics.counterFrom("netgloss_flow_filtered_records_total", "The model drops nothing.", [], () => 0);
  metrics.counterFrom("netgloss_flow_icmp_swapped_total", "Not counted by the model.", [], () => 0);
  const lines = createLineBuffer();
  const workspace = createWorkspace(createWorkspaceMemory(0));
  const ends = createFlowEnds(options.ends, undefined);
  registerRoleMetrics(metrics, ends);
  let source: Exporter | undefined;
  const traffic = createTrafficMeter({ workspace, counters, isMeasured: options.isMeasured });
  metrics.counterFrom("netgloss_flow_traffic_unmeasured_total", "Bytes without room.", [], () => traffic.lost());
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
    tidy() {
      const now = clock.now();
      exporters.tidy(now, {
        waiting: now - waitingMaxAgeMs,
        templates: Number.NEGATIVE_INFINITY,
        exporters: now - limits.silentMs,
      });
    },
  };
}

const waitingMaxAgeMs = 30 * 60_000;

function assertUnused(): never {
  throw new TypeError("the model has no programs");
}
