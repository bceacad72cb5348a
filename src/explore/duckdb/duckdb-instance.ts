import { createRequire } from "node:module";
import type * as Api from "@duckdb/node-api";
import type { DuckDBInstance } from "@duckdb/node-api";
import type * as Bindings from "@duckdb/node-bindings";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock, Log } from "../../base/report/index.ts";
import type { SamplingRates } from "../sampling/index.ts";

/** The module of DuckDB, which is an optional dependency. */
export interface DuckDb {
  readonly api: typeof Api;
  readonly bindings: typeof Bindings;
}

/** The configuration of the embedded store; plain data. */
export interface EmbeddedExploreConfig {
  readonly directory: string;
  /** Maximum bytes of all files together. A quarter of them is for work in progress. */
  readonly maxBytes: number;
  readonly maxHours: number;
  readonly rollups: {
    /** Retention of rollups in days. 0: none are made, and existing ones are removed. */
    readonly maxDays: number;
    readonly maxBytes: number;
    /** Fields of rollups in addition to the default ones. */
    readonly fields: readonly string[];
  };
  /** Rates above which one record stands for several. */
  readonly rates: SamplingRates;
  /** Maximum memory for queries, in bytes. */
  readonly memoryBytes: number;
  /** Fields to keep in addition to the default ones. */
  readonly fields: readonly string[];
  /** Maximum number of metadata keys that become columns automatically. */
  readonly maxMetadataFields: number;
  readonly timeoutMs: number;
  /** Maximum number of rows over which different values are counted exactly. Above it they are estimated. Default: 8 million. */
  readonly maxCountedRows?: number;
}

/** Context shared by the parts of an open store. */
export interface StoreContext {
  readonly duckDb: DuckDb;
  readonly instance: DuckDBInstance;
  readonly config: EmbeddedExploreConfig;
  /** Reports whether nothing more urgent waits than sorting complete files. */
  readonly isCalm: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Both modules are CommonJS. An import would search for their export names first, which takes twice as long as loading. */
const load = createRequire(import.meta.url);

/** Loads DuckDB. @throws Error that says how to install it, when it cannot be loaded. */
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

/** Opens DuckDB without a database of its own: files are attached to it. It also creates the directory. */
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
    // A checkpoint runs only once for each file, when it is complete, on another thread than the one that takes records.
    checkpoint_threshold: "1TiB",
  });
}
