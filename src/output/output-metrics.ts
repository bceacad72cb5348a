import type { Clock, Counter, Histogram, Metrics } from "../base/report/index.ts";

/** Reasons why an output did not write records. */
export const dropReasons = ["queue_full", "closed", "stopped", "spool_full", "spool_damaged", "thread_died"] as const;
export type DropReason = (typeof dropReasons)[number];

/** Counts what one output does. */
export type OutputReport = ReturnType<OutputMetrics["output"]>;
/** Counts the records that are aggregated for an output. */
export type RollupReport = ReturnType<OutputMetrics["rollup"]>;

/** The metrics of all outputs of one collector. The label `output` is an output's name. */
export class OutputMetrics {
  readonly #records: Counter;
  readonly #bytes: Counter;
  readonly #droppedRecords: Counter;
  readonly #droppedBytes: Counter;
  readonly #leftOut: Counter;
  readonly #filtered: Counter;
  readonly #thinned: Counter;
  readonly #failures: Counter;
  readonly #rotations: Counter;
  readonly #queues: Map<string, () => number>;
  readonly #rolledUp: Counter;
  readonly #overflowed: Counter;
  readonly #sums: Counter;
  readonly #groups: Map<string, () => number>;

  constructor(metrics: Metrics) {
    const counter = (name: string, help: string, ...labels: string[]): Counter =>
      metrics.counter(name, help, ["output", ...labels]);
    const gauge = (name: string, help: string): Map<string, () => number> => {
      const reads = new Map<string, () => number>();
      metrics.gaugeFrom(name, help, ["output"], () =>
        [...reads].map(([output, read]) => [{ output }, read()] as const),
      );
      return reads;
    };
    this.#records = counter("netgloss_output_records_total", "Records written.");
    this.#bytes = counter("netgloss_output_bytes_total", "Bytes written.");
    this.#droppedRecords = counter(
      "netgloss_output_dropped_records_total",
      "Records lost: queue_full, closed (the reader is gone), stopped (not written before the end), spool_full, spool_damaged or thread_died.",
      "reason",
    );
    this.#droppedBytes = counter("netgloss_output_dropped_bytes_total", "Bytes of the records lost.", "reason");
    this.#leftOut = counter(
      "netgloss_output_left_out_records_total",
      "Records left out because of the rate limit of the output.",
    );
    this.#filtered = counter(
      "netgloss_output_filtered_records_total",
      "Records left out because they do not match the filter of the output.",
    );
    this.#thinned = counter(
      "netgloss_output_thinned_records_total",
      "Records left out because there are more than the rate of the output; others stand for them.",
    );
    this.#failures = counter("netgloss_output_errors_total", "System calls that failed.", "operation", "code");
    this.#rotations = counter("netgloss_output_rotations_total", "Output files rotated because of their size.");
    this.#queues = gauge("netgloss_output_queue_bytes", "Bytes that wait to be written.");
    this.#rolledUp = counter(
      "netgloss_output_rollup_records_total",
      "Flow records that were added to those of their group.",
    );
    this.#overflowed = counter(
      "netgloss_output_rollup_overflow_records_total",
      "Flow records that were not added up, because there were more groups than SVC_PROCESSOR_ROLLUP_MAX_GROUPS; they left as they are.",
    );
    this.#sums = counter("netgloss_output_rollup_written_records_total", "Records that were made of groups.");
    this.#groups = gauge("netgloss_output_rollup_groups", "Groups that are being added up.");
  }

  /** @param queueBytes is read when metrics are. */
  output(output: string, queueBytes: () => number) {
    this.#queues.set(output, queueBytes);
    const name = { output };
    const counters = [this.#records, this.#bytes, this.#leftOut, this.#filtered, this.#thinned, this.#rotations];
    for (const counter of counters) counter.add(0, name);
    const count = (reason: DropReason, records: number, bytes: number): void => {
      this.#droppedRecords.add(records, { output, reason });
      this.#droppedBytes.add(bytes, { output, reason });
    };
    for (const reason of dropReasons) count(reason, 0, 0);
    return {
      written: (records: number, bytes: number): void => {
        this.#records.add(records, name);
        this.#bytes.add(bytes, name);
      },
      dropped: count,
      /** Counts records left out because only a few are wanted. */
      leftOut: (records: number): void => this.#leftOut.add(records, name),
      failed: (operation: string, code: string): void => this.#failures.add(1, { output, operation, code }),
      rotated: (): void => this.#rotations.add(1, name),
    };
  }

  /** Counts records that do not match an output's filter and so never reach it. */
  filtered(output: string, records: number): void {
    this.#filtered.add(records, { output });
  }

  /** Counts records left out because of the output's rate; others represent them. */
  thinned(output: string, records: number): void {
    this.#thinned.add(records, { output });
  }

  rollup(output: string) {
    const name = { output };
    for (const counter of [this.#rolledUp, this.#overflowed, this.#sums]) counter.add(0, name);
    return {
      /** Counts records that were added to a group. */
      added: (records: number): void => this.#rolledUp.add(records, name),
      /** Counts records passed on unchanged, because there were too many groups. */
      overflowed: (records: number): void => this.#overflowed.add(records, name),
      /** Counts records written for groups. */
      written: (records: number): void => this.#sums.add(records, name),
      /** Sets the reader for the number of groups, called when metrics are read. */
      groups: (read: () => number): void => void this.#groups.set(output, read),
    };
  }
}

/** A reason of a store for refusing records, in its words; the number of records in this run, and the last time (milliseconds since the epoch). */
export interface RefusalReason {
  readonly reason: string;
  readonly records: number;
  readonly at: number;
}

/** The number of recent requests whose latency counts. */
const requestsKept = 64;
/** The number of reasons that are kept, and characters of each: a store may name the record in every one. */
const reasonsKept = 8;
const maxReason = 500;

/** Recent latencies and refusals of a store, for a quick overview. */
export class RecentDelivery {
  readonly #clock: Pick<Clock, "now">;
  readonly #seconds: number[] = [];
  #next = 0;
  readonly #byReason = new Map<string, RefusalReason>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  request(seconds: number): void {
    this.#seconds[this.#next] = seconds;
    this.#next = (this.#next + 1) % requestsKept;
  }

  refused(records: number, text: string): void {
    const reason = text.length > maxReason ? `${text.slice(0, maxReason)}…` : text;
    const before = this.#byReason.get(reason)?.records ?? 0;
    this.#byReason.delete(reason);
    this.#byReason.set(reason, { reason, records: before + records, at: this.#clock.now() });
    const [oldest] = this.#byReason.keys();
    if (this.#byReason.size > reasonsKept && oldest !== undefined) this.#byReason.delete(oldest);
  }

  /** Returns the latency of the last requests, milliseconds; undefined before there was one. */
  latency(): { readonly medianMs: number; readonly slowestMs: number } | undefined {
    const sorted = this.#seconds.toSorted((a, b) => a - b);
    const slowest = sorted.at(-1);
    if (slowest === undefined) return undefined;
    const inMs = (value: number): number => Math.round(value * 10_000) / 10;
    return { medianMs: inMs(sorted[sorted.length >> 1] as number), slowestMs: inMs(slowest) };
  }

  /** Returns the last reasons, the newest first. */
  refusals(): readonly RefusalReason[] {
    return [...this.#byReason.values()].toReversed();
  }
}

const latencyBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counts the work of one output to a store, in addition to the counts of all outputs. */
export class DeliveryReport {
  /** Totals since the start. */
  readonly totals = { delivered: 0, dropped: 0, refused: 0, retried: 0, requests: 0 };
  readonly recent: RecentDelivery;
  readonly #name: { readonly output: string };
  readonly #shared: OutputMetrics;
  readonly #own: OutputReport;
  readonly #refused: Counter;
  readonly #retried: Counter;
  readonly #leftOut: Counter;
  readonly #requests: Counter;
  readonly #latency: Histogram;
  readonly #setAside: Counter;
  readonly #cut: Counter;

  constructor(output: string, metrics: Metrics, clock: Clock) {
    this.recent = new RecentDelivery(clock);
    this.#name = { output };
    this.#shared = new OutputMetrics(metrics);
    // The thread that leases lines counts those that wait in memory.
    this.#own = this.#shared.output(output, () => 0);
    const counter = (name: string, help: string, ...labels: string[]): Counter =>
      metrics.counter(name, help, ["output", ...labels]);
    this.#refused = counter(
      "netgloss_output_refused_records_total",
      "Records that the store will never take; they are dead letters.",
    );
    this.#retried = counter("netgloss_output_retried_records_total", "Records that had to be sent again.");
    this.#leftOut = counter(
      "netgloss_output_left_out_values_total",
      "Values of delivered records that the form of the output cannot hold.",
    );
    this.#requests = counter("netgloss_output_requests_total", "Requests by their outcome.", "outcome");
    this.#latency = metrics.histogram("netgloss_output_request_seconds", "How long requests take.", latencyBuckets, [
      "output",
    ]);
    this.#setAside = counter(
      "netgloss_output_spool_set_aside_total",
      "Segments of the spool that were damaged or not ours, and set aside.",
    );
    this.#cut = counter(
      "netgloss_output_cut_records_total",
      "Records that lack a field in the store, because their line was cut off there, or the field is no JSON.",
    );
    const counters = [this.#refused, this.#retried, this.#leftOut, this.#setAside, this.#cut];
    for (const one of counters) one.add(0, this.#name);
  }

  /** Counts records that the store has acknowledged, and their bytes as lines. */
  delivered(records: number, bytes: number): void {
    this.totals.delivered += records;
    this.#own.written(records, bytes);
  }

  dropped(reason: DropReason, records: number, bytes: number): void {
    if (records === 0) return;
    this.totals.dropped += records;
    this.#own.dropped(reason, records, bytes);
  }

  /** Counts records that the store will never take, with the reason in its words. */
  refused(records: number, reason: string): void {
    this.recent.refused(records, reason);
    this.totals.refused += records;
    this.#refused.add(records, this.#name);
  }

  /** Counts values that the store's format cannot hold. */
  leftOut(values: number): void {
    this.#leftOut.add(values, this.#name);
  }

  /** Counts a request that has ended: `accepted`, `partly`, or the code of the failure. */
  request(outcome: string, seconds: number): void {
    this.totals.requests++;
    this.#requests.add(1, { ...this.#name, outcome });
    this.#latency.observe(seconds, this.#name);
    this.recent.request(seconds);
  }

  /** Counts records to be tried again. */
  retried(records: number): void {
    this.totals.retried += records;
    this.#retried.add(records, this.#name);
  }

  failed(operation: string, code: string): void {
    this.#own.failed(operation, code);
  }

  /** Counts records that the store has only in part. */
  cut(records: number): void {
    this.#cut.add(records, this.#name);
  }

  /** Counts a segment of the spool that was set aside. */
  setAside(): void {
    this.#setAside.add(1, this.#name);
  }

  /** Counts records that the output's filter leaves out. */
  filtered(records: number): void {
    this.#shared.filtered(this.#name.output, records);
  }

  /** Counts records that are left out and represented by others. */
  thinned(records: number): void {
    this.#shared.thinned(this.#name.output, records);
  }
}
