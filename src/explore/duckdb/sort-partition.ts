import type { DuckDBConnection } from "@duckdb/node-api";
import { columnOf } from "../columns/column.ts";
import { quoted } from "./duckdb-dialect.ts";
import { millisecondType, tableOf, type Partition } from "./partition.ts";

export interface SortPartitionOptions {
  readonly connection: DuckDBConnection;
  readonly partition: Partition;
  /** The schema of the file that gets the rows. */
  readonly target: string;
  /** Called before each slice: waits as long as others need the processor, and throws when the work shall end. */
  readonly pause: () => Promise<void>;
}

/** DuckDB compresses rows in groups of this size. */
export const groupRows = 122_880;
/** How many rows are sorted at once. */
const sliceRows = 8 * groupRows;
/** Rows of the same ends side by side have nearly the same names, and take a third of the room. */
const order = ["flow.export.ip.addr", "flow.src.ip.addr", "flow.dst.ip.addr"];

/**
 * Writes the rows of a file into another one, sorted slice by slice. Times that are whole milliseconds are kept as such, because they take
 * 20 bits less.
 *
 * @throws Error when not all rows arrived.
 */
export async function sortPartition({ connection, partition, target, pause }: SortPartitionOptions): Promise<void> {
  const from = tableOf(partition.name);
  const to = tableOf(target);
  const countOf = async (table: string): Promise<number> =>
    Number((await connection.runAndReadAll(`SELECT count(*) FROM ${table}`)).getRows()[0]?.[0]);
  const shortened = await wholeMilliseconds(connection, partition);
  const replaced = shortened.map(
    (field) => `CAST(CAST(${quoted(field)} AS TIMESTAMP) AS ${millisecondType}) AS ${quoted(field)}`,
  );
  const cells = replaced.length > 0 ? `* REPLACE (${replaced.join(", ")})` : "*";
  const keys = order.filter((field) => partition.columns.has(field)).map(quoted);

  await connection.run(`CREATE TABLE ${to} AS SELECT ${cells} FROM ${from} LIMIT 0`);
  const rows = await countOf(from);
  for (let first = 0; first < rows; first += sliceRows) {
    await pause();
    const slice = `SELECT ${cells} FROM ${from} WHERE rowid >= ${first} AND rowid < ${first + sliceRows}`;
    await connection.run(`INSERT INTO ${to} ${slice}${keys.length > 0 ? ` ORDER BY ${keys.join(", ")}` : ""}`);
  }
  const written = await countOf(to);
  if (written !== rows) throw new Error(`${written} rows were written of the ${rows} of ${partition.name}`);
}

/** Of the columns of times, those without anything below a millisecond. */
async function wholeMilliseconds(connection: DuckDBConnection, partition: Partition): Promise<readonly string[]> {
  const times = [...partition.columns].filter(
    (field) =>
      columnOf(field)?.type === "time" && columnOf(field)?.isArray === false && !partition.milliseconds.has(field),
  );
  if (times.length === 0) return [];
  const tests = times.map((field) => `count(*) FILTER (epoch_ns(${quoted(field)}) % 1000000 <> 0)`);
  const counted = await connection.runAndReadAll(`SELECT ${tests.join(", ")} FROM ${tableOf(partition.name)}`);
  return times.filter((_, i) => Number(counted.getRows()[0]?.[i]) === 0);
}
