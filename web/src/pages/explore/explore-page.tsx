import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ApiFailure } from "../../api/api-failure.ts";
import type { ExploreAnswer, KeyValue, MissingPart } from "../../api/explore-answer.ts";
import {
  exploreQueryCall,
  exploreStatusCall,
  isCounted,
  keptSince,
  shownUnit,
  type ExploreField,
  type ExploreQuestion,
  type ExploreStatus,
} from "../../api/explore.ts";
import { useIsLimited } from "../../api/session.ts";
import { useCall } from "../../api/use-call.ts";
import { andTerm, filterTerm } from "../../format/filter-terms.ts";
import { formatDuration, formatNumber } from "../../format/numbers.ts";
import { addressOf, type TimeChoice } from "../../format/time-choice.ts";
import { wholeSeconds } from "../../format/time-ranges.ts";
import { formatTime } from "../../format/times.ts";
import { hrefOf, useQueryState } from "../../navigation/place.ts";
import { isLastBegun, withoutBegunBucket } from "../../api/begun-bucket.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ExportersHint } from "../../ui/exporters-hint.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Empty, Failure, Loading } from "../../ui/states.tsx";
import { withCode } from "../../ui/with-code.tsx";
import { Controls } from "./controls.tsx";
import { Download } from "./download.tsx";
import { measures, readState, writeState, type ExploreState } from "../../api/explore-state.ts";
import { FlowSankey } from "./flow-sankey.tsx";
import { fieldLabel } from "./field-label.ts";
import { usePageTime } from "../../ui/use-time.ts";
import { useAddressNames } from "./address-names.ts";
import { Breadcrumb } from "./breadcrumb.tsx";
import { drawnShape, readLook, savedLook, writeLook, type Look } from "../../api/look.ts";
import { Trend, useFurther } from "../../ui/charts/trend.tsx";
import { RankedTable } from "./ranked-table.tsx";
import { SavedViews } from "./saved-views.tsx";
import "./explore.css";

/** A look back: what the traffic was, by any field, over time. */
export default function ExplorePage(): JSX.Element {
  const [query, setQuery] = useQueryState();
  const state = readState(query);
  const isLimited = useIsLimited();
  const status = useCall<ExploreStatus>(exploreStatusCall);
  const time = usePageTime(status.answer && keptSince(status.answer));
  const look = readLook(query);
  const question: ExploreQuestion = { ...state, ...time.asked };
  const call = exploreQueryCall(question);
  const answer = useCall<ExploreAnswer>(status.answer === undefined ? undefined : call, {
    keepsOld: true,
    timeoutMs: 60_000,
    ...time.every,
  });
  const change = (changes: Partial<ExploreState>): void => setQuery(writeState(changes));
  const filterFault = isAboutFilter(answer.failure) ? answer.failure?.message : undefined;
  const fields = status.answer?.fields ?? [];

  return (
    <Page
      title="Explore"
      lead="What the traffic was, by any field of the records, under your names."
      calls={[call]}
      actions={
        status.answer !== undefined && (
          <>
            {!isLimited && (
              <SavedViews
                shown={{
                  ...addressOf(time.choice),
                  description: "",
                  role: "viewer",
                  filter: state.filter,
                  dimensions: state.dimensions,
                  measure: state.measure,
                  when: state.when,
                  limit: state.limit,
                  compare: state.compare,
                  show: "both",
                  ...savedLook(look),
                }}
              />
            )}
            <CopyButton text={location.href} label="Copy the address" isQuiet={false} />
            <Download
              call={call}
              chart={
                answer.answer === undefined ? undefined : { answer: answer.answer, label: chartTitle(state), look }
              }
            />
          </>
        )
      }
    >
      {status.answer === undefined ? (
        <WithoutStore failure={status.failure} retry={status.reload} />
      ) : (
        <>
          <Controls
            state={state}
            time={time}
            onReload={answer.reload}
            fields={fields}
            filterFault={filterFault}
            onChange={change}
            look={look}
            onLook={(changes) => setQuery(writeLook(changes))}
          />
          {answer.failure !== undefined && filterFault === undefined && (
            <Failure failure={answer.failure} retry={answer.reload} />
          )}
          {answer.answer === undefined ? (
            answer.failure === undefined && <Loading what="Asking" />
          ) : (
            <div class={answer.isLoading ? "asking results" : "results"} aria-busy={answer.isLoading}>
              {filterFault !== undefined && <p class="note">Below is the answer to the filter before.</p>}
              <Results
                answer={answer.answer}
                {...{ fields, state, look, question }}
                onChange={change}
                onTime={time.choose}
              />
            </div>
          )}
        </>
      )}
    </Page>
  );
}

/** Explore is off, or does not answer. */
function WithoutStore({
  failure,
  retry,
}: {
  readonly failure: ApiFailure | undefined;
  readonly retry: () => void;
}): JSX.Element {
  if (failure === undefined) return <Loading />;
  if (failure.status !== 404) return <Failure failure={failure} retry={retry} />;
  return (
    <Empty title="This collector keeps no records to look back at">
      {withCode(sentence(failure.message))} <a href={hrefOf("live")}>Live</a> shows flows as they go by.
    </Empty>
  );
}

interface ResultsProps {
  readonly answer: ExploreAnswer;
  readonly fields: readonly ExploreField[];
  readonly state: ExploreState;
  readonly look: Look;
  readonly question: ExploreQuestion;
  readonly onChange: (changes: Partial<ExploreState>) => void;
  readonly onTime: (choice: TimeChoice) => void;
}

