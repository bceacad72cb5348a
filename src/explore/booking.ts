import type { Metrics } from "../base/report/index.ts";
import { blockRows, hasValue, wordsOf, type Block, type BlockColumn } from "./block.ts";
import { timeField, type Column } from "./column.ts";

/**
 * The period in which the bytes and packets of a row flowed, by our clock: milliseconds since the epoch, both included. Without a value, they are booked
 * when the record was received.
 */
export const flowedColumns = {
  start: { field: "explore.start", type: "integer", isArray: false },
  end: { field: "explore.end", type: "integer", isArray: false },
} as const satisfies Readonly<Record<string, Column>>;

/** The bytes and packets of a row that flowed after the minute of its start; without a value: none. They save one-minute buckets all divisions. */
export const laterColumns = {
  bytes: { field: "explore.later.bytes", type: "unsigned", isArray: false },
  packets: { field: "explore.later.packets", type: "unsigned", isArray: false },
} as const satisfies Readonly<Record<"bytes" | "packets", Column>>;

export const bookedColumns: readonly Column[] = [...Object.values(flowedColumns), ...Object.values(laterColumns)];

/** Bounds of possible flow times, in milliseconds. Queries use them to find where rows can be. */
export const flowedBounds = {
  /** The longest exporter time-out is half an hour. Many report long flows before they end, and none waits this long. */
  longest: 86_400_000,
  /** A record that arrives later than this after the end of its flow is booked on arrival. */
  latest: 30 * 60_000,
  /** Tolerated difference between clocks. */
  ahead: 2000,
} as const;

/** Reasons why the times of a record are impossible. */
export const impossibleTimes = ["reversed", "too_long", "in_future", "too_late"] as const;

/** The fields with the time of a flow by the exporter's clock, and with the offset of that clock. */
export const timeFields = {
  start: "flow.start.timestamp",
  end: "flow.end.timestamp",
  offset: "flow.export.clock.offset",
} as const;

const minuteMs = 60_000;
const counters = ["bytes", "packets"] as const;
/** The counters to read; the preferred field comes first. */
export const counterFields = {
  bytes: ["flow.scaled.bytes", "flow.bytes"],
  packets: ["flow.scaled.packets", "flow.packets"],
} as const satisfies Readonly<Record<(typeof counters)[number], readonly string[]>>;

/** Determines when the bytes of the rows of a block flowed. */
export class Booking {
  readonly #counts = new Map<string, number>(impossibleTimes.map((reason) => [reason, 0]));
  readonly #times = { start: new WholeNumbers(), end: new WholeNumbers() };
  readonly #later = { bytes: new WholeNumbers(), packets: new WholeNumbers() };
  /** True once any row had flow times. */
  #isUsed = false;

