import { createLineBuffer, type Enricher, type Sink } from "../record/index.ts";
import { limitLog, type Clock, type Log, type Metrics } from "../report/index.ts";
import { createDecoders } from "./decoders.ts";
import { createExporterTable } from "./exporter/exporter-table.ts";
import { viewExporter, type ExporterView } from "./exporter/exporter-view.ts";
import { defaultLimits, type Limits } from "./exporter/limits.ts";
import { createFlowCounts } from "./flow-counts.ts";
import { registerFlowMetrics } from "./flow-metrics.ts";
import { createFlowProcessor } from "./flow-processor.ts";

export interface FlowPipelineOptions {
  readonly enricher: Enricher;
  readonly sink: Sink;
  /** Sampling rates by exporter address in canonical text; they win over what exporters say. */
  readonly samplingRates?: ReadonlyMap<string, number>;
  /** Whether records get `flow.community.id`; it costs one or two microseconds each. */
  readonly communityId: boolean;
  /** Whether records of options data (interface names, sampling) leave like flows. Default false: they are only read. */
  readonly optionsRecords?: boolean;
  readonly limits?: Partial<Limits>;
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
  /** Drops what has waited for its template for too long. To be called every {@link tidyEveryMs}. */
  tidy(): void;
  /** All exporters heard of, the one silent for longest first. */
  exporters(): readonly ExporterView[];
}

/** Exporters send their templates every half hour at the latest; after that a number may mean another template. */
const waitingMaxAgeMs = 30 * 60_000;

export const tidyEveryMs = 60_000;

/** Registers its metrics, so there is one for each {@link Metrics}. */
export function createFlowPipeline(options: FlowPipelineOptions): FlowPipeline {
  const { enricher, sink, log, metrics, clock, communityId, optionsRecords = false } = options;
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const counts = createFlowCounts();
  const exporters = createExporterTable(limits, options.samplingRates ?? new Map());
  registerFlowMetrics(metrics, counts, exporters);
  const processor = createFlowProcessor({
    decoders: createDecoders(limits.fieldsPerTemplate),
    exporters,
    counts,
    enricher,
    lines: createLineBuffer(),
    sink,
    communityId,
    optionsRecords,
    log: limitLog(log, clock),
    clock,
  });
  return {
    process: (bytes, address, port, receivedAt) => processor.process(bytes, address, port, receivedAt),
    tidy: () => exporters.dropWaiting(clock.now() - waitingMaxAgeMs),
    exporters: () => Array.from(exporters.all(), viewExporter),
  };
}
