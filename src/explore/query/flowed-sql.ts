import {
  bucketName,
  nextName,
  spanFactor,
  spreadNames,
  sumName,
  type SqlDialect,
  type Spreading,
} from "./sql-dialect.ts";

/** SQL expressions in whole milliseconds since the epoch. */
interface Milliseconds {
  readonly from: string;
  readonly to: string;
}

/** An amount to divide, and the time over which it flowed. */
export interface FlowedSum {
  /** An expression for a non-negative integer. */
  readonly value: string;
  /** The first and the last millisecond of the flow. */
  readonly flow: Milliseconds;
  /** True where the product of value and length is below 2^63. Then it is computed directly, at a third of the cost. */
  readonly isSmall: boolean;
}

/**
 * Returns the part of a sum that flowed before a time, rounded down. A flow lasts from its first to its last millisecond, with an equal share in each.
 * So its parts are differences of integers, and add up to the whole in any buckets.
 *
 * @param time a time after the flow began and before it ended.
 */
function passedBy(dialect: SqlDialect, { value, flow, isSmall }: FlowedSum, time: string): string {
  const length = `(${flow.to} - ${flow.from} + 1)`;
  const passed = `(${time} - ${flow.from})`;
  if (isSmall) return dialect.divide(`(${value} * ${passed})`, length);
  const whole = (number: string): string => dialect.unsigned(number);
  // Up to 2^53 a product of doubles is exact, and so is the quotient after rounding down.
  const isExact = `${dialect.double(value)} * ${length} <= 9007199254740992`;
  const inDouble = whole(`floor(${dialect.double(value)} * ${passed} / ${length})`);
  // This uses two products of 64 bits each.
  const inWhole = `${dialect.divide(value, whole(length))} * ${whole(passed)} + ${dialect.divide(`(${value} % ${whole(length)}) * ${whole(passed)}`, whole(length))}`;
  return `CASE WHEN ${isExact} THEN ${inDouble} ELSE ${inWhole} END`;
}

/** Returns the part of a sum that flowed before a time, for any flow. */
function flowedBefore(dialect: SqlDialect, sum: FlowedSum, time: string): string {
  const { value, flow } = sum;
  return `CASE WHEN ${flow.to} < ${time} THEN ${value} WHEN ${flow.from} >= ${time} THEN ${none(dialect, sum)} ELSE ${passedBy(dialect, sum, time)} END`;
}

function none(dialect: SqlDialect, { isSmall }: FlowedSum): string {
  return isSmall ? "0" : dialect.unsigned("0");
}

/** Returns the part of a sum that flowed between two times, without the second. */
export function flowedPart(dialect: SqlDialect, sum: FlowedSum, within: Milliseconds): string {
  const { value, flow } = sum;
  const before = (time: string): string => flowedBefore(dialect, sum, time);
  const part = difference(dialect, sum, before(within.to), before(within.from));
  // Most flows are not cut, so one test is enough for them.
  return `CASE WHEN ${flow.from} >= ${within.from} AND ${flow.to} < ${within.to} THEN ${value} ELSE ${part} END`;
}

/** Rows of flows whose bytes are to be booked. */
export interface FlowedRows {
  /** The text after FROM. It has the first and last milliseconds as `flow_start` and `flow_end`, and the amount to divide as `flow_value`. */
  readonly rows: string;
  /** The names of the columns to keep. */
  readonly cells: readonly string[];
  /** Returns the sum of a row, multiplied by its weight. */
  readonly weighed: (sum: string) => string;
  readonly isSmall: boolean;
}

/** Returns the rows with the amounts that flowed within a range, for sums without buckets. */
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
 * Returns the rows with the whole amount as the sum of their first bucket, and the amount after that bucket, which later moves to the next one. This is
 * enough for most flows, which have one bucket or two.
 *
 * @param step the length of the buckets in milliseconds.
 * @param end where the range cuts flows; undefined: it cuts none.
 * @param later the name of a column with the amount after the first bucket, where it is stored.
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
 * Returns a row for each further bucket of longer flows. The amount after a bucket is subtracted from it, as above. Expanding a row costs as much as
 * three sums.
 *
 * @param range starts with its first bucket.
 * @param isCut true where its end cuts the last bucket: then later amounts do not count.
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

/**
 * Returns the rows with their amounts in the first bucket and in each bucket inside the flow, for {@link spreadOverBuckets}.
 *
 * @param cut a range that cuts all of the flows: they count as if they began and ended in it, with the amount that flowed there.
 */