  constructor(metrics: Metrics) {
    metrics.counterFrom(
      "netgloss_explore_impossible_times_total",
      "Flow records that Explore shows when they were received, because the times of their flows cannot be.",
      ["reason"],
      () => [...this.#counts].map(([reason, count]) => [{ reason }, count]),
    );
  }

  /**
   * Returns a block with the columns of {@link bookedColumns}, in memory that the next call reuses. Once any row had flow times, all rows get times, if
   * only that of receipt. Queries then need not look for rows without times.
   */
  book(block: Block): Block {
    const columnOf = (field: string): BlockColumn | undefined =>
      block.columns.find(({ column }) => column.field === field);
    const received = columnOf(timeField);
    const [starts, ends] = [timeFields.start, timeFields.end].map(columnOf);
    if (!received || !(this.#isUsed || (starts && ends))) return block;
    const { start, end } = this.#times;
    start.clear();
    end.clear();
    this.#putReceived(received, block.rows);
    if (starts && ends) this.#putFlows(starts, ends, columnOf(timeFields.offset), block.rows);
    if (!this.#isUsed) return block;
    for (const counter of counters) {
      const sources = counterFields[counter].map(columnOf).filter((column) => column !== undefined);
      this.#putLater(this.#later[counter], sources, block.rows);
    }
    const booked = [start, end, this.#later.bytes, this.#later.packets].map((numbers, i) =>
      numbers.column(bookedColumns[i] as Column, received),
    );
    return { ...block, columns: [...block.columns, ...booked] };
  }

  #putReceived(received: BlockColumn, rows: number): void {
    const words = wordsOf(received);
    for (let row = 0; row < rows; row++) {
      if (!hasValue(received, row)) continue;
      const at = millisecondsOf(words, row);
      this.#times.start.put(row, at);
      this.#times.end.put(row, at);
    }
  }

  #putFlows(starts: BlockColumn, ends: BlockColumn, offsets: BlockColumn | undefined, rows: number): void {
    const times = this.#times;
    const [startWords, endWords, offsetWords] = [wordsOf(starts), wordsOf(ends), offsets && wordsOf(offsets)];
    for (let row = 0; row < rows; row++) {
      if (!times.start.has(row) || !hasValue(starts, row) || !hasValue(ends, row)) continue;
      const at = times.start.at(row);
      const offset = offsets && offsetWords && hasValue(offsets, row) ? wholeOf(offsetWords, row) : 0;
      const start = millisecondsOf(startWords, row) - offset;
      const end = millisecondsOf(endWords, row) - offset;
      if (start === at && end === at) continue;
      const reason = impossible(start, end, at);
      if (reason === undefined) {
        times.start.put(row, start);
        times.end.put(row, end);
        this.#isUsed = true;
      } else this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    }
  }

  #putLater(later: WholeNumbers, sources: readonly BlockColumn[], rows: number): void {
    later.clear();
    const { start, end } = this.#times;
    const words = sources.map(wordsOf);
    for (let row = 0; row < rows; row++) {
      if (!start.has(row)) continue;
      const [first, last] = [start.at(row), end.at(row)];
      const next = (Math.floor(first / minuteMs) + 1) * minuteMs;
      if (last < next) continue;
      const source = sources.findIndex((each) => hasValue(each, row));
      if (source >= 0) later.putDifference(row, words[source] as Words, next - first, last - first + 1);
    }
  }
}

/** Returns why times in milliseconds since the epoch are impossible; undefined where they are possible. */
function impossible(start: number, end: number, received: number): (typeof impossibleTimes)[number] | undefined {
  if (end < start) return "reversed";
  if (end - start > flowedBounds.longest) return "too_long";
  if (end > received + flowedBounds.ahead) return "in_future";
  return end < received - flowedBounds.latest ? "too_late" : undefined;
}

type Words = Uint32Array;

const two32 = 4_294_967_296;
const nanoseconds = 1_000_000;

/** Returns a signed 64-bit number below 2^53. */
function wholeOf(words: Words, row: number): number {
  return ((words[2 * row + 1] as number) | 0) * two32 + (words[2 * row] as number);
}

/** Converts a column of nanoseconds to milliseconds, with integers in two steps: the product is beyond 2^53. */
function millisecondsOf(words: Words, row: number): number {
  const high = (words[2 * row + 1] as number) | 0;
  const low = words[2 * row] as number;
  // 2^32 ns are 4294 ms and 967 296 ns.
  return high * 4294 + Math.floor((high * 967_296 + low) / nanoseconds);
}

/** A column of 64-bit integers while it is written. */
class WholeNumbers {
  readonly #presence = new Uint8Array(blockRows / 8);
  readonly #data = new BigInt64Array(blockRows);
  readonly #words = new Uint32Array(this.#data.buffer);
  #count = 0;

  clear(): void {
    this.#presence.fill(0);
    this.#data.fill(0n);
    this.#count = 0;
  }

  has(row: number): boolean {
    return ((this.#presence[row >> 3] as number) & (1 << (row & 7))) !== 0;
  }

  /** Returns a number that was written. */
  at(row: number): number {
    return wholeOf(this.#words, row);
  }

  /** Writes a number. @param value below 2^53. */
  put(row: number, value: number): void {
    this.#words[2 * row] = value >>> 0;
    this.#words[2 * row + 1] = Math.floor(value / two32);
    this.#note(row);
  }

  /** Writes a number without the share that has passed, which is rounded down. */
  putDifference(row: number, words: Words, passed: number, length: number): void {
    const value = (words[2 * row + 1] as number) * two32 + (words[2 * row] as number);
    // The product is exact, and so is the quotient after rounding down.
    if (value * passed <= Number.MAX_SAFE_INTEGER) this.put(row, value - Math.floor((value * passed) / length));
    else {
      const whole = (BigInt(words[2 * row + 1] as number) << 32n) | BigInt(words[2 * row] as number);
      this.#data[row] = BigInt.asIntN(64, whole - (whole * BigInt(passed)) / BigInt(length));
      this.#note(row);
    }
  }

  column(column: Column, { offsets, texts }: BlockColumn): BlockColumn {
    return { column, count: this.#count, presence: this.#presence, data: this.#data, offsets, texts };
  }

  #note(row: number): void {
    if (!this.has(row)) this.#count++;
    this.#presence[row >> 3] = (this.#presence[row >> 3] as number) | (1 << (row & 7));
  }
}
