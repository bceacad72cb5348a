import type * as Api from "@duckdb/node-api";
import type * as Bindings from "@duckdb/node-bindings";

/** DuckDB, which is an optional dependency. */
export interface DuckDb {
  readonly api: typeof Api;
  readonly bindings: typeof Bindings;
}

/** @throws Error that says how DuckDB comes to be there, when it cannot be loaded. */
export async function loadDuckDb(): Promise<DuckDb> {
  try {
    const [api, bindings] = await Promise.all([import("@duckdb/node-api"), import("@duckdb/node-bindings")]);
    return { api, bindings: bindings.default as unknown as typeof Bindings };
  } catch (error) {
    throw new Error(
      `Explore needs DuckDB, which is not installed for ${process.platform}-${process.arch}: npm install @duckdb/node-api @duckdb/node-bindings, or set SVC_EXPLORE_ENABLE to false`,
      { cause: error },
    );
  }
}
