import { createRequire } from "node:module";
import type * as Api from "@duckdb/node-api";
import type { DuckDBInstance } from "@duckdb/node-api";
import type * as Bindings from "@duckdb/node-bindings";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock, Log } from "../../base/report/index.ts";
import type { SamplingRates } from "../sampling/index.ts";

/** DuckDB, which is an optional dependency. */
export interface DuckDb {
  readonly api: typeof Api;
  readonly bindings: typeof Bindings;
}

/** The configuration of the embedded store; plain data. */
export interface EmbeddedExploreConfig {
  readonly directory: string;
  /** Bytes that the files may have together; a quarter of them is for work under way. */
  readonly maxBytes: number;
  readonly maxHours: number;
  readonly rollups: {
    /** 0: none are made, and those that are there are removed. */
    readonly maxDays: number;
    readonly maxBytes: number;
    /** Fields that they keep besides the usual ones. */
    readonly fields: readonly string[];
  };
  /** Rates above which one record stands for several. */
  readonly rates: SamplingRates;
  /** Bytes of memory that queries may take. */
  readonly memoryBytes: number;
  /** Fields that are kept besides the usual ones. */
  readonly fields: readonly string[];
  /** The number of keys of metadata that become columns by themselves. */
  readonly maxMetadataFields: number;
  readonly timeoutMs: number;
  /** Of so many rows all different values are counted; of more it is estimated how many there are. Left out: 8 million. */
  readonly maxCountedRows?: number;
}

/** Context that the parts of an open store share. */
export interface StoreContext {
  readonly duckDb: DuckDb;
  readonly instance: DuckDBInstance;
  readonly config: EmbeddedExploreConfig;
  /** Tells whether nothing waits that is more urgent than to sort complete files. */
  readonly isCalm: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Both are CommonJS: an import would look for their names first, which takes twice the time of loading them. */
const load = createRequire(import.meta.url);

/** @throws Error that says how DuckDB comes to be there, when it cannot be loaded. */
export function loadDuckDb(): DuckDb {
  try {
    return {
      api: load("@duckdb/node-api") as typeof Api,
      bindings: load("@duckdb/node-bindings") as typeof Bindings,
    };
  } catch (error) {
    throw new Error(
      `Explore needs DuckDB, which is not installed for ${process.platform}-${process.arch}: npm install @duckdb/node-api @duckdb/node-bindings, or set SVC_EXPLORE_ENABLE to false`,
      { cause: error },
    );
  }
}

/** DuckDB without a database of its own: files are attached to it. Makes the directory, too. */
export function openInstance(
  { api }: DuckDb,
  { directory, maxBytes, memoryBytes }: Pick<EmbeddedExploreConfig, "directory" | "maxBytes" | "memoryBytes">,
  threads: number,
): Promise<DuckDBInstance> {
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
