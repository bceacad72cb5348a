import type { ExploreAnswer } from "../../api/explore-answer.ts";
import { rowText } from "../../format/key-text.ts";
import { colorName } from "./palette.ts";
import type { ChartSeries } from "./time-chart.tsx";

/** Times and series of an answer: a series for each row, and one for the others. */
export function chartOf(answer: ExploreAnswer): {
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
} {
  const times = (answer.times ?? []).map((time) => Date.parse(time) / 1000);
  const rows: ChartSeries[] = answer.rows.map(({ key, series }, index) => ({
    label: rowText(key, answer.dimensions),
    color: colorName(index),
    values: series ?? [],
  }));
  if (answer.dimensions.length === 0) {
    rows.push({ label: "All", color: colorName(0), values: answer.total.series ?? [] });
  }
  const { keys, series = [] } = answer.others;
  if (keys > 0) rows.push({ label: "Others", color: "--c-others", values: series });
  return { times, series: rows };
}
