import { join } from "node:path";
import {
  copyLines,
  type ShapeLines,
  ecsLowered,
  ecsNames,
  type MatchesLine,
  compileLineFilter,
  parseFilter,
  recordVocabulary,
} from "../../record/index.ts";
import { type Thinning, createThinning } from "../shape/thinning.ts";
import { createLineEditor, dropField, type FieldEdit, createLineRenamer } from "./line-editor.ts";
import { recordTypeOf } from "./output-adapter.ts";
import { createDeliveryQueue } from "./delivery-queue.ts";
import { recordTypes, type RecordType, type SpoolMode } from "./settings.ts";
import type { Clock, Log, Metrics } from "../../base/report/index.ts";
import { createOutputMetrics } from "../output-metrics.ts";
import { createBatcher } from "./batch.ts";
import { DeadLetters, type DeadLetterList } from "./dead-letters.ts";
import type { DeliveryError } from "./output-adapter.ts";
import {
  createDeliveryReport,
  deliveryParts,
  type DeliveryGauges,
  type DeliveryPart,
  type RefusalReason,
} from "../output-metrics.ts";
import type { OutputAdapter } from "./output-adapter.ts";
import { Sender } from "./sender.ts";
import { instanceLength } from "./spool-format.ts";
import { nodeSpoolIo, type SpoolIo } from "./spool-format.ts";
import { createSpool, type Spool } from "./spool.ts";

interface LineFilterOptions {
  /** Left out: all. */
  readonly types?: readonly RecordType[];
  readonly dropFields?: readonly string[];
  /** What happens to fields, by their names; fields to drop come before it. */
  readonly edits?: ReadonlyMap<string, FieldEdit>;
  /** Leaves out some of too many records; left out: none. */
  readonly thinning?: Thinning | undefined;
  /** Left out: every record. */
  readonly matches?: MatchesLine | undefined;
  /** Called with how many records do not match, those of other types left out. */
  readonly filtered?: (records: number) => void;
}

/**
 * Takes only records of some types that match a filter, and takes fields out of them, or changes them. What is left lies in memory of its own.
 *
 * @returns undefined when every line passes as it is: then no line needs to be looked at.
 */
export function createLineFilter(options: LineFilterOptions): ShapeLines | undefined {
  const {
    types = recordTypes,
    dropFields = [],
    edits = new Map<string, FieldEdit>(),
    matches,
    thinning,
    filtered,
  } = options;
  const allowed = new Set(types);
  const takesAll = recordTypes.every((type) => type === "as_path_hop" || allowed.has(type));
  const all = new Map([...edits, ...dropFields.map((name) => [name, dropField] as const)]);
  if (takesAll && all.size === 0 && matches === undefined && thinning === undefined) return undefined;
  const editor = all.size === 0 ? undefined : createLineEditor(all);
  const weighted = thinning && createLineEditor(new Map([...thinning.edits, ...all]));
  const maxGrowth = (weighted ?? editor)?.maxGrowth ?? 0;
  let to = Buffer.alloc(0);
  return (lines, records) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const most = lines.length + records * maxGrowth;
    if (to.length < most) to = Buffer.allocUnsafeSlow(most);
    let length = 0;
    let count = 0;
    let others = 0;
    thinning?.begin();
    for (let at = 0, end = 0; at < from.length; at = end) {
      end = from.indexOf(0x0a, at) + 1 || from.length;
      if (!takesAll && !allowed.has(recordTypeOf(from, at, end))) continue;
      if (matches !== undefined && !matches(from, at, end)) {
        others++;
        continue;
      }
      const weight = thinning === undefined ? 1 : thinning.weigh(from, at, end);
      if (weight === 0) continue;
      const copier = weight > 1 ? weighted : editor;
      length = copier?.copy(from, at, end, to, length) ?? copyLines(from, at, end, to, length);
      count++;
    }
    thinning?.end();
    if (others > 0) filtered?.(others);
    // Who keeps the lines is to keep no more memory than they take.
    return count === 0
      ? undefined
      : { lines: Buffer.from(Uint8Array.prototype.slice.call(to, 0, length).buffer), count };
  };
}

