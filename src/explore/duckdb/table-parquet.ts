import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ExploreError } from "../explore-error.ts";
import type { AnswerTable } from "../query/answer-table.ts";
import { loadDuckDb, type DuckDb } from "./load-duckdb.ts";
import { openInstance } from "./open-instance.ts";
import { writeParquet } from "./write-parquet.ts";

const memoryBytes = 256 * 2 ** 20;

/**
 * A table as a file of Parquet, where there is no embedded store to write it.
 *
 * @throws ExploreError when DuckDB is not installed.
 */
export async function tableParquet(table: AnswerTable): Promise<Uint8Array> {
  const duckDb = duckDbOrFault();
  const directory = mkdtempSync(join(tmpdir(), "netgloss-parquet-"));
  const instance = await openInstance(duckDb, { directory, maxBytes: 4 * memoryBytes, memoryBytes, threads: 1 });
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
