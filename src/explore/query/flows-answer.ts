import type { PlainValue } from "./query-engine.ts";

/** Single records, the newest first. */
export interface FlowsAnswer {
  readonly records: readonly Readonly<Record<string, PlainValue>>[];
  /** How many records one of them may stand for. */
  readonly sampling: number;
  readonly complete: boolean;
}
