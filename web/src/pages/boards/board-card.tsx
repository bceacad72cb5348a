import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { isLastBegun, withoutBegunBucket } from "../../api/begun-bucket.ts";
import { exploreQueryCall, shownUnit, type ExploreQuestion } from "../../api/explore.ts";
import type { ExploreAnswer } from "../../api/explore-answer.ts";
import { lookOf } from "../../api/look.ts";
import { hrefOfView, type SavedView } from "../../api/saved-views.ts";
import { useCall } from "../../api/use-call.ts";
import { bothFilters } from "../../format/filter-terms.ts";
import { keyText } from "../../format/key-text.ts";
import { formatNumber, formatShare } from "../../format/numbers.ts";
import { shortened } from "../../format/shortened.ts";
import { wholeSeconds } from "../../format/time-ranges.ts";
import { colorName } from "../../ui/charts/palette.ts";
import type { Marks } from "../../ui/charts/chart-marks.tsx";
import { Peaks, PeakHeads, valueHead } from "../../ui/charts/peaks.tsx";
import { Trend, useFurther } from "../../ui/charts/trend.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { addressOf } from "../../format/time-choice.ts";
import type { PageTime } from "../../ui/use-time.ts";

export interface BoardCardProps {
  readonly view: SavedView;
  readonly time: PageTime;
  /** Is added to that of the view. */
  readonly filter: string;
  readonly marks: Marks;
  /** Asks again when it changes. */
  readonly turn: number;
}

/** A view on a board: as chart, table, or both, for the time and the filter of the board. */
export function BoardCard({ view, time, filter, marks, turn }: BoardCardProps): JSX.Element {
  const { dimensions, measure, when, limit, compare, show } = view;
  const asked = {
    dimensions,
    measure,
    when,
    limit,
    compare,
    granularity: "auto",
    filter: bothFilters(view.filter, filter),
  };
  const question = { ...asked, ...time.asked };
  const call = exploreQueryCall(question);
  const answer = useCall<ExploreAnswer>(call, { keepsOld: true, timeoutMs: 60_000, ...time.every });
  useEffect(() => {
    if (turn > 0) answer.reload();
  }, [turn]);
  const { from, to } = addressOf(time.choice);
  return (
    <Section
      title={view.name}
      note={view.description === "" ? undefined : view.description}
      actions={
        <a class="button quiet" href={hrefOfView({ ...view, filter: asked.filter, from, to })}>
          Explore
        </a>
      }
    >
      <Shown of={answer} what="Asking">
        {(found) =>
          found.rows.length === 0 && found.total.value === 0 ? (
            <Empty title="No flows in this time" />
          ) : (
            <>
              {show !== "table" && <Chart {...{ question, view, time, marks }} answer={found} />}
              {show !== "chart" && <Rows answer={found} view={view} />}
            </>
          )
        }
      </Shown>
    </Section>
  );
}

function Chart({
  answer: whole,
  question,
  view,
  time,
  marks,
}: {
  readonly answer: ExploreAnswer;
  readonly question: ExploreQuestion;
  readonly view: SavedView;
  readonly time: PageTime;
  readonly marks: Marks;
}): JSX.Element {
  const answer = useMemo(() => withoutBegunBucket(whole), [whole]);
  const look = lookOf(view);
  const { reversed, before } = useFurther(question, answer, look);
  if ((answer.times?.length ?? 0) < 2) return <p class="note">The time is too short for a trend.</p>;
  return (
    <Trend
      label={`${view.name} over time`}
      answer={answer}
      reversed={reversed.answer}
      before={before.answer}
      look={look}
      unit={shownUnit(answer.unit)}
      isLastBegun={isLastBegun(answer)}
      height={look.isBothWays ? 240 : 180}
      marks={marks}
      onZoom={(from, to) => time.choose(wholeSeconds(from * 1000, to * 1000))}
    />
  );
}

function Rows({ answer, view }: { readonly answer: ExploreAnswer; readonly view: SavedView }): JSX.Element {
  const { rows, others, total, dimensions } = answer;
  const unit = shownUnit(answer.unit);
  const textOf = (key: (typeof rows)[number]["key"]): string =>
    dimensions.length === 0 ? "All" : key.map((value, at) => keyText(value, dimensions[at] ?? "")).join(" → ");
  const lines = dimensions.length === 0 ? [] : rows;
  const hasPeaks = view.peaks && answer.times !== undefined;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={`Ranking of ${view.name}`}>
      <table class="data">
        <caption class="hidden">The largest of {view.name}</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" class="number">
              {valueHead(answer)}
            </th>
            {hasPeaks && <PeakHeads />}
            <th scope="col" class="number">
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ key, value, share, series }, index) => (
            <tr key={textOf(key)}>
              <td class="wrap" title={textOf(key)}>
                <span class="chip" style={{ background: `var(${colorName(index)})` }} /> {shortened(textOf(key), 60)}
              </td>
              <td class="number">{formatNumber(value, unit)}</td>
              {hasPeaks && <Peaks series={series} unit={unit} />}
              <td class="number">{formatShare(share)}</td>
            </tr>
          ))}
          {others.keys > 0 && (
            <tr>
              <td class="note">{others.keys} others</td>
              <td class="number">{formatNumber(others.value, unit)}</td>
              {hasPeaks && <Peaks series={others.series} unit={unit} />}
              <td class="number">{formatShare(others.share)}</td>
            </tr>
          )}
          <tr>
            <td>
              <strong>All</strong>
            </td>
            <td class="number">{formatNumber(total.value, unit)}</td>
            {hasPeaks && <Peaks series={total.series} unit={unit} />}
            <td class="number" />
          </tr>
        </tbody>
      </table>
    </div>
  );
}