export function spreadParts(
  dialect: SqlDialect,
  { rows, cells, weighed, isSmall }: FlowedRows,
  { step, parts, isBounded }: Spreading,
  cut?: Milliseconds,
): string {
  const cutCells =
    cut === undefined
      ? ""
      : ` REPLACE (greatest(flow_start, ${cut.from}) AS flow_start, least(flow_end, ${cut.to} - 1) AS flow_end, ${flowedPart(dialect, { ...sumOfRows, isSmall }, cut)} AS flow_value)`;
  const bucketOf = (time: string): string => dialect.divide(time, String(step));
  const share = dialect.divide(`(flow_value * ${step * parts})`, "flow_length");
  const times = `SELECT *, flow_end - flow_start + 1 AS flow_length, ${bucketOf("flow_start")} AS flow_first FROM (SELECT *${cutCells} FROM ${rows})`;
  const shares = `SELECT *, ${share} AS flow_share FROM (${times})`;
  const rest = `((flow_first + 1) * ${step} - flow_start)`;
  const sums = [
    `flow_first * ${spanFactor - 1} + ${bucketOf("flow_end")} AS ${bucketName}`,
    `${weighed("flow_value")} AS ${sumName}`,
    `${weighed("flow_share")} AS ${spreadNames.share}`,
    `${weighed(`flow_share * ${isBounded ? rest : `least(${rest}, flow_length)`}`)} AS ${spreadNames.first}`,
  ];
  return `SELECT ${[...cells, ...sums].join(", ")} FROM (${shares})`;
}

/**
 * Returns sums `m` by bucket `b` and key `i`, from sums by first and last bucket: `b i m q p`. The amount up to the end of a bucket is rounded down for
 * each key, so the buckets of a key add up to its total.
 */
export function spreadOverBuckets(
  dialect: SqlDialect,
  sums: string,
  { step, parts }: Spreading,
  range: { readonly from: number; readonly to: number },
): string {
  const unit = step * parts;
  const first = dialect.divide("b", String(spanFactor));
  const spans = `SELECT ${first} AS f, b % ${spanFactor} AS l, i, m * ${unit} AS m, q * ${step} AS q, p FROM (${sums})`;
  // For each bucket: the amounts of flows that begin or end there, and the change of the amount that passes through it.
  const changes = [
    "SELECT f AS b, i, CASE WHEN l = 0 THEN m ELSE p END AS a, 0 AS d FROM spans",
    "SELECT f + l, i, m - p - (l - 1) * q, -q FROM spans WHERE l > 0",
    "SELECT f + 1, i, 0, q FROM spans WHERE l > 0",
  ];
  const changed = `SELECT b, i, sum(a) AS a, sum(d) AS d FROM (${changes.join(" UNION ALL ")}) GROUP BY b, i`;
  const buckets = dialect.eachOf(String(Math.floor(range.from / step)), String(Math.ceil(range.to / step) - 1), 1);
  const all = `SELECT k.i AS i, k.b AS b, coalesce(c.a, 0) AS a, coalesce(c.d, 0) AS d FROM (SELECT i, ${buckets} AS b FROM (SELECT DISTINCT i FROM changed)) k LEFT JOIN changed c ON c.i = k.i AND c.b = k.b`;
  const inOrder = "OVER (PARTITION BY i ORDER BY b)";
  const flowing = `SELECT b, i, a + sum(d) ${inOrder} AS u FROM (${all})`;
  const passed = `SELECT b, i, ${dialect.divide(`sum(u) ${inOrder}`, String(unit))} AS v FROM (${flowing})`;
  const values = `SELECT b * ${step} AS b, i, v - coalesce(lag(v) ${inOrder}, 0) AS m FROM (${passed})`;
  return `WITH spans AS MATERIALIZED (${spans}), changed AS MATERIALIZED (${changed}) ${values}`;
}

/** Returns the end of the bucket with a flow's first millisecond. */
function firstEnd(dialect: SqlDialect, step: number): string {
  return `(${dialect.divide("flow_start", String(step))} + 1) * ${step}`;
}

function difference(dialect: SqlDialect, { isSmall }: FlowedSum, minuend: string, subtrahend: string): string {
  const sql = `(${minuend} - ${subtrahend})`;
  return isSmall ? sql : dialect.unsigned(sql);
}
