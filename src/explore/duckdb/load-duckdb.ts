import { createRequire } from "node:module";
import type * as Api from "@duckdb/node-api";
import type * as Bindings from "@duckdb/node-bindings";

/** DuckDB, which is an optional dependency. */
export interface DuckDb {
  readonly api: typeof Api;
  readonly bindings: typeof Bindings;
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
