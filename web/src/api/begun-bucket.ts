import type { ExploreAnswer, ExploreValue } from "./explore-answer.ts";

/**
 * An answer without the last value over time, when the range ends before half of its bucket, or before its end and it has no records: those of the last
 * seconds are still on their way, and so much less would look like a fall. Sums and shares stay.
 */
export function withoutBegunBucket(answer: ExploreAnswer): ExploreAnswer {
  const { times = [], granularitySeconds, to, rows, others, total } = answer;
  const last = times.at(-1);
  if (last === undefined || times.length < 3) return answer;
  const isEmpty = total.series?.at(-1) === 0;
  const seconds = (Date.parse(to) - Date.parse(last)) / 1000;
  if (seconds >= (isEmpty ? granularitySeconds : granularitySeconds / 2)) return answer;
  const cut = <Value extends ExploreValue>(value: Value): Value =>
    value.series === undefined ? value : { ...value, series: value.series.slice(0, times.length - 1) };
  return { ...answer, times: times.slice(0, -1), rows: rows.map(cut), others: cut(others), total: cut(total) };
}

/** Whether the last value over time is one of a time that was not over yet: it has less than it will have. */
export function isLastBegun({ times = [], granularitySeconds, to }: ExploreAnswer): boolean {
  const last = times.at(-1);
  return last !== undefined && (Date.parse(to) - Date.parse(last)) / 1000 < granularitySeconds;
}
