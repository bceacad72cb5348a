import assert from "node:assert/strict";
import { AddressEnricher, type AddressEnricherOptions } from "../../src/enrich/index.ts";
import { FlowPipeline, trafficMinuteMs, type FlowPipelineOptions } from "../../src/flow/index.ts";
import { joinLineEnrichers, type Enricher } from "../../src/record/index.ts";
import { createMetrics, silentLog, type Log, type Metrics } from "../../src/base/report/index.ts";
import type { UdmEntry } from "../../src/metadata/index.ts";
import { createModelPipeline, type ComparedPipeline } from "../flow/model/model-pipeline.ts";
import { allEnds } from "./all-ends.ts";
import { receivedAt } from "./flow-rig.ts";
import { manualWatch } from "./udm-watch.ts";

/** A pipeline and the model of one, that are sent the same. */
export interface FlowTwins {
  /**
   * Sends a datagram to both; what comes out and what is logged must be the same. Returns it.
   *
   * @param from `waits`: it is taken together with the next ones, and nothing is compared yet.
   */
  send(
    datagram: Buffer,
    from?: { readonly address?: string; readonly port?: number; readonly waits?: boolean },
  ): string;
  setMetadata(entries: readonly UdmEntry[]): void;
  /** Everything that was counted must be the same, what passed interfaces and the sample of flows too. Returns how many records there were, and what took longer of them, by reason. */
  finish(): Promise<{ readonly records: number; readonly slow: Readonly<Record<string, number>> }>;
}

/** Metrics that are about the way and not about the outcome: the kernel alone samples flows, which takes memory. */
const aboutTheWay = /_slow_fields_|_flow_memory_bytes|_icmp_swapped_|_compiled_|_cache_|_cached_|_udm_matches_/;

/** Whether a line of metrics may differ between kernel and model. */
export const isAboutTheWay = (line: string): boolean => aboutTheWay.test(line);

export async function createFlowTwins(
  options: Partial<FlowPipelineOptions> & {
    /** Enrichers before that of addresses. */
    readonly more?: (metrics: Metrics) => readonly Enricher[];
    readonly addresses?: Pick<AddressEnricherOptions, "sources" | "locality">;
  } = {},
): Promise<FlowTwins> {
  const { more, addresses, ...common } = options;
  const watch = manualWatch([]);
  let now = receivedAt;
  const clock = { now: () => now, monotonic: () => receivedAt };

  const createTwin = async (createPipeline: (options: FlowPipelineOptions) => ComparedPipeline) => {
    const metrics = createMetrics();
    const pieces: Uint8Array[] = [];
    const logged: string[] = [];
    const note =
      (level: string) =>
      (fields: object, message: string): void =>
        void logged.push(`${level} ${message} ${JSON.stringify(fields)}`);
    const log: Log = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
    const udm = new AddressEnricher({
      watch: watch.watch,
      ttlMs: 1_000_000,
      invalidate: true,
      maxCached: 1000,
      clock,
      metrics,
      log: silentLog,
      ...addresses,
    });
    await udm.start();
    const enrichers = [...(more?.(metrics) ?? []), udm];
    const enricher: Enricher = {
      enrich(record, rendered) {
        for (const one of enrichers) one.enrich(record, rendered);
      },
      lines: joinLineEnrichers(enrichers.map(({ lines }) => lines)),
    };
    let records = 0;
    const pipeline = createPipeline({
      enricher,
      sink: {
        write(lines, count) {
          records += count;
          pieces.push(Uint8Array.from(lines));
        },
      },
      communityId: true,
      ends: allEnds,
      log,
      metrics,
      clock,
      isMeasured: () => true,
      ...common,
    });
    return { metrics, pieces, logged, pipeline, count: () => records };
  };
  const model = await createTwin(createModelPipeline);
  const tested = await createTwin((given) => new FlowPipeline(given));

  let isWaiting = false;
  /** What came out since the last call must be the same. */
  const compare = (): string => {
    const texts = [model, tested].map(({ pipeline, pieces, logged }) => {
      pipeline.processor.flush();
      // What several datagrams gave is the same in another order.
      if (isWaiting) logged.sort();
      const text = Buffer.concat(pieces).toString("latin1");
      const all = [text, logged.join("\n")];
      pieces.length = 0;
      logged.length = 0;
      return all;
    });
    isWaiting = false;
    assert.deepEqual(texts[1], texts[0]);
    const text = texts[1]?.[0] ?? "";
    assert.ok(!(texts[1]?.[1] ?? "").includes("internal error"), texts[1]?.[1]);
    return Buffer.from(text, "latin1").toString();
  };

  return {
    setMetadata(entries) {
      compare();
      watch.set(entries);
    },
    send(datagram, { address = "192.0.2.254", port = 50_000, waits = false } = {}) {
      for (const { pipeline } of [model, tested]) {
        // A view in a memory of its own, at no round place.
        const memory = Buffer.alloc(datagram.length + 3, 0x55);
        datagram.copy(memory, 3);
        pipeline.processor.take(memory.subarray(3), address, port);
        memory.fill(0xaa);
      }
      isWaiting ||= waits;
      return waits ? "" : compare();
    },
    async finish() {
      compare();
      now += trafficMinuteMs;
      assert.deepEqual(trafficOf(tested.pipeline), trafficOf(model.pipeline));
      assert.deepEqual(seenOf(tested.pipeline), seenOf(model.pipeline));
      const lines = async ({ metrics }: typeof tested): Promise<string[]> =>
        (await metrics.render()).split("\n").filter((line) => !line.startsWith("#"));
      const found = await lines(tested);
      const outcome = (all: readonly string[]): string[] => all.filter((line) => !isAboutTheWay(line));
      assert.deepEqual(outcome(found), outcome(await lines(model)));
      assert.equal(tested.count(), model.count());
      // Off the text, for reading every metric again takes longer than most cases.
      const slow = found.flatMap((line) => {
        const match = /^netgloss_flow_slow_fields_total{reason="(\w+)"} (\d+)/.exec(line);
        return match === null ? [] : [[match[1] ?? "", Number(match[2])] as const];
      });
      return { records: tested.count(), slow: Object.fromEntries(slow.filter(([, count]) => count > 0)) };
    },
  };
}

/** Rows of interfaces by exporter and minute, in the order of their keys. */
function trafficOf(pipeline: ComparedPipeline): unknown {
  const exporters = pipeline.traffic().toSorted((a, b) => (a.address < b.address ? -1 : 1));
  return exporters.map(({ address, minutes }) => [
    address,
    minutes.map(({ start, rows }) => {
      const found = Array.from({ length: rows.length / 4 }, (_, i) => [...rows.subarray(4 * i, 4 * i + 4)]);
      return [start, found.toSorted(([a = 0], [b = 0]) => a - b)];
    }),
  ]);
}

function seenOf(pipeline: ComparedPipeline): ReadonlyMap<string, unknown> {
  return new Map(pipeline.exporters().map(({ address, sketch }) => [address, sketch]));
}
