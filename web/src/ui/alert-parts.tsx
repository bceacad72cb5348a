import type { JSX } from "preact";
import type { ListAlertsAnswer } from "../api/answers.gen.ts";
import { alertsCall, type Alert } from "../api/alerts.ts";
import { useIsLimited, useLack } from "../api/session.ts";
import { useCall } from "../api/use-call.ts";
import { formatAge } from "../format/times.ts";
import { fieldOfKey } from "../format/value-kinds.ts";
import { isAddress } from "../format/what-is-asked.ts";
import { hrefOf, hrefOfText, hrefOfValue } from "../navigation/place.ts";
import { Section } from "./page.tsx";
import { Badge } from "./tile.tsx";

const states = { firing: "bad", pending: "warn", cleared: "good" } as const;

/** What an alert is, and what people said of it, as words with a colour. */
export function AlertBadges({ alert }: { readonly alert: Alert }): JSX.Element {
  const { state, acknowledged, snoozed, silence, untold } = alert;
  const isOpen = state !== "cleared";
  return (
    <span class="badges">
      <Badge state={states[state]}>{state}</Badge>
      {acknowledged !== undefined && <Badge state="plain">seen</Badge>}
      {isOpen && snoozed !== undefined && <Badge state="plain">snoozed</Badge>}
      {isOpen && (silence !== undefined || untold === true) && <Badge state="plain">silenced</Badge>}
    </span>
  );
}

/** A value of a field, which leads to its page. */
export function ValueLink({ field, value }: { readonly field: string; readonly value: string }): JSX.Element {
  const isOfAddress = isAddress(value) || /^[\da-f.:]+\/\d{1,3}$/i.test(value);
  const page = fieldOfKey(field);
  const href = isOfAddress ? hrefOfText(value) : page === undefined ? undefined : hrefOfValue(page, value);
  return href === undefined ? <span class="mono">{value}</span> : <a href={href}>{value}</a>;
}

/** The open alerts that name a value; nothing where there are none, or who looks may not see them. */
export function OpenAlerts({ names }: { readonly names: string }): JSX.Element | null {
  const isLimited = useIsLimited();
  const mayAsk = useLack("viewer", "flow") === undefined && !isLimited;
  const call = !mayAsk ? undefined : alertsCall({ state: "firing,pending", names, limit: 20 });
  const { answer } = useCall<ListAlertsAnswer>(call, { everyMs: 15_000 });
  if (answer === undefined || answer.alerts.length === 0) return null;
  const now = Date.now();
  const more = answer.matched - answer.alerts.length;
  return (
    <Section title="Alerts" note={`that name ${names}`}>
      <ul class="trouble">
        {answer.alerts.map((alert) => (
          <li key={alert.id}>
            <AlertBadges alert={alert} />
            <div>
              <a href={hrefOf("alerts", { alert: alert.id })}>{alert.text}</a>
              <p class="note">
                Rule {alert.rule}, began {formatAge(alert.firedAt ?? alert.since, now)}
              </p>
            </div>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p class="note">
          … and {more} more in <a href={hrefOf("alerts")}>Alerts</a>.
        </p>
      )}
    </Section>
  );
}
