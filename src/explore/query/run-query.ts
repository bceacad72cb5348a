import { type Column, ExploreError } from "../column.ts";
import type { PlainValue, SqlValue, QueryEngine, Summand } from "./sql-dialect.ts";
import type { AnswerValue, Coverage, ExploreAnswer, Unit } from "./answer.ts";
import { countedFields, rangeBefore, type ExploreQuery, type Measure, type TimeRange } from "./explore-query.ts";
import { rankStatement, seriesStatement, type Key, type RecordsQuery } from "./query-sql.ts";

/** Returns a record from a row of a result with the values of columns. Missing values are left out. */
export function recordOf(
  columns: readonly Column[],
  row: readonly unknown[],
  { plain }: Pick<QueryEngine, "plain">,
): Readonly<Record<string, PlainValue>> {
  const cells = columns.map((column, i) => [column.field, plain(column, row[i])] as const);
  return Object.fromEntries(cells.filter(([, value]) => value !== null));
}

/** Runs a few queries at a time, and lets a few others wait. */
export class QueryGate {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /** Runs work in turn. @throws ExploreError when too many wait; the reason of the signal when it is aborted. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      // The place goes to the next one in the queue.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting;
    if (this.#running < this.#maxRunning) {
      this.#running++;
      return;
    }
    if (waiting.length >= this.#maxWaiting) {
      throw new ExploreError(
        "resource_exhausted",
        "too many questions to Explore are waiting: try again in a little while",
      );
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(go), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", leave, { once: true });
      waiting.push(go);
    });
  }
}

/** Returns a value of a dimension in a result for the next statement. Times are no dimensions. */
function keyValue({ type }: Column, value: unknown): SqlValue {
  switch (type) {
    case "address":
      return { type, value: value as string | null };
    case "integer":
    case "unsigned":
      // The value is a text where it came as JSON.
      return { type: "whole", value: value === null ? null : BigInt(value as bigint | string) };
    case "double":
      return { type, value: value === null ? null : Number(value) };
    case "boolean":
      return { type, value: value as boolean | null };
    case "time":
    case "text":
      break;
  }
  return { type: "text", value: value as string | null };
}

/**
 * The kinds of measures: the summand, the units in one of the sum, whether it is divided by the time, and the field that divides each record's summand.
 * Records without that field count nothing.
 */
const kinds: Readonly<Record<Measure, { summand: Summand; unit: Unit; times: number; isRate: boolean; per?: string }>> =
  {
    bytes: { summand: "bytes", unit: "B", times: 1, isRate: false },
    packets: { summand: "packets", unit: "packets", times: 1, isRate: false },
    flows: { summand: "flows", unit: "flows", times: 1, isRate: false },
    bits_per_second: { summand: "bytes", unit: "bit/s", times: 8, isRate: true },
    packets_per_second: { summand: "packets", unit: "packet/s", times: 1, isRate: true },
    utilisation_in: { summand: "bytes", unit: "%", times: 800, isRate: true, per: "flow.in.netif.speed" },
    utilisation_out: { summand: "bytes", unit: "%", times: 800, isRate: true, per: "flow.out.netif.speed" },
    sources: { summand: "flows", unit: "addresses", times: 1, isRate: false },
    destinations: { summand: "flows", unit: "addresses", times: 1, isRate: false },
    source_ports: { summand: "flows", unit: "ports", times: 1, isRate: false },
    destination_ports: { summand: "flows", unit: "ports", times: 1, isRate: false },
  };

type Answered = Omit<ExploreAnswer, keyof Coverage | "sampling" | "store" | "elapsedMs">;

/** The index of the others among the sums of keys, and one that no key has. */
const others = -1;
const noKey = -2;

/**
 * Answers a query in up to three statements: the largest keys, their values over time, and the values of the range before. Without keys, the total is
 * the sum of the values over time.
 *
 * @throws ExploreError
 */
export async function runQuery(query: ExploreQuery, engine: QueryEngine, signal: AbortSignal): Promise<Answered> {
  const dimensions = query.dimensions.map((field) => engine.columnOf(field));
  const time = dimensions.find(({ type }) => type === "time");
  if (time !== undefined) {
    throw new ExploreError("invalid_argument", `${time.field} is a time: ask for a granularity`, "dimensions");
  }
  return new RunningQuery(query, dimensions, engine, signal).answer();
}

/** The sums of one range. */
class Sums {
  /** A sum for each bucket, by the index of the key, or -1. */
  readonly of = new Map<number, number[]>();
  readonly all: number[];
  readonly #rows: readonly (readonly unknown[])[];
  readonly #positions: ReadonlyMap<number, number>;

