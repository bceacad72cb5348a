import { bucketName, nextName, sumName, type SqlDialect } from "./sql-dialect.ts";

/** Expressions of whole milliseconds since the epoch. */
interface Milliseconds {
  readonly from: string;
  readonly to: string;
}

/**
 * Returns what of a sum had flowed up to a time, rounded down: of a flow from its first to its last millisecond, all of which have the same share. So the
 * parts of a flow are differences of whole numbers, and add up to all of it, whatever the buckets are.
 *
 * @param value an expression of a whole number that is not negative.
 * @param flow its first and its last millisecond. @param time does not belong to what had flowed. @param isBegun whether all flows had begun by then:
 * each test is one of every row.
 */
function flowedUpTo(dialect: SqlDialect, value: string, flow: Milliseconds, time: string, isBegun = false): string {
  const length = `(${flow.to} - ${flow.from} + 1)`;
  const passed = `(${time} - ${flow.from})`;
  const whole = (number: string): string => dialect.unsigned(number);
  // Up to 2^53 a product of doubles is exact, and then the quotient rounded down is, too.
  const isExact = `${dialect.double(value)} * ${length} <= 9007199254740992`;
  const inDouble = whole(`floor(${dialect.double(value)} * ${passed} / ${length})`);
  // In two products, each of 64 bits.
  const inWhole = `${dialect.divide(value, whole(length))} * ${whole(passed)} + ${dialect.divide(`(${value} % ${whole(length)}) * ${whole(passed)}`, whole(length))}`;
  const notBegun = isBegun ? "" : `WHEN ${flow.from} >= ${time} THEN ${whole("0")} `;
  return `CASE WHEN ${flow.to} < ${time} THEN ${value} ${notBegun}WHEN ${isExact} THEN ${inDouble} ELSE ${inWhole} END`;
}

/** Returns the part of a sum that flowed between two times, of which the second is not part of it. */
export function flowedPart(dialect: SqlDialect, value: string, flow: Milliseconds, within: Milliseconds): string {
  const upTo = (time: string): string => flowedUpTo(dialect, value, flow, time);
  const difference = dialect.unsigned(`(${upTo(within.to)} - ${upTo(within.from)})`);
  // Most flows are not cut, and need one test.
  return `CASE WHEN ${flow.from} >= ${within.from} AND ${flow.to} < ${within.to} THEN ${value} ELSE ${difference} END`;
}

/** Rows of flows whose bytes are to be booked. */
export interface FlowedRows {
  /** What stands behind FROM, with the first and last milliseconds `flow_start` and `flow_end` and what is divided, `flow_value`. */
  readonly rows: string;
  /** The names of the columns that are handed on. */
  readonly cells: readonly string[];
  /** The name of the column of how many records a row stands for; undefined: each for itself. */
  readonly weight?: string | undefined;
  /** The range; left out where all of the flows are within it. */
  readonly range?: Milliseconds | undefined;
  /** The length of the longest flow, milliseconds; left out where it is not known. */
  readonly longest?: number | undefined;
}

/**
 * Returns statements of which the rows have the parts of flows. With a granularity these are the part in a bucket, that in the next one, and the
 * beginning of the former: most flows have no more than two buckets, so one row is enough for them, and who adds up does so before sums are
 * put where they belong. Longer flows have further rows, for each further pair of buckets: unfolding costs as much as three sums.
 *
 * @param step the length of the buckets, milliseconds; 0: no bucket is asked for.
 */
export function flowedStatements(dialect: SqlDialect, flows: FlowedRows, step: number): readonly string[] {
  const { rows, cells, weight, range, longest = Number.POSITIVE_INFINITY } = flows;
  const flow = { from: "flow_start", to: "flow_end" };
  const upTo = (time: string, isBegun = false): string => flowedUpTo(dialect, "flow_value", flow, time, isBegun);
  const weighed = (sum: string): string => (weight === undefined ? sum : dialect.product(`(${sum})`, weight));
  if (step === 0) {
    const sum = range === undefined ? "flow_value" : flowedPart(dialect, "flow_value", flow, range);
    return [`SELECT ${[...cells, `${weighed(sum)} AS ${sumName}`].join(", ")} FROM ${rows}`];
  }
  const within = (time: string): string => (range === undefined ? time : `least(${time}, ${range.to})`);
  const parts = (source: string, passed: string): string => {
    const part = (from: string, to: string): string => weighed(dialect.unsigned(`(${from} - ${to})`));
    const ends = [
      `${upTo(within(`flow_bucket + ${step}`), true)} AS passed`,
      `${upTo(within(`flow_bucket + ${2 * step}`), true)} AS passed_next`,
    ];
    const sums = [
      `flow_bucket AS ${bucketName}`,
      `${part("passed", passed)} AS ${sumName}`,
      `${part("passed_next", "passed")} AS ${nextName}`,
    ];
    return `SELECT ${[...cells, ...sums].join(", ")} FROM (SELECT *, ${ends.join(", ")} FROM ${source})`;
  };
  const begin = range === undefined ? "flow_start" : `greatest(flow_start, ${range.from})`;
  const first = `${dialect.divide(begin, String(step))} * ${step}`;
  const last = range === undefined ? "flow_end" : `least(flow_end, ${range.to} - 1)`;
  const pairs = dialect.eachOf(`${first} + ${2 * step}`, last, 2 * step);
  const begun = range === undefined ? dialect.unsigned("0") : upTo(range.from);
  const ofAll = parts(`(SELECT *, ${first} AS flow_bucket FROM ${rows})`, begun);
  // A flow that is no longer than a bucket has none after the second one.
  if (longest < step) return [ofAll];
  const isLong = `flow_end - flow_start >= ${step} AND ${last} >= ${first} + ${2 * step}`;
  return [ofAll, parts(`(SELECT *, ${pairs} AS flow_bucket FROM ${rows} WHERE ${isLong})`, upTo("flow_bucket", true))];
}
