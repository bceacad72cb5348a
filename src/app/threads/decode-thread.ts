import { workerData } from "node:worker_threads";
import { LineOutbox, OutputMetrics } from "../../output/index.ts";
import { FlowPipeline, RingReader, tidyEveryMs, type ExporterState, type SharedAnswer } from "../../flow/index.ts";
import { SharedIndexReader } from "../../metadata/index.ts";
import { SampledSink } from "./record-feed.ts";
import { createMetrics, startComponents, stopComponents, systemClock } from "../../base/report/index.ts";
import { createWorkspace } from "../../record/index.ts";
import type { InterfaceChange } from "../../snmp/index.ts";
import { decodingOptions, hasInterfaceNames } from "../parts/decoding-options.ts";
import { createEnrichment } from "../enrichment/enrichment.ts";
import type { DecodeThreadData, LinesNote } from "./flow-thread-parts.ts";
import { postNote, serveThread, threadLog } from "./thread.ts";
import { DecodeLoop, ThreadMetadata } from "./flow-thread-parts.ts";

// A thread that decodes flows: from its ring to lines in memory that it shares with the main thread.

const {
  settings,
  elements,
  metadata: handle,
  names: nameHandle,
  ring,
  memory,
  lines,
  count,
  number,
  feeds,
} = workerData as DecodeThreadData;
const workspace = createWorkspace(memory, lines.slabs * lines.slabBytes);
const spareAt = workspace.allocate(lines.slabBytes);
const metrics = createMetrics();
const log = threadLog(settings.SVC_LOG_LEVEL);

const droppedRecords = metrics.counter(
  "netgloss_flow_lines_dropped_total",
  "Records lost between decoding and the outputs, because the main thread did not take them in time.",
);
droppedRecords.add(0);
/** The milliseconds in which the main thread may free memory for the end of a long message; after that its lines are lost. */
const mostWaits = 500;
const nothing = new Int32Array(new SharedArrayBuffer(4));
const outbox = new LineOutbox({
  // Use the same memory object: the thread recognises its own lines by it.
  memory: { ...lines, lines: workspace.memory.buffer },
  spare: workspace.bytes.subarray(spareAt, spareAt + lines.slabBytes),
  wake: () => postNote({ lines: true } satisfies LinesNote),
  wait: (times) => times < mostWaits && Atomics.wait(nothing, 0, 0, 1) === "timed-out",
  dropped: (records) => droppedRecords.add(records),
});
const outputMetrics = new OutputMetrics(metrics);
const sampled = SampledSink.chain(outbox, feeds, ({ name }) => outputMetrics.output(name, () => 0), number);
// Load this room late: it is large, and a thread that does not need it should start without it.
const named = hasInterfaceNames(settings) ? await import("../../snmp/index.ts") : undefined;
const directory = named && new named.InterfaceDirectory();
const metadata = handle && new ThreadMetadata(new SharedIndexReader(handle));
const names = nameHandle && new ThreadMetadata(new SharedIndexReader(nameHandle));
const enrichment = createEnrichment(
  settings,
  metadata,
  { log, metrics, clock: systemClock },
  { threads: count, names, workspace },
);
const options = decodingOptions(settings, {
  elements,
  threads: count,
  enrichment,
  interfaces: named && directory && new named.InterfaceEnricher(directory, metrics),
  isMeasured: directory && ((address) => directory.find(address) !== undefined),
  sink: sampled.sink,
  allocate: (bytes) => outbox.allocate(bytes),
  workspace,
  log,
  metrics,
  clock: systemClock,
});
const pipeline = new FlowPipeline(options);
const { processor } = pipeline;
const reader = new RingReader(ring, {
  reputation: (address) => pipeline.reputation(address),
  monotonic: () => systemClock.monotonic(),
});
metrics.counterFrom(
  "netgloss_flow_thread_lost_datagrams_total",
  "Datagrams lost because the thread that was to decode them died.",
  [],
  () => reader.lost,
);
const decoder = {
  take(bytes: Buffer, address: string, port: number, receivedAt: number) {
    metadata?.look();
    names?.look();
    processor.take(bytes, address, port, receivedAt);
  },
  handOver: () => processor.flush(),
};
const loop = new DecodeLoop(reader, outbox, decoder, () => systemClock.monotonic());
const timer = setInterval(() => pipeline.tidy(), tidyEveryMs);

serveThread({
  interfaces: (change: InterfaceChange) => directory?.change(change),
  async start() {
    await startComponents(enrichment.components, log);
    loop.start();
  },
  reload: () => enrichment.reload(),
  wake: () => loop.wake(),
  importState: (states: readonly ExporterState[]) => pipeline.importState(states),
  importShared(answer: SharedAnswer) {
    pipeline.importShared(answer);
    // The loop may sleep: waiting lines would stay here until the next datagram.
    outbox.flush();
  },
  exportState: (which: "changed" | "all") => pipeline.exportState(which),
  exporters: () => pipeline.exporters(),
  traffic: () => pipeline.traffic(),
  metrics: () => metrics.families(),
  async drain() {
    await loop.drain();
    sampled.flush();
  },
  async stop() {
    clearInterval(timer);
    await stopComponents(enrichment.components, log);
  },
});
