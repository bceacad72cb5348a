import type { JSX } from "preact";
import type { DiagnoseAnswer, ListAlertsAnswer } from "../../api/answers.gen.ts";
import { firingCall } from "../../api/alerts.ts";
import { exploreQueryCall, type ExploreQuestion } from "../../api/explore.ts";
import type { ExploreAnswer } from "../../api/explore-answer.ts";
import { useCall } from "../../api/use-call.ts";
import { hrefOf } from "../../navigation/place.ts";
import { Section } from "../../ui/page.tsx";
import { Failure } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import { findNetworkTrouble, type Way } from "./network-trouble.ts";

/** A storm of alerts does not bury the page. */
const mostShown = 20;

const sentenceOf = (parts: readonly string[]): string => {
  const text = parts.join(", ");
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
};

/** How full the interfaces were in the last minutes. */
const linkQuestion = (way: Way): ExploreQuestion => ({
  from: "-5m",
  to: "now",
  filter: "",
  dimensions: [
    "flow.export.ip.addr",
    `flow.${way}.netif.index`,
    `flow.${way}.netif.name`,
    "flow.export.ip.subnet.name",
  ],
  measure: `utilisation_${way}`,
  when: "flowed",
  limit: 20,
  granularity: "1m",
});

/** What is wrong in the network, which is not the collector's fault: alerts, full links, silent exporters. */
export function NetworkSection({
  diagnosis,
  hasExplore,
}: {
  readonly diagnosis: DiagnoseAnswer | undefined;
  readonly hasExplore: boolean;
}): JSX.Element {
  const everyMs = 15_000;
  const alerts = useCall<ListAlertsAnswer>(firingCall, { everyMs });
  const into = useCall<ExploreAnswer>(hasExplore ? exploreQueryCall(linkQuestion("in")) : undefined, { everyMs });
  const out = useCall<ExploreAnswer>(hasExplore ? exploreQueryCall(linkQuestion("out")) : undefined, { everyMs });
  const links = [["in", into.answer] as const, ["out", out.answer] as const];
  const trouble = findNetworkTrouble({ alerts: alerts.answer, diagnosis, links }, Date.now());
  const ofLinks = [into, out].find(({ failure }) => failure !== undefined);
  const known = [
    alerts.answer?.enabled === true && "no alert",
    into.answer !== undefined && out.answer !== undefined && "no full link",
    diagnosis !== undefined && "no silent exporter",
  ].filter((words) => words !== false);
  return (
    <Section title="What is wrong in the network" note="alerts, full links, silent exporters">
      {alerts.failure !== undefined && <Failure failure={alerts.failure} retry={alerts.reload} />}
      {ofLinks?.failure !== undefined && <Failure failure={ofLinks.failure} retry={ofLinks.reload} />}
      {trouble.length > 0 ? (
        <ul class="trouble">
          {trouble.slice(0, mostShown).map(({ id, state, sentence, note, alert, page, query }) => (
            <li key={id}>
              <Badge state={state}>{state === "bad" ? "problem" : "seen"}</Badge>
              <div>
                <a href={hrefOf(page, query)}>{sentence}</a>
                {note !== undefined && (
                  <p class="note">
                    {note}
                    {alert !== undefined && (
                      <>
                        {" · "}
                        <a href={hrefOf("alerts", { alert })}>evidence</a>
                      </>
                    )}
                  </p>
                )}
              </div>
            </li>
          ))}
          {trouble.length > mostShown && (
            <li>
              <p class="note">
                … and {trouble.length - mostShown} more: <a href={hrefOf("alerts")}>Alerts</a> lists all alerts.
              </p>
            </li>
          )}
        </ul>
      ) : (
        known.length > 0 &&
        alerts.answer !== undefined && (
          <p class="fine">
            <span class="mark good" aria-hidden="true">
              ✓
            </span>
            {sentenceOf(known)}
          </p>
        )
      )}
      {alerts.answer?.enabled === false && (
        <p class="note">
          Rules on flows find scans, floods and sudden changes, too: <code>SVC_WATCH_RULES_PATH</code>. None are set up.
        </p>
      )}
    </Section>
  );
}
