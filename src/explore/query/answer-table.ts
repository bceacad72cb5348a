import type { FlowsAnswer } from "./flows-answer.ts";
import type { AnswerValue, ExploreAnswer } from "./answer.ts";
import type { PlainValue } from "./query-engine.ts";

/** What is taken away from an answer. */
export interface AnswerTable {
  readonly head: readonly string[];
  readonly lines: readonly (readonly PlainValue[])[];
}

/** The name of the column with the times of an answer. */
export const timeHead = "time";

/**
 * An answer as a table. Without granularity a line for each row; else one for each row and time. The last lines are those of the
 * others and the total, whose keys are `(others)` and `(total)`.
 */
export function answerTable(answer: ExploreAnswer): AnswerTable {
  const { dimensions, rows, others, total, times, measure } = answer;
  const hasPrevious = total.previous !== undefined;
  const keyOf = (word: string): readonly PlainValue[] => dimensions.map((_, i) => (i === 0 ? word : null));
  const all: readonly (readonly [readonly PlainValue[], AnswerValue & { share?: number }])[] = [
    ...rows.map((each) => [each.key, each] as const),
    ...(dimensions.length > 0 ? [[keyOf("(others)"), others] as const] : []),
    [keyOf("(total)"), { ...total, share: 1 }],
  ];
  const head = [
    ...(times === undefined ? [] : [timeHead]),
    ...dimensions,
    measure,
    ...(times === undefined ? ["share"] : []),
    ...(times === undefined && hasPrevious ? ["previous"] : []),
  ];
  const lines = all.flatMap(([key, value]): (readonly PlainValue[])[] => {
    if (times !== undefined) return times.map((time, i) => [time, key, value.series?.[i] ?? 0].flat());
    return [[...key, value.value, value.share ?? 0, ...(hasPrevious ? [value.previous ?? 0] : [])]];
  });
  return { head, lines };
}

/** Single records as a table: a column for each field that one of them has, or that was asked for. */
export function flowsTable({ records }: FlowsAnswer, fields: readonly string[]): AnswerTable {
  const names = fields.length > 0 ? fields : [...new Set(records.flatMap((record) => Object.keys(record)))];
  return { head: names, lines: records.map((record) => names.map((name) => record[name] ?? null)) };
}
