import type { FlowsAnswer } from "../embedded-explore.ts";
import type { AnswerValue, ExploreAnswer } from "./answer.ts";
import type { PlainValue } from "./query-engine.ts";

/**
 * An answer as a table (RFC 4180). Without granularity a line for each row; else one for each row and time. The last lines are those of the
 * others and the total, whose keys are `(others)` and `(total)`.
 */
export function answerCsv(answer: ExploreAnswer): string {
  const { dimensions, rows, others, total, times, measure } = answer;
  const hasPrevious = total.previous !== undefined;
  const hasPercentile = times === undefined && total.percentile !== undefined;
  const keyOf = (word: string): readonly PlainValue[] => dimensions.map((_, i) => (i === 0 ? word : null));
  const all: readonly (readonly [readonly PlainValue[], AnswerValue & { share?: number }])[] = [
    ...rows.map((each) => [each.key, each] as const),
    ...(dimensions.length > 0 ? [[keyOf("(others)"), others] as const] : []),
    [keyOf("(total)"), { ...total, share: 1 }],
  ];
  const head = [
    ...(times === undefined ? [] : ["time"]),
    ...dimensions,
    measure,
    ...(times === undefined ? ["share"] : []),
    ...(times === undefined && hasPrevious ? ["previous"] : []),
    ...(hasPercentile ? ["percentile"] : []),
  ];
  const lines = all.flatMap(([key, value]): (readonly PlainValue[])[] => {
    if (times !== undefined) return times.map((time, i) => [time, key, value.series?.[i] ?? 0].flat());
    return [[...key, value.value, value.share ?? 0, ...(hasPrevious ? [value.previous ?? 0] : [])]];
  });
  return table(head, lines);
}

/** Single records as a table: a column for each field that one of them has, or that was asked for. */
export function flowsCsv({ records }: FlowsAnswer, fields: readonly string[]): string {
  const names = fields.length > 0 ? fields : [...new Set(records.flatMap((record) => Object.keys(record)))];
  return table(
    names,
    records.map((record) => names.map((name) => record[name] ?? null)),
  );
}

function table(head: readonly string[], lines: readonly (readonly PlainValue[])[]): string {
  return [head, ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

function cell(value: PlainValue): string {
  if (value === null) return "";
  const text = typeof value === "object" ? value.join(";") : String(value);
  // A spreadsheet takes a text that begins so for a formula.
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
