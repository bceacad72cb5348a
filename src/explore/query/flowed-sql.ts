import {
  bucketName,
  nextName,
  spanFactor,
  spreadNames,
  sumName,
  type SqlDialect,
  type Spreading,
} from "./sql-dialect.ts";

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

/**
 * Returns the rows with what they have in their first bucket and in each that lies within the flow, for {@link spreadOverBuckets}.
 *
 * @param cut a range that cuts all of the flows: they count as if they had begun and ended in it, with what flowed there.
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
 * Returns sums by bucket `b` and key `i`, `m`, of sums by first and last bucket: `b i m q p`. What flowed up to the end of a bucket is rounded down for each key, so all
 * of a key are what it has.
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
  // What a bucket has of flows that begin or end there, and by how much it differs from the one before in what goes through it.
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

/** The end of the bucket of a flow's first millisecond. */
function firstEnd(dialect: SqlDialect, step: number): string {
  return `(${dialect.divide("flow_start", String(step))} + 1) * ${step}`;
}

function difference(dialect: SqlDialect, { isSmall }: FlowedSum, minuend: string, subtrahend: string): string {
  const sql = `(${minuend} - ${subtrahend})`;
  return isSmall ? sql : dialect.unsigned(sql);
}
