import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { ExploreAnswer, KeyValue } from "../../api/explore-answer.ts";
import { exploreQueryCall, keptFrom, writeWhen, type ExploreQuestion, type When } from "../../api/explore.ts";
import { useCall } from "../../api/use-call.ts";
import { filterTerm } from "../../format/filter-terms.ts";
import { keyText } from "../../format/key-text.ts";
import { formatNumber, formatShare } from "../../format/numbers.ts";
import { hrefOf, hrefOfText } from "../../navigation/place.ts";
import { colorName } from "../../ui/charts/palette.ts";
import { isLastBegun, withoutBegunBucket } from "../../api/begun-bucket.ts";
import { MarkedChart, type ChartSeries } from "../../ui/charts/time-chart.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { EntryDialog } from "../../ui/entry-dialog.tsx";
import { ExportersHint } from "../../ui/exporters-hint.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { WhenSwitch } from "../../ui/when-switch.tsx";
import { unnamedNetworks } from "./unnamed-networks.ts";

const sourceName = "flow.src.ip.subnet.name";
const lastHour = { from: "-1h", to: "now", filter: "", granularity: "auto" } as const;

/** Who sends most, over the last hour, or since the store began. */
export const talkersQuestion = (storeFrom: string | undefined, when: When): ExploreQuestion => ({
  ...lastHour,
  when,
  from: keptFrom(lastHour.from, storeFrom, Date.now()),
  dimensions: [sourceName],
  measure: "bits_per_second",
  limit: 8,
});

const refreshMs = 30_000;

/** The last hour by the names of sources: trend and ranking. */
export function TopTalkers({
  question,
  onWhen,
}: {
  readonly question: ExploreQuestion;
  readonly onWhen: (when: When) => void;
}): JSX.Element {
  const talkers = useCall<ExploreAnswer>(exploreQueryCall(question), { everyMs: refreshMs, keepsOld: true });
  return (
    <Section
      title="Who sends most"
      note="the last hour, by the name of the source"
      actions={
        <>
          <WhenSwitch when={question.when} onChange={onWhen} />
          <a href={hrefOf("explore", { by: sourceName, when: writeWhen(question.when) })}>Explore</a>
          <a href={hrefOf("explore", { by: sourceName, from: "-24h", compare: "true" })}>Since yesterday</a>
          <a href={hrefOf("explore", { by: "flow.src.ip.addr", measure: "destinations" })}>Most peers</a>
        </>
      }
    >
      <Shown of={talkers} what="Asking the last hour">
        {(answer) =>
          answer.rows.length === 0 ? (
            <Empty title="No traffic in the last hour">
              <ExportersHint />
            </Empty>
          ) : (
            <Talkers answer={answer} />
          )
        }
      </Shown>
    </Section>
  );
}

function Talkers({ answer }: { readonly answer: ExploreAnswer }): JSX.Element {
  const { times, series, isBegun } = useMemo(() => {
    const drawn = withoutBegunBucket(answer);
    const shown: ChartSeries[] = drawn.rows.map(({ key, series: values = [] }, index) => ({
      label: nameOf(key[0]),
      color: colorName(index),
      values,
    }));
    if (answer.others.keys > 0) {
      shown.push({ label: "Others", color: "--c-others", values: drawn.others.series ?? [] });
    }
    const seconds = (drawn.times ?? []).map((time) => Date.parse(time) / 1000);
    return { times: seconds, series: shown, isBegun: isLastBegun(drawn) };
  }, [answer]);
  return (
    <div class="talkers">
      {times.length > 1 && (
        <MarkedChart
          label="Bits per second in the last hour, by the name of the source; the table has the numbers"
          times={times}
          series={series}
          unit="bit/s"
          isLastBegun={isBegun}
          height={310}
        />
      )}
      <DataTable
        caption="Who sends most"
        rows={answer.rows.map((row, index) => ({ ...row, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          {
            name: "Source",
            cell: ({ key, index }) => (
              <span class="with-chip">
                <span class="chip" style={{ background: `var(${colorName(index)})` }} />
                <a
                  href={hrefOf("explore", {
                    filter: filterTerm(sourceName, key[0] ?? null),
                    by: "flow.src.ip.addr,flow.dst.ip.subnet.name",
                  })}
                >
                  {nameOf(key[0])}
                </a>
              </span>
            ),
          },
          { name: "Average", cell: ({ value }) => formatNumber(value, "bit/s"), isNumber: true },
          { name: "Share", cell: ({ share }) => formatShare(share), isNumber: true },
        ]}
      />
    </div>
  );
}

const nameOf = (value: KeyValue | undefined): string => keyText(value, sourceName);

const unnamedQuestion = (end: "src" | "dst"): ExploreQuestion => ({
  ...lastHour,
  when: "flowed",
  filter: `flow.${end}.ip.subnet.name not exists`,
  dimensions: [`flow.${end}.ip.addr`],
  measure: "bytes",
  limit: 200,
  granularity: "none",
});

const shownNetworks = 8;

/** Networks whose addresses carry no name: what to name next. */
export function UnnamedNetworks(): JSX.Element {
  const sources = useCall<ExploreAnswer>(exploreQueryCall(unnamedQuestion("src")), { everyMs: 2 * refreshMs });
  const targets = useCall<ExploreAnswer>(exploreQueryCall(unnamedQuestion("dst")), { everyMs: 2 * refreshMs });
  const [named, setNamed] = useState<string | undefined>(undefined);
  const [said, setSaid] = useState("");
  return (
    <Section title="Networks without a name" note="the last hour, by bytes from and to them">
      <Shown of={sources} what="Asking the last hour">
        {(answer) => {
          const networks = unnamedNetworks([...answer.rows, ...(targets.answer?.rows ?? [])]);
          if (networks.length === 0) return <Empty title="No address without a name was seen" />;
          return (
            <DataTable
              caption="Networks without a name"
              rows={networks.slice(0, shownNetworks)}
              keyOf={({ prefix }) => prefix}
              columns={[
                {
                  name: "Network",
                  cell: ({ prefix }) => (
                    <a class="mono" href={hrefOfText(prefix)}>
                      {prefix}
                    </a>
                  ),
                },
                { name: "Addresses", cell: ({ addresses }) => formatNumber(addresses), isNumber: true, isMinor: true },
                { name: "Bytes", cell: ({ bytes }) => formatNumber(bytes, "B"), isNumber: true },
                {
                  name: "Give a name",
                  isNameHidden: true,
                  cell: ({ prefix }) => (
                    <button
                      type="button"
                      class="button quiet"
                      aria-label={`name it: ${prefix}`}
                      onClick={() => setNamed(prefix)}
                    >
                      name it
                    </button>
                  ),
                },
              ]}
            />
          );
        }}
      </Shown>
      {said !== "" && (
        <p class="note" role="status">
          {said}. Records from now on carry the name.
        </p>
      )}
      {named !== undefined && (
        <EntryDialog entry={{ key: named }} isNew onClose={() => setNamed(undefined)} changed={setSaid} />
      )}
    </Section>
  );
}
