import { scopeFields, shownWith, type Filter, type ShownWith } from "../../record/index.ts";
import { quote } from "../../base/text/index.ts";
import { columnOf, ExploreError, isMetadataName, type Column } from "../column.ts";
import type { ExploreQuery } from "./explore-query.ts";
import type { QueryEngine, Spreading, SqlDialect } from "./sql-dialect.ts";

/** Limits a query to records with an end in one of these scopes. {@link limitedTo} limits which fields of them are visible. */
export function inScopes<Query extends Pick<ExploreQuery, "filter" | "scopes">>(
  query: Query,
  scopes: readonly string[],
): Query {
  // No scope has an empty name.
  const values = scopes.length === 0 ? [""] : scopes;
  const limit: Filter = { kind: "texts", fields: Object.values(scopeFields), values };
  const filter: Filter = query.filter === undefined ? limit : { kind: "and", filters: [limit, query.filter] };
  return { ...query, filter, scopes };
}

/**
 * Returns an engine for callers who are limited to scopes. Fields that they may not see are missing from records, also for filters and keys. For an end
 * in another scope, or in none, only address, port and protocol are visible. Fields of the connection are visible where both ends are in the caller's
 * scopes.
 *
 * @param scopes undefined: the caller is not limited.
 */
export function limitedTo(scopes: readonly string[] | undefined, engine: QueryEngine): QueryEngine {
  return scopes === undefined ? engine : new LimitedEngine(scopes, engine);
}

class LimitedEngine implements QueryEngine {
  readonly dialect: SqlDialect;
  readonly plain: QueryEngine["plain"];
  readonly countsUpTo: number;
  readonly #engine: QueryEngine;

  constructor(scopes: readonly string[], engine: QueryEngine) {
    this.#engine = engine;
    this.plain = engine.plain;
    this.countsUpTo = engine.countsUpTo;
    const { dialect } = engine;
    const names = scopes.map((name) => `'${name.replaceAll("'", "''")}'`).join(", ") || "NULL";
    const isIn = (field: string): string => `(${dialect.column(engine.columnOf(field))} IN (${names}))`;
    const [source, destination] = [isIn(scopeFields.source), isIn(scopeFields.destination)];
    const where: Readonly<Record<Exclude<ShownWith, "any">, string>> = {
      source,
      destination,
      both: `(${source} AND ${destination})`,
    };
    const shown = ({ field }: Column, value: string): string => {
      const needed = shownWith(field);
      if (needed === "any") return value;
      return `CASE WHEN ${needed === undefined ? "FALSE" : where[needed]} THEN ${value} END`;
    };
    this.dialect = {
      ...dialect,
      column: (column) => shown(column, dialect.column(column)),
      kept: (column) => shown(column, dialect.kept(column)),
    };
  }

  /** Any metadata key has a column, so that callers cannot find out whether other scopes use it. */
  columnOf(field: string): Column {
    const own = isMetadataName(field) ? columnOf(field) : undefined;
    if (own !== undefined) return own;
    try {
      return this.#engine.columnOf(field);
    } catch (error) {
      // The suggested name may belong to another scope.
      if (!(error instanceof ExploreError)) throw error;
      throw new ExploreError(error.code, `Explore does not keep the field ${quote(field)}`);
    }
  }

  from(wanted: Parameters<QueryEngine["from"]>[0]): string {
    return this.#engine.from(wanted);
  }

  spreading(wanted: Parameters<QueryEngine["from"]>[0]): Spreading | undefined {
    return this.#engine.spreading?.(wanted);
  }

  rows(...asked: Parameters<QueryEngine["rows"]>): ReturnType<QueryEngine["rows"]> {
    return this.#engine.rows(...asked);
  }
}
