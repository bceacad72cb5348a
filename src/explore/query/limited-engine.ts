import type { Filter } from "../../record/index.ts";
import { quote } from "../../base/text/index.ts";
import { columnOf, ExploreError, isMetadataName, type Column } from "../column.ts";
import type { ExploreQuery } from "./explore-query.ts";
import type { QueryEngine, SqlDialect } from "./sql-dialect.ts";

const sourceScope = "flow.src.scope";
const destinationScope = "flow.dst.scope";

/** Limits a question to the records with an end in one of these scopes, and to what of them is shown by {@link limitedTo}. */
export function inScopes<Query extends Pick<ExploreQuery, "filter" | "scopes">>(
  query: Query,
  scopes: readonly string[],
): Query {
  // No scope has an empty name.
  const values = scopes.length === 0 ? [""] : scopes;
  const limit: Filter = { kind: "texts", fields: [sourceScope, destinationScope], values };
  const filter: Filter = query.filter === undefined ? limit : { kind: "and", filters: [limit, query.filter] };
  return { ...query, filter, scopes };
}

/** What a record says of the packets alone: no word of anybody's metadata, of an exporter or of an interface. */
const plainFields: ReadonlySet<string> = new Set([
  "@timestamp",
  "flow.start.timestamp",
  "flow.end.timestamp",
  "flow.bytes",
  "flow.packets",
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "flow.sample_rate",
  "flow.src.ip.addr",
  "flow.dst.ip.addr",
  "flow.src.l4.port.id",
  "flow.dst.l4.port.id",
  "flow.server.l4.port.id",
  "l4.proto.id",
  "l4.proto.name",
  "ip.version.ver",
  "ip.dscp.id",
  "ip.ecn.id",
  "tcp.flags.bits",
]);

/**
 * What is of the connection, and so of neither end: beginnings of names. All others are of the provider's network, whoever's packets these are:
 * of exporters, interfaces, VRFs, labels, next hops.
 */
const ofConnection: readonly string[] = [
  "app.",
  "flow.client.",
  "flow.community.",
  "flow.direction.",
  "flow.end.",
  "flow.http.",
  "flow.locality",
  "flow.server.",
  "flow.tls.",
  "icmp.",
  "ip.",
  "l4.",
  "tcp.",
];

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
  readonly #engine: QueryEngine;

  constructor(scopes: readonly string[], engine: QueryEngine) {
    this.#engine = engine;
    this.plain = engine.plain;
    const { dialect } = engine;
    const names = scopes.map((name) => `'${name.replaceAll("'", "''")}'`).join(", ") || "NULL";
    const isIn = (field: string): string => `(${dialect.column(engine.columnOf(field))} IN (${names}))`;
    const shownWhere = (field: string): string => {
      if (field.startsWith("flow.src.")) return isIn(sourceScope);
      if (field.startsWith("flow.dst.")) return isIn(destinationScope);
      if (!ofConnection.some((beginning) => field.startsWith(beginning))) return "FALSE";
      return `(${isIn(sourceScope)} AND ${isIn(destinationScope)})`;
    };
    const shown = (column: Column, value: string): string =>
      plainFields.has(column.field) ? value : `CASE WHEN ${shownWhere(column.field)} THEN ${value} END`;
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

  rows(...asked: Parameters<QueryEngine["rows"]>): ReturnType<QueryEngine["rows"]> {
    return this.#engine.rows(...asked);
  }
}
