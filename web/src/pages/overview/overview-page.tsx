import type { JSX } from "preact";
import type { ApiCall } from "../../api/call.ts";
import type { ExploreAnswer } from "../../api/explore-answer.ts";
import { exploreQueryCall, exploreStatusCall, keptFrom, type ExploreStatus } from "../../api/explore.ts";
import { useCall, type Loaded } from "../../api/use-call.ts";
import { formatDuration, formatNumber, formatWhole } from "../../format/numbers.ts";
import { hrefOf } from "../../navigation/place.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { Badge, Tile } from "../../ui/tile.tsx";
import { withCode } from "../../ui/with-code.tsx";
import type { DiagnosisAnswer, Loss, OutputsAnswer, OverviewAnswer, ReadyAnswer } from "./overview-answers.ts";
import { TopTalkers, UnnamedNetworks, talkersQuestion } from "./traffic.tsx";
import { findTrouble, isBehind, type Trouble } from "./trouble.ts";
import "./overview.css";

const overviewCall: ApiCall = { path: "api/v1/overview" };
const diagnosisCall: ApiCall = { path: "api/v1/flow/diagnosis" };
const readyCall: ApiCall = { path: "readyz", alsoTakes: 503 };
const outputsCall: ApiCall = { path: "api/v1/outputs" };

/** What goes on now, and what is wrong; each number leads to the page that explains it. */
export default function OverviewPage(): JSX.Element {
  const overview = useCall<OverviewAnswer>(overviewCall, { everyMs: 3000 });
  const diagnosis = useCall<DiagnosisAnswer>(diagnosisCall, { everyMs: 15_000 });
  const ready = useCall<ReadyAnswer>(readyCall, { everyMs: 10_000, keepsOld: true });
  const outputs = useCall<OutputsAnswer>(outputsCall, { everyMs: 5000 });
  const explore = useCall<ExploreStatus>(exploreStatusCall);
  const hasExplore = explore.answer !== undefined;
  const talkers = talkersQuestion(explore.answer?.from);
  const trouble = findTrouble(
    { diagnosis: diagnosis.answer, ready: ready.answer, outputs: outputs.answer },
    Date.now(),
  );
  return (
    <Page
      title="Overview"
      lead="What goes on now, and what is wrong."
      calls={[overviewCall, diagnosisCall, readyCall, outputsCall, ...(hasExplore ? [exploreQueryCall(talkers)] : [])]}
    >
      <div class="tiles">
        <Shown of={overview} what="Asking the collector">
          {(answer) => (
            <Tiles
              answer={answer}
              diagnosis={diagnosis.answer}
              outputs={outputs.answer}
              hasExplore={hasExplore}
              storeFrom={explore.answer?.from}
            />
          )}
        </Shown>
      </div>
      <TroubleSection trouble={trouble} diagnosis={diagnosis} />
      {hasExplore ? <TopTalkers question={talkers} /> : <WithoutExplore status={explore} />}
      <div class="columns">
        {hasExplore && <UnnamedNetworks />}
        {overview.answer !== undefined && <Losses answer={overview.answer} />}
      </div>
    </Page>
  );
}

interface TilesProps {
  readonly answer: OverviewAnswer;
  readonly diagnosis: DiagnosisAnswer | undefined;
  readonly outputs: OutputsAnswer | undefined;
  readonly hasExplore: boolean;
  readonly storeFrom: string | undefined;
}

function Tiles({ answer, diagnosis, outputs, hasExplore, storeFrom }: TilesProps): JSX.Element {
  const silent = diagnosis?.diagnoses.filter(({ id }) => id === "silent").length ?? 0;
  const hasNone = diagnosis?.exporters === 0;
  const all = outputs?.outputs ?? [];
  const behind = all.filter((output) => isBehind(output, Date.now())).length;
  const lost = answer.losses.filter(({ recent }) => recent > 0);
  const { recordsPerSecond, datagramsPerSecond, recentSeconds } = answer;
  return (
    <>
      <Tile
        label="Records per second"
        value={recordsPerSecond === null ? "…" : formatNumber(recordsPerSecond)}
        detail={`${formatNumber(answer.recordsTotal)} since the start`}
        href={hrefOf("live")}
      />
      {hasExplore && <TrafficTile storeFrom={storeFrom} />}
      <Tile
        label="Datagrams per second"
        value={datagramsPerSecond === null ? "…" : formatNumber(datagramsPerSecond)}
        detail="from exporters"
        href={hrefOf("exporters")}
      />
      <Tile
        label="Exporters"
        value={diagnosis === undefined ? "…" : formatWhole(diagnosis.exporters)}
        detail={
          hasNone ? "none has sent yet" : silent === 0 ? "none went silent" : `${formatWhole(silent)} went silent`
        }
        state={diagnosis === undefined || hasNone ? undefined : silent > 0 ? "bad" : "good"}
        href={hrefOf("exporters")}
      />
      <Tile
        label="Outputs"
        value={outputs === undefined ? "…" : formatWhole(all.length)}
        detail={all.length === 0 ? "none is on" : behind === 0 ? "none is behind" : `${formatWhole(behind)} behind`}
        state={outputs === undefined || all.length === 0 ? undefined : behind > 0 ? "bad" : "good"}
        href={hrefOf("outputs")}
      />
      <Tile
        label="Lost"
        value={
          recentSeconds === 0
            ? "…"
            : lost.length === 0
              ? "nothing"
              : `${formatWhole(lost.length)} ${lost.length === 1 ? "reason" : "reasons"}`
        }
        detail={recentSeconds === 0 ? "counted from now on" : `in the last ${formatDuration(recentSeconds)}`}
        state={recentSeconds === 0 ? undefined : lost.length > 0 ? "warn" : "good"}
        href={`${hrefOf("")}#losses`}
      />
    </>
  );
}

