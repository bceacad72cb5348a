import { join } from "node:path";
import {
  compileLineFilter,
  ecsLowered,
  ecsNames,
  parseFilter,
  recordVocabulary,
  type ShapeLines,
} from "../../record/index.ts";
import type { Clock, Reporting } from "../../base/report/index.ts";
import { DeliveryReport, type RefusalReason } from "../output-metrics.ts";
import { createLineFilter, createTimestampSource } from "./line-filter.ts";
import { Thinning } from "./line-filter.ts";
import { Batcher } from "./batch.ts";
import { DeadLetters, type DeadLetterList } from "./dead-letters.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { createLineRenamer } from "./line-editor.ts";
import type { DeliveryError, OutputAdapter } from "./output-adapter.ts";
import { Sender } from "./sender.ts";
import type { CommonSettings, DeliveryContext, SpoolMode } from "./settings.ts";
import { nodeFileIo, type FileIo } from "../../base/file/index.ts";
import { instanceLength } from "./spool-format.ts";
import { Spool } from "./spool.ts";

export interface DeliveryOptions {
  readonly settings: CommonSettings;
  readonly context: DeliveryContext;
  /** The adapter, created once. `instance` starts the identities of records of this run. */
  readonly adapter: OutputAdapter;
  /** The instance, unique to this run and output: {@link instanceLength} lower-case letters and digits. */
  readonly instance: string;
  readonly reporting: Omit<Reporting, "health">;
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number;
  /** Called when the store or the spool fails, and with undefined when all works: at the first connection, and after a fault. */
  readonly onFault: (fault: string | undefined) => void;
  readonly io?: FileIo;
}

/** The state of an output, as `GET /api/v1/outputs` shows it. Times are milliseconds since the epoch. */
export interface DeliveryState {
  readonly name: string;
  readonly state: "connecting" | "working" | "failing";
  /** The fault, as a sentence. */
  readonly fault?: string;
  /** Who must fix the store's fault: the operator of the collector, or nobody but the store itself. */
  readonly blame?: "operator" | "store";
  readonly faultSince?: number;
  readonly queueBytes: number;
  readonly waitingRecords: number;
  readonly oldestAt?: number;
  readonly spoolMode: SpoolMode;
  readonly spoolBytes: number;
  readonly spoolMaxBytes: number;
  readonly inFlight: number;
  readonly deliveredRecords: number;
  readonly retriedRecords: number;
  readonly refusedRecords: number;
  readonly droppedRecords: number;
  /** The latency of the last requests. */
  readonly latency?: { readonly medianMs: number; readonly slowestMs: number };
  /** The last reasons for refusals, the newest first. */
  readonly refusals: readonly RefusalReason[];
  /** Refused records that are kept; absent without a state directory. */
  readonly deadLetters?: DeadLetterList;
}

/** The parts of an output that may fail. */
const parts = ["store", "spool", "records"] as const;
type Part = (typeof parts)[number];

/** The time after the last refusal during which records count as being refused, milliseconds. */
const refusingMs = 60_000;

/** The part of the drain time in which new batches are started. */
const beginPart = 2 / 3;

const maxSegmentBytes = 64 * 1024 * 1024;

/** One output to a store: takes lines, and sends them until the store acknowledges their records. */
export class Delivery {
  readonly #context: DeliveryContext;
  readonly #settings: CommonSettings;
  readonly #adapter: OutputAdapter;
  readonly #clock: Clock;
  readonly #onFault: (fault: string | undefined) => void;
  readonly #report: DeliveryReport;
  readonly #spool: Spool | undefined;
  readonly #queue: DeliveryQueue;
  readonly #deadLetters: DeadLetters;
  readonly #sender: Sender;
  readonly #batcher: Batcher;
  /** Absent: lines stay as they are. */
  readonly #shape: ShapeLines | undefined;

  readonly #faults: Partial<Record<Part, string>> = {};
  #fault: string | undefined;
  #faultSince: number | undefined;
  #blame: DeliveryState["blame"];
  #isConnected = false;
  /** Clears the fault when nothing was refused for a while. */
  #refusing: NodeJS.Timeout | undefined;

