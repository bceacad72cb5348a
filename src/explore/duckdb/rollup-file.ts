import type { DuckDBConnection } from "@duckdb/node-api";
import { isMetadataName, timeField, type Column } from "../columns/column.ts";
import { sqlType } from "./append-block.ts";
import { quoted } from "./duckdb-dialect.ts";

/** A file of rows of which rollups were made. */
export interface RolledUp {
  /** Of the rows in the file of rollups. */
  readonly id: number;
  /** The id of the file of rows. */
  readonly name: string;
  /** Of the records, milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly maxWeight: number;
}

/** A file with the rollups of a day, or of a part of it. */
export interface RollupFile {
  readonly name: string;
  readonly columns: Set<string>;
  readonly sources: RolledUp[];
}

/** The columns besides the time and the fields: which file of rows a row comes from, and the sums. A sum has 128 bits in two columns, because DuckDB does not compress numbers of 128 bits. */
export const sourceColumn = "explore.source";
export const sumColumns = {
  bytes: ["explore.bytes", "explore.bytes.high"],
  packets: ["explore.packets", "explore.packets.high"],
  flows: ["explore.flows", "explore.flows.high"],
} as const;

export const minutesOf = (name: string): string => `${quoted(name)}.main.minutes`;
export const sourcesOf = (name: string): string => `${quoted(name)}.main.sources`;

const definition = (column: Column): string => `${quoted(column.field)} ${sqlType(column)}`;

/** Makes the tables of an attached file if it has none, and says what is in them. */
export async function readRollupFile(
  connection: DuckDBConnection,
  name: string,
  columns: readonly Column[],
): Promise<RollupFile> {
  const table = minutesOf(name);
  const cells = [
    `"${sourceColumn}" UINTEGER`,
    `"${timeField}" TIMESTAMP_NS`,
    ...columns.map(definition),
    ...Object.values(sumColumns).flatMap((pair) => pair.map((each) => `"${each}" UBIGINT`)),
  ];
  await connection.run(`CREATE TABLE IF NOT EXISTS ${table} (${cells.join(", ")})`);
  await connection.run(
    `CREATE TABLE IF NOT EXISTS ${sourcesOf(name)} (id UINTEGER, name VARCHAR, "from" BIGINT, "to" BIGINT, weight UINTEGER)`,
  );
  const described = await connection.runAndReadAll(`DESCRIBE ${table}`);
  const sources = await connection.runAndReadAll(
    `SELECT id, name, "from", "to", weight FROM ${sourcesOf(name)} ORDER BY id`,
  );
  return {
    name,
    columns: new Set(described.getRows().map(([column]) => String(column))),
    sources: sources.getRows().map(([id, source, from, to, weight]) => ({
      id: Number(id),
      name: String(source),
      from: Number(from),
      to: Number(to),
      maxWeight: Number(weight),
    })),
  };
}

/**
 * Gives a file the columns that it lacks. Only keys of metadata can be added: rows from before have no such key.
 *
 * @returns whether it has all of the columns.
 */
export async function addColumns(
  connection: DuckDBConnection,
  file: RollupFile,
  columns: readonly Column[],
): Promise<boolean> {
  const missing = columns.filter(({ field }) => !file.columns.has(field));
  if (missing.some(({ field }) => !isMetadataName(field))) return false;
  for (const column of missing) {
    await connection.run(`ALTER TABLE ${minutesOf(file.name)} ADD COLUMN ${definition(column)}`);
    file.columns.add(column.field);
  }
  return true;
}