  /** @param starts the starts of the buckets, in milliseconds since the epoch. */
  constructor(starts: readonly number[], rows: readonly (readonly unknown[])[]) {
    const positions = new Map(starts.map((at, i) => [at, i]));
    this.#rows = rows;
    this.#positions = positions;
    this.all = starts.map(() => 0);
    for (const [at, index, sum] of rows) {
      const position = positions.get(Number(at));
      if (position === undefined) continue;
      const series = this.of.get(Number(index)) ?? starts.map(() => 0);
      this.of.set(Number(index), series);
      series[position] = Number(sum ?? 0);
      this.all[position] = (this.all[position] as number) + Number(sum ?? 0);
    }
  }

  /**
   * Returns the total of all buckets, where their sums are integers.
   *
   * @returns undefined where some were rounded: ClickHouse writes 128-bit sums as plain numbers.
   */
  total(): bigint | undefined {
    let total = 0n;
    for (const [at, , sum] of this.#rows) {
      if (!this.#positions.has(Number(at))) continue;
      if (typeof sum === "number" && !Number.isSafeInteger(sum)) return undefined;
      total += BigInt((sum ?? 0) as bigint | number | string);
    }
    return total;
  }
}

/** A query in progress. */
class RunningQuery {
  readonly #query: ExploreQuery;
  readonly #dimensions: readonly Column[];
  readonly #engine: QueryEngine;
  readonly #signal: AbortSignal;
  readonly #kind: (typeof kinds)[Measure];
  readonly #records: RecordsQuery;
  /** The starts of the buckets, in milliseconds since the epoch. */
  readonly #starts: readonly number[];

  constructor(query: ExploreQuery, dimensions: readonly Column[], engine: QueryEngine, signal: AbortSignal) {
    const { from, to, filter, granularitySeconds } = query;
    this.#query = query;
    this.#dimensions = dimensions;
    this.#engine = engine;
    this.#signal = signal;
    this.#kind = kinds[query.measure];
    const { summand, per } = this.#kind;
    const counted = countedFields[query.measure];
    this.#records = {
      engine,
      from,
      to,
      filter,
      dimensions,
      summand,
      when: query.when,
      per: per === undefined ? undefined : engine.columnOf(per),
      counted: counted === undefined ? undefined : engine.columnOf(counted),
    };
    this.#starts = granularitySeconds === 0 ? [] : startsOf(query, 1000 * granularitySeconds);
  }

