import { join } from "node:path";
import { ecsLowered, ecsNames } from "../../record/index.ts";
import type { Clock, Log, Metrics } from "../../report/index.ts";
import { createOutputMetrics } from "../output-metrics.ts";
import { createBatcher } from "./batcher.ts";
import { DeadLetters, type DeadLetterList } from "./dead-letters.ts";
import type { DeliveryError } from "./delivery-error.ts";
import type { DeliveryConfig } from "./delivery-config.ts";
import { createDeliveryQueue } from "./delivery-queue.ts";
import { createDeliveryReport, deliveryParts, type DeliveryGauges, type DeliveryPart } from "./delivery-report.ts";
import type { RefusalReason } from "./recent-delivery.ts";
import { compileLineFilter, parseFilter, recordVocabulary } from "../../filter/index.ts";
import { createTimestampSource } from "./timestamp-source.ts";
import { createThinning } from "./thinning.ts";
import { createLineFilter } from "./line-filter.ts";
import { createLineRenamer } from "./line-renamer.ts";
import type { OutputAdapter } from "./output-adapter.ts";
import { Sender } from "./sender.ts";
import { instanceLength } from "./spool-format.ts";
import { nodeSpoolIo, type SpoolIo } from "./spool-io.ts";
import { createSpool, type Spool } from "./spool.ts";

export interface DeliveryOptions {
  readonly config: DeliveryConfig;
  /** Made once; `instance` begins the identities of records that this run makes. */
  readonly adapter: OutputAdapter;
  /** Unique to this run and output: {@link instanceLength} lower-case letters and digits. */
  readonly instance: string;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Called when the store or the spool fails, and when all works (undefined): at the first connection, and again after a fault. */
  readonly onFault: (fault: string | undefined) => void;
  readonly io?: SpoolIo;
}

/** The state of an output, as `GET /api/v1/outputs` shows it. Times are milliseconds since the epoch. */
export interface DeliveryState {
  readonly name: string;
  readonly state: "connecting" | "working" | "failing";
  /** What is wrong, a sentence. */
  readonly fault?: string;
  /** Who is to mend what is wrong with the store: the operator of the collector, or nobody but the store itself. */
  readonly blame?: "operator" | "store";
  readonly faultSince?: number;
  readonly queueBytes: number;
  readonly waitingRecords: number;
  readonly oldestAt?: number;
  readonly spoolMode: DeliveryConfig["spoolMode"];
  readonly spoolBytes: number;
  readonly spoolMaxBytes: number;
  readonly inFlight: number;
  readonly deliveredRecords: number;
  readonly retriedRecords: number;
  readonly refusedRecords: number;
  readonly droppedRecords: number;
  /** How long the last requests took. */
  readonly latency?: { readonly medianMs: number; readonly slowestMs: number };
  /** The last reasons for refusals, the newest first. */
  readonly refusals: readonly RefusalReason[];
  /** Refused records that are kept; absent without a state directory. */
  readonly deadLetters?: DeadLetterList;
}

/** One output: lines in, acknowledged records out. */
export interface Delivery {
  /** Begins. A store or a spool that cannot be used is tried again until it can. */
  start(): void;
  /** Takes whole lines, without copying them. `done` is called when they are not needed any more. */
  add(lines: Uint8Array, count: number, done: () => void): void;
  /** Begins to send the dead letters again. @returns how many there are. */
  resend(): number;
  /** Sends what waits, for this many milliseconds at most; keeps or drops the rest. */
  stop(drainMs: number): Promise<void>;
  state(): DeliveryState;
}

/** So long after the last refusal records count as being refused, milliseconds. */
const refusingMs = 60_000;

/** The part of the time for a drain in which batches are begun. */
const beginPart = 2 / 3;

