import type { Metrics } from "../../base/report/index.ts";
import type { DropReason, OutputMetrics } from "../output-metrics.ts";

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
