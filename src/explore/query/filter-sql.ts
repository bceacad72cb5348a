import {
  createAddressSet,
  type Filter,
  type FilterTerm,
  type Quantity,
  type QuantityRange,
} from "../../record/index.ts";
import type { Column, ColumnType } from "../columns/column.ts";
import type { SqlDialect, SqlValues } from "./sql-dialect.ts";

/**
 * A pattern of filters as one of LIKE, with backslashes as quotes: somewhere in a text, case not counting, `*` is any text, `?` any
 * character, `^` and `$` are the ends of the text, `\` takes the special meaning from the next character.
 */
function likePattern(pattern: string): string {
  const characters = Array.from(pattern);
  const isFromStart = characters[0] === "^";
  let like = isFromStart ? "" : "%";
  for (let i = isFromStart ? 1 : 0; i < characters.length; i++) {
    const character = characters[i] as string;
    if (character === "*") like += "%";
    else if (character === "?") like += "_";
    else if (character === "$" && i === characters.length - 1) return like;
    else like += literal(character === "\\" && i + 1 < characters.length ? (characters[++i] as string) : character);
  }
  return `${like}%`;
}

function literal(character: string): string {
  const lower = character.toLowerCase();
  return lower === "%" || lower === "_" || lower === "\\" ? `\\${lower}` : lower;
}

export interface FilterContext {
  readonly dialect: SqlDialect;
  readonly values: SqlValues;
  /** @throws ExploreError for a field that is not kept. */
  readonly columnOf: (field: string) => Column;
}

/**
 * A condition that is true of the rows of which the filter is true; of others it is false or NULL. All values of the filter are values of
 * the statement.
 */
export function filterSql(filter: Filter, context: FilterContext): string {
  if ("fields" in filter) {
    return or(filter.fields.map((field) => termSql(filter, context.columnOf(field), context)));
  }
  if (filter.kind === "not") return `(NOT coalesce(${filterSql(filter.filter, context)}, FALSE))`;
  return `(${filter.filters.map((each) => filterSql(each, context)).join(filter.kind === "and" ? " AND " : " OR ")})`;
}

function termSql(term: FilterTerm, column: Column, context: FilterContext): string {
  const { dialect } = context;
  const value = dialect.column(column);
  if (!column.isArray) return judge(term, value, column.type, context);
  if (term.kind === "exists") return dialect.isNotEmpty(value);
  return dialect.anyElement(value, (element) => judge(term, element, column.type, context));
}

const no = "FALSE";

function or(terms: readonly string[]): string {
  return terms.length === 0 ? no : terms.length === 1 ? (terms[0] as string) : `(${terms.join(" OR ")})`;
}

/** What a term says of a scalar value, which is an expression of a type. */
function judge(term: FilterTerm, value: string, type: ColumnType, context: FilterContext): string {
  const { dialect, values } = context;
  switch (term.kind) {
    case "exists":
      return `${value} IS NOT NULL`;
    case "compare":
      return compareSql(term.operator, term.value, value, comparable(term.of, type), values);
    case "quantities":
      return or(term.ranges.map((range) => rangeSql(range, value, comparable(term.of, type), values)));
    case "addresses": {
      if (type !== "address") return no;
      const { ranges } = createAddressSet(term.keys);
      return or(
        ([4, 6] as const).flatMap((family) =>
          ranges[family].first.map((first, i) => {
            const last = ranges[family].last[i] as bigint;
            return dialect.isBetween(value, { family, value: first }, { family, value: last }, values);
          }),
        ),
      );
    }
    case "texts": {
      const places = term.values.map((text) => values.add({ type: "text", value: text }));
      return `${dialect.asText(value, type)} IN (${places.join(", ")})`;
    }
    case "pattern": {
      const pattern = values.add({ type: "text", value: likePattern(term.pattern) });
      return dialect.like(dialect.lower(dialect.asText(value, type)), pattern);
    }
    case "flag":
      break;
  }
  return type === "boolean" ? `${value} = ${values.add({ type: "boolean", value: term.value })}` : no;
}

/** How values of a type are compared with quantities; undefined: none is one. */
type Comparable = "whole" | "double" | "time" | undefined;

function comparable(of: "number" | "time", type: ColumnType): Comparable {
  if (of === "time") return type === "time" ? "time" : undefined;
  if (type === "double") return "double";
  return type === "integer" || type === "unsigned" ? "whole" : undefined;
}

const maxWhole = 2n ** 127n - 1n;

function bounded(value: bigint): bigint {
  return value > maxWhole ? maxWhole : value < -maxWhole ? -maxWhole : value;
}

/** A whole number that is not above a quantity, or not below it. */
function whole(quantity: Quantity, round: (value: number) => number): bigint {
  if (typeof quantity === "bigint") return bounded(quantity);
  if (!Number.isFinite(quantity)) return quantity > 0 ? maxWhole : -maxWhole;
  return bounded(BigInt(round(quantity)));
}

function compareSql(
  operator: "<" | "<=" | ">" | ">=",
  limit: Quantity,
  value: string,
  as: Comparable,
  values: SqlValues,
): string {
  if (as === undefined) return no;
  if (as === "double") return `${value} ${operator} ${values.add({ type: "double", value: Number(limit) })}`;
  // Between whole numbers lie none, so a limit with a fraction can be moved to the next one.
  const rounded = whole(limit, operator === "<" || operator === ">=" ? Math.ceil : Math.floor);
  return `${value} ${operator} ${values.add({ type: as, value: rounded })}`;
}

function rangeSql({ first, last }: QuantityRange, value: string, as: Comparable, values: SqlValues): string {
  if (as === undefined) return no;
  if (as === "double") {
    const from = values.add({ type: "double", value: Number(first) });
    return `${value} BETWEEN ${from} AND ${values.add({ type: "double", value: Number(last) })}`;
  }
  const from = whole(first, Math.ceil);
  const to = whole(last, Math.floor);
  if (from > to) return no;
  if (from === to) return `${value} = ${values.add({ type: as, value: from })}`;
  return `${value} BETWEEN ${values.add({ type: as, value: from })} AND ${values.add({ type: as, value: to })}`;
}