  async answer(): Promise<Answered> {
    const { from, to, limit, granularitySeconds: step, compare, dimensions: names, measure, when } = this.#query;
    const dimensions = this.#dimensions;
    const width = dimensions.length;
    const hasKeys = width > 0;
    // Parts of flows add up to the whole; quotients and numbers of different values do not.
    const isAdded = !hasKeys && step > 0 && this.#kind.per === undefined && this.#records.counted === undefined;
    const added = isAdded ? await this.#sums(this.#records, [], step, this.#starts) : undefined;
    const sumOfBuckets = added?.total();
    const ranked = sumOfBuckets === undefined ? await this.#rank(this.#records, limit) : [[sumOfBuckets]];
    const tops = hasKeys ? ranked : [];
    const keys = tops.map((row) => dimensions.map((column, i) => keyValue(column, row[i])));
    const sums = tops.map((row) => Number(row[width] ?? 0));
    const keyCount = Number(tops[0]?.[width + 1] ?? 0);
    const sumOfKeys = Number((hasKeys ? tops[0]?.[width + 2] : ranked[0]?.[0]) ?? 0);
    // A record counts once for each element of a list, but once in the total. Several keys may share a counted value.
    const isCounted = this.#records.counted !== undefined;
    const isUnfolded = hasKeys && (isCounted || dimensions.some(({ isArray }) => isArray));
    const flat = { ...this.#records, dimensions: isUnfolded ? [] : dimensions };
    const sumOfAll = isUnfolded ? Number((await this.#rank(flat, 1))[0]?.[0] ?? 0) : sumOfKeys;

    const series = added ?? (step === 0 ? undefined : await this.#sums(this.#records, keys, step, this.#starts));
    const flatSeries = series && isUnfolded ? await this.#sums(flat, [], step, this.#starts) : series;
    const before = rangeBefore(this.#query);
    const previous = compare ? await this.#sums({ ...this.#records, ...before }, keys, 0, [0]) : undefined;
    const flatPrevious = previous && isUnfolded ? await this.#sums({ ...flat, ...before }, [], 0, [0]) : previous;

    const shareOf = (sum: number): number => (sumOfAll === 0 ? 0 : sum / sumOfAll);
    const ofKey = (sum: number, index: number): AnswerValue => {
      const own = series && (series.of.get(index) ?? this.#starts.map(() => 0));
      return this.#value(sum, own, previous && (previous.of.get(index)?.[0] ?? 0));
    };
    const sumOfOthers = await this.#sumOfOthers(keys, keyCount, sumOfKeys - sums.reduce((a, b) => a + b, 0));
    return {
      from: iso(from),
      to: iso(to),
      granularitySeconds: step,
      measure,
      when,
      unit: this.#kind.unit,
      dimensions: names,
      ...(step > 0 && { times: this.#starts.map(iso) }),
      rows: tops.map((row, i) => ({
        key: dimensions.map((column, d): PlainValue => this.#engine.plain({ ...column, isArray: false }, row[d])),
        share: shareOf(sums[i] ?? 0),
        ...ofKey(sums[i] ?? 0, i),
      })),
      others: {
        keys: Math.max(0, keyCount - tops.length),
        share: shareOf(sumOfOthers),
        ...ofKey(sumOfOthers, hasKeys ? others : noKey),
      },
      total: this.#value(sumOfAll, flatSeries?.all, flatPrevious?.all[0]),
      ...(isCounted && sumOfAll > this.#engine.countsUpTo && { estimated: true }),
    };
  }

  /** @param rest the total minus the largest keys, where that is the value of the others. */
  async #sumOfOthers(keys: readonly Key[], keyCount: number, rest: number): Promise<number> {
    if (this.#dimensions.length === 0 || keyCount <= keys.length) return 0;
    if (this.#records.counted === undefined) return Math.max(0, rest);
    return (await this.#sums(this.#records, keys, 0, [0])).of.get(others)?.[0] ?? 0;
  }

  #rank(records: RecordsQuery, limit: number): Promise<readonly (readonly unknown[])[]> {
    return this.#engine.rows(rankStatement(records, limit), this.#signal);
  }

  async #sums(records: RecordsQuery, keys: readonly Key[], step: number, starts: readonly number[]): Promise<Sums> {
    return new Sums(starts, await this.#engine.rows(seriesStatement(records, keys, step), this.#signal));
  }

  #value(sum: number, series: readonly number[] | undefined, previous: number | undefined): AnswerValue {
    const { from, to, granularitySeconds: step, percentile } = this.#query;
    const seconds = (to - from) / 1000;
    // Only a part of the last bucket lies in the range.
    const values = series?.map((each, i) => this.#scaled(each, Math.min(step, (to - (this.#starts[i] ?? 0)) / 1000)));
    return {
      value: this.#scaled(sum, seconds),
      ...(previous !== undefined && { previous: this.#scaled(previous, seconds) }),
      ...(values !== undefined && { series: values }),
      ...(values !== undefined && percentile !== undefined && { percentile: percentileOf(values, percentile) }),
    };
  }

  #scaled(sum: number, seconds: number): number {
    return (sum * this.#kind.times) / (this.#kind.isRate ? seconds : 1);
  }
}

function startsOf({ from, to }: TimeRange, stepMs: number): number[] {
  return Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, i) => from + i * stepMs);
}

/** Returns the nearest-rank percentile: this many percent of the values are at or below it. */
function percentileOf(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0;
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
