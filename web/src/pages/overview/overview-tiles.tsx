import type { GetOverviewAnswer, DiagnoseAnswer, ListOutputsAnswer } from "../../api/answers.gen.ts";
import type { JSX } from "preact";
import type { ExploreAnswer } from "../../api/explore-answer.ts";
import { exploreQueryCall, keptFrom } from "../../api/explore.ts";
import { refusedNow } from "../../api/refusals.ts";
import { useCall, type Loaded } from "../../api/use-call.ts";
import { formatDuration, formatNumber, formatWhole } from "../../format/numbers.ts";
import { hrefOf } from "../../navigation/place.ts";
import { Tile } from "../../ui/tile.tsx";
import { talkersQuestion } from "./traffic.tsx";
import { isBehind } from "./trouble.ts";

/** How often the overview is asked for. A rate needs two answers. */
export const overviewMs = 3000;

const firstReading = `first reading in ${overviewMs / 1000} s`;

export interface TilesProps {
  readonly answer: GetOverviewAnswer;
  readonly diagnosis: Loaded<DiagnoseAnswer>;
  readonly outputs: Loaded<ListOutputsAnswer>;
  readonly hasExplore: boolean;
  readonly storeFrom: string | undefined;
}

/** The numbers of the whole collector. */
export function Tiles({ answer, diagnosis, outputs, hasExplore, storeFrom }: TilesProps): JSX.Element {
  const { recordsPerSecond, datagramsPerSecond } = answer;
  return (
    <>
      <Tile
        label="Records per second"
        value={recordsPerSecond === null ? <Unknown /> : formatNumber(recordsPerSecond)}
        detail={`${formatNumber(answer.recordsTotal)} since the start`}
        href={hrefOf("live")}
      />
      {hasExplore && <TrafficTile storeFrom={storeFrom} />}
      <Tile
        label="Datagrams per second"
        value={datagramsPerSecond === null ? <Unknown /> : formatNumber(datagramsPerSecond)}
        detail={datagramsPerSecond === null ? firstReading : "from exporters"}
        href={hrefOf("exporters")}
      />
      <ExportersTile diagnosis={diagnosis} />
      <OutputsTile outputs={outputs} />
      <LostTile answer={answer} />
    </>
  );
}

/** In place of a number that is not known yet, or whose call failed. */
function Unknown({ of }: { readonly of?: Loaded<unknown> }): JSX.Element {
  return <span class="unknown">{of?.failure === undefined ? "measuring …" : "not known"}</span>;
}

/** Bits per second by the last values of Explore. */
export function TrafficTile({ storeFrom }: { readonly storeFrom: string | undefined }): JSX.Element {
  const call = exploreQueryCall({
    // What flowed in the last minutes is reported later in part.
    ...talkersQuestion(undefined, "received"),
    from: keptFrom("-5m", storeFrom, Date.now()),
    dimensions: [],
    limit: 1,
    granularity: "none",
  });
  const traffic = useCall<ExploreAnswer>(call, { everyMs: 10_000, keepsOld: true });
  return (
    <Tile
      label="Traffic"
      value={
        traffic.answer === undefined ? <Unknown of={traffic} /> : formatNumber(traffic.answer.total.value, "bit/s")
      }
      detail="average of 5 min"
      href={hrefOf("explore", { from: "-15m" })}
    />
  );
}

function ExportersTile({ diagnosis }: { readonly diagnosis: Loaded<DiagnoseAnswer> }): JSX.Element {
  const common = { label: "Exporters", href: hrefOf("exporters") };
  const { answer } = diagnosis;
  if (answer === undefined) return <Tile {...common} value={<Unknown of={diagnosis} />} detail="by the doctor" />;
  const value = formatWhole(answer.exporters);
  if (answer.exporters === 0) return <Tile {...common} value={value} detail="none has sent yet" />;
  const silent = answer.diagnoses.filter(({ id }) => id === "silent").length;
  return silent === 0 ? (
    <Tile {...common} value={value} detail="none went silent" state="good" />
  ) : (
    <Tile {...common} value={value} detail={`${formatWhole(silent)} went silent`} state="bad" />
  );
}

function OutputsTile({ outputs }: { readonly outputs: Loaded<ListOutputsAnswer> }): JSX.Element {
  const common = { label: "Outputs", href: hrefOf("outputs") };
  const { answer } = outputs;
  if (answer === undefined) return <Tile {...common} value={<Unknown of={outputs} />} detail="where records go" />;
  const all = answer.outputs;
  const value = formatWhole(all.length);
  if (all.length === 0) return <Tile {...common} value={value} detail="none is on" />;
  const now = Date.now();
  const refusing = all.filter(({ refusals }) => refusedNow(refusals, now) !== undefined).length;
  const behind = all.filter((output) => isBehind(output, now)).length;
  if (behind > 0) return <Tile {...common} value={value} detail={`${formatWhole(behind)} behind`} state="bad" />;
  return refusing > 0 ? (
    <Tile {...common} value={value} detail={`records are refused by ${formatWhole(refusing)}`} state="bad" />
  ) : (
    <Tile {...common} value={value} detail="none is behind" state="good" />
  );
}

function LostTile({ answer: { losses, recentSeconds } }: { readonly answer: GetOverviewAnswer }): JSX.Element {
  const common = { label: "Lost", href: `${hrefOf("")}#losses` };
  if (recentSeconds === 0) return <Tile {...common} value={<Unknown />} detail={firstReading} />;
  const count = losses.filter(({ recent }) => recent > 0).length;
  const detail = `in the last ${formatDuration(Math.round(recentSeconds))}`;
  if (count === 0) return <Tile {...common} value="nothing" detail={detail} state="good" />;
  return (
    <Tile
      {...common}
      value={`${formatWhole(count)} ${count === 1 ? "reason" : "reasons"}`}
      detail={detail}
      state="warn"
    />
  );
}
