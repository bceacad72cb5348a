import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Profile } from "../../api/explore.ts";
import type { Loaded } from "../../api/use-call.ts";
import { formatChange, formatDuration, formatNumber } from "../../format/numbers.ts";
import { formatAge, formatTime } from "../../format/times.ts";
import { MarkedChart, type ChartSeries } from "../../ui/charts/time-chart.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { Tile } from "../../ui/tile.tsx";

type Traffic = NonNullable<Profile["traffic"]>;
export type WayName = Traffic["ways"][number]["way"];

export const wayLabels: Readonly<Record<WayName, string>> = { in: "In", out: "Out", all: "All" };
const wayColors: Readonly<Record<WayName, string>> = { in: "--c1", out: "--c2", all: "--c1" };

export interface TrafficCardProps {
  readonly traffic: Loaded<Profile>;
  readonly seen: Profile["seen"] | undefined;
  /** A part of the time was drawn over: seconds since the epoch. */
  readonly onZoom: (from: number, to: number) => void;
}

/** How much comes in and goes out over time, beside the time before, and since when the value is seen. */
export function TrafficCard({ traffic, seen, onZoom }: TrafficCardProps): JSX.Element {
  return (
    <Section title="Traffic" note={noteOf(traffic.answer?.traffic)}>
      <Shown of={traffic} what="Asking for its traffic">
        {({ traffic: answer }) => answer !== undefined && <Trend traffic={answer} seen={seen} onZoom={onZoom} />}
      </Shown>
    </Section>
  );
}

function noteOf(traffic: Traffic | undefined): ComponentChildren {
  if (traffic === undefined) return undefined;
  const { from, to, granularitySeconds, sampling } = traffic;
  return (
    <>
      {formatDuration((Date.parse(to) - Date.parse(from)) / 1000)}, a value each {formatDuration(granularitySeconds)}
      {sampling > 1 && <strong>; estimated from every {formatNumber(sampling)}th record at the most dense</strong>}
    </>
  );
}

function Trend({
  traffic,
  seen,
  onZoom,
}: {
  readonly traffic: Traffic;
  readonly seen: Profile["seen"] | undefined;
  readonly onZoom: TrafficCardProps["onZoom"];
}): JSX.Element {
  const { ways, to, granularitySeconds, missing } = traffic;
  const times = useMemo(() => traffic.times.map((time) => Date.parse(time) / 1000), [traffic]);
  const series = useMemo(() => seriesOf(traffic), [traffic]);
  const last = times.at(-1);
  const isLastBegun = last !== undefined && Date.parse(to) / 1000 - last < granularitySeconds;
  const isSilent = ways.every(({ value }) => value === 0);
  return (
    <>
      <div class="tiles">
        {ways.map(({ way, value, previous }) => (
          <Tile
            key={way}
            label={way === "all" ? "On average" : `${wayLabels[way]}, on average`}
            value={formatNumber(value, "bit/s")}
            detail={
              previous === undefined
                ? "nothing is kept of the time before"
                : `${formatChange(value, previous.value)} against the time before`
            }
          />
        ))}
        <SeenTiles seen={seen} />
      </div>
      {isSilent ? (
        <Empty title="No traffic in this time">
          {seen?.last === undefined ? "No record that is kept has it." : "Choose a longer time."}
        </Empty>
      ) : (
        <>
          <MarkedChart
            label="Bits per second over time; the numbers above sum it up"
            times={times}
            series={series}
            unit="bit/s"
            isStacked={false}
            isLastBegun={isLastBegun}
            onZoom={onZoom}
          />
          <ul class="legend" aria-label="Lines of the chart">
            {series.map(({ label, color, isBefore = false }) => (
              <li key={label}>
                <span class={isBefore ? "line before" : "line"} style={{ borderColor: `var(${color})` }} />
                {label}
              </li>
            ))}
          </ul>
          {isLastBegun && <p class="note">Hatched: the last value is not complete yet.</p>}
        </>
      )}
      {missing !== undefined && (
        <p class="note">
          From before {formatTime(Date.parse(missing.to), Date.now())}{" "}
          {missing.lacking.length === 0
            ? "nothing is kept."
            : "only sums by minute are kept, which have no such value."}
        </p>
      )}
    </>
  );
}

function SeenTiles({ seen }: { readonly seen: Profile["seen"] | undefined }): JSX.Element | null {
  if (seen?.first === undefined) return null;
  const { first, last = first, keptSince = "" } = seen;
  const now = Date.now();
  // What was there in the first minute that is kept was there before, too, as far as one can know.
  const isSinceBegin = Date.parse(first) - Date.parse(keptSince) < 60_000;
  return (
    <>
      <Tile
        label="First seen"
        value={formatAge(Date.parse(first), now)}
        detail={isSinceBegin ? "as far back as records are kept" : formatTime(Date.parse(first), now)}
      />
      <Tile label="Last seen" value={formatAge(Date.parse(last), now)} detail={formatTime(Date.parse(last), now)} />
    </>
  );
}

function seriesOf({ ways }: Traffic): readonly ChartSeries[] {
  const before = ways.flatMap(({ way, previous }) =>
    previous === undefined
      ? []
      : [
          {
            label: `${wayLabels[way]}, the time before`,
            color: wayColors[way],
            values: previous.series,
            isBefore: true,
          },
        ],
  );
  return [
    ...before,
    ...ways.map(({ way, series }) => ({ label: wayLabels[way], color: wayColors[way], values: series })),
  ];
}
