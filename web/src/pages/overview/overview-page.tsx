import type { GetOverviewAnswer, DiagnoseAnswer, ListOutputsAnswer } from "../../api/answers.gen.ts";
import type { JSX } from "preact";
import { firingCall } from "../../api/alerts.ts";
import type { ApiCall } from "../../api/call.ts";
import { exploreQueryCall, exploreStatusCall, readWhen, writeWhen, type ExploreStatus } from "../../api/explore.ts";
import { useIsLimited } from "../../api/session.ts";
import { useCall, type Loaded } from "../../api/use-call.ts";
import { formatDuration, formatNumber } from "../../format/numbers.ts";
import { hrefOf, useQueryState } from "../../navigation/place.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import { withCode } from "../../ui/with-code.tsx";
import type { ReadyAnswer } from "./overview-answers.ts";
import { overviewMs, Tiles, TrafficTile } from "./overview-tiles.tsx";
import { NetworkSection } from "./network-section.tsx";
import { TopTalkers, UnnamedNetworks, talkersQuestion } from "./traffic.tsx";
import { findTrouble, type Trouble } from "./trouble.ts";
import "./overview.css";

const overviewCall: ApiCall = { path: "api/v1/overview" };
const diagnosisCall: ApiCall = { path: "api/v1/flow/diagnosis" };
const readyCall: ApiCall = { path: "readyz", alsoTakes: 503 };
const outputsCall: ApiCall = { path: "api/v1/outputs" };

/** What goes on now, and what is wrong; each number leads to the page that explains it. */
export default function OverviewPage(): JSX.Element {
  return useIsLimited() ? <OwnTraffic /> : <WholeCollector />;
}

/** For who is limited to scopes: the flows with an end in these. */
function OwnTraffic(): JSX.Element {
  const explore = useCall<ExploreStatus>(exploreStatusCall);
  const [query, setQuery] = useQueryState();
  const talkers = talkersQuestion(explore.answer?.from, readWhen(query));
  return (
    <Page title="Overview" lead="What your networks do now." calls={[exploreQueryCall(talkers)]}>
      {explore.answer === undefined ? (
        <WithoutExplore status={explore} />
      ) : (
        <>
          <div class="tiles">
            <TrafficTile storeFrom={explore.answer.from} />
          </div>
          <TopTalkers question={talkers} onWhen={(when) => setQuery({ when: writeWhen(when) })} />
        </>
      )}
    </Page>
  );
}

function WholeCollector(): JSX.Element {
  const overview = useCall<GetOverviewAnswer>(overviewCall, { everyMs: overviewMs });
  const diagnosis = useCall<DiagnoseAnswer>(diagnosisCall, { everyMs: 15_000 });
  const ready = useCall<ReadyAnswer>(readyCall, { everyMs: 10_000, keepsOld: true });
  const outputs = useCall<ListOutputsAnswer>(outputsCall, { everyMs: 5000 });
  const explore = useCall<ExploreStatus>(exploreStatusCall);
  const [query, setQuery] = useQueryState();
  const hasExplore = explore.answer !== undefined;
  const talkers = talkersQuestion(explore.answer?.from, readWhen(query));
  const trouble = findTrouble(
    { diagnosis: diagnosis.answer, ready: ready.answer, outputs: outputs.answer },
    Date.now(),
  );
  return (
    <Page
      title="Overview"
      lead="What goes on now, and what is wrong."
      calls={[
        overviewCall,
        firingCall,
        diagnosisCall,
        readyCall,
        outputsCall,
        ...(hasExplore ? [exploreQueryCall(talkers)] : []),
      ]}
    >
      <div class="tiles">
        <Shown of={overview} what="Asking the collector">
          {(answer) => (
            <Tiles
              answer={answer}
              diagnosis={diagnosis}
              outputs={outputs}
              hasExplore={hasExplore}
              storeFrom={explore.answer?.from}
            />
          )}
        </Shown>
      </div>
      <NetworkSection diagnosis={diagnosis.answer} hasExplore={hasExplore} />
      <TroubleSection trouble={trouble} diagnosis={diagnosis} />
      {hasExplore ? (
        <TopTalkers question={talkers} onWhen={(when) => setQuery({ when: writeWhen(when) })} />
      ) : (
        <WithoutExplore status={explore} />
      )}
      <div class="columns">
        {hasExplore && <UnnamedNetworks />}
        {overview.answer !== undefined && <Losses answer={overview.answer} />}
      </div>
    </Page>
  );
}

function TroubleSection({
  trouble,
  diagnosis,
}: {
  readonly trouble: readonly Trouble[];
  readonly diagnosis: Loaded<DiagnoseAnswer>;
}): JSX.Element {
  return (
    <Section title="What is wrong" note="with the collector">
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

function Losses({ answer }: { readonly answer: GetOverviewAnswer }): JSX.Element {
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
              cell: ({ what, of, metric, unit }) => (
                <>
                  <a href={hrefOf(metric.startsWith("netgloss_output") ? "outputs" : "exporters")} title={metric}>
                    {of === undefined ? what : `${of}: ${what}`}
                  </a>{" "}
                  <span class="note">({unit})</span>
                </>
              ),
              className: "wrap",
            },
            {
              name: recentSeconds === 0 ? "New" : `Last ${formatDuration(Math.round(recentSeconds))}`,
              cell: ({ recent }) => formatNumber(recent),
              sortBy: ({ recent }) => recent,
              isNumber: true,
            },
            {
              name: "Since the start",
              cell: ({ total }: GetOverviewAnswer["losses"][number]) => formatNumber(total),
              sortBy: ({ total }) => total,
              isNumber: true,
            },
          ]}
        />
      )}
    </Section>
  );
}