function Results({ answer: whole, fields, state, look, question, onChange, onTime }: ResultsProps): JSX.Element {
  const answer = useMemo(() => withoutBegunBucket(whole), [whole]);
  const names = useAddressNames(question, answer);
  const { reversed, before } = useFurther(question, answer, look);
  const shape = drawnShape(look.shape, answer.unit);
  const unit = shownUnit(answer.unit);
  const labels = answer.dimensions.map((name) => fieldLabel(fields, name));
  const times = answer.times ?? [];
  const pick = (dimension: string, value: KeyValue, isExcluded = false): void =>
    onChange({ filter: andTerm(state.filter, filterTerm(dimension, value, isExcluded)) });
  if (answer.rows.length === 0 && answer.total.value === 0) {
    return (
      <Empty title={state.filter === "" ? "No flows in this time" : "No flow of this time matches the filter"}>
        {answer.missing === undefined ? "" : `${sentence(missingText(answer.missing, fields))} `}
        Choose {answer.missing === undefined ? "a longer" : "another"} time
        {state.filter === "" ? (
          <>
            . <ExportersHint />
          </>
        ) : (
          ", or take a term of the filter away."
        )}
      </Empty>
    );
  }
  const hasDiagram = answer.dimensions.length >= 2 && answer.rows.length > 0 && !isCounted(answer.unit);
  // With the change, the table needs all of the width.
  const hasColumns =
    hasDiagram && answer.dimensions.length === 2 && answer.total.previous === undefined && !look.hasPeaks;
  return (
    <>
      <Breadcrumb filter={state.filter} onFilter={(filter) => onChange({ filter })} />
      <Section title={chartTitle(state)} note={<Facts answer={answer} fields={fields} />}>
        {times.length > 1 ? (
          <Trend
            answer={answer}
            reversed={look.isBothWays ? reversed.answer : undefined}
            before={before.answer}
            look={look}
            label={`${chartTitle(state)} over time; the table below has the numbers`}
            unit={unit}
            isLastBegun={isLastBegun(answer)}
            onZoom={(from, to) => onTime(wholeSeconds(from * 1000, to * 1000))}
          />
        ) : (
          <p class="note">The time is too short for a trend.</p>
        )}
        {times.length > 1 && isLastBegun(answer) && <p class="note">Hatched: the last value is not complete yet.</p>}
        <p class="note on-screen">
          {look.isBothWays &&
            (reversed.answer === undefined
              ? "Asking for the other way … "
              : "Below zero: the other way, source and destination exchanged. ")}
          {before.answer !== undefined && shape !== "share" && shape !== "grid" && "Dashed: all, the time before. "}
          Draw over a part of the chart to zoom in.
        </p>
        {reversed.failure !== undefined && <Failure failure={reversed.failure} retry={reversed.reload} />}
      </Section>
      <div class={hasColumns ? "explore-columns" : "results"}>
        <Section
          title="Ranking"
          note={
            answer.dimensions.length > 0 && (
              <span class="on-screen">Choose a value to filter by it, ≠ to leave it out.</span>
            )
          }
        >
          <RankedTable
            answer={answer}
            unit={unit}
            labels={labels}
            names={names}
            hasPeaks={look.hasPeaks}
            onPick={pick}
          />
        </Section>
        {hasDiagram && (
          <Section title="Flow diagram" note={labels.slice(0, 3).join(" → ")}>
            <FlowSankey answer={answer} unit={unit} labels={labels} onPick={pick} />
          </Section>
        )}
      </div>
    </>
  );
}

function chartTitle(state: ExploreState): string {
  return measures.find(([measure]) => measure === state.measure)?.[1] ?? "";
}

/** How the answer came about: sums, sampling, gaps. */
function Facts({
  answer,
  fields,
}: {
  readonly answer: ExploreAnswer;
  readonly fields: readonly ExploreField[];
}): JSX.Element {
  const seconds = (Date.parse(answer.to) - Date.parse(answer.from)) / 1000;
  return (
    <>
      {formatDuration(seconds)}, a value each {formatDuration(Math.max(1, answer.granularitySeconds))};{" "}
      {answer.sampling > 1 && (
        <strong>estimated from every {formatNumber(answer.sampling)}th record at the most dense; </strong>
      )}
      {answer.estimated === true && <strong>too many to be counted one by one, so estimated; </strong>}
      <Origin answer={answer} fields={fields} />
      answered in {formatDuration(answer.elapsedMs / 1000)}
    </>
  );
}

/** Where the answer comes from, and what it lacks. */
function Origin({
  answer: { parts, missing, missingBefore },
  fields,
}: {
  readonly answer: ExploreAnswer;
  readonly fields: readonly ExploreField[];
}): JSX.Element {
  const records = parts.find(({ kind }) => kind === "records");
  const hasMinutes = parts.some(({ kind }) => kind === "minutes");
  return (
    <>
      {hasMinutes &&
        (records === undefined
          ? "from sums by minute; "
          : `from sums by minute, since ${shown(records.from)} from records; `)}
      {missing !== undefined && (
        <strong>
          {missingText(missing, fields)}
          {missingBefore !== undefined && ", so there is nothing to compare with"};{" "}
        </strong>
      )}
      {missing === undefined && missingBefore !== undefined && (
        <strong>to compare with, {missingText(missingBefore, fields)}; </strong>
      )}
    </>
  );
}

const shown = (time: string): string => formatTime(Date.parse(time), Date.now());

function missingText({ to, lacking }: MissingPart, fields: readonly ExploreField[]): string {
  if (lacking.length === 0) return `nothing is kept from before ${shown(to)}`;
  const names = lacking.map((name) => fieldLabel(fields, name)).join(", ");
  return `from before ${shown(to)} only sums by minute are kept, without ${names}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function isAboutFilter(failure: ApiFailure | undefined): boolean {
  return failure?.status === 400 && /^filter\b/.test(failure.message);
}
