import type { Column } from "../columns/column.ts";
import type { RecordSource } from "./record-source.ts";
import type { Statement } from "./sql-dialect.ts";

/** A value as answers have it: an address, a text and a time are texts. */
export type PlainValue = string | number | boolean | null | readonly (string | number | boolean)[];

/** Runs statements. */
export interface QueryEngine {
  readonly source: RecordSource;
  /** @throws ExploreError when it may not, cannot, or takes too long; the reason of the signal when that is aborted. */
  rows(statement: Statement, signal: AbortSignal): Promise<readonly (readonly unknown[])[]>;
  /** A value of a result, as answers have it. */
  plain(column: Column, value: unknown): PlainValue;
}
