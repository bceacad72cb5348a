import { scopeFields, shownWith, type Filter, type ShownWith } from "../../record/index.ts";
import { quote } from "../../base/text/index.ts";
import { columnOf, ExploreError, isMetadataName, type Column } from "../column.ts";
import type { ExploreQuery } from "./explore-query.ts";
import type { QueryEngine, Spreading, SqlDialect } from "./sql-dialect.ts";

/** Limits a question to the records with an end in one of these scopes, and to what of them is shown by {@link limitedTo}. */
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
 * An engine for callers who are limited to scopes: to its questions a record lacks whatever they may not see, also where a filter or a key
 * asks for it. Of an end in another scope, or in none, that is all but address, port and protocol; what is of the connection is shown where
 * both are in the caller's scopes.
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

  /** A key of metadata is always one: whether records of others have it is not told. */
  columnOf(field: string): Column {
    const own = isMetadataName(field) ? columnOf(field) : undefined;
    if (own !== undefined) return own;
    try {
      return this.#engine.columnOf(field);
    } catch (error) {
      // The nearest name may be one of others.
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
