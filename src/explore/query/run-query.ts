import { type Column, ExploreError } from "../column.ts";
import type { PlainValue, SqlValue, QueryEngine, Summand } from "./sql-dialect.ts";
import type { AnswerValue, Coverage, ExploreAnswer, Unit } from "./answer.ts";
import { rangeBefore, type ExploreQuery, type Measure, type TimeRange } from "./explore-query.ts";
import { rankStatement, seriesStatement, type Key, type RecordsQuery } from "./query-sql.ts";

/** A record of the values of columns, without those that it lacks. */
export function recordOf(
  columns: readonly Column[],
  values: readonly PlainValue[],
): Readonly<Record<string, PlainValue>> {
  const cells = columns.map(({ field }, i) => [field, values[i] ?? null] as const);
  return Object.fromEntries(cells.filter(([, value]) => value !== null));
}

/** Lets a few questions run at a time, and a few others wait. */
interface QueryGate {
  /** @throws ExploreError when too many wait; the reason of the signal when that is aborted. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  readonly running: number;
  readonly waiting: number;
}

export function createQueryGate(maxRunning: number, maxWaiting: number): QueryGate {
  const waiting: (() => void)[] = [];
  let running = 0;

  const enter = async (signal: AbortSignal): Promise<void> => {
    if (running < maxRunning) {
      running++;
      return;
    }
    if (waiting.length >= maxWaiting) {
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
  };

  return {
    async run(signal, work) {
      signal.throwIfAborted();
      await enter(signal);
      try {
        return await work();
      } finally {
        // The place goes to the next one who waits.
        const next = waiting.shift();
        if (next === undefined) running--;
        else next();
      }
    },
    get running() {
      return running;
    },
    get waiting() {
      return waiting.length;
    },
  };
}

/** A value of a dimension, as a result has it, for the next statement. Times are no dimensions. */
function keyValue({ type }: Column, value: unknown): SqlValue {
  switch (type) {
    case "address":
      return { type, value: value as string | null };
    case "integer":
    case "unsigned":
      // A text where JSON brought it.
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

/** What a measure adds up, and what happens to the sum. */
interface MeasureKind {
  readonly summand: Summand;
  readonly unit: Unit;
  /** How many of the unit one of the sum is. */
  readonly times: number;
  /** Whether it is divided by the time. */
  readonly isRate: boolean;
}

const kinds: Readonly<Record<Measure, MeasureKind>> = {
  bytes: { summand: "bytes", unit: "B", times: 1, isRate: false },
  packets: { summand: "packets", unit: "packets", times: 1, isRate: false },
  flows: { summand: "flows", unit: "flows", times: 1, isRate: false },
  bits_per_second: { summand: "bytes", unit: "bit/s", times: 8, isRate: true },
  packets_per_second: { summand: "packets", unit: "packet/s", times: 1, isRate: true },
};

type Answered = Omit<ExploreAnswer, keyof Coverage | "sampling" | "store" | "elapsedMs">;

/** The others' place among the sums of keys. */
const others = -1;

/**
 * Answers a question in up to three statements: the largest keys, their values over time, and those of the range before.
 *
 * @throws ExploreError
 */
export async function runQuery(query: ExploreQuery, engine: QueryEngine, signal: AbortSignal): Promise<Answered> {
  const { from, to, filter, limit, granularitySeconds: step } = query;
  const kind = kinds[query.measure];
  const dimensions = query.dimensions.map((field) => engine.source.columnOf(field));
  const time = dimensions.find(({ type }) => type === "time");
  if (time !== undefined) {
    throw new ExploreError("invalid_argument", `${time.field} is a time: ask for a granularity`, "dimensions");
  }
  const records: RecordsQuery = { source: engine.source, from, to, filter, dimensions, summand: kind.summand };

  const ranked = await engine.rows(rankStatement(records, limit), signal);
  const hasKeys = dimensions.length > 0;
  const tops = hasKeys ? ranked : [];
  const width = dimensions.length;
  const keys: Key[] = tops.map((row) => dimensions.map((column, i) => keyValue(column, row[i])));
  const sums = tops.map((row) => Number(row[width] ?? 0));
  const keyCount = Number(tops[0]?.[width + 1] ?? 0);
  const sumOfKeys = hasKeys ? Number(tops[0]?.[width + 2] ?? 0) : Number(ranked[0]?.[0] ?? 0);
  // A record counts once for each element of a list, but once in the total.
  const isUnfolded = dimensions.some(({ isArray }) => isArray);
  const flat = { ...records, dimensions: isUnfolded ? [] : dimensions };
  const sumOfAll = isUnfolded ? Number((await engine.rows(rankStatement(flat, 1), signal))[0]?.[0] ?? 0) : sumOfKeys;

  const buckets = step === 0 ? [] : bucketsOf(query, step);
  const series =
    step === 0
      ? undefined
      : await sumsOf(records, { keys, step, engine, signal, buckets: buckets.map(({ from: at }) => at) });
  const totalSeries =
    step === 0 || !isUnfolded
      ? undefined
      : await sumsOf(flat, { keys: [], step, engine, signal, buckets: buckets.map(({ from: at }) => at) });
  const before = query.compare ? { ...records, ...rangeBefore(query) } : undefined;
  const previous = before && (await sumsOf(before, { keys, step: 0, engine, signal, buckets: [0] }));
  const previousAll =
    before && isUnfolded
      ? (await sumsOf({ ...before, dimensions: [] }, { keys: [], step: 0, engine, signal, buckets: [0] })).all[0]
      : previous?.all[0];

  const scaled = (sum: number, seconds: number): number => (sum * kind.times) / (kind.isRate ? seconds : 1);
  const seconds = (to - from) / 1000;
  const valueOf = (sum: number, ofSeries?: readonly number[], ofBefore?: number): AnswerValue => {
    const values = ofSeries?.map((each, i) => scaled(each, buckets[i]?.seconds ?? step));
    return {
      value: scaled(sum, seconds),
      ...(ofBefore !== undefined && { previous: scaled(ofBefore, seconds) }),
      ...(values !== undefined && { series: values }),
      ...(values !== undefined &&
        query.percentile !== undefined && { percentile: percentileOf(values, query.percentile) }),
    };
  };
  const shareOf = (sum: number): number => (sumOfAll === 0 ? 0 : sum / sumOfAll);
  const sumOfOthers = hasKeys ? Math.max(0, sumOfKeys - sums.reduce((a, b) => a + b, 0)) : 0;
  const zeros = buckets.map(() => 0);

  return {
    from: iso(from),
    to: iso(to),
    granularitySeconds: step,
    measure: query.measure,
    unit: kind.unit,
    dimensions: query.dimensions,
    ...(step > 0 && { times: buckets.map(({ from: at }) => iso(at)) }),
    rows: tops.map((row, i) => ({
      key: dimensions.map((column, d): PlainValue => engine.plain({ ...column, isArray: false }, row[d])),
      share: shareOf(sums[i] ?? 0),
      ...valueOf(sums[i] ?? 0, series && (series.of.get(i) ?? zeros), previous && (previous.of.get(i)?.[0] ?? 0)),
    })),
    others: {
      keys: Math.max(0, keyCount - tops.length),
      share: shareOf(sumOfOthers),
      ...valueOf(
        sumOfOthers,
        series && (hasKeys ? (series.of.get(others) ?? zeros) : zeros),
        previous && (hasKeys ? (previous.of.get(others)?.[0] ?? 0) : 0),
      ),
    },
    total: valueOf(sumOfAll, (totalSeries ?? series)?.all, previousAll),
  };
}

interface Bucket {
  readonly from: number;
  /** What of it lies in the range. */
  readonly seconds: number;
}

function bucketsOf({ from, to }: TimeRange, step: number): Bucket[] {
  const buckets: Bucket[] = [];
  for (let at = from; at < to; at += 1000 * step) {
    buckets.push({ from: at, seconds: Math.min(step, (to - at) / 1000) });
  }
  return buckets;
}

interface SumsOptions {
  readonly keys: readonly Key[];
  readonly step: number;
  readonly engine: QueryEngine;
  readonly signal: AbortSignal;
  /** Beginnings, milliseconds since the epoch. */
  readonly buckets: readonly number[];
}

interface Sums {
  /** By the index of the key, or -1: one sum for each bucket. */
  readonly of: ReadonlyMap<number, readonly number[]>;
  readonly all: readonly number[];
}

async function sumsOf(records: RecordsQuery, { keys, step, engine, signal, buckets }: SumsOptions): Promise<Sums> {
  const places = new Map(buckets.map((at, i) => [at, i]));
  const of = new Map<number, number[]>();
  const all = buckets.map(() => 0);
  for (const [at, index, sum] of await engine.rows(seriesStatement(records, keys, step), signal)) {
    const place = places.get(Number(at));
    if (place === undefined) continue;
    const series = of.get(Number(index)) ?? buckets.map(() => 0);
    of.set(Number(index), series);
    series[place] = Number(sum ?? 0);
    all[place] = (all[place] as number) + Number(sum ?? 0);
  }
  return { of, all };
}

/** The nearest rank: this many percent of the values are not above it. */
function percentileOf(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0;
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
