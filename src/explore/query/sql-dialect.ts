import type { Column, ColumnType } from "../column.ts";
import type { TimeRange, When } from "./explore-query.ts";
import type { Address } from "../../base/ip/index.ts";

/** A quantity that is added up. */
export type Summand = "bytes" | "packets" | "flows";

/** The name of what a row adds to a sum. */
export const sumName = "explore_sum";

/** The name of the bucket of a row. */
export const bucketName = "explore_bucket";

/** The name of what of a row goes to the bucket after its own, where rows have that: it is part of `explore_sum`. */
export const nextName = "explore_next";

/** Tells whether a part of rows goes to the bucket after their own: where bytes count when they flowed. */
export function hasNext({ when, granularitySeconds = 0 }: Pick<WantedRows, "when" | "granularitySeconds">): boolean {
  return when === "flowed" && granularitySeconds > 0;
}

/**
 * How flows are divided among many buckets: rows are added up by their first and last bucket, and the sums are divided. To unfold each row by bucket costs
 * as much as three sums for each of them.
 */
export interface Spreading {
  /** The length of a bucket, milliseconds. */
  readonly step: number;
  /** How many parts one of what is counted has: shares of buckets are whole numbers of them. */
  readonly parts: number;
  /** Whether the product of a flow's share and the length of a bucket has 64 bits, however short the flow is. */
  readonly isBounded: boolean;
}

/**
 * The names of what rows say then. `explore_bucket` is the number of the first bucket times {@link spanFactor}, and how many buckets the last one is after it.
 * The share is what flows in a bucket that lies within the flow, in parts; the first is the part of the first bucket, as a share times milliseconds.
 */
export const spreadNames = { share: "explore_share", first: "explore_first" } as const;

/** More than a query has buckets. */
export const spanFactor = 4096;

/** Returns the columns of a summand. Where counters are not scaled by the sampling rate, the estimate has a field of its own. */
export function summandColumns(summand: Summand, columnOf: (field: string) => Column): readonly Column[] {
  return summand === "flows" ? [] : [columnOf(`flow.scaled.${summand}`), columnOf(`flow.${summand}`)];
}

/**
 * Returns what a row of records adds to a sum: an expression over the columns of {@link summandColumns}.
 *
 * @param weight the name of the column of how many records a row stands for; undefined: each for itself.
 */
export function recordSum(
  summand: Summand,
  dialect: SqlDialect,
  columnOf: (field: string) => Column,
  weight: string | undefined,
): string {
  if (summand === "flows") return weight ?? "1";
  const columns = summandColumns(summand, columnOf);
  const value = `coalesce(${columns.map((column) => dialect.column(column)).join(", ")})`;
  return weight === undefined ? value : dialect.product(value, weight);
}

export interface WantedRows {
  readonly columns: readonly Column[];
  /** Left out: no sum is asked for. */
  readonly summand?: Summand;
  /** When a row counts; left out: when it was received. What flowed goes to each of its buckets, by the part of its time that is in there. */
  readonly when?: When;
  /** The length of the buckets; left out or 0: no bucket is asked for. */
  readonly granularitySeconds?: number;
  /** Whole milliseconds: the first one belongs to the range, the last one does not. */
  readonly range: TimeRange;
  /** Given: rows say what they have in each of many buckets, by their first and last one. */
  readonly spreading?: Spreading | undefined;
}

/** A value as answers have it: an address, a text and a time are texts. */
export type PlainValue = string | number | boolean | null | readonly (string | number | boolean)[];

