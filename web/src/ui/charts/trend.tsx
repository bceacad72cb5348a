import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ExploreAnswer, ExploreValue } from "../../api/explore-answer.ts";
import { exploreQueryCall, isCounted, type ExploreQuestion } from "../../api/explore.ts";
import { drawnShape, otherWay, timeBefore, type Look } from "../../api/look.ts";
import { useCall, type Loaded } from "../../api/use-call.ts";
import { formatNumber, type Unit } from "../../format/numbers.ts";
import { shortened } from "../../format/shortened.ts";
import { asShares } from "../../format/stack.ts";
import type { Marks } from "./chart-marks.tsx";
import { chartOf } from "./explore-chart.ts";
import { MarkedChart, TimeChart, type ChartSeries } from "./time-chart.tsx";

export interface TrendProps {
  readonly answer: ExploreAnswer;
  /** The answer for the other way. */
  readonly reversed: ExploreAnswer | undefined;
  /** The sum of all over the time before. */
  readonly before: ExploreAnswer | undefined;
  readonly look: Look;
  readonly unit: Unit;
  readonly label: string;
  readonly isLastBegun: boolean;
  /** Left out: the chart asks for its own. */
  readonly marks?: Marks;
  readonly height?: number;
  readonly onZoom: (from: number, to: number) => void;
}

/** Asks for what is drawn beside an answer: the flows of the other way, and all of the time before. */
export function useFurther(
  question: ExploreQuestion,
  answer: ExploreAnswer,
  { isBothWays }: Pick<Look, "isBothWays">,
): { readonly reversed: Loaded<ExploreAnswer>; readonly before: Loaded<ExploreAnswer> } {
  const options = { keepsOld: true, timeoutMs: 60_000 };
  // Of the same time to the millisecond, so that what is one flow on both sides is in both.
  const exact = { ...question, from: answer.from, to: answer.to };
  const reversed = useCall<ExploreAnswer>(isBothWays ? exploreQueryCall(otherWay(exact)) : undefined, options);
  const asked = timeBefore(question, answer);
  const before = useCall<ExploreAnswer>(asked && exploreQueryCall(asked), options);
  return { reversed, before };
}

/** All series of the chart, in the order in which they are stacked. */
export function trendSeries({ answer, reversed, before }: Pick<TrendProps, "answer" | "reversed" | "before">): {
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
} {
  const { times, series } = chartOf(answer);
  const down = reversed === undefined ? [] : downSeries(answer, reversed, series, times.length);
  const total = before?.total.series?.slice(0, times.length) ?? [];
  const all: ChartSeries = { label: "All, the time before", color: "--text", values: total, isBefore: true };
  // What is drawn of a stack comes last: the line lies over it.
  return { times, series: [...(total.length > 0 && total.length === times.length ? [all] : []), ...series, ...down] };
}

/** What comes back, in the colours of what goes; all that is not of a row of the answer is of the others. */
function downSeries(
  { rows, dimensions, others }: ExploreAnswer,
  reversed: ExploreAnswer,
  up: readonly ChartSeries[],
  length: number,
): readonly ChartSeries[] {
  const valuesOf = ({ series = [] }: Partial<ExploreValue>): readonly number[] =>
    Array.from({ length }, (_, at) => series[at] ?? 0);
  if (dimensions.length === 0) {
    return up.map((each) => ({ ...each, values: valuesOf(reversed.total), isDown: true }));
  }
  const byKey = new Map(reversed.rows.map((row) => [JSON.stringify(row.key), row]));
  const matched = rows.map(({ key }) => byKey.get(JSON.stringify(key)));
  const rest = valuesOf(reversed.total).map((value, at) =>
    Math.max(0, value - matched.reduce((sum, row) => sum + (row?.series?.[at] ?? 0), 0)),
  );
  const down = matched.map((row, index) => ({
    label: up[index]?.label ?? "",
    color: up[index]?.color ?? "--c-others",
    values: valuesOf(row ?? {}),
    isDown: true,
  }));
  if (isCounted(reversed.unit)) return down;
  const hasRest = others.keys > 0 || rest.some((value) => value > 0);
  return hasRest ? [...down, { label: "Others", color: "--c-others", values: rest, isDown: true }] : down;
}

/** Values over time in the shape that was chosen. */
export function Trend(props: TrendProps): JSX.Element {
  const { answer, reversed, before, look, unit, label, isLastBegun, marks, height, onZoom } = props;
  const shape = drawnShape(look.shape, answer.unit);
  const { times, series } = useMemo(() => trendSeries({ answer, reversed, before }), [answer, reversed, before]);
  const shares = useMemo(() => (shape === "share" ? asShares(series) : series), [series, shape]);
  if (shape === "grid") {
    const ups = series.filter(({ isBefore = false, isDown = false }) => !isBefore && !isDown);
    return (
      <div class="chart-grid" role="group" aria-label={label}>
        {ups.map((up) => {
          const down = series.find((each) => each.isDown === true && each.label === up.label);
          return (
            <figure key={up.label}>
              <figcaption title={up.label}>
                <span class="chip" style={{ background: `var(${up.color})` }} /> {shortened(up.label, 40)}
                <span class="note"> up to {formatNumber(Math.max(...up.values), unit)}</span>
              </figcaption>
              <GridChart {...{ up, down, times, unit, isLastBegun, onZoom }} />
            </figure>
          );
        })}
      </div>
    );
  }
  const chart = {
    label,
    times,
    isLastBegun,
    onZoom,
    series: shares,
    unit: shape === "share" ? ("%" as const) : unit,
    isStacked: shape !== "lines",
    ...(height !== undefined && { height }),
  };
  return marks === undefined ? <MarkedChart {...chart} /> : <TimeChart {...chart} marks={marks} />;
}

interface GridChartProps extends Pick<TrendProps, "unit" | "isLastBegun" | "onZoom"> {
  readonly up: ChartSeries;
  readonly down: ChartSeries | undefined;
  readonly times: readonly number[];
}

/** One of the charts of a grid. */
function GridChart({ up, down, times, unit, isLastBegun, onZoom }: GridChartProps): JSX.Element {
  const series = useMemo(() => (down === undefined ? [up] : [up, down]), [up, down]);
  return (
    <TimeChart
      label={`${up.label} over time`}
      times={times}
      series={series}
      unit={unit}
      isLastBegun={isLastBegun}
      height={130}
      onZoom={onZoom}
    />
  );
}
