import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { tmpdir } from "node:os";
import { ExploreError } from "../column.ts";
import { tableColumns, type AnswerTable } from "../query/answer.ts";
import { quoted } from "./duckdb-table.ts";
import { loadDuckDb, type DuckDb, openInstance } from "./duckdb-instance.ts";

/** Writes a table as a Parquet file. Times have Parquet's own type, in UTC. @param directory for temporary files. */
export async function writeParquet(
  connection: DuckDBConnection,
  directory: string,
  table: AnswerTable,
): Promise<Uint8Array> {
  const { head, lines } = table;
  mkdirSync(directory, { recursive: true });
  const name = join(directory, randomUUID());
  const [source, target] = [`${name}.json`, `${name}.parquet`];
  // Columns get numbers as names, because names of fields may have any characters.
  const json = lines.map((line) => `${JSON.stringify(Object.fromEntries(line.map((cell, i) => [`c${i}`, cell])))}\n`);
  const columns = tableColumns(table)
    .map(({ type, isArray }, i) => `c${i}: '${sqlTypes[type]}${isArray ? "[]" : ""}'`)
    .join(", ");
  const cells = head.map((each, i) => `c${i} AS ${quoted(each)}`).join(", ");
  const text = (path: string): string => `'${path.replaceAll("'", "''")}'`;
  try {
    writeFileSync(source, json.join(""));
    const rows = `read_json(${text(source)}, format = 'newline_delimited', columns = {${columns}})`;
    await connection.run(`COPY (SELECT ${cells} FROM ${rows}) TO ${text(target)} (FORMAT parquet)`);
    return readFileSync(target);
  } finally {
    for (const path of [source, target]) rmSync(path, { force: true });
  }
}

const sqlTypes = {
  text: "VARCHAR",
  integer: "BIGINT",
  double: "DOUBLE",
  boolean: "BOOLEAN",
  time: "TIMESTAMPTZ",
} as const;

const memoryBytes = 256 * 2 ** 20;

/**
 * Writes a table as a Parquet file, where no embedded store can do it.
 *
 * @throws ExploreError when DuckDB is not installed.
 */
export async function tableParquet(table: AnswerTable): Promise<Uint8Array> {
  const duckDb = duckDbOrFault();
  const directory = mkdtempSync(join(tmpdir(), "netgloss-parquet-"));
  const instance = await openInstance(duckDb, { directory, maxBytes: 4 * memoryBytes, memoryBytes }, 1);
  try {
    return await writeParquet(await instance.connect(), directory, table);
  } finally {
    instance.closeSync();
    rmSync(directory, { recursive: true, force: true });
  }
}

function duckDbOrFault(): DuckDb {
  try {
    return loadDuckDb();
  } catch {
    throw new ExploreError("unavailable", "Parquet is written by DuckDB, which is not installed here: ask for CSV");
  }
}