const start = Buffer.from('{"@timestamp":"');
const quote = 0x22;

/** A time of an exporter that is further from the time of receipt is not believed, milliseconds. */
const believedMs = 86_400_000;
/** `2026-01-02` */
const dateLength = 10;

/**
 * Makes the function that puts the value of another field of time into `@timestamp`, which is the first field of each line.
 * A line without that field stays as it is. So does one whose field is more than a day from the time of receipt, which is
 * there before: `@timestamp` names indices and partitions, and an exporter's clock must not make one for each year that it shows.
 *
 * @returns lines in memory of their own.
 *
 * @param field a field of texts without escapes, as times are.
 */
export function createTimestampSource(field: string): (lines: Uint8Array) => Uint8Array {
  // In a text a quote has a backslash before it, so that this is the field itself.
  const name = Buffer.from(`,"${field}":"`);
  return (lines) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const parts: Buffer[] = [];
    for (let at = 0; at < from.length;) {
      const end = from.indexOf(0x0a, at) + 1 || from.length;
      const line = from.subarray(at, end);
      at = end;
      const found = line.indexOf(name);
      const isTimed = line.subarray(0, start.length).equals(start);
      const valueEnd = isTimed && found >= 0 ? line.indexOf(quote, found + name.length) : -1;
      const rest = line.indexOf(quote, start.length);
      if (valueEnd < 0 || !isNear(line, start.length, rest, found + name.length, valueEnd)) parts.push(line);
      else parts.push(start, line.subarray(found + name.length, valueEnd), line.subarray(rest));
    }
    // Who keeps the lines is to keep no more memory than they take.
    return new Uint8Array(Buffer.concat(parts));
  };
}

/** Whether two times of a line, from here to there, are at most a day apart. */
function isNear(line: Buffer, from: number, to: number, otherFrom: number, otherTo: number): boolean {
  // Those of one date are, and need no parsing.
  const dateEnd = from + dateLength;
  if (to > dateEnd && otherTo > otherFrom + dateLength) {
    if (line.compare(line, from, dateEnd, otherFrom, otherFrom + dateLength) === 0) return true;
  }
  const [received, named] = [timeOf(line, from, to), timeOf(line, otherFrom, otherTo)];
  return Math.abs(received - named) <= believedMs;
}

/** Milliseconds since the epoch; NaN: it is no time. */
function timeOf(line: Buffer, from: number, to: number): number {
  // Nanoseconds are more than the engine's parser takes.
  return Date.parse(line.toString("latin1", from, to).replace(/(\.[0-9]{3})[0-9]+/, "$1"));
}

/** The configuration that all outputs to stores have; plain data. */
export interface DeliveryConfig {
  /** The label of its metrics, and the name of its directory of state: lower-case letters, digits, dashes. */
  readonly name: string;
  readonly recordTypes: readonly RecordType[];
  /** Of the records that it takes, in the language of filters; empty: all. It was checked. */
  readonly filter: string;
  /** Flow records a second; 0: as many as there are. */
  readonly thinRate: number;
  /** Whether `flow.bytes` and its kin are estimates by the sampling rate. */
  readonly hasScaledCounters: boolean;
  readonly dropFields: readonly string[];
  /** Whether fields have the names of the Elastic Common Schema. Whatever else names fields does so before that. */
  readonly isEcs: boolean;
  /** The field of time that `@timestamp` is taken from; left out: it stays. */
  readonly timestampField?: string;
  readonly batchBytes: number;
  readonly batchRecords: number;
  readonly batchDeadlineMs: number;
  /** Bytes that may wait in memory, and are being sent. */
  readonly queueBytes: number;
  readonly spoolMode: SpoolMode;
  /** Where the spool and the dead letters are; empty: there are none. */
  readonly stateDirectory: string;
  readonly spoolBytes: number;
  readonly spoolWhenFull: "drop_oldest" | "drop_newest";
  readonly deadLetterBytes: number;
  readonly maxInFlight: number;
  readonly timeoutMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

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
