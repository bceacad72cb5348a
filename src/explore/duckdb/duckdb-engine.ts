import type { DuckDBConnection, DuckDBInstance, DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { shownAddress } from "../columns/address-text.ts";
import type { Column } from "../columns/column.ts";
import { ExploreError } from "../explore-error.ts";
import type { PlainValue, QueryEngine } from "../query/query-engine.ts";
import type { SqlValue, Statement } from "../query/sql-dialect.ts";
import { duckDbDialect } from "./duckdb-dialect.ts";
import type { DuckDb } from "./load-duckdb.ts";
import type { Partition } from "./partition.ts";
import type { UsedRollups } from "./plan-query.ts";
import { rowsOf } from "./rows-sql.ts";

export interface DuckDbEngineOptions {
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
export function createDuckDbEngine(options: DuckDbEngineOptions): QueryEngine {
  const { duckDb, instance, partitions, rollups, columnOf, timeoutMs } = options;
  return {
    source: { dialect: duckDbDialect, columnOf, from: rowsOf({ partitions, rollups, columnOf }) },
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