/** Finds records, and runs statements. */
export interface QueryEngine {
  readonly dialect: SqlDialect;
  /** @throws ExploreError for a field that is not kept. */
  columnOf(field: string): Column;
  /**
   * Returns what stands behind FROM: the rows of a range with at least these columns, called as the dialect calls them, with what each row adds
   * to a sum as `explore_sum`, the beginning of its bucket as `explore_bucket`, and what of the sum goes to the next one as `explore_next` ({@link hasNext}).
   */
  from(wanted: WantedRows): string;
  /** Says how rows are divided that have many buckets; undefined, or left out: each has one, and a part for the next one. */
  spreading?(wanted: WantedRows): Spreading | undefined;
  /** @throws ExploreError when it may not, cannot, or takes too long; the reason of the signal when that is aborted. */
  rows(statement: Statement, signal: AbortSignal): Promise<readonly (readonly unknown[])[]>;
  /** The most different values that are counted one by one; what is above is an estimate. */
  readonly countsUpTo: number;
  /** Returns a value of a result, as answers have it. */
  readonly plain: (column: Column, value: unknown) => PlainValue;
}

/** A value that is sent to the store with a statement. */
export type SqlValue =
  | { readonly type: "text"; readonly value: string | null }
  /** As answers have it. */
  | { readonly type: "address"; readonly value: string | null }
  | { readonly type: "whole"; readonly value: bigint | null }
  | { readonly type: "double"; readonly value: number | null }
  | { readonly type: "boolean"; readonly value: boolean | null }
  /** Nanoseconds since the epoch. */
  | { readonly type: "time"; readonly value: bigint | null };

/** The differences between the languages of column stores. Expressions are texts of SQL. */
export interface SqlDialect {
  /** The value of a column in a row, NULL where the record lacks the field; of a list, a list, which may be empty. */
  column(column: Column): string;
  /** The same value in the form in which it is kept: cheap to group by. */
  kept(column: Column): string;
  /** The value of such a form. */
  opened(kept: string, column: Column): string;
  /** The parameter for the value at an index of the statement's values, from 0 on. */
  parameter(index: number, value: SqlValue): string;
  /** A value of a column, or of its lists, in the type of the column: a conversion of each row costs as much as a sum. */
  typed(value: string, column: Column): string;
  lower(text: string): string;
  like(text: string, pattern: string): string;
  /** Returns the beginning of a text, of so many characters at most. */
  left(text: string, characters: number): string;
  /** Returns a condition that is true of a text that has a regular expression (RE2) somewhere. */
  hasRegex(text: string, expression: string): string;
  asText(value: string, type: ColumnType): string;
  /** Returns a condition that is true of an address between two, both included. */
  isBetween(address: string, first: Address, last: Address, values: SqlValues): string;
  /** Returns a condition that is true of a list with an element of which something is true. */
  anyElement(list: string, isTrue: (element: string) => string): string;
  isNotEmpty(list: string): string;
  /** A row for each element of a list, and one with NULL for an empty or absent list. */
  unnest(list: string): string;
  /** Milliseconds since the epoch, as a whole number, of a time cut to this many seconds. */
  bucket(time: string, seconds: number): string;
  /** A time of so many milliseconds since the epoch. */
  instant(milliseconds: number): string;
  /** Milliseconds since the epoch of a time. */
  milliseconds(time: string): string;
  /** The whole part of a quotient of whole numbers that are not negative. */
  divide(dividend: string, divisor: string): string;
  /** A whole number of 64 bits without a sign. */
  unsigned(value: string): string;
  /** A whole number as a floating-point number of 64 bits. */
  double(value: string): string;
  /** A row for each whole number from the first one up to the last, in steps. */
  eachOf(first: string, last: string, step: number): string;
  /** Exact for whole numbers of 64 bits. */
  sum(value: string): string;
  /** How many different values there are; NULL is none. */
  distinct(value: string): string;
  /** A count of records that may be beyond 64 bits when it is added up. */
  product(value: string, weight: string): string;
}

/** A statement and the values that belong to it. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Gathers the values of a statement while it is written. */
export class SqlValues {
  readonly list: SqlValue[] = [];
  readonly #dialect: SqlDialect;

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect;
  }

  /** @returns the parameter that stands for a value in the statement. */
  add(value: SqlValue): string {
    this.list.push(value);
    return this.#dialect.parameter(this.list.length - 1, value);
  }
}
