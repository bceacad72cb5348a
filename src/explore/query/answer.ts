import type { Measure } from "./explore-query.ts";
import type { PlainValue } from "./query-engine.ts";

/** What a number of an answer counts. */
export type Unit = "B" | "packets" | "flows" | "bit/s" | "packet/s";

/** One number over the range, and over time. */
export interface AnswerValue {
  readonly value: number;
  /** The same of the range before, where that was asked for. */
  readonly previous?: number;
  /** One for each of the times. */
  readonly series?: readonly number[];
  /** The percentile of the series that was asked for. */
  readonly percentile?: number;
}

export interface AnswerRow extends AnswerValue {
  /** A value for each dimension; null: the records lack the field. */
  readonly key: readonly PlainValue[];
  /** Of the total. */
  readonly share: number;
}

/** Which part of the range comes from single records, and which from sums by minute. */
export interface AnswerPart {
  readonly kind: "records" | "minutes";
  readonly from: string;
  readonly to: string;
}

/** What of the range the store has. */
export interface Coverage {
  /** False: the store lacks a part of the range. */
  readonly complete: boolean;
  /** The oldest first. */
  readonly parts: readonly AnswerPart[];
  /** The part of the range that the answer lacks, and why. */
  readonly missing?: MissingPart;
  /** The same of the range before, where that was asked for: what is kept of it is less than what was. */
  readonly missingBefore?: MissingPart;
}

export interface MissingPart {
  readonly from: string;
  readonly to: string;
  /** For people. */
  readonly because: string;
  /** Fields of the question that rollups of this time lack. */
  readonly lacking: readonly string[];
}

export interface ExploreAnswer extends Coverage {
  readonly from: string;
  readonly to: string;
  /** 0: without times. */
  readonly granularitySeconds: number;
  readonly measure: Measure;
  readonly unit: Unit;
  readonly dimensions: readonly string[];
  /** Beginnings of the buckets. */
  readonly times?: readonly string[];
  /** The largest first. */
  readonly rows: readonly AnswerRow[];
  /** What the other keys have together. */
  readonly others: AnswerValue & { readonly keys: number; readonly share: number };
  readonly total: AnswerValue;
  /** The largest number of records for which one that is kept stands. */
  readonly sampling: number;
  readonly store: "duckdb" | "clickhouse";
  readonly elapsedMs: number;
}