  constructor(options: DeliveryOptions) {
    const { settings, context, adapter, instance, reporting, random, onFault, io = nodeFileIo } = options;
    if (instance.length !== instanceLength) throw new Error(`the instance ${instance} is not ${instanceLength} long`);
    const { name, stateDirectory } = context;
    const { clock, log, metrics } = reporting;
    this.#context = context;
    this.#settings = settings;
    this.#adapter = adapter;
    this.#clock = clock;
    this.#onFault = onFault;
    const report = new DeliveryReport(name, metrics, clock);
    this.#report = report;
    this.#addGauges(reporting.metrics);
    const hasSpool = settings.SPOOL_MODE !== "off" && stateDirectory !== "";
    this.#spool = hasSpool
      ? new Spool({
          directory: join(stateDirectory, "spool"),
          io,
          maxBytes: settings.SPOOL_MAX_SIZE,
          segmentBytes: Math.min(maxSegmentBytes, Math.ceil(settings.SPOOL_MAX_SIZE / 8)),
          whenFull: settings.SPOOL_WHEN_FULL,
          report,
          log,
        })
      : undefined;
    this.#queue = new DeliveryQueue(
      this.#spool,
      settings,
      report,
      reporting,
      () => this.#sender.wake(),
      (fault) => this.#setFault("spool", fault),
    );
    this.#deadLetters = new DeadLetters(context, settings.DEAD_LETTER_MAX_SIZE, report, reporting);
    this.#sender = new Sender(
      {
        output: name,
        adapter,
        queue: this.#queue,
        deadLetters: this.#deadLetters,
        report,
        random,
        onConnected: () => {
          this.#isConnected = true;
          // Without an earlier fault, nothing else reports that the store works.
          if (this.#fault === undefined) onFault(undefined);
        },
        onFault: (error) => this.#setStoreFault(error),
        onRefused: (reason) => this.#refused(reason),
      },
      settings,
      reporting,
    );
    this.#batcher = new Batcher(instance, settings, context.maxBatchRecords, clock, (batch, release) =>
      this.#queue.add(batch, release),
    );
    this.#shape = shapeOf(options, report);
  }

  /** Starts. A store or spool that cannot be used is tried again until it can. */
  start(): void {
    this.#deadLetters.open();
    void this.#queue.open();
    this.#sender.start();
  }

  /** Takes whole lines, without copying them. `done` is called when they are not needed any more. */
  add(lines: Uint8Array, count: number, done: () => void): void {
    if (this.#shape === undefined) {
      this.#batcher.add(lines, count, done);
      return;
    }
    const shaped = this.#shape(lines, count);
    done();
    if (shaped !== undefined) this.#batcher.add(shaped.lines, shaped.count, () => {});
  }

  /** Starts to send the dead letters again. @returns their number. */
  resend(): number {
    return this.#deadLetters.resend(
      (lines, count) => new Promise((resolve) => this.#batcher.add(lines, count, resolve)),
    );
  }

  /** Sends waiting batches, for `drainMs` at most, then keeps or drops the rest. */
  async stop(drainMs: number): Promise<void> {
    clearTimeout(this.#refusing);
    this.#batcher.flush();
    await this.#queue.spilled();
    const hasSpool = this.#spool !== undefined;
    // A store that is away would only delay the stop of the collector.
    const ms = this.#faults.store !== undefined && hasSpool ? 0 : drainMs;
    // Without a spool, a batch that is not started is dropped: better start it.
    await this.#sender.stop(ms, hasSpool ? ms * beginPart : ms);
    await this.#queue.close();
    await this.#deadLetters.close();
    await this.#adapter.close();
  }

  state(): DeliveryState {
    const faults = this.#faults;
    const { oldestAt } = this.#queue;
    const { totals, recent } = this.#report;
    const latency = recent.latency();
    const isWorking = this.#isConnected && this.#queue.isOpen;
    return {
      name: this.#context.name,
      state: "store" in faults || "spool" in faults ? "failing" : isWorking ? "working" : "connecting",
      ...(this.#fault !== undefined && { fault: this.#fault }),
      ...(this.#faultSince !== undefined && { faultSince: this.#faultSince }),
      ...(this.#blame !== undefined && { blame: this.#blame }),
      queueBytes: this.#queue.memoryBytes,
      waitingRecords: this.#queue.records,
      ...(oldestAt !== undefined && { oldestAt }),
      spoolMode: this.#spool === undefined ? "off" : this.#settings.SPOOL_MODE,
      spoolBytes: this.#spool?.byteLength ?? 0,
      spoolMaxBytes: this.#spool === undefined ? 0 : this.#settings.SPOOL_MAX_SIZE,
      inFlight: this.#sender.inFlight,
      deliveredRecords: totals.delivered,
      retriedRecords: totals.retried,
      refusedRecords: totals.refused,
      droppedRecords: totals.dropped,
      ...(latency !== undefined && { latency }),
      refusals: recent.refusals(),
      ...(this.#context.stateDirectory !== "" && { deadLetters: this.#deadLetters.list() }),
    };
  }

  /** Adds gauges, whose values are read when metrics are. */
  #addGauges(metrics: Reporting["metrics"]): void {
    const output = this.#context.name;
    const gauge = (name: string, help: string, read: () => number): void =>
      metrics.gaugeFrom(name, help, ["output"], () => [[{ output }, read()]]);
    gauge("netgloss_output_spool_bytes", "Bytes that the spool has on disk.", () => this.#spool?.byteLength ?? 0);
    gauge("netgloss_output_requests_in_flight", "Batches that are being sent.", () => this.#sender.inFlight);
    gauge("netgloss_output_waiting_records", "Records in batches that are not delivered.", () => this.#queue.records);
    gauge("netgloss_output_oldest_record_seconds", "Age of the oldest record that waits.", () => {
      const { oldestAt } = this.#queue;
      return oldestAt === undefined ? 0 : Math.max(0, this.#clock.now() - oldestAt) / 1000;
    });
    metrics.gaugeFrom(
      "netgloss_output_failing",
      "1 while the store or the spool fails, or records are refused; else 0.",
      ["output", "part"],
      () => parts.map((part) => [{ output, part }, Number(part in this.#faults)]),
    );
  }

  #setStoreFault(error: DeliveryError | undefined): void {
    this.#blame = error && (error.blame === "record" || error.blame === "operator" ? "operator" : "store");
    const takesNothing = error?.blame === "record" ? "the store takes no records: " : "";
    this.#setFault("store", error && takesNothing + error.message);
  }

  #refused(reason: string): void {
    if (!("records" in this.#faults)) this.#setFault("records", `the store refuses records: ${reason}`);
    clearTimeout(this.#refusing);
    this.#refusing = setTimeout(() => this.#setFault("records", undefined), refusingMs);
    this.#refusing.unref();
  }

  #setFault(part: Part, text: string | undefined): void {
    if (text === undefined) delete this.#faults[part];
    else this.#faults[part] = text;
    const texts = parts.flatMap((one) => this.#faults[one] ?? []);
    this.#faultSince = texts.length === 0 ? undefined : (this.#faultSince ?? this.#clock.now());
    this.#fault = texts.length === 0 ? undefined : texts.join("; ");
    this.#onFault(this.#fault);
  }
}

/** Returns the changes to lines before they are batched: times, then filters, rates and fields, then the names of ECS. */
function shapeOf(
  { settings, context, reporting, random }: DeliveryOptions,
  report: DeliveryReport,
): ShapeLines | undefined {
  const { TIMESTAMP_SOURCE: source, FILTER: filterText, THIN_RATE: maxRate } = settings;
  const retime = source === "collect" ? undefined : createTimestampSource(`flow.${source}.timestamp`);
  const filter = createLineFilter({
    types: settings.ALLOWED_RECORD_TYPES,
    dropFields: settings.DROP_FIELDS,
    thinning:
      maxRate === 0
        ? undefined
        : new Thinning({
            maxRate,
            byExporter: false,
            hasScaledCounters: context.hasScaledCounters,
            clock: reporting.clock,
            random,
            thinned: (records) => report.thinned(records),
          }),
    matches: filterText === "" ? undefined : compileLineFilter(parseFilter(filterText, context.name, recordVocabulary)),
    filtered: (records) => report.filtered(records),
  });
  const rename = settings.ECS_ENABLE ? createLineRenamer(ecsNames, ecsLowered) : undefined;
  if (retime === undefined && filter === undefined && rename === undefined) return undefined;
  return (lines, count) => {
    const timed = retime === undefined ? lines : retime(lines);
    const passed = filter === undefined ? { lines: timed, count } : filter(timed, count);
    if (passed === undefined || rename === undefined) return passed;
    return { lines: rename(passed.lines), count: passed.count };
  };
}
