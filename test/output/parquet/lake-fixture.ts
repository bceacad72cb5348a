import { createRequire } from "node:module";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type * as Api from "@duckdb/node-api";
import type { TestContext } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";

const { DuckDBInstance } = createRequire(import.meta.url)("@duckdb/node-api") as typeof Api;

export type Row = Readonly<Record<string, unknown>>;

/** Asks DuckDB; `$lake` in the statement stands for all files of flows. */
export async function lakeReader(t: TestContext, root: string): Promise<(sql: string) => Promise<Row[]>> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  cleanUp(t, () => {
    connection.closeSync();
    instance.closeSync();
  });
  return async (sql) => {
    const files = `read_parquet('${root}/flow/*/*/*.parquet', union_by_name = true, hive_partitioning = true)`;
    const reader = await connection.runAndReadAll(sql.replaceAll("$lake", files));
    return reader.getRowObjectsJson();
  };
}

/** All files below a directory, by their paths in it. */
export function filesBelow(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
}
