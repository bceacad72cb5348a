import type { Column, ColumnType } from "../column.ts";
import type { TimeRange, When } from "./explore-query.ts";
import type { Address } from "../../base/ip/index.ts";

/** A quantity to sum. */
export type Summand = "bytes" | "packets" | "flows";

/** The name of the amount that a row adds to a sum. */
export const sumName = "explore_sum";

/** The name of the bucket of a row. */
export const bucketName = "explore_bucket";

/** The name of the amount of a row that goes to the bucket after its own, where rows have one. It is part of `explore_sum`. */
export const nextName = "explore_next";

/** Reports whether rows have an amount for the bucket after their own: where bytes count when they flowed. */
export function hasNext({ when, granularitySeconds = 0 }: Pick<WantedRows, "when" | "granularitySeconds">): boolean {
  return when === "flowed" && granularitySeconds > 0;
}

/**
 * The division of flows among many buckets. Rows are summed by their first and last bucket, and then the sums are divided. Expanding each row by bucket
 * would cost as much as three sums per bucket.
 */
export interface Spreading {
  /** The length of a bucket in milliseconds. */
  readonly step: number;
  /** Number of parts in one counted unit. Shares of buckets are whole numbers of parts. */
  readonly parts: number;
  /** True where the product of a flow's share and the bucket length fits in 64 bits, however short the flow is. */
  readonly isBounded: boolean;
}

/**
 * Names of the columns of such rows. `explore_bucket` is the number of the first bucket times {@link spanFactor}, plus the number of buckets from it to
 * the last one. The share is the amount, in parts, of a bucket inside the flow. The first is the amount of the first bucket, as a share times
 * milliseconds.
 */
export const spreadNames = { share: "explore_share", first: "explore_first" } as const;

/** A number greater than the number of buckets of any query. */
export const spanFactor = 4096;

/** Returns the columns of a summand. Where counters are not scaled by the sampling rate, the estimate has a field of its own. */
export function summandColumns(summand: Summand, columnOf: (field: string) => Column): readonly Column[] {
  return summand === "flows" ? [] : [columnOf(`flow.scaled.${summand}`), columnOf(`flow.${summand}`)];
}

/**
 * Returns the amount that a record row adds to a sum: an expression over the columns of {@link summandColumns}.
 *
 * @param weight the column with the number of records that a row stands for; undefined: each stands for itself.
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
  /** The quantity to sum; left out: no sum. */
  readonly summand?: Summand;
  /** When a row counts; left out: when it was received. An amount booked by flow time goes to all of its buckets, in proportion to the time in each. */
  readonly when?: When;
  /** The length of the buckets; left out or 0: no buckets. */
  readonly granularitySeconds?: number;
  /** A range of whole milliseconds, without its end. */
  readonly range: TimeRange;
  /** Present where rows have amounts for many buckets, by their first and last one. */
  readonly spreading?: Spreading | undefined;
}

/** A value in an answer. Addresses and times are texts. */
export type PlainValue = string | number | boolean | null | readonly (string | number | boolean)[];

/** Finds records, and runs statements. */
export interface QueryEngine {
  readonly dialect: SqlDialect;
  /** Returns the column of a field. @throws ExploreError for a field that is not kept. */
  columnOf(field: string): Column;
  /**
   * Returns the text after FROM: the rows of a range with at least these columns, named as in the dialect. `explore_sum` is the amount that a row adds
   * to a sum, `explore_bucket` the start of its bucket, and `explore_next` the part of the sum for the next bucket ({@link hasNext}).
   */
  from(wanted: WantedRows): string;
  /** Returns how rows with many buckets are divided. Undefined, or left out: each row has one bucket, and a part for the next one. */
  spreading?(wanted: WantedRows): Spreading | undefined;
  /** Runs a statement. @throws ExploreError when it is refused, fails, or takes too long; the reason of the signal when it is aborted. */
  rows(statement: Statement, signal: AbortSignal): Promise<readonly (readonly unknown[])[]>;
  /** Maximum number of different values that are counted exactly; above it the number is an estimate. */
  readonly countsUpTo: number;
  /** Returns a value of a result in the form of answers. */
  readonly plain: (column: Column, value: unknown) => PlainValue;
}

/** A parameter that is sent to the store with a statement. */
export type SqlValue =
  | { readonly type: "text"; readonly value: string | null }
  /** An address in the form of answers. */
  | { readonly type: "address"; readonly value: string | null }
  | { readonly type: "whole"; readonly value: bigint | null }
  | { readonly type: "double"; readonly value: number | null }
  | { readonly type: "boolean"; readonly value: boolean | null }
  /** A time in nanoseconds since the epoch. */
  | { readonly type: "time"; readonly value: bigint | null };

/** The differences between the SQL of column stores. Expressions are SQL texts. */
export interface SqlDialect {
  /** Returns the value of a column in a row; NULL where the record lacks the field. For a list it is a list, which may be empty. */
  column(column: Column): string;
  /** Returns the value in its stored form, which is cheap to group by. */
  kept(column: Column): string;
  /** Converts a value from its stored form. */
  opened(kept: string, column: Column): string;
  /** Returns the parameter for the value at an index of the statement's values, from 0. */
  parameter(index: number, value: SqlValue): string;
  /** Returns a value in the type of a column or of its list elements: converting each row costs as much as a sum. */
  typed(value: string, column: Column): string;
  lower(text: string): string;
  like(text: string, pattern: string): string;
  /** Returns the first characters of a text, up to a maximum. */
  left(text: string, characters: number): string;
  /** Returns a condition that is true for a text that matches a regular expression (RE2) anywhere. */
  hasRegex(text: string, expression: string): string;
  asText(value: string, type: ColumnType): string;
  /** Returns a condition that is true for an address between two, both included. */
  isBetween(address: string, first: Address, last: Address, values: SqlValues): string;
  /** Returns a condition that is true for a list with an element that meets a condition. */
  anyElement(list: string, isTrue: (element: string) => string): string;
  isNotEmpty(list: string): string;
  /** Returns a row for each element of a list, and one with NULL for an empty or missing list. */
  unnest(list: string): string;
  /** Returns the milliseconds since the epoch, as an integer, of a time rounded down to this many seconds. */
  bucket(time: string, seconds: number): string;
  /** Returns the time at a number of milliseconds since the epoch. */
  instant(milliseconds: number): string;
  /** Returns the milliseconds since the epoch of a time. */
  milliseconds(time: string): string;
  /** Returns the integer quotient of two non-negative integers. */
  divide(dividend: string, divisor: string): string;
  /** Converts a value to an unsigned 64-bit integer. */
  unsigned(value: string): string;
  /** Converts an integer to a 64-bit floating-point number. */
  double(value: string): string;
  /** Returns a row for each integer from the first to the last, in steps. */
  eachOf(first: string, last: string, step: number): string;
  /** Returns a sum that is exact for 64-bit integers. */
  sum(value: string): string;
  /** Returns the number of different values; NULL does not count. */
  distinct(value: string): string;
  /** Returns a count of records whose sum may exceed 64 bits. */
  product(value: string, weight: string): string;
}

/** A statement with its values. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Collects the values of a statement while it is built. */
export class SqlValues {
  readonly list: SqlValue[] = [];
  readonly #dialect: SqlDialect;

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect;
  }

  /** Adds a value. @returns its parameter in the statement. */
  add(value: SqlValue): string {
    this.list.push(value);
    return this.#dialect.parameter(this.list.length - 1, value);
  }
}
