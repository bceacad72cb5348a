import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDb } from "./load-duckdb.ts";

export interface InstanceOptions {
  readonly directory: string;
  /** What the files may have together; a quarter of it is for what is under way. */
  readonly maxBytes: number;
  readonly memoryBytes: number;
  readonly threads: number;
}

/** DuckDB without a database of its own: files are attached to it. Makes the directory, too. */
export function openInstance({ api }: DuckDb, options: InstanceOptions): Promise<DuckDBInstance> {
  const { directory, maxBytes, memoryBytes, threads } = options;
  const temporary = join(directory, "tmp");
  mkdirSync(directory, { recursive: true });
  rmSync(temporary, { recursive: true, force: true });
  return api.DuckDBInstance.create(":memory:", {
    threads: String(threads),
    memory_limit: `${Math.floor(memoryBytes / 1024)}KiB`,
    temp_directory: temporary,
    max_temp_directory_size: `${Math.floor(maxBytes / 4 / 1024)}KiB`,
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
    preserve_insertion_order: "false",
    // A file is put in order once, when it is complete, and aside of the thread that takes records.
    checkpoint_threshold: "1TiB",
  });
}
