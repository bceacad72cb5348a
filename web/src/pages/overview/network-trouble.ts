import type { DiagnoseAnswer, ListAlertsAnswer } from "../../api/answers.gen.ts";
import type { ExploreAnswer } from "../../api/explore-answer.ts";
import { viewOfAlert } from "../../format/alert-text.ts";
import { andTerm, filterTerm } from "../../format/filter-terms.ts";
import { formatNumber } from "../../format/numbers.ts";
import { formatAge } from "../../format/times.ts";
import type { PagePath } from "../../navigation/page-paths.ts";

/** Something that is wrong in the network, and the view that shows it. */
export interface NetworkTrouble {
  readonly id: string;
  readonly state: "bad" | "warn";
  readonly sentence: string;
  readonly note?: string | undefined;
  /** The id of the alert that it is. */
  readonly alert?: string;
  readonly page: PagePath;
  readonly query: Readonly<Record<string, string>>;
}

/** A link is full above this many percent, for two minutes one after the other. */
const fullPercent = 80;
export type Way = "in" | "out";

type Alert = ListAlertsAnswer["alerts"][number];

/** All that is known to be wrong in the network, the worst first. */
export function findNetworkTrouble(
  found: {
    readonly alerts: ListAlertsAnswer | undefined;
    readonly diagnosis: Pick<DiagnoseAnswer, "diagnoses"> | undefined;
    readonly links: readonly (readonly [Way, ExploreAnswer | undefined])[];
  },
  now: number,
): readonly NetworkTrouble[] {
  const alerts = (found.alerts?.alerts ?? []).filter(({ state }) => state === "firing");
  const silent = (found.diagnosis?.diagnoses ?? []).filter(({ id }) => id === "silent");
  return [
    ...alerts.map((alert) => ofAlert(alert, now)),
    ...found.links.flatMap(([way, answer]) => (answer === undefined ? [] : fullLinks(way, answer))),
    ...silent.map(({ sentence, advice, exporter }): NetworkTrouble => ({
      id: `silent ${exporter ?? ""}`,
      state: "bad",
      sentence,
      note: advice,
      page: "exporters",
      query: exporter === undefined ? {} : { exporter },
    })),
  ];
}

/** An alert leads to what it is about. */
function ofAlert(alert: Alert, now: number): NetworkTrouble {
  const { id, rule, text, firedAt, since, acknowledged } = alert;
  return {
    id: `alert ${id}`,
    state: acknowledged === undefined ? "bad" : "warn",
    sentence: text,
    note: `Rule ${rule}, began ${formatAge(firedAt ?? since, now)}${acknowledged === undefined ? "" : `, seen by ${acknowledged.by}`}`,
    alert: id,
    ...viewOfAlert(alert),
  };
}

function fullLinks(way: Way, { rows, times = [], to, granularitySeconds }: ExploreAnswer): readonly NetworkTrouble[] {
  // The minute that goes on still fills.
  const whole = times.filter((time) => Date.parse(time) + granularitySeconds * 1000 <= Date.parse(to)).length;
  return rows.flatMap(({ key, series = [] }) => {
    const values = series.slice(0, whole);
    const at = values.findLastIndex((value, i) => i > 0 && Math.min(value, values[i - 1] ?? 0) > fullPercent);
    const [exporter, index, name, exporterName] = key;
    if (at < 0 || typeof exporter !== "string" || index === null) return [];
    const least = Math.min(values[at] ?? 0, values[at - 1] ?? 0);
    const link = `${String(name ?? `ifIndex ${String(index)}`)} of ${String(exporterName ?? exporter)}`;
    const filter = [
      ["flow.export.ip.addr", exporter] as const,
      [`flow.${way}.netif.index`, index ?? ""] as const,
    ].reduce((terms, [field, value]) => andTerm(terms, filterTerm(field, value)), "");
    const sentence = `${link} is full: ${formatNumber(least, "%")} ${way === "in" ? "come in" : "go out"} for two minutes.`;
    return [
      {
        id: `link ${way} ${exporter} ${String(index)}`,
        state: "bad" as const,
        sentence,
        page: "explore" as const,
        query: { filter, from: "-15m" },
      },
    ];
  });
}
