import type { DuckDBConnection, DuckDBInstance, DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { join } from "node:path";
import { timeField, type Column, columnOf, isMetadataName } from "../column.ts";
import type { RecordSource, WantedRows } from "../query/sql-dialect.ts";
import { bucketName, recordSum, summandColumns, sumName, type Summand } from "../query/sql-dialect.ts";
import { duckDbDialect, quoted } from "./duckdb-table.ts";
import { cellOf, millisecondType, tableOf, weightColumn, type Partition } from "./partition.ts";
import { type UsedRollups, planQuery } from "./plan-query.ts";
import { minutesOf, sourceColumn, sumColumns } from "./plan-query.ts";
import { shownAddress } from "../column.ts";
import { ExploreError } from "../column.ts";
import type { PlainValue, QueryEngine } from "../query/sql-dialect.ts";
import type { SqlValue, Statement } from "../query/sql-dialect.ts";
import type { DuckDb } from "./duckdb-instance.ts";
import type { Clock } from "../../base/report/index.ts";
import { nearName, quote } from "../../base/text/index.ts";
import type { AnswerTable } from "../query/answer.ts";
import type { ExploreAnswer } from "../query/answer.ts";
import type { ExploreQuery, FlowsQuery, TimeRange } from "../query/explore-query.ts";
import type { FlowsAnswer } from "../query/answer.ts";
import { createQueryGate } from "../query/run-query.ts";
import { flowsStatement } from "../query/query-sql.ts";
import { recordOf } from "../query/run-query.ts";
import { runQuery } from "../query/run-query.ts";
import type { OpenedDuckDb } from "./open-duckdb.ts";
import { writeParquet } from "./parquet.ts";

interface RowsOptions {
  readonly partitions: readonly Partition[];
  readonly rollups: readonly UsedRollups[];
  readonly columnOf: (field: string) => Column;
}

/** The rows of files of records and of rollups as one table. A column that a file lacks is NULL there. */
function rowsOf({ partitions, rollups, columnOf: columnNamed }: RowsOptions): RecordSource["from"] {
  const weight = partitions.some(({ maxWeight }) => maxWeight > 1) ? quoted(weightColumn) : undefined;

  const records = ({ columns, summand, granularitySeconds = 0, range }: WantedRows): string => {
    const summed = summand === undefined ? [] : summandColumns(summand, columnNamed);
    const read = [...new Map([...columns, ...summed].map((column) => [column.field, column])).values()];
    const selects = partitions.map((partition) => {
      const cells = read.map((column) => namedCell(column, partition));
      const others = [...bucketCells(granularitySeconds), ...(weight === undefined ? [] : [weight])];
      const all = [...cells, ...others].join(", ") || "1 AS one";
      return `SELECT ${all} FROM ${tableOf(partition.name)} WHERE ${isWithin(range, partition)}`;
    });
    const bucket = granularitySeconds > 0 ? [bucketName] : [];
    const cells = [...columns.map(({ field }) => quoted(field)), ...bucket];
    const sum =
      summand && `${recordSum(summand, { dialect: duckDbDialect, columnOf: columnNamed, weight })} AS ${sumName}`;
    return `SELECT ${[...cells, ...(sum === undefined ? [] : [sum])].join(", ")} FROM (${selects.join(" UNION ALL ")})`;
  };
  const minutes = (
    { columns, granularitySeconds = 0, range }: WantedRows,
    summand: Summand,
    { file, sources }: UsedRollups,
  ): string => {
    const cells = [...columns.map((column) => namedCell(column, file)), ...bucketCells(granularitySeconds)];
    const [low, high] = sumColumns[summand].map(quoted);
    const sum = `${low}::HUGEINT + (${high}::HUGEINT << 64) AS ${sumName}`;
    const ids = sources.map(({ id }) => id).join(", ");
    return `SELECT ${[...cells, sum].join(", ")} FROM ${minutesOf(file.name)} WHERE "${sourceColumn}" IN (${ids}) AND ${isWithin(range, { milliseconds: noMilliseconds })}`;
  };
  return (wanted) => {
    const { summand } = wanted;
    const selects = [
      ...(partitions.length > 0 ? [records(wanted)] : []),
      ...(summand === undefined ? [] : rollups.map((used) => minutes(wanted, summand, used))),
    ];
    return `(${selects.join(" UNION ALL ")}) r`;
  };
}

/** Of the time as the file has it. */
function bucketCells(granularitySeconds: number): readonly string[] {
  if (granularitySeconds === 0) return [];
  return [`${duckDbDialect.bucket(quoted(timeField), granularitySeconds)} AS ${bucketName}`];
}

/** In the type of the file's column: a conversion of each row costs as much as a sum. */
function isWithin({ from, to }: WantedRows["range"], { milliseconds }: Pick<Partition, "milliseconds">): string {
  const time = quoted(timeField);
  const bound = (instant: string): string =>
    milliseconds.has(timeField) ? `CAST(CAST(${instant} AS TIMESTAMP) AS ${millisecondType})` : instant;
  return `${time} >= ${bound(from)} AND ${time} < ${bound(to)}`;
}

const noMilliseconds: ReadonlySet<string> = new Set();

function namedCell(column: Column, { columns, milliseconds = noMilliseconds }: Has): string {
  return `${cellOf(column, { columns, milliseconds })} AS ${quoted(column.field)}`;
}

interface Has {
  readonly columns: ReadonlySet<string>;
  readonly milliseconds?: ReadonlySet<string>;
}

interface DuckDbEngineOptions {
  readonly duckDb: DuckDb;
  readonly instance: DuckDBInstance;
  readonly partitions: readonly Partition[];
  readonly rollups: readonly UsedRollups[];
  /** @throws ExploreError for a field that is not kept. */
  readonly columnOf: (field: string) => Column;
  /** How long a statement may take. */
  readonly timeoutMs: number;
}

/** Runs statements over the rows of some files. */
function createDuckDbEngine(options: DuckDbEngineOptions): QueryEngine {
  const { duckDb, instance, partitions, rollups, columnOf: columnNamed, timeoutMs } = options;
  return {
    source: {
      dialect: duckDbDialect,
      columnOf: columnNamed,
      from: rowsOf({ partitions, rollups, columnOf: columnNamed }),
    },
    async rows(statement, signal) {
      const connection = await instance.connect();
      try {
        return await runStatement(connection, statement, { duckDb, timeoutMs, signal });
      } finally {
        connection.closeSync();
      }
    },
    plain: plainValue,
  };
}

interface RunOptions {
  readonly duckDb: DuckDb;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

async function runStatement(
  connection: DuckDBConnection,
  { sql, values }: Statement,
  { duckDb, timeoutMs, signal }: RunOptions,
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

export interface DuckDbQuestionsOptions {
  /** @throws ExploreError when there is no store at present. */
  readonly opened: () => OpenedDuckDb;
  readonly directory: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** What is asked of the files of rows. */
export interface DuckDbQuestions {
  /** @throws ExploreError */
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer>;
  /** @throws ExploreError */
  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer>;
  /** A table as a file of Parquet. */
  parquet(table: AnswerTable): Promise<Uint8Array>;
}

const maxRunning = 2;
const maxWaiting = 16;

export function createDuckDbQuestions(options: DuckDbQuestionsOptions): DuckDbQuestions {
  const { opened, directory, timeoutMs, clock } = options;
  const gate = createQueryGate(maxRunning, maxWaiting);
  const engineOf = (partitions: readonly Partition[], rollups: readonly UsedRollups[] = []): QueryEngine => {
    const open = opened();
    const columns = new Map(open.store.columns().map((column) => [column.field, column]));
    return createDuckDbEngine({
      ...open,
      partitions,
      rollups,
      timeoutMs,
      columnOf: (field) => columns.get(field) ?? fieldNotSeen(field, columns.keys()),
    });
  };
  /** The oldest comes first. */
  const partitionsOf = ({ from, to }: TimeRange): readonly Partition[] => {
    const all = opened().store.partitions();
    const within = all.filter((each) => (each.from ?? 0) < to && (each.to ?? Number.POSITIVE_INFINITY) >= from);
    return within.length > 0 ? within : all.slice(-1);
  };
  const samplingOf = (partitions: readonly Partition[]): number =>
    partitions.reduce((most, { maxWeight }) => Math.max(most, maxWeight), 1);
  const isComplete = ({ from }: TimeRange): boolean => {
    const oldest = opened()
      .store.partitions()
      .find((each) => each.from !== undefined)?.from;
    return oldest !== undefined && oldest <= from;
  };

  /** A file may go while it is asked, because it is old: then the question is planned again. */
  const ask = <T>(signal: AbortSignal, answer: () => Promise<T>): Promise<T> =>
    gate.run(signal, async () => {
      for (let triesLeft = 2; ; triesLeft--) {
        try {
          return await opened().questionThreads.during(answer);
        } catch (error) {
          if (triesLeft === 0 || !isGone(error)) throw error;
        }
      }
    });

  return {
    query: (query, signal) =>
      ask(signal, async () => {
        const begun = clock.monotonic();
        const { store, rollups } = opened();
        const plan = planQuery(query, { partitions: store.partitions(), rollups: rollups.files() });
        const answer = await runQuery(plan.query, engineOf(plan.partitions, plan.rollups), signal);
        return {
          ...answer,
          sampling: plan.sampling,
          ...plan.coverage,
          store: "duckdb",
          elapsedMs: Math.round(clock.monotonic() - begun),
        };
      }),
    flows: (query, signal) =>
      ask(signal, async () => {
        const partitions = partitionsOf(query);
        const records: Readonly<Record<string, PlainValue>>[] = [];
        for (const partition of partitions.toReversed()) {
          const engine = engineOf([partition]);
          const columns =
            query.fields.length > 0
              ? query.fields.map((field) => engine.source.columnOf(field))
              : opened().store.columns();
          const limit = query.limit - records.length;
          if (limit === 0) break;
          const statement = flowsStatement({ ...query, source: engine.source }, columns, limit);
          for (const row of await engine.rows(statement, signal)) {
            records.push(
              recordOf(
                columns,
                row.map((value, i) => engine.plain(columns[i] as Column, value)),
              ),
            );
          }
        }
        return { records, sampling: samplingOf(partitions), complete: isComplete(query) };
      }),
    async parquet(table) {
      const connection = await opened().instance.connect();
      try {
        return await writeParquet(connection, join(directory, "tmp"), table);
      } finally {
        connection.closeSync();
      }
    },
  };
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
