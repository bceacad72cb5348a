import type { Metrics } from "../base/report/index.ts";
import type { RollupReport } from "./shape/rollup.ts";

/** Why a store refused records: the reason in its words, how many records in this run, and when last (milliseconds since the epoch). */
export interface RefusalReason {
  readonly reason: string;
  readonly records: number;
  readonly at: number;
}

/** What people want to know of a store at a glance. */
interface RecentDelivery {
  request(seconds: number): void;
  refused(records: number, reason: string): void;
  /** Of the last requests, milliseconds; undefined before there was one. */
  latency(): { readonly medianMs: number; readonly slowestMs: number } | undefined;
  /** The last reasons, the newest first. */
  refusals(): readonly RefusalReason[];
}

/** Requests that are looked at. */
const requestsKept = 64;
/** Reasons that are kept, and characters of each: a store may name the record in every one. */
const reasons = 8;
const maxReason = 500;

export function createRecentDelivery(now: () => number): RecentDelivery {
  const seconds: number[] = [];
  let next = 0;
  const byReason = new Map<string, RefusalReason>();
  return {
    request(taken) {
      seconds[next] = taken;
      next = (next + 1) % requestsKept;
    },
    refused(records, text) {
      const reason = text.length > maxReason ? `${text.slice(0, maxReason)}…` : text;
      const before = byReason.get(reason)?.records ?? 0;
      byReason.delete(reason);
      byReason.set(reason, { reason, records: before + records, at: now() });
      const [oldest] = byReason.keys();
      if (byReason.size > reasons && oldest !== undefined) byReason.delete(oldest);
    },
    latency() {
      const sorted = seconds.toSorted((a, b) => a - b);
      const slowest = sorted.at(-1);
      if (slowest === undefined) return undefined;
      const inMs = (value: number): number => Math.round(value * 10_000) / 10;
      return { medianMs: inMs(sorted[sorted.length >> 1] as number), slowestMs: inMs(slowest) };
    },
    refusals: () => [...byReason.values()].toReversed(),
  };
}

/** What one delivering output counts. */
export interface DeliveryReport {
  /** Records that the store has acknowledged, and their bytes as lines. */
  delivered(records: number, bytes: number): void;
  dropped(reason: DropReason, records: number, bytes: number): void;
  /** Records that the store will never take, and why, in its words. */
  refused(records: number, reason: string): void;
  /** A request has ended: `accepted`, `partly`, or the code of the failure. */
  request(outcome: string, seconds: number): void;
  /** A batch, or a part of it, is to be tried again. */
  retried(records: number): void;
  failed(operation: string, code: string): void;
  setAside(): void;
  /** Records that the output's filter leaves out. */
  filtered(records: number): void;
  /** Records that others stand for. */
  thinned(records: number): void;
}

/** The numbers of one output since its start. */
interface DeliveryTotals {
  delivered: number;
  dropped: number;
  refused: number;
  retried: number;
  requests: number;
}

/** What of an output may fail. */
export const deliveryParts = ["store", "spool", "records"] as const;
export type DeliveryPart = (typeof deliveryParts)[number];

/** What is read when metrics are. */
export interface DeliveryGauges {
  readonly isFailing: (part: DeliveryPart) => boolean;
  readonly spoolBytes: () => number;
  readonly inFlight: () => number;
  readonly waitingRecords: () => number;
  /** Of the oldest record that waits; 0 when none does. */
  readonly oldestSeconds: () => number;
}

const latencyBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics of one delivering output, on those that all outputs have. */
export function createDeliveryReport(
  output: string,
  metrics: Metrics,
  shared: OutputMetrics,
  gauges: DeliveryGauges,
  now: () => number,
): { readonly report: DeliveryReport; readonly totals: Readonly<DeliveryTotals>; readonly recent: RecentDelivery } {
  // What waits in memory is counted by the thread that lends it.
  const own = shared.output(output, () => 0);
  const name = { output };
  const refused = metrics.counter(
    "netgloss_output_refused_records_total",
    "Records that the store will never take; they are dead letters.",
    ["output"],
  );
  const retried = metrics.counter("netgloss_output_retried_records_total", "Records that had to be sent again.", [
    "output",
  ]);
  const requests = metrics.counter("netgloss_output_requests_total", "Requests by their outcome.", [
    "output",
    "outcome",
  ]);
  const latency = metrics.histogram("netgloss_output_request_seconds", "How long requests take.", latencyBuckets, [
    "output",
  ]);
  const setAside = metrics.counter(
    "netgloss_output_spool_set_aside_total",
    "Segments of the spool that were damaged or not ours, and set aside.",
    ["output"],
  );
  const gauge = (metric: string, help: string, read: () => number): void =>
    metrics.gaugeFrom(metric, help, ["output"], () => [[name, read()]]);
  gauge("netgloss_output_spool_bytes", "Bytes that the spool has on disk.", gauges.spoolBytes);
  gauge("netgloss_output_requests_in_flight", "Batches that are being sent.", gauges.inFlight);
  gauge("netgloss_output_waiting_records", "Records in batches that are not delivered.", gauges.waitingRecords);
  gauge("netgloss_output_oldest_record_seconds", "Age of the oldest record that waits.", gauges.oldestSeconds);
  metrics.gaugeFrom(
    "netgloss_output_failing",
    "1 while the store or the spool fails, or records are refused; else 0.",
    ["output", "part"],
    () => deliveryParts.map((part) => [{ output, part }, Number(gauges.isFailing(part))]),
  );
  for (const counter of [refused, retried, setAside]) counter.add(0, name);

  const totals: DeliveryTotals = { delivered: 0, dropped: 0, refused: 0, retried: 0, requests: 0 };
  const recent = createRecentDelivery(now);
  return {
    totals,
    recent,
    report: {
      delivered(records, bytes) {
        totals.delivered += records;
        own.written(records, bytes);
      },
      dropped(reason, records, bytes) {
        if (records === 0) return;
        totals.dropped += records;
        own.dropped(reason, records, bytes);
      },
      refused(records, reason) {
        recent.refused(records, reason);
        totals.refused += records;
        refused.add(records, name);
      },
      request(outcome, seconds) {
        totals.requests++;
        requests.add(1, { output, outcome });
        latency.observe(seconds, name);
        recent.request(seconds);
      },
      retried(records) {
        totals.retried += records;
        retried.add(records, name);
      },
      failed: (operation, code) => own.failed(operation, code),
      filtered: (records) => shared.filtered(output, records),
      thinned: (records) => shared.thinned(output, records),
      setAside: () => setAside.add(1, name),
    },
  };
}

