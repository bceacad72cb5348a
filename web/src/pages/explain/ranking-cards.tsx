import type { JSX } from "preact";
import type { Profile } from "../../api/explore.ts";
import type { Loaded } from "../../api/use-call.ts";
import { keyText } from "../../format/key-text.ts";
import { formatNumber, formatShare, formatWhole } from "../../format/numbers.ts";
import { hrefOfValue } from "../../navigation/place.ts";
import { Section } from "../../ui/page.tsx";
import { Shown } from "../../ui/states.tsx";
import { wayLabels, type WayName } from "./traffic-card.tsx";
import { fieldOfKey, type ValueOf } from "../../format/value-kinds.ts";

type Ranking = NonNullable<Profile["rankings"]>[number];
type Value = Ranking["rows"][number]["key"][number];

const titles: Readonly<Record<Ranking["name"], string>> = {
  peers: "Peers",
  sources: "Sources",
  destinations: "Destinations",
  services: "Services",
  applications: "Applications",
  exporters: "Seen by",
};

/** From where, and to where: a table of each way is named so. */
const captions: Readonly<Record<WayName, string>> = { in: "in", out: "out", all: "all" };

/** The largest of the flows: a card for each ranking, in it a table for each way. */
export function RankingCards({
  rankings,
  of,
}: {
  readonly rankings: Loaded<Profile>;
  readonly of: ValueOf;
}): JSX.Element {
  return (
    <Shown of={rankings} what="Ranking">
      {({ rankings: all = [] }) =>
        [...new Set(all.map(({ name }) => name))].map((name) => {
          const tables = all.filter((each) => each.name === name && each.rows.some(hasKey));
          return (
            tables.length > 0 && (
              <Section key={name} title={titles[name]} note="by bytes">
                <div class="ways">
                  {tables.map((ranking) => (
                    <RankingTable key={ranking.way} ranking={ranking} of={of} />
                  ))}
                </div>
              </Section>
            )
          );
        })
      }
    </Shown>
  );
}

const hasKey = ({ key }: Ranking["rows"][number]): boolean => key.some((value) => value !== null);

function RankingTable({ ranking, of }: { readonly ranking: Ranking; readonly of: ValueOf }): JSX.Element {
  const { name, way, rows, others, total, dimensions } = ranking;
  const caption = `${titles[name]}, ${captions[way]}`;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class="data">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{way === "all" ? "What" : wayLabels[way]}</th>
            <th scope="col" class="number">
              Bytes
            </th>
            <th scope="col" class="number">
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, value, share }) => (
            <tr key={key.join("\0")}>
              <td class="wrap">
                <KeyText values={key} dimensions={dimensions} of={of} />
              </td>
              <td class="number">{formatNumber(value, "B")}</td>
              <td class="number">{formatShare(share)}</td>
            </tr>
          ))}
          {others.keys > 0 && (
            <tr>
              <td class="note">{formatWhole(others.keys)} others</td>
              <td class="number">{formatNumber(others.value, "B")}</td>
              <td class="number">{formatShare(others.share)}</td>
            </tr>
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">All</th>
            <td class="number">{formatNumber(total.value, "B")}</td>
            <td />
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

/** The values of a key, each leading to its page; what a record lacks is left out. */
function KeyText({
  values,
  dimensions,
  of,
}: {
  readonly values: readonly Value[];
  readonly dimensions: readonly string[];
  readonly of: ValueOf;
}): JSX.Element {
  const shown = values
    .map((value, at) => ({ value, dimension: dimensions[at] ?? "" }))
    .filter(({ value }) => value !== null)
    // A name says more than what it is the name of.
    .toSorted((one, other) => rankOf(one.dimension) - rankOf(other.dimension));
  if (shown.length === 0) return <span class="note">not known</span>;
  return (
    <span class="key-parts">
      {shown.map(({ value, dimension }) => {
        const text = `${prefixOf(dimension)}${keyText(value, dimension)}`;
        const field = fieldOfKey(dimension);
        const isItself = field === of.field && String(value) === of.value;
        return field === undefined || isItself ? (
          <span key={dimension}>{text}</span>
        ) : (
          <a
            key={dimension}
            class={dimension.endsWith(".addr") ? "mono" : undefined}
            href={hrefOfValue(field, String(value))}
          >
            {text}
          </a>
        );
      })}
    </span>
  );
}

const rankOf = (dimension: string): number => (/subnet\.name$|port\.name$/.test(dimension) ? 0 : 1);
const prefixOf = (dimension: string): string =>
  dimension === "flow.in.netif.name" ? "in " : dimension === "flow.out.netif.name" ? "out " : "";