/** Bits per second by the last values of Explore. */
function TrafficTile({ storeFrom }: { readonly storeFrom: string | undefined }): JSX.Element {
  const call = exploreQueryCall({
    ...talkersQuestion(undefined),
    from: keptFrom("-5m", storeFrom, Date.now()),
    dimensions: [],
    limit: 1,
    granularity: "none",
  });
  const { answer } = useCall<ExploreAnswer>(call, { everyMs: 10_000 });
  return (
    <Tile
      label="Traffic"
      value={answer === undefined ? "…" : formatNumber(answer.total.value, "bit/s")}
      detail="average of 5 min"
      href={hrefOf("explore", { from: "-15m" })}
    />
  );
}

function TroubleSection({
  trouble,
  diagnosis,
}: {
  readonly trouble: readonly Trouble[];
  readonly diagnosis: Loaded<DiagnosisAnswer>;
}): JSX.Element {
  return (
    <Section title="What is wrong">
      {trouble.length === 0 ? (
        <Shown of={diagnosis} what="Asking the doctor">
          {({ exporters }) =>
            exporters === 0 ? (
              <Empty title="No exporter has sent flows yet">
                <a href={hrefOf("exporters")}>Exporters</a> has the commands that make a router send to this collector.
              </Empty>
            ) : (
              <p class="fine">
                <span class="mark good" aria-hidden="true">
                  ✓
                </span>
                Nothing that the collector knows of.
              </p>
            )
          }
        </Shown>
      ) : (
        <ul class="trouble">
          {trouble.map(({ id, state, sentence, advice, page, query }) => (
            <li key={id}>
              <Badge state={state}>{state === "bad" ? "problem" : "warning"}</Badge>
              <div>
                <a href={hrefOf(page, query)}>{withCode(sentence)}</a>
                {advice !== undefined && <p class="note">{withCode(advice)}</p>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function WithoutExplore({ status }: { readonly status: Loaded<ExploreStatus> }): JSX.Element {
  const isOff = status.failure?.status === 404;
  return (
    <Section title="Who sends most">
      {!isOff ? (
        <Shown of={status}>{() => null}</Shown>
      ) : (
        <Empty title="This collector keeps no records to look back at">
          {withCode(status.failure?.message ?? "")}. <a href={hrefOf("live")}>Live</a> shows flows as they go by.
        </Empty>
      )}
    </Section>
  );
}

function Losses({ answer }: { readonly answer: OverviewAnswer }): JSX.Element {
  const { losses, recentSeconds } = answer;
  return (
    <Section title="Losses" note={<span id="losses">on the way from the network to the outputs</span>}>
      {losses.length === 0 ? (
        <Empty title="Nothing was lost since the start" />
      ) : (
        <DataTable
          caption="Losses"
          rows={losses}
          keyOf={({ metric, of = "" }) => `${metric} ${of}`}
          columns={[
            {
              name: "What",
              cell: ({ what, of, metric }) => (
                <a href={hrefOf(metric.startsWith("netgloss_output") ? "outputs" : "exporters")} title={metric}>
                  {of === undefined ? what : `${of}: ${what}`}
                </a>
              ),
            },
            {
              name: recentSeconds === 0 ? "New" : `Last ${formatDuration(recentSeconds)}`,
              cell: ({ recent }) => formatNumber(recent),
              sortBy: ({ recent }) => recent,
              isNumber: true,
            },
            {
              name: "Since the start",
              cell: (loss: Loss) => `${formatNumber(loss.total)} ${loss.unit}`,
              sortBy: ({ total }) => total,
              isNumber: true,
            },
          ]}
        />
      )}
    </Section>
  );
}
