/** What the rows of an answer are of, one value for each dimension. */
export type KeyValue = string | number | boolean | null;

export interface ExploreValue {
  readonly value: number;
  readonly previous?: number;
  readonly series?: readonly number[];
  readonly percentile?: number;
}

export interface ExploreRow extends ExploreValue {
  readonly key: readonly KeyValue[];
  readonly share: number;
}

/** What is not kept, up to a time; fields that keep sums by minute from answering. */
export interface MissingPart {
  readonly to: string;
  readonly lacking: readonly string[];
}

export interface ExploreAnswer {
  readonly from: string;
  readonly to: string;
  readonly granularitySeconds: number;
  readonly unit: "B" | "packets" | "flows" | "bit/s" | "packet/s";
  readonly dimensions: readonly string[];
  readonly times?: readonly string[];
  readonly rows: readonly ExploreRow[];
  readonly others: ExploreValue & { readonly keys: number; readonly share: number };
  readonly total: ExploreValue;
  readonly sampling: number;
  readonly complete: boolean;
  /** Where it comes from: single records, or sums by minute. The oldest first. */
  readonly parts: readonly { readonly kind: "records" | "minutes"; readonly from: string; readonly to: string }[];
  readonly missing?: MissingPart;
  /** Of the range before, which is then not compared with. */
  readonly missingBefore?: MissingPart;
  readonly store: string;
  readonly elapsedMs: number;
}
