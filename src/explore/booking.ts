import type { Metrics } from "../base/report/index.ts";
import { hasValue, wordsOf, type Block, type BlockColumn } from "./block.ts";
import { timeField, type Column } from "./column.ts";

/**
 * When a row's bytes and packets flowed, by our clock: milliseconds since the epoch, both of them included. Without a value they are booked
 * when the record was received.
 */
export const flowedColumns = {
  start: { field: "explore.start", type: "integer", isArray: false },
  end: { field: "explore.end", type: "integer", isArray: false },
} as const satisfies Readonly<Record<string, Column>>;

export const bookedColumns: readonly Column[] = Object.values(flowedColumns);

/** Bounds of the times of a flow that can be, milliseconds. Queries know by them where rows may be. */
export const flowedBounds = {
  /** The longest time-out of exporters is half an hour; many report long flows before they end, and none waits for so long. */
  longest: 86_400_000,
  /** A record that comes later than this after its flow ended is booked when it comes. */
  latest: 30 * 60_000,
  /** Clocks agree within this. */
  ahead: 2000,
} as const;

/** Why the times of a record cannot be. */
export const impossibleTimes = ["reversed", "too_long", "in_future", "too_late"] as const;

/** Names the fields that have the time of a flow, by the clock of the exporter, and the offset of that clock. */
export const timeFields = {
  start: "flow.start.timestamp",
  end: "flow.end.timestamp",
  offset: "flow.export.clock.offset",
} as const;

/** Finds when the bytes of the rows of a block flowed. */
export class Booking {
  readonly #counts = new Map<string, number>(impossibleTimes.map((reason) => [reason, 0]));

  constructor(metrics: Metrics) {
    metrics.counterFrom(
      "netgloss_explore_impossible_times_total",
      "Flow records that Explore shows when they were received, because the times of their flows cannot be.",
      ["reason"],
      () => [...this.#counts].map(([reason, count]) => [{ reason }, count]),
    );
  }

  /** Returns a block with the columns of {@link bookedColumns}, where any row has them. */
  book(block: Block): Block {
    const columnOf = (field: string): BlockColumn | undefined =>
      block.columns.find(({ column }) => column.field === field);
    const [received, starts, ends] = [timeField, timeFields.start, timeFields.end].map(columnOf);
    if (!received || !starts || !ends) return block;
    const offsets = columnOf(timeFields.offset);
    const [receivedWords, startWords, endWords] = [received, starts, ends].map(wordsOf) as [Words, Words, Words];
    const offsetWords = offsets && wordsOf(offsets);
    const presence = new Uint8Array(Math.ceil(block.rows / 8));
    const [from, to] = [new BigInt64Array(block.rows), new BigInt64Array(block.rows)];
    const [fromWords, toWords] = [new Uint32Array(from.buffer), new Uint32Array(to.buffer)];
    let count = 0;
    for (let row = 0; row < block.rows; row++) {
      if (!hasValue(received, row) || !hasValue(starts, row) || !hasValue(ends, row)) continue;
      const at = millisecondsOf(receivedWords, row);
      const offset = offsets && offsetWords && hasValue(offsets, row) ? wholeOf(offsetWords, row) : 0;
      const start = millisecondsOf(startWords, row) - offset;
      const end = millisecondsOf(endWords, row) - offset;
      if (start === at && end === at) continue;
      const reason = impossible(start, end, at);
      if (reason === undefined) {
        put(fromWords, row, start);
        put(toWords, row, end);
        presence[row >> 3] = (presence[row >> 3] as number) | (1 << (row & 7));
        count++;
      } else this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    }
    if (count === 0) return block;
    const { offsets: none, texts } = received;
    const booked = [from, to].map((data, i) => ({
      column: bookedColumns[i] as Column,
      count,
      presence,
      data,
      offsets: none,
      texts,
    }));
    return { ...block, columns: [...block.columns, ...booked] };
  }
}

/** Returns why the times cannot be, milliseconds since the epoch; undefined where they can. */
function impossible(start: number, end: number, received: number): (typeof impossibleTimes)[number] | undefined {
  if (end < start) return "reversed";
  if (end - start > flowedBounds.longest) return "too_long";
  if (end > received + flowedBounds.ahead) return "in_future";
  return end < received - flowedBounds.latest ? "too_late" : undefined;
}

type Words = Uint32Array;

const two32 = 4_294_967_296;
const nanoseconds = 1_000_000;

/** A number of 64 bits with a sign, below 2^53. */
function wholeOf(words: Words, row: number): number {
  return ((words[2 * row + 1] as number) | 0) * two32 + (words[2 * row] as number);
}

/** Milliseconds of a column of nanoseconds, as integers in two steps: the product is beyond 2^53. */
function millisecondsOf(words: Words, row: number): number {
  const high = (words[2 * row + 1] as number) | 0;
  const low = words[2 * row] as number;
  // 2^32 ns are 4294 ms and 967 296 ns.
  return high * 4294 + Math.floor((high * 967_296 + low) / nanoseconds);
}

function put(words: Words, row: number, value: number): void {
  words[2 * row] = value >>> 0;
  words[2 * row + 1] = Math.floor(value / two32);
}
