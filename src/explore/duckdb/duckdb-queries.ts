import type { DuckDBConnection, DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { join } from "node:path";
import { columnOf, ExploreError, isMetadataName, shownAddress, timeField, type Column } from "../column.ts";
import {
  bucketName,
  hasNext,
  nextName,
  recordSum,
  summandColumns,
  sumName,
  type PlainValue,
  type QueryEngine,
  type SqlValue,
  type Statement,
  type Summand,
  type WantedRows,
} from "../query/sql-dialect.ts";
import { duckDbDialect, quoted } from "./duckdb-table.ts";
import { bookedColumns, flowedBounds, flowedColumns } from "../booking.ts";
import { cellOf, millisecondType, tableOf, weightColumn, type Partition } from "./partition.ts";
import { isOf, minutesOf, planQuery, sourceColumn, sumColumns, type UsedRollups } from "./plan-query.ts";
import type { DuckDb } from "./duckdb-instance.ts";
import type { Clock } from "../../base/report/index.ts";
import { nearName, quote } from "../../base/text/index.ts";
import type { AnswerTable, ExploreAnswer, FlowsAnswer } from "../query/answer.ts";
import type { ExploreQuery, FlowsQuery, TimeRange } from "../query/explore-query.ts";
import { QueryGate, recordOf, runQuery } from "../query/run-query.ts";
import { flowsStatement } from "../query/query-sql.ts";
import { flowedStatements } from "../query/flowed-sql.ts";
import type { OpenedDuckDb } from "./open-duckdb.ts";
import { writeParquet } from "./parquet.ts";

/** Runs statements over the rows of some files. */
class DuckDbEngine implements QueryEngine {
  readonly dialect = duckDbDialect;
  readonly plain = plainValue;
  readonly #open: OpenedDuckDb;
  readonly #timeoutMs: number;
  readonly #partitions: readonly Partition[];
  readonly #rollups: readonly UsedRollups[];
  readonly #columns: ReadonlyMap<string, Column>;
  readonly #weight: string | undefined;

  constructor(
    open: OpenedDuckDb,
    timeoutMs: number,
    partitions: readonly Partition[],
    rollups: readonly UsedRollups[] = [],
  ) {
    this.#open = open;
    this.#timeoutMs = timeoutMs;
    this.#partitions = partitions;
    this.#rollups = rollups;
    this.#columns = new Map(open.store.columns().map((column) => [column.field, column]));
    this.#weight = partitions.some(({ maxWeight }) => maxWeight > 1) ? quoted(weightColumn) : undefined;
  }

  columnOf(field: string): Column {
    return this.#columns.get(field) ?? fieldNotSeen(field, this.#columns.keys());
  }

  /** The rows of files of records and of rollups as one table. A column that a file lacks is NULL there. */
  from(wanted: WantedRows): string {
    const { summand } = wanted;
    const selects = [
      ...(this.#partitions.length > 0 ? [this.#records(wanted)] : []),
      ...(summand === undefined ? [] : this.#rollups.map((used) => minutesSql(wanted, summand, used))),
    ];
    return `(${selects.join(" UNION ALL ")}) r`;
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
    const { columns, summand, granularitySeconds = 0, range } = wanted;
    if (wanted.when === "flowed" && summand !== undefined) return this.#flowed(wanted, summand);
    const weight = this.#weight;
    const columnNamed = (field: string): Column => this.columnOf(field);
    const summed = summand === undefined ? [] : summandColumns(summand, columnNamed);
    const read = [...new Map([...columns, ...summed].map((column) => [column.field, column])).values()];
    const selects = this.#partitions.map((partition) => {
      const cells = read.map((column) => namedCell(column, partition));
      const others = [...bucketCells(granularitySeconds), ...(weight === undefined ? [] : [weight])];
      const all = [...cells, ...others].join(", ") || "1 AS one";
      return `SELECT ${all} FROM ${tableOf(partition.name)} WHERE ${isWithin(range, partition)}`;
    });
    const bucket = granularitySeconds > 0 ? [bucketName] : [];
    const cells = [...columns.map(({ field }) => quoted(field)), ...bucket];
    const sum = summand && `${recordSum(summand, duckDbDialect, columnNamed, weight)} AS ${sumName}`;
    return `SELECT ${[...cells, ...(sum === undefined ? [] : [sum])].join(", ")} FROM (${selects.join(" UNION ALL ")})`;
  }

  /**
   * The same by when bytes flowed. Bounds are numbers on plain columns, which DuckDB tests where it reads. Where no flow of a file is cut, none of
   * its times are read.
   */
  #flowed(wanted: WantedRows, summand: Summand): string {
    const { columns, granularitySeconds = 0, range, milliseconds } = wanted;
    const step = 1000 * granularitySeconds;
    const weight = this.#weight;
    const cells = columns.map(({ field }) => quoted(field));
    const placed = (...places: readonly ReturnType<typeof placeOf>[]): readonly Partition[] =>
      this.#partitions.filter((partition) => places.includes(placeOf(partition, milliseconds, step)));
    const rowsOf = (partitions: readonly Partition[], more: readonly string[], isRead: (each: Partition) => string) =>
      this.#flowRows(columns, summand, partitions, more, isRead);
    const booked = (partitions: readonly Partition[], isInside: boolean): readonly string[] => {
      if (partitions.length === 0) return [];
      const { from, to } = milliseconds;
      const times = [`${flowed.start} AS flow_start`, `${flowed.end} AS flow_end`];
      const isRead = isInside ? `${flowed.start} IS NOT NULL` : `${flowed.end} >= ${from} AND ${flowed.start} < ${to}`;
      const rows = rowsOf(partitions, times, () => isRead);
      const cut = isInside ? undefined : { from: String(from), to: String(to) };
      // A file that is written to may get a longer one.
      const longest = Math.max(
        ...partitions.map((each) => (each.isComplete ? each.longestFlow : flowedBounds.longest)),
      );
      return flowedStatements(duckDbDialect, { rows, cells, weight, range: cut, longest }, step);
    };
    const atOnce = (partitions: readonly Partition[], isRead: (each: Partition) => string): readonly string[] => {
      if (partitions.length === 0) return [];
      const rows = rowsOf(partitions, bucketCells(granularitySeconds), isRead);
      const sum = weight === undefined ? "flow_value" : duckDbDialect.product("flow_value", weight);
      const sums = [
        ...(step === 0 ? [] : [bucketName]),
        `${sum} AS ${sumName}`,
        ...(step === 0 ? [] : [`0 AS ${nextName}`]),
      ];
      return [`SELECT ${[...cells, ...sums].join(", ")} FROM ${rows}`];
    };
    return [
      ...atOnce(placed("whole"), () => `${quoted(timeField)} IS NOT NULL`),
      ...atOnce(placed("within", "across"), (each) =>
        [...(hasFlowed(each) ? [`${flowed.start} IS NULL`] : []), isWithin(range, each)].join(" AND "),
      ),
      ...booked(placed("within").filter(hasFlowed), true),
      ...booked(placed("across").filter(hasFlowed), false),
    ].join(" UNION ALL ");
  }

  /** Rows of files as one table: the columns, what is added up as `flow_value`, and more cells. */
  #flowRows(
    columns: readonly Column[],
    summand: Summand,
    partitions: readonly Partition[],
    more: readonly string[],
    isRead: (each: Partition) => string,
  ): string {
    const columnNamed = (field: string): Column => this.columnOf(field);
    const read = new Map([...columns, ...summandColumns(summand, columnNamed)].map((column) => [column.field, column]));
    const selects = partitions.map((partition) => {
      const cells = [...read.values()].map((column) => namedCell(column, partition));
      const all = [...cells, ...more, ...(this.#weight === undefined ? [] : [this.#weight])].join(", ");
      return `SELECT ${all} FROM ${tableOf(partition.name)} WHERE ${isRead(partition)}`;
    });
    const value = recordSum(summand, duckDbDialect, columnNamed, undefined);
    return `(SELECT *, CAST(${value} AS UBIGINT) AS flow_value FROM (${selects.join(" UNION ALL ")}))`;
  }
}

/**
 * Tells how a range cuts the flows of a file: not, and each is in one bucket as a whole (`whole`), into buckets only (`within`), or at the ends
 * of the range, too (`across`). A file that is written to may get any.
 */
function placeOf(partition: Partition, { from, to }: TimeRange, step: number): "whole" | "within" | "across" {
  const { isComplete, flowedFrom, to: last } = partition;
  if (!isComplete || flowedFrom === undefined || last === undefined) return "across";
  const flowedTo = last + flowedBounds.ahead;
  if (flowedFrom < from || flowedTo >= to) return "across";
  const bucketOf = (time: number): number => (step === 0 ? 0 : Math.floor(time / step));
  return bucketOf(flowedFrom) === bucketOf(flowedTo) ? "whole" : "within";
}

const flowed = { start: quoted(flowedColumns.start.field), end: quoted(flowedColumns.end.field) };

function hasFlowed(partition: Partition): boolean {
  return bookedColumns.every(({ field }) => partition.columns.has(field));
}

function minutesSql(
  { columns, granularitySeconds = 0, range, when = "received" }: WantedRows,
  summand: Summand,
  { file, sources }: UsedRollups,
): string {
  const cells = [...columns.map((column) => namedCell(column, file)), ...bucketCells(granularitySeconds)];
  const [low, high] = sumColumns[summand].map(quoted);
  const sum = `${low}::HUGEINT + (${high}::HUGEINT << 64) AS ${sumName}${hasNext({ when, granularitySeconds }) ? `, 0 AS ${nextName}` : ""}`;
  const ids = sources.map(({ id }) => id).join(", ");
  return `SELECT ${[...cells, sum].join(", ")} FROM ${minutesOf(file.name)} WHERE "${sourceColumn}" IN (${ids}) AND ${isOf(when)} AND ${isWithin(range, { milliseconds: noMilliseconds })}`;
}

/** Cuts the time as the file has it. */
function bucketCells(granularitySeconds: number): readonly string[] {
  if (granularitySeconds === 0) return [];
  return [`${duckDbDialect.bucket(quoted(timeField), granularitySeconds)} AS ${bucketName}`];
}

/** In the type of the file's column: a conversion of each row costs as much as a sum. */
function isWithin({ from, to }: WantedRows["range"], file: Pick<Partition, "milliseconds">): string {
  const time = quoted(timeField);
  return `${time} >= ${boundOf(from, file)} AND ${time} < ${boundOf(to, file)}`;
}

function boundOf(instant: string, { milliseconds }: Pick<Partition, "milliseconds">): string {
  return milliseconds.has(timeField) ? `CAST(CAST(${instant} AS TIMESTAMP) AS ${millisecondType})` : instant;
}

type FileColumns = Pick<Partition, "columns"> & Partial<Pick<Partition, "milliseconds">>;

const noMilliseconds: ReadonlySet<string> = new Set();

function namedCell(column: Column, { columns, milliseconds = noMilliseconds }: FileColumns): string {
  return `${cellOf(column, { columns, milliseconds })} AS ${quoted(column.field)}`;
}

async function runStatement(
  connection: DuckDBConnection,
  { sql, values }: Statement,
  duckDb: DuckDb,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly (readonly unknown[])[]> {
  signal.throwIfAborted();
  let isLate = false;
  const interrupt = (): void => connection.interrupt();
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

/** With as many decimals as it needs, three at a time. */
function timeText(nanoseconds: bigint): string {
  const milliseconds = nanoseconds / 1_000_000n;
  const rest = nanoseconds % 1_000_000n;
  const text = new Date(Number(milliseconds)).toISOString();
  if (rest !== 0n) return text.replace("Z", `${String(rest).padStart(6, "0").replace(/000$/, "")}Z`);
  return text;
}

const maxRunning = 2;
const maxWaiting = 16;

/** Queries of the files of rows. */
export class DuckDbQueries {
  readonly #opened: () => OpenedDuckDb;
  readonly #directory: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #gate = new QueryGate(maxRunning, maxWaiting);

  /** @param opened throws ExploreError when there is no store at present. */
  constructor(opened: () => OpenedDuckDb, directory: string, timeoutMs: number, clock: Clock) {
    this.#opened = opened;
    this.#directory = directory;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
  }

  /** @throws ExploreError */
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer> {
    return this.#ask(signal, async (open) => {
      const begun = this.#clock.monotonic();
      const { store, rollups } = open;
      const plan = planQuery(query, store.partitions(), rollups.files());
      const engine = new DuckDbEngine(open, this.#timeoutMs, plan.partitions, plan.rollups);
      const answer = await runQuery(plan.query, engine, signal);
      const elapsedMs = Math.round(this.#clock.monotonic() - begun);
      return { ...answer, sampling: plan.sampling, ...plan.coverage, store: "duckdb", elapsedMs };
    });
  }

  /** @throws ExploreError */
  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer> {
    return this.#ask(signal, async (open) => {
      const all = open.store.partitions();
      const partitions = partitionsOf(all, query);
      const records: FlowsAnswer["records"][number][] = [];
      for (const partition of partitions.toReversed()) {
        const engine = new DuckDbEngine(open, this.#timeoutMs, [partition]);
        const named = query.fields.map((field) => engine.columnOf(field));
        const columns = named.length > 0 ? named : open.store.columns();
        const limit = query.limit - records.length;
        if (limit === 0) break;
        const found = await engine.rows(flowsStatement({ ...query, engine }, columns, limit), signal);
        records.push(...found.map((row) => recordOf(columns, row, engine)));
      }
      const sampling = partitions.reduce((most, { maxWeight }) => Math.max(most, maxWeight), 1);
      const oldest = all.find(({ from }) => from !== undefined)?.from;
      return { records, sampling, complete: oldest !== undefined && oldest <= query.from };
    });
  }

  /** Writes a table as a file of Parquet. */
  async parquet(table: AnswerTable): Promise<Uint8Array> {
    const connection = await this.#opened().instance.connect();
    try {
      return await writeParquet(connection, join(this.#directory, "tmp"), table);
    } finally {
      connection.closeSync();
    }
  }

  /** A file may go while it is asked, because it is old: then the query is planned again. */
  #ask<T>(signal: AbortSignal, answer: (open: OpenedDuckDb) => Promise<T>): Promise<T> {
    return this.#gate.run(signal, async () => {
      for (let triesLeft = 2; ; triesLeft--) {
        try {
          const open = this.#opened();
          return await open.threads.during(() => answer(open));
        } catch (error) {
          if (triesLeft === 0 || !isGone(error)) throw error;
        }
      }
    });
  }
}

/** Returns the files of a range; the oldest comes first. */
function partitionsOf(all: readonly Partition[], { from, to }: TimeRange): readonly Partition[] {
  const within = all.filter((each) => (each.from ?? 0) < to && (each.to ?? Number.POSITIVE_INFINITY) >= from);
  return within.length > 0 ? within : all.slice(-1);
}

function isGone(error: unknown): boolean {
  return error instanceof Error && /^(?:Catalog|Binder) Error.* does not exist/.test(error.message);
}

/** A key of metadata may be one that no flow has had so far. @throws ExploreError for any other field. */
function fieldNotSeen(field: string, known: Iterable<string>): Column {
  const near = nearName(field, known);
  const column = columnOf(field);
  if (near === undefined && column !== undefined && isMetadataName(field)) return column;
  const hint =
    near === undefined ? ": SVC_EXPLORE_FIELDS adds fields" : `: did you mean ${near}? SVC_EXPLORE_FIELDS adds fields`;
  throw new ExploreError("invalid_argument", `Explore does not keep the field ${quote(field)}${hint}`);
}
