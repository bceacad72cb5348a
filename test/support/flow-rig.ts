import { createRecordedLog, type LogLine } from "./recorded-log.ts";
import { FlowPipeline, type FlowPipelineOptions } from "../../src/flow/index.ts";
import { joinLineEnrichers } from "../../src/record/index.ts";
import { createMetrics, type Clock, type Metrics } from "../../src/base/report/index.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface FlowRig {
  readonly pipeline: FlowPipeline;
  readonly metrics: Metrics;
  /** Set it to move the clock, milliseconds since the epoch. */
  time: number;
  readonly log: readonly LogLine[];
  /** Sends a datagram and returns the records that came out of it. */
  send(datagram: Buffer, from?: { readonly address?: string; readonly port?: number }): Json[];
  /** The value of a time series, 0 when there is none. */
  value(name: string, labels?: Readonly<Record<string, string | number>>): Promise<number>;
  /** All series of the flow room that are not zero, as `name{label=value}`, but those that count how records were decoded. */
  counts(): Promise<Readonly<Record<string, number>>>;
}

/** When every datagram is received unless a test moves the clock. */
export const receivedAt = Date.UTC(2023, 10, 14, 22, 13, 21, 500);

/** A pipeline that keeps what it writes. Options records are shown, community ids left out unless asked for. */
export function createFlowRig(options: Partial<FlowPipelineOptions> = {}): FlowRig {
  const metrics = createMetrics();
  const { log, lines: logged } = createRecordedLog();
  let written: Json[] = [];
  const rig = { time: receivedAt };
  const clock: Clock = { now: () => rig.time, monotonic: () => rig.time };
  const pipeline = new FlowPipeline({
    enricher: { enrich() {}, lines: joinLineEnrichers([]) },
    sink: { write: (lines) => void (written = written.concat(parseLines(lines))) },
    communityId: false,
    optionsRecords: true,
    log,
    metrics,
    clock,
    ...options,
  });
  return Object.assign(rig, {
    pipeline,
    metrics,
    log: logged,
    send(datagram: Buffer, { address = "192.0.2.254", port = 50_000 } = {}) {
      written = [];
      pipeline.process(datagram, address, port);
      return written;
    },
    value: async (name: string, labels = {}) => (await metrics.value(name, labels)) ?? 0,
    async counts() {
      const lines = (await metrics.render())
        .split("\n")
        .filter(
          (text) =>
            /^netgloss_flow_.* [^0]/.test(text) &&
            !/_slow_fields_|_compiled_|_clisrv_|_exporter_(?:records|last_seen)_|_memory_/.test(text),
        );
      return Object.fromEntries(
        lines.map((text) => {
          const cut = text.lastIndexOf(" ");
          const name = text.slice("netgloss_flow_".length, cut).replaceAll('"', "");
          return [name, Number(text.slice(cut + 1))];
        }),
      );
    },
  });
}

/** An integer of JSON, outside its texts, that may be beyond 2^53. */
const longNumber = /(?<=[:,[])(-?[0-9]{16,})(?=[,\]}])/g;

/** Lines of NDJSON; numbers beyond 2^53 as text, so that no digit is lost. */
export function parseLines(lines: Uint8Array): Json[] {
  return Buffer.from(lines)
    .toString()
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => JSON.parse(/[0-9]{16}/.test(text) ? text.replaceAll(longNumber, '"$1n"') : text) as Json);
}
