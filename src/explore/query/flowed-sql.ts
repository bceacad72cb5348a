import { bucketName, nextName, sumName, type SqlDialect } from "./sql-dialect.ts";

/** Expressions of whole milliseconds since the epoch. */
interface Milliseconds {
  readonly from: string;
  readonly to: string;
}

/** What is divided, and over which time. */
export interface FlowedSum {
  /** An expression of a whole number that is not negative. */
  readonly value: string;
  /** The first and the last millisecond of the flow. */
  readonly flow: Milliseconds;
  /** Whether the product of value and length is below 2^63: then it is taken as it is, which costs a third. */
  readonly isSmall: boolean;
}

/**
 * Returns what of a sum had flowed before a time, rounded down: of a flow from its first to its last millisecond, all of which have the same share. So the
 * parts of a flow are differences of whole numbers, and add up to all of it, whatever the buckets are.
 *
 * @param time of a flow that has begun by then, and not ended.
 */
function passedBy(dialect: SqlDialect, { value, flow, isSmall }: FlowedSum, time: string): string {
  const length = `(${flow.to} - ${flow.from} + 1)`;
  const passed = `(${time} - ${flow.from})`;
  if (isSmall) return dialect.divide(`(${value} * ${passed})`, length);
  const whole = (number: string): string => dialect.unsigned(number);
  // Up to 2^53 a product of doubles is exact, and then the quotient rounded down is, too.
  const isExact = `${dialect.double(value)} * ${length} <= 9007199254740992`;
  const inDouble = whole(`floor(${dialect.double(value)} * ${passed} / ${length})`);
  // In two products, each of 64 bits.
  const inWhole = `${dialect.divide(value, whole(length))} * ${whole(passed)} + ${dialect.divide(`(${value} % ${whole(length)}) * ${whole(passed)}`, whole(length))}`;
  return `CASE WHEN ${isExact} THEN ${inDouble} ELSE ${inWhole} END`;
}

/** The same for any flow. */
function flowedBefore(dialect: SqlDialect, sum: FlowedSum, time: string): string {
  const { value, flow } = sum;
  return `CASE WHEN ${flow.to} < ${time} THEN ${value} WHEN ${flow.from} >= ${time} THEN ${none(dialect, sum)} ELSE ${passedBy(dialect, sum, time)} END`;
}

function none(dialect: SqlDialect, { isSmall }: FlowedSum): string {
  return isSmall ? "0" : dialect.unsigned("0");
}

/** Returns the part of a sum that flowed between two times, of which the second is not part of it. */
export function flowedPart(dialect: SqlDialect, sum: FlowedSum, within: Milliseconds): string {
  const { value, flow } = sum;
  const before = (time: string): string => flowedBefore(dialect, sum, time);
  const part = difference(dialect, sum, before(within.to), before(within.from));
  // Most flows are not cut, and need one test.
  return `CASE WHEN ${flow.from} >= ${within.from} AND ${flow.to} < ${within.to} THEN ${value} ELSE ${part} END`;
}

/** Rows of flows whose bytes are to be booked. */
export interface FlowedRows {
  /** What stands behind FROM, with the first and last milliseconds `flow_start` and `flow_end` and what is divided, `flow_value`. */
  readonly rows: string;
  /** The names of the columns that are handed on. */
  readonly cells: readonly string[];
  /** Returns the sum of a row by how many records it stands for. */
  readonly weighed: (sum: string) => string;
  readonly isSmall: boolean;
}

/** Returns the rows with what of them flowed within a range, for sums without buckets. */
export function partsInRange(
  dialect: SqlDialect,
  { rows, cells, weighed, isSmall }: FlowedRows,
  range: Milliseconds,
): string {
  const part = flowedPart(dialect, { ...sumOfRows, isSmall }, range);
  return `SELECT ${[...cells, `${weighed(part)} AS ${sumName}`].join(", ")} FROM ${rows}`;
}

const sumOfRows = { value: "flow_value", flow: { from: "flow_start", to: "flow_end" } } as const;

/**
 * Returns the rows with all of what flowed, as the sum of their first bucket, and what of it flowed after that one: it goes to the next bucket when sums are
 * put where they belong. Most flows have one bucket or two, so this is all for them.
 *
 * @param step the length of the buckets, milliseconds.
 * @param end where the range cuts flows; undefined: it cuts none of them.
 * @param later the name of a column of what flowed after the first bucket, where that was found before.
 */
export function partsInBuckets(
  dialect: SqlDialect,
  { rows, cells, weighed, isSmall }: FlowedRows,
  step: number,
  end: string | undefined,
  later?: string,
): string {
  const sum: FlowedSum = { ...sumOfRows, isSmall };
  const total = end === undefined ? "flow_value" : flowedBefore(dialect, sum, end);
  const isNext = end === undefined ? "flow_end >= flow_next" : `flow_end >= flow_next AND flow_next < ${end}`;
  const rest =
    later ??
    `CASE WHEN ${isNext} THEN ${difference(dialect, sum, "flow_total", passedBy(dialect, sum, "flow_next"))} END`;
  const sums = [
    `flow_next - ${step} AS ${bucketName}`,
    `${weighed("flow_total")} AS ${sumName}`,
    `${weighed(rest)} AS ${nextName}`,
  ];
  return `SELECT ${[...cells, ...sums].join(", ")} FROM (SELECT *, ${total} AS flow_total, ${firstEnd(dialect, step)} AS flow_next FROM ${rows})`;
}

/**
 * Returns a row for each further bucket of longer flows: what flowed after it leaves it, as above. To unfold a row costs as much as three sums.
 *
 * @param range from the beginning of its first bucket. @param isCut whether its end cuts the last one: then nothing counts that flowed later.
 */
export function partsOfLongFlows(
  dialect: SqlDialect,
  { rows, cells, weighed, isSmall }: FlowedRows,
  step: number,
  range: Milliseconds,
  isCut: boolean,
): string {
  const sum: FlowedSum = { ...sumOfRows, isSmall };
  const second = `${firstEnd(dialect, step)} + ${step}`;
  const ends = dialect.eachOf(
    `greatest(${second}, ${range.from})`,
    `least(flow_end, ${range.to}${isCut ? " - 1" : ""})`,
    step,
  );
  const total = isCut ? flowedBefore(dialect, sum, range.to) : "flow_value";
  const sums = [
    `flow_next - ${step} AS ${bucketName}`,
    `${weighed(none(dialect, sum))} AS ${sumName}`,
    `${weighed(difference(dialect, sum, "flow_total", passedBy(dialect, sum, "flow_next")))} AS ${nextName}`,
  ];
  const isLong = `flow_end - flow_start >= ${step} AND flow_end >= ${second}`;
  const unfolded = `SELECT *, ${total} AS flow_total, ${ends} AS flow_next FROM ${rows} WHERE ${isLong}`;
  return `SELECT ${[...cells, ...sums].join(", ")} FROM (${unfolded})`;
}

/** The end of the bucket of a flow's first millisecond. */
function firstEnd(dialect: SqlDialect, step: number): string {
  return `(${dialect.divide("flow_start", String(step))} + 1) * ${step}`;
}

function difference(dialect: SqlDialect, { isSmall }: FlowedSum, minuend: string, subtrahend: string): string {
  const sql = `(${minuend} - ${subtrahend})`;
  return isSmall ? sql : dialect.unsigned(sql);
}
