import type { Address } from "../../base/ip/index.ts";
import type { Column, ColumnType } from "../columns/column.ts";

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

/** What differs between the languages of column stores. Expressions are texts of SQL. */
export interface SqlDialect {
  /** The value of a column in a row, NULL where the record lacks the field; of a list, a list, which may be empty. */
  column(column: Column): string;
  /** The same value in the form in which it is kept: cheap to group by. */
  kept(column: Column): string;
  /** The value of such a form. */
  opened(kept: string, column: Column): string;
  /** The place of the value at an index of the statement's values, from 0 on. */
  place(index: number, value: SqlValue): string;
  /** A value of a column, or of its lists, in the type of the column: a conversion of each row costs as much as a sum. */
  typed(place: string, column: Column): string;
  lower(text: string): string;
  like(text: string, pattern: string): string;
  asText(value: string, type: ColumnType): string;
  /** Whether an address lies between two, both included. */
  isBetween(address: string, first: Address, last: Address, values: SqlValues): string;
  /** Whether something is true of an element of a list. */
  anyElement(list: string, isTrue: (element: string) => string): string;
  isNotEmpty(list: string): string;
  /** A row for each element of a list, and one with NULL for an empty or absent list. */
  unnest(list: string): string;
  /** Milliseconds since the epoch, as a whole number, of a time cut to this many seconds. */
  bucket(time: string, seconds: number): string;
  /** Exact for whole numbers of 64 bits. */
  sum(value: string): string;
  /** A count of records that may be beyond 64 bits when it is added up. */
  product(value: string, weight: string): string;
}

/** A statement and the values that belong to it. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Gathers the values of a statement while it is written. */
export interface SqlValues {
  /** @returns the place of a value in the statement. */
  add(value: SqlValue): string;
  readonly list: readonly SqlValue[];
}

export function createSqlValues(dialect: SqlDialect): SqlValues {
  const list: SqlValue[] = [];
  return {
    list,
    add(value) {
      list.push(value);
      return dialect.place(list.length - 1, value);
    },
  };
}
