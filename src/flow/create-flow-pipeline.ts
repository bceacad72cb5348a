import type { FlowPipelineOptions, FlowPipeline } from "./flow-pipeline.ts";
import { scaledCounters, plainCounters, nameCounters } from "./elements/mapping/counter-names.ts";
import { createElementSource } from "./elements/custom/element-source.ts";
import { rememberNames } from "./elements/mapping/remember-names.ts";
import { type Limits, defaultLimits } from "./exporters/limits/limits.ts";
import { createFlowCounts } from "./flow-counts.ts";
import { createExporterTable } from "./exporters/exporter-table.ts";
import { createManualRates } from "./exporters/sampling/manual-rates.ts";
import { createRelays, stateKey } from "./exporters/relays.ts";
import type { TemplateSettings } from "./wire/template/decode-sets.ts";
import { buildPlan } from "./exporters/templates/build-plan.ts";
import { type AdoptedCounts, adoptStates } from "./exporters/state/adopt-states.ts";
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
import { registerFlowMetrics, registerSharedMetrics, registerRoleMetrics } from "./flow-metrics.ts";
import { registerExporterMetrics } from "./exporter-metrics.ts";
import { createTrafficMeter } from "./line/traffic-meter.ts";
import { createFlowProcessor } from "./flow-processor.ts";
import { createDecoders } from "./wire/decoders.ts";
import { type ExporterState, exporterState, restoreExporter } from "./exporters/state/exporter-state.ts";
import { isFarFromKept } from "./exporters/domain.ts";
import { viewExporter } from "./exporters/exporter-view.ts";
import type { Exporter } from "./exporters/exporter.ts";

/** Exporters send their templates every half hour at the latest; after that a number may mean another template. */
const waitingMaxAgeMs = 30 * 60_000;

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