/** Why an output did not write records. */
export const dropReasons = ["queue_full", "closed", "stopped", "spool_full", "spool_damaged", "thread_died"] as const;
export type DropReason = (typeof dropReasons)[number];

/** What one output counts. */
export interface OutputReport {
  written(records: number, bytes: number): void;
  dropped(reason: DropReason, records: number, bytes: number): void;
  /** Left out because only a few are wanted. */
  leftOut(records: number): void;
  failed(operation: string, code: string): void;
  rotated(): void;
}

/** The metrics of all outputs of one collector. */
export interface OutputMetrics {
  /** `queueBytes` is read when metrics are. The name is the label `output`. */
  output(name: string, queueBytes: () => number): OutputReport;
  /** Records that are left out before they reach an output, because its filter is not true of them. */
  filtered(output: string, records: number): void;
  /** What happens to records that are added up for an output. */
  rollup(output: string): RollupReport;
  /** Records that others stand for, because there are more than the output's rate. */
  thinned(output: string, records: number): void;
}

export function createOutputMetrics(metrics: Metrics): OutputMetrics {
  const queues = new Map<string, () => number>();
  const records = metrics.counter("netgloss_output_records_total", "Records written.", ["output"]);
  const bytes = metrics.counter("netgloss_output_bytes_total", "Bytes written.", ["output"]);
  const droppedRecords = metrics.counter(
    "netgloss_output_dropped_records_total",
    "Records lost: queue_full, closed (the reader is gone), stopped (not written before the end), spool_full, spool_damaged or thread_died.",
    ["output", "reason"],
  );
  const droppedBytes = metrics.counter("netgloss_output_dropped_bytes_total", "Bytes of the records lost.", [
    "output",
    "reason",
  ]);
  const leftOut = metrics.counter(
    "netgloss_output_left_out_records_total",
    "Records left out because of the rate limit of the output.",
    ["output"],
  );
  const filtered = metrics.counter(
    "netgloss_output_filtered_records_total",
    "Records left out because they do not match the filter of the output.",
    ["output"],
  );
  const thinned = metrics.counter(
    "netgloss_output_thinned_records_total",
    "Records left out because there are more than the rate of the output; others stand for them.",
    ["output"],
  );
  const failures = metrics.counter("netgloss_output_errors_total", "System calls that failed.", [
    "output",
    "operation",
    "code",
  ]);
  const rotations = metrics.counter("netgloss_output_rotations_total", "Output files rotated because of their size.", [
    "output",
  ]);
  metrics.gaugeFrom("netgloss_output_queue_bytes", "Bytes that wait to be written.", ["output"], () =>
    [...queues].map(([output, read]) => [{ output }, read()] as const),
  );

  const rolledUp = metrics.counter(
    "netgloss_output_rollup_records_total",
    "Flow records that were added to those of their group.",
    ["output"],
  );
  const overflowed = metrics.counter(
    "netgloss_output_rollup_overflow_records_total",
    "Flow records that were not added up, because there were more groups than SVC_PROCESSOR_ROLLUP_MAX_GROUPS; they left as they are.",
    ["output"],
  );
  const sums = metrics.counter("netgloss_output_rollup_written_records_total", "Records that were made of groups.", [
    "output",
  ]);
  const groups = new Map<string, () => number>();
  metrics.gaugeFrom("netgloss_output_rollup_groups", "Groups that are being added up.", ["output"], () =>
    [...groups].map(([output, read]) => [{ output }, read()] as const),
  );

  return {
    rollup(output) {
      for (const counter of [rolledUp, overflowed, sums]) counter.add(0, { output });
      return {
        added: (count) => rolledUp.add(count, { output }),
        overflowed: (count) => overflowed.add(count, { output }),
        written: (count) => sums.add(count, { output }),
        groups: (read) => void groups.set(output, read),
      };
    },
    thinned: (output, count) => thinned.add(count, { output }),
    filtered: (output, count) => filtered.add(count, { output }),
    output(output, queueBytes) {
      queues.set(output, queueBytes);
      const name = { output };
      records.add(0, name);
      bytes.add(0, name);
      leftOut.add(0, name);
      filtered.add(0, name);
      thinned.add(0, name);
      rotations.add(0, name);
      for (const reason of dropReasons) {
        droppedRecords.add(0, { output, reason });
        droppedBytes.add(0, { output, reason });
      }
      return {
        written(recordCount, byteCount) {
          records.add(recordCount, name);
          bytes.add(byteCount, name);
        },
        dropped(reason, recordCount, byteCount) {
          droppedRecords.add(recordCount, { output, reason });
          droppedBytes.add(byteCount, { output, reason });
        },
        leftOut: (count) => leftOut.add(count, name),
        failed: (operation, code) => failures.add(1, { output, operation, code }),
        rotated: () => rotations.add(1, name),
      };
    },
  };
}
