import type { DuckDBConnection, DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { ExploreError, shownAddress, timeField, columnOf, isMetadataName, type Column } from "../column.ts";
import type { Filter } from "../../record/index.ts";
import { nearName, quote } from "../../base/text/index.ts";
import { flowedBounds, flowedColumns, laterColumns } from "../booking.ts";
import type { TimeRange } from "../query/explore-query.ts";
import { partsInBuckets, partsInRange, partsOfLongFlows, spreadParts, type FlowedRows } from "../query/flowed-sql.ts";
import { filteredStatement } from "../query/query-sql.ts";
import {
  bucketName,
  hasNext,
  nextName,
  recordSum,
  spanFactor,
  spreadNames,
  summandColumns,
  sumName,
  type PlainValue,
  type QueryEngine,
  type SqlDialect,
  type Spreading,
  type SqlValue,
  type Statement,
  type Summand,
  type WantedRows,
} from "../query/sql-dialect.ts";
import type { DuckDb, EmbeddedExploreConfig } from "./duckdb-instance.ts";
import { distinctOf, duckDbDialect, quoted } from "./duckdb-table.ts";
import type { OpenedDuckDb } from "./open-duckdb.ts";
import { cellOf, millisecondType, tableOf, weightColumn, type Partition } from "./partition.ts";
import { countsFor, isOf, minutesOf, sourceColumn, sumColumns, whenColumn, type UsedRollups } from "./plan-query.ts";

/** The default number of rows up to which different values are counted exactly: this takes half a microsecond a row, and memory for each value. */
const usuallyCounted = 8_000_000;

/** Runs statements over the rows of some files. */
export class DuckDbEngine implements QueryEngine {
  readonly dialect: SqlDialect;
  readonly countsUpTo: number;
  readonly plain = plainValue;
  readonly #open: OpenedDuckDb;
  readonly #timeoutMs: number;
  readonly #partitions: readonly Partition[];
  readonly #rollups: readonly UsedRollups[];
  readonly #columns: ReadonlyMap<string, Column>;
  readonly #weight: string | undefined;
  /** True where the products of counters with weights, and with milliseconds of flows, fit in 64 bits. */
  readonly #isSmall: boolean;

  constructor(
    open: OpenedDuckDb,
    { timeoutMs, maxCountedRows = usuallyCounted }: Pick<EmbeddedExploreConfig, "timeoutMs" | "maxCountedRows">,
    partitions: readonly Partition[],
    rollups: readonly UsedRollups[] = [],
  ) {
    this.#open = open;
    this.#timeoutMs = timeoutMs;
    this.#partitions = partitions;
    this.#rollups = rollups;
    this.#columns = new Map(open.store.columns().map((column) => [column.field, column]));
    this.#weight = partitions.some(({ maxWeight }) => maxWeight > 1) ? quoted(weightColumn) : undefined;
    this.#isSmall = partitions.every(areSmall);
    const rows = partitions.reduce((sum, each) => sum + each.rows, 0);
    const oneOf = 2 ** Math.max(0, Math.ceil(Math.log2(rows / maxCountedRows)));
    this.dialect = { ...duckDbDialect, distinct: (value) => distinctOf(value, oneOf) };
    this.countsUpTo = oneOf === 1 ? Infinity : 0;
  }

  columnOf(field: string): Column {
    return this.#columns.get(field) ?? fieldNotSeen(field, this.#columns.keys());
  }

  /** Returns the rows of record files and rollup files as one table. A column that a file lacks is NULL there. */
  from(wanted: WantedRows): string {
    const { summand } = wanted;
    const selects = [
      ...(this.#partitions.length > 0 ? [this.#records(wanted)] : []),
      ...(summand === undefined ? [] : this.#rollups.map((used) => minutesSql(wanted, summand, used))),
    ];
    return `(${selects.join(" UNION ALL ")}) r`;
  }

  /**
   * Returns how rows are divided where buckets are shorter than a minute. Rows have parts by the minute, and rollups are not read then. It applies only
   * where flows are longer than buckets and their shares fit in 64 bits.
   */
  spreading({ summand, when, granularitySeconds = 0, range }: WantedRows): Spreading | undefined {
    const step = 1000 * granularitySeconds;
    if (when !== "flowed" || summand === "flows" || step % minuteMs === 0 || !this.#isSmall) return undefined;
    if (!this.#partitions.some((each) => hasFlows(each) && each.longestFlow >= step)) return undefined;
    // A file in use may have larger counters by the time it is read.
    const most = ({ largest, maxWeight, isComplete }: Partition): number => largest * maxWeight * (isComplete ? 1 : 16);
    const largest = Math.max(...this.#partitions.map(most), 1);
    const fitting = (bound: number): number => 2 ** Math.min(maxPartBits, Math.floor(62 - Math.log2(bound)));
    // With this many parts, rounding loses less than a fourth of a unit of a flow's shares. The rest goes to its last bucket.
    const least = 4 * ((range.to - range.from) / step + 2);
    const [parts, bounded] = [fitting(largest * step * step), fitting(largest * step)];
    if (parts >= least) return { step, parts, isBounded: true };
    return bounded >= least ? { step, parts: bounded, isBounded: false } : undefined;
  }

  /** Copies the rows that pass a filter, up to a maximum, to the table of an attached database: these columns, and the weights. */
  async copy(
    filter: Filter,
    columns: readonly Column[],
    target: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<void> {
    const weight = quoted(weightColumn);
    const rows = this.#partitions.map((partition) => {
      const cells = [...columns.map((column) => namedCell(column, partition)), weight];
      return `SELECT ${cells.join(", ")} FROM ${tableOf(partition.name)}`;
    });
    const names = [...columns.map(({ field }) => quoted(field)), weight].join(", ");
    const statement = filteredStatement(
      this,
      filter,
      (where) =>
        `INSERT INTO ${tableOf(target)} (${names}) SELECT ${names} FROM (${rows.join(" UNION ALL ")}) r WHERE ${where} LIMIT ${limit}`,
    );
    await this.rows(statement, signal);
  }

  async rows(statement: Statement, signal: AbortSignal): Promise<readonly (readonly unknown[])[]> {
    const { instance, duckDb } = this.#open;
    const connection = await instance.connect();
    try {
      return await runStatement(connection, statement, duckDb, this.#timeoutMs, signal);
    } finally {
      connection.closeSync();
    }
  }

  #records(wanted: WantedRows): string {
    const { columns, summand, when, granularitySeconds = 0, range } = wanted;
    if (when === "flowed" && summand !== undefined) return this.#flowed(wanted, summand);
    const bucket = bucketCells(granularitySeconds);
    if (summand !== undefined)
      return this.#received(
        wanted,
        summand,
        this.#partitions.map((each) => [each, isWithin(range, each)]),
      );
    const selects = this.#partitions.map((partition) => {
      const cells = [...columns.map((column) => namedCell(column, partition)), ...bucket].join(", ") || "1 AS one";
      return `SELECT ${cells} FROM ${tableOf(partition.name)} WHERE ${isWithin(range, partition)}`;
    });
    return selects.join(" UNION ALL ");
  }

  /** Returns rows that count as a whole, in the bucket of their receipt. */
  #received(wanted: WantedRows, summand: Summand, read: readonly Read[]): string {
    const { columns, when = "received", granularitySeconds = 0, spreading } = wanted;
    const value = this.#weighed("flow_value");
    const own = granularitySeconds > 0 ? [bucketName] : [];
    const none = hasNext({ when, granularitySeconds }) ? [`0 AS ${nextName}`] : [];
    const sums = spreading === undefined ? [...own, `${value} AS ${sumName}`, ...none] : spreadWhole(spreading, value);
    const cells = [...columns.map(({ field }) => quoted(field)), ...sums];
    return `SELECT ${cells.join(", ")} FROM ${this.#rows(columns, summand, bucketCells(granularitySeconds), read)}`;
  }

  /** Returns rows that count when their bytes flowed. Conditions compare plain columns with numbers, which DuckDB tests while reading. */
  #flowed(wanted: WantedRows, summand: Summand): string {
    const { columns, granularitySeconds = 0, range } = wanted;
    const step = 1000 * granularitySeconds;
    const cut = { from: String(range.from), to: String(range.to) };
    const later = laterColumns[summand === "packets" ? summand : "bytes"];
    const known = [`${this.#number(quoted(later.field))} AS flow_later`];
    const reads = this.#partitions.flatMap((partition) =>
      (wanted.spreading === undefined
        ? readsOf(partition, later.field, range, step)
        : spreadReadsOf(partition, range)
      ).map(([kind, where]) => ({ kind, read: [partition, where] as const })),
    );
    const { spreading } = wanted;
    const statement = (kind: ReadKind, write: (read: readonly Read[]) => string): readonly string[] => {
      const read = reads.filter((each) => each.kind === kind).map((each) => each.read);
      return read.length === 0 ? [] : [write(read)];
    };
    const flows = (read: readonly Read[], more: readonly string[] = []): FlowedRows => ({
      rows: this.#rows(columns, summand, [...flowTimes, ...more], read),
      cells: columns.map(({ field }) => quoted(field)),
      weighed: (sum) => this.#weighed(sum),
      isSmall: this.#isSmall,
    });
    return [
      ...statement("whole", (read) => this.#received(wanted, summand, read)),
      ...statement("minutes", (read) =>
        partsInBuckets(duckDbDialect, flows(read, known), step, undefined, "flow_later"),
      ),
      ...statement("buckets", (read) => partsInBuckets(duckDbDialect, flows(read), step, undefined)),
      ...statement("end", (read) => partsInBuckets(duckDbDialect, flows(read), step, cut.to)),
      ...statement("long", (read) => partsOfLongFlows(duckDbDialect, flows(read), step, cut, range.to % step !== 0)),
      ...statement("cut", (read) =>
        spreading === undefined
          ? partsInRange(duckDbDialect, flows(read), cut)
          : spreadParts(duckDbDialect, flows(read), spreading, cut),
      ),
      ...(spreading === undefined
        ? []
        : statement("spread", (read) => spreadParts(duckDbDialect, flows(read), spreading))),
    ].join(" UNION ALL ");
  }

  /** Returns rows of files as one table: the columns, the summand as `flow_value`, the weight of a row, and further cells. */
  #rows(columns: readonly Column[], summand: Summand, more: readonly string[], read: readonly Read[]): string {
    const columnNamed = (field: string): Column => this.columnOf(field);
    const all = new Map([...columns, ...summandColumns(summand, columnNamed)].map((column) => [column.field, column]));
    const selects = read.map(([partition, where]) => {
      const cells = [...all.values()].map((column) => namedCell(column, partition));
      const others = [...more, ...(this.#weight === undefined ? [] : [this.#weight])];
      return `SELECT ${[...cells, ...others].join(", ") || "1 AS one"} FROM ${tableOf(partition.name)} WHERE ${where}`;
    });
    const value = summand === "flows" ? "1" : this.#number(recordSum(summand, duckDbDialect, columnNamed, undefined));
    return `(SELECT *, ${value} AS flow_value FROM (${selects.join(" UNION ALL ")}))`;
  }

  /** Returns a number in a signed 64-bit type. Unsigned ones would become 128-bit sums, which cost a tenth of a query. */
  #number(value: string): string {
    return `CAST(${value} AS ${this.#isSmall ? "BIGINT" : "UBIGINT"})`;
  }

  #weighed(sum: string): string {
    if (this.#weight === undefined) return sum;
    return this.#isSmall
      ? `(${sum}) * CAST(${this.#weight} AS BIGINT)`
      : duckDbDialect.product(`(${sum})`, this.#weight);
  }
}

function areSmall(partition: Partition): boolean {
  const { isComplete } = partition;
  // A file in use may have larger counters by the time it is read. DuckDB reports an overflow where they are much larger.
  const largest = isComplete ? partition.largest : (Math.floor(partition.largest / 2 ** 32) + 1) * 2 ** 32;
  return largest * Math.max(partition.maxWeight, longestOf(partition) + 1) < 2 ** 62;
}

/** A file, and the condition for the rows read from it. */
type Read = readonly [Partition, string];

const flowed = { start: quoted(flowedColumns.start.field), end: quoted(flowedColumns.end.field) };
const flowTimes = [`${flowed.start} AS flow_start`, `${flowed.end} AS flow_end`];

/**
 * The ways of dividing rows. `whole`: undivided, in the bucket of their receipt. `minutes`: into one-minute buckets, as stored. `buckets`: into a bucket and
 * the next one. `end`: the same, cut at the end of the range. `long`: into the buckets after those. `cut`: by the range, without buckets or with shares
 * of many. `spread`: with shares, and not by the range.
 */
type ReadKind = "whole" | "minutes" | "buckets" | "end" | "long" | "cut" | "spread";

type Reads = readonly (readonly [ReadKind, string])[];

/** More bits do not make sums of whole numbers more exact. */
const maxPartBits = 20;

function hasFlows({ columns }: Pick<Partition, "columns">): boolean {
  return columns.has(flowedColumns.start.field);
}

/** Returns the longest flow of a file. A file in use may get longer ones. */
function longestOf({ isComplete, longestFlow }: Partition): number {
  return isComplete ? longestFlow : flowedBounds.longest;
}

/** Returns the cells of rows that lie in a single bucket, in the form of rows with many. */
function spreadWhole({ step }: Spreading, value: string): readonly string[] {
  const bucket = `${duckDbDialect.divide(bucketName, String(step))} * ${spanFactor} AS ${bucketName}`;
  return [bucket, `${value} AS ${sumName}`, `0 AS ${spreadNames.share}`, `0 AS ${spreadNames.first}`];
}

const minuteMs = 60_000;

/** Returns the reads of a file for a range: each row once for its own buckets, and again for the later ones. */
function readsOf(partition: Partition, later: string, range: TimeRange, step: number): Reads {
  const { columns } = partition;
  const { start, end } = flowed;
  const { from, to } = range;
  if (!hasFlows(partition)) return [["whole", isWithin(range, partition)]];
  const { first, until, isLater, isEarlier } = placeOf(partition, range);
  const bucketOf = (time: number): number => (step === 0 ? 0 : Math.floor(time / step));
  if (isLater && isEarlier && bucketOf(first) === bucketOf(until))
    return [["whole", `${quoted(timeField)} IS NOT NULL`]];
  if (step === 0) return readsInRange(partition, range, "whole");
  const hasLater = columns.has(later);
  const begun = !isLater && `${end} >= ${from}`;
  // Amounts after the end of the bucket are not needed where that is the end of the range.
  const isCut = !isEarlier && to % step !== 0;
  const isLong = hasLater && step % minuteMs === 0 && `${quoted(later)} IS NOT NULL`;
  return [
    ...unbookedReads(partition, range),
    [
      hasLater && step === minuteMs ? "minutes" : "buckets",
      allOf(begun, !isEarlier && (isCut ? `${end} < ${to}` : `${start} < ${to}`)),
    ],
    ...(isCut ? ([["end", allOf(`${end} >= ${to}`, `${start} < ${to}`)]] as const) : []),
    ...(longestOf(partition) < step
      ? []
      : ([["long", allOf(isLong, begun, !isEarlier && `${start} < ${to}`)]] as const)),
  ];
}

/** Returns the reads for shares of many buckets: each row once. */
function spreadReadsOf(partition: Partition, range: TimeRange): Reads {
  if (!hasFlows(partition)) return [["whole", isWithin(range, partition)]];
  return readsInRange(partition, range, "spread");
}

/** Returns the reads of rows inside a range, and of rows that its ends cut. */
function readsInRange(partition: Partition, range: TimeRange, kind: ReadKind): Reads {
  const { start, end } = flowed;
  const { from, to } = range;
  const { isLater, isEarlier } = placeOf(partition, range);
  return [
    ...unbookedReads(partition, range),
    [kind, allOf(!isLater && `${start} >= ${from}`, !isEarlier && `${end} < ${to}`)],
    ...(isLater ? [] : ([["cut", allOf(`${end} >= ${from}`, `${start} < ${from}`)]] as const)),
    ...(isEarlier ? [] : ([["cut", allOf(`${start} >= ${from}`, `${end} >= ${to}`, `${start} < ${to}`)]] as const)),
  ];
}

/** Returns the reads of rows without flow times, which count at receipt. */
function unbookedReads(partition: Partition, range: TimeRange): Reads {
  return partition.hasUnbooked ? [["whole", allOf(`${flowed.start} IS NULL`, isWithin(range, partition))]] : [];
}

function allOf(...conditions: readonly (string | false)[]): string {
  return conditions.filter((each) => each !== false).join(" AND ") || `${flowed.start} IS NOT NULL`;
}

/** Returns the range of the flow times of a file. */
function placeOf(partition: Partition, { from, to }: TimeRange) {
  const { isComplete, flowedFrom = Number.NEGATIVE_INFINITY, to: last = Number.POSITIVE_INFINITY } = partition;
  // A file in use may get any rows.
  const [first, until] = isComplete
    ? [flowedFrom, last + flowedBounds.ahead]
    : [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  return { first, until, isLater: first >= from, isEarlier: until < to };
}

function minutesSql(
  { columns, granularitySeconds = 0, range, when = "received" }: WantedRows,
  summand: Summand,
  { file, sources }: UsedRollups,
): string {
  const cells = columns.map((column) => namedCell(column, file));
  const sum = (name: keyof typeof sumColumns): string => {
    const [low, high] = sumColumns[name].map(quoted);
    return `(${low}::HUGEINT + (${high}::HUGEINT << 64))`;
  };
  const ids = sources.map(({ id }) => id).join(", ");
  const from = (until: number): string =>
    `${minutesOf(file.name)} WHERE "${sourceColumn}" IN (${ids}) AND ${isOf(when)} AND ${isWithin({ from: range.from, to: until }, { milliseconds: noMilliseconds })}`;
  if (when === "received" || summand === "flows") {
    const added = [...bucketCells(granularitySeconds), `${sum(summand)} AS ${sumName}`];
    return `SELECT ${[...cells, ...added].join(", ")} FROM ${from(range.to)}`;
  }
  const at = duckDbDialect.milliseconds(quoted(timeField));
  const isApart = `"${whenColumn}" IS NOT DISTINCT FROM ${countsFor.both}`;
  const [then, before] = [`${summand}Then`, `${summand}Before`] as const;
  const hasThen = `(${at} < ${range.to} AND (NOT ${isApart} OR ${quoted(sumColumns[then][0])} IS NOT NULL))`;
  const hasBefore = `(${at} > ${range.from} AND ${quoted(sumColumns[before][0])} IS NOT NULL)`;
  const parts = [
    `coalesce(CASE WHEN ${hasThen} THEN CASE WHEN ${isApart} THEN ${sum(then)} ELSE ${sum(summand)} END END, 0) AS then_sum`,
    `coalesce(CASE WHEN ${hasBefore} THEN ${sum(before)} END, 0) AS before_sum`,
  ];
  const read = `${from(range.to + minuteMs)} AND (${hasThen} OR ${hasBefore})`;
  const rows = `(SELECT *, ${at} AS minute_start, ${parts.join(", ")} FROM ${read})`;
  const step = 1000 * granularitySeconds;
  // The minute before may lie in the bucket before. Then the amount of the row's own minute goes to the next bucket.
  const added = [
    ...(step === 0 ? [] : [`((minute_start - ${minuteMs}) // ${step}) * ${step} AS ${bucketName}`]),
    `then_sum + before_sum AS ${sumName}`,
    ...(step === 0 ? [] : [`CASE WHEN minute_start % ${step} = 0 THEN then_sum ELSE 0 END AS ${nextName}`]),
  ];
  return `SELECT ${[...cells, ...added].join(", ")} FROM ${rows}`;
}

/** Returns the bucket of a row, from the time as the file has it. */
function bucketCells(granularitySeconds: number): readonly string[] {
  if (granularitySeconds === 0) return [];
  return [`${duckDbDialect.bucket(quoted(timeField), granularitySeconds)} AS ${bucketName}`];
}

/** Returns a condition in the type of the file's column: converting each row costs as much as a sum. */
function isWithin({ from, to }: TimeRange, file: Pick<Partition, "milliseconds">): string {
  const time = quoted(timeField);
  return `${time} >= ${boundOf(from, file)} AND ${time} < ${boundOf(to, file)}`;
}

function boundOf(time: number, { milliseconds }: Pick<Partition, "milliseconds">): string {
  const instant = duckDbDialect.instant(time);
  return milliseconds.has(timeField) ? `CAST(CAST(${instant} AS TIMESTAMP) AS ${millisecondType})` : instant;
}

type FileColumns = Pick<Partition, "columns"> & Partial<Pick<Partition, "milliseconds">>;

const noMilliseconds: ReadonlySet<string> = new Set();

function namedCell(column: Column, { columns, milliseconds = noMilliseconds }: FileColumns): string {
  return `${cellOf(column, { columns, milliseconds })} AS ${quoted(column.field)}`;
}

/** Interval between interrupts of a statement that is still running. */
const interruptMs = 20;

async function runStatement(
  connection: DuckDBConnection,
  { sql, values }: Statement,
  duckDb: DuckDb,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly (readonly unknown[])[]> {
  signal.throwIfAborted();
  let isLate = false;
  let again: NodeJS.Timeout | undefined;
  // DuckDB loses an interrupt between the steps of a statement.
  const interrupt = (): void => {
    connection.interrupt();
    again ??= setInterval(() => connection.interrupt(), interruptMs);
  };
  const timer = setTimeout(() => {
    isLate = true;
    interrupt();
  }, timeoutMs);
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    const bound = Object.fromEntries(values.map(({ value }, i) => [String(i + 1), value as DuckDBValue]));
    const types = Object.fromEntries(values.map(({ type }, i) => [String(i + 1), typeOf(type, duckDb)]));
    const result = await connection.runAndReadAll(sql, bound, types);
    return result.getRows();
  } catch (error) {
    signal.throwIfAborted();
    throw asExploreError(error, isLate, timeoutMs);
  } finally {
    clearTimeout(timer);
    clearInterval(again);
    signal.removeEventListener("abort", interrupt);
  }
}

function typeOf(type: SqlValue["type"], { api }: DuckDb): DuckDBType {
  switch (type) {
    case "text":
      return api.VARCHAR;
    case "address":
      return api.VARCHAR;
    case "whole":
      return api.HUGEINT;
    case "double":
      return api.DOUBLE;
    case "boolean":
      return api.BOOLEAN;
    case "time":
      break;
  }
  return api.BIGINT;
}

function asExploreError(error: unknown, isLate: boolean, timeoutMs: number): unknown {
  const message = error instanceof Error ? error.message : String(error);
  if (isLate) {
    const seconds = timeoutMs / 1000;
    return new ExploreError(
      "deadline_exceeded",
      `the question took longer than ${seconds} s: ask for a shorter range, a narrower filter or fewer dimensions`,
    );
  }
  if (/out of memory|failed to (?:allocate|offload)|max_temp_directory_size/i.test(message)) {
    return new ExploreError(
      "resource_exhausted",
      "the question needs more memory than SVC_EXPLORE_MEMORY grants: ask for a shorter range, a narrower filter or fewer dimensions",
    );
  }
  const [, unknown] = /invalid character class range: (\S+)/.exec(message) ?? [];
  if (unknown !== undefined) {
    const text = `DuckDB does not know ${unknown} of the regular expression: name a general category, or a script`;
    return new ExploreError("invalid_argument", text, "filter");
  }
  return error;
}

function plainValue(column: Column, value: unknown): PlainValue {
  if (value === null || value === undefined) return null;
  if (column.isArray) {
    return (value as { items: readonly unknown[] }).items.map((item) =>
      plainValue({ ...column, isArray: false }, item),
    ) as PlainValue;
  }
  switch (column.type) {
    case "address":
      return shownAddress(value as string);
    case "integer":
    case "unsigned":
    case "double":
      return Number(value);
    case "boolean":
      return value === true;
    case "time":
      return timeText((value as { nanos: bigint }).nanos);
    case "text":
      break;
  }
  return value as string;
}

/** Returns a time with as many decimals as it needs, in groups of three. */
function timeText(nanoseconds: bigint): string {
  const milliseconds = nanoseconds / 1_000_000n;
  const rest = nanoseconds % 1_000_000n;
  const text = new Date(Number(milliseconds)).toISOString();
  if (rest !== 0n) return text.replace("Z", `${String(rest).padStart(6, "0").replace(/000$/, "")}Z`);
  return text;
}

/** Returns the column of a metadata key that no flow has had so far. @throws ExploreError for any other field. */
function fieldNotSeen(field: string, known: Iterable<string>): Column {
  const near = nearName(field, known);
  const column = columnOf(field);
  if (near === undefined && column !== undefined && isMetadataName(field)) return column;
  const hint =
    near === undefined ? ": SVC_EXPLORE_FIELDS adds fields" : `: did you mean ${near}? SVC_EXPLORE_FIELDS adds fields`;
  throw new ExploreError("invalid_argument", `Explore does not keep the field ${quote(field)}${hint}`);
}