export function createDelivery(options: DeliveryOptions): Delivery {
  const { config, adapter, instance, clock, random, log, metrics, io = nodeSpoolIo } = options;
  if (instance.length !== instanceLength) throw new Error(`the instance ${instance} is not ${instanceLength} long`);
  const { name, stateDirectory } = config;
  const faults: Partial<Record<DeliveryPart, string>> = {};
  let fault: string | undefined;
  let faultSince: number | undefined;
  let blame: DeliveryState["blame"];
  let isConnected = false;
  /** Ends when nothing was refused for a while. */
  let refusing: NodeJS.Timeout | undefined;

  const setFault = (part: DeliveryPart, text: string | undefined): void => {
    if (text === undefined) delete faults[part];
    else faults[part] = text;
    const texts = deliveryParts.flatMap((one) => faults[one] ?? []);
    faultSince = texts.length === 0 ? undefined : (faultSince ?? clock.now());
    fault = texts.length === 0 ? undefined : texts.join("; ");
    options.onFault(fault);
  };

  const gauges: DeliveryGauges = {
    spoolBytes: () => spool?.byteLength ?? 0,
    inFlight: () => sender.inFlight,
    waitingRecords: () => queue.records,
    isFailing: (part) => part in faults,
    oldestSeconds: () => (queue.oldestAt === undefined ? 0 : Math.max(0, clock.now() - queue.oldestAt) / 1000),
  };
  const shared = createOutputMetrics(metrics);
  const { report, totals, recent } = createDeliveryReport(name, metrics, shared, gauges, () => clock.now());
  const hasSpool = config.spoolMode !== "off" && stateDirectory !== "";
  const spool: Spool | undefined = hasSpool
    ? createSpool({
        directory: join(stateDirectory, "spool"),
        io,
        maxBytes: config.spoolBytes,
        segmentBytes: Math.min(64 * 1024 * 1024, Math.ceil(config.spoolBytes / 8)),
        whenFull: config.spoolWhenFull,
        report,
        log,
      })
    : undefined;
  const queue = createDeliveryQueue({
    mode: hasSpool ? config.spoolMode : "off",
    spool,
    // The other half is for what is being sent and for what comes while the disk is written.
    memoryBytes: config.queueBytes / 2,
    retryMs: config.retryMs,
    clock,
    log,
    onWork: () => sender.wake(),
    onSpoolFault: (text) => setFault("spool", text),
    report,
  });
  const deadLetters = new DeadLetters({
    output: name,
    path: stateDirectory === "" ? "" : join(stateDirectory, "dead-letters.ndjson"),
    maxBytes: config.deadLetterBytes,
    clock,
    log,
    failed: (operation, code) => report.failed(operation, code),
  });
  const setStoreFault = (error: DeliveryError | undefined): void => {
    blame = error && (error.blame === "record" || error.blame === "operator" ? "operator" : "store");
    const takesNothing = error?.blame === "record" ? "the store takes no records: " : "";
    setFault("store", error && takesNothing + error.message);
  };
  const sender = new Sender({
    output: name,
    adapter: {
      ...adapter,
      async open(signal) {
        const warnings = await adapter.open(signal);
        isConnected = true;
        // Without a fault before it, nothing else says that the store is there.
        if (fault === undefined) options.onFault(undefined);
        return warnings;
      },
    },
    queue,
    maxInFlight: config.maxInFlight,
    parkedBytes: config.queueBytes / 8,
    timeoutMs: config.timeoutMs,
    backoff: { firstMs: config.retryMs, maxMs: config.maxRetryMs, random },
    deadLetters,
    report: {
      ...report,
      refused(records, reason) {
        report.refused(records, reason);
        if (!("records" in faults)) setFault("records", `the store refuses records: ${reason}`);
        clearTimeout(refusing);
        refusing = setTimeout(() => setFault("records", undefined), refusingMs);
        refusing.unref();
      },
    },
    clock,
    log,
    onFault: setStoreFault,
  });
  const batcher = createBatcher({
    instance,
    maxBytes: config.batchBytes,
    maxRecords: config.batchRecords,
    deadlineMs: config.batchDeadlineMs,
    clock,
    emit: (held) => queue.add(held),
  });
  const filter = createLineFilter({
    types: config.recordTypes,
    dropFields: config.dropFields,
    thinning:
      config.thinRate === 0
        ? undefined
        : createThinning({
            maxRate: config.thinRate,
            byExporter: false,
            hasScaledCounters: config.hasScaledCounters,
            clock,
            random,
            thinned: (records) => report.thinned(records),
          }),
    matches: config.filter === "" ? undefined : compileLineFilter(parseFilter(config.filter, name, recordVocabulary)),
    filtered: (records) => report.filtered(records),
  });

  const retime = config.timestampField === undefined ? undefined : createTimestampSource(config.timestampField);
  const rename = config.isEcs ? createLineRenamer(ecsNames, ecsLowered) : undefined;

  return {
    start() {
      deadLetters.open();
      void queue.open();
      sender.start();
    },
    add(lines, count, done) {
      if (filter === undefined && rename === undefined && retime === undefined) {
        batcher.add(lines, count, done);
        return;
      }
      const timed = retime === undefined ? lines : retime(lines);
      const passed = filter === undefined ? { lines: timed, count } : filter(timed, count);
      const renamed = passed && rename !== undefined ? rename(passed.lines) : passed?.lines;
      done();
      if (passed !== undefined && renamed !== undefined) batcher.add(renamed, passed.count, () => {});
    },
    resend: () => deadLetters.resend((lines, count) => new Promise((resolve) => batcher.add(lines, count, resolve))),
    async stop(drainMs) {
      clearTimeout(refusing);
      batcher.flush();
      await queue.settle();
      // A store that is away would only keep the collector from stopping.
      const ms = faults.store !== undefined && spool !== undefined ? 0 : drainMs;
      // What is not begun is dropped where there is no spool: then it is better begun.
      await sender.stop(ms, spool === undefined ? ms : ms * beginPart);
      await queue.close();
      await deadLetters.close();
      await adapter.close();
    },
    state() {
      const oldestAt = queue.oldestAt;
      const latency = recent.latency();
      return {
        name,
        state:
          "store" in faults || "spool" in faults ? "failing" : isConnected && queue.isOpen ? "working" : "connecting",
        ...(fault !== undefined && { fault }),
        ...(faultSince !== undefined && { faultSince }),
        ...(blame !== undefined && { blame }),
        queueBytes: queue.memoryBytes,
        waitingRecords: queue.records,
        ...(oldestAt !== undefined && { oldestAt }),
        spoolMode: hasSpool ? config.spoolMode : "off",
        spoolBytes: spool?.byteLength ?? 0,
        spoolMaxBytes: spool === undefined ? 0 : config.spoolBytes,
        inFlight: sender.inFlight,
        deliveredRecords: totals.delivered,
        retriedRecords: totals.retried,
        refusedRecords: totals.refused,
        droppedRecords: totals.dropped,
        ...(latency !== undefined && { latency }),
        refusals: recent.refusals(),
        ...(stateDirectory !== "" && { deadLetters: deadLetters.list() }),
      };
    },
  };
}
