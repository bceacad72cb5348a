import type { JSX } from "preact";
import type { Alert } from "../../api/alerts.ts";
import { formatAge, formatTime } from "../../format/times.ts";
import { hrefOf, useQueryState } from "../../navigation/place.ts";
import { AlertBadges, ValueLink } from "../../ui/alert-parts.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty } from "../../ui/states.tsx";

/** Rows that are drawn; the choice above makes them fewer. */
const mostShown = 300;
const times = { "": Infinity, "1h": 3_600_000, "1d": 86_400_000, "7d": 604_800_000 } as const;

/** Which alerts are listed, as the address bar has it. */
interface Choice {
  readonly state: string;
  readonly rule: string;
  readonly text: string;
  readonly last: string;
}

function isShown(alert: Alert, { state, rule, text, last }: Choice, now: number): boolean {
  const isOfState = state === "all" || (state === "open" ? alert.state !== "cleared" : alert.state === state);
  const words = [alert.text, alert.rule, ...Object.values(alert.key)].join("\n").toLowerCase();
  const ms = Object.hasOwn(times, last) ? times[last as keyof typeof times] : Infinity;
  return (
    isOfState &&
    (rule === "" || alert.rule === rule) &&
    words.includes(text.toLowerCase()) &&
    (alert.clearedAt ?? now) >= now - ms
  );
}

/** The alerts, those that fire first, and what chooses among them. */
export function AlertList({ alerts }: { readonly alerts: readonly Alert[] }): JSX.Element {
  const [query, setQuery] = useQueryState();
  const choice: Choice = {
    state: query.get("state") ?? "open",
    rule: query.get("rule") ?? "",
    text: query.get("text") ?? "",
    last: query.get("last") ?? "",
  };
  const now = Date.now();
  const found = alerts.filter((alert) => isShown(alert, choice, now));
  const count = (state: Alert["state"]): number => alerts.filter((alert) => alert.state === state).length;
  const rules = [...new Set(alerts.map(({ rule }) => rule))].toSorted();
  return (
    <Section
      title="Alerts"
      note={
        <span role="status" aria-live="polite">
          {count("firing")} firing, {count("pending")} pending, {count("cleared")} cleared
        </span>
      }
    >
      <div class="alert-choice">
        <label class="field">
          <span>Show</span>
          <select value={choice.state} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
            <option value="open">open</option>
            <option value="firing">firing</option>
            <option value="pending">pending</option>
            <option value="cleared">cleared</option>
            <option value="all">all</option>
          </select>
        </label>
        <label class="field">
          <span>Rule</span>
          <select value={choice.rule} onChange={(event) => setQuery({ rule: event.currentTarget.value })}>
            <option value="">all</option>
            {rules.map((rule) => (
              <option key={rule}>{rule}</option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Time</span>
          <select value={choice.last} onChange={(event) => setQuery({ last: event.currentTarget.value })}>
            <option value="">any</option>
            <option value="1h">the last hour</option>
            <option value="1d">the last day</option>
            <option value="7d">the last 7 days</option>
          </select>
        </label>
        <label class="field grow">
          <span>Text or address</span>
          <input
            type="search"
            value={choice.text}
            onInput={(event) => setQuery({ text: event.currentTarget.value }, { replace: true })}
          />
        </label>
      </div>
      {found.length === 0 ? (
        <Empty title={alerts.length === 0 ? "No rule has found anything yet" : "No alert is like that"}>
          {alerts.length > 0 && choice.state === "open" && (
            <>
              Nothing is wrong now. <a href={hrefOf("alerts", { state: "all" })}>All alerts</a>
            </>
          )}
        </Empty>
      ) : (
        <DataTable caption="Alerts" rows={found.slice(0, mostShown)} keyOf={({ id }) => id} columns={columnsAt(now)} />
      )}
      {found.length > mostShown && (
        <p class="note">
          The first {mostShown} of {found.length}: choose a rule, or a text, to see others.
        </p>
      )}
    </Section>
  );
}

function columnsAt(now: number): readonly Column<Alert>[] {
  return [
    {
      name: "State",
      cell: (alert) => <AlertBadges alert={alert} />,
      sortBy: ({ state }) => ["firing", "pending", "cleared"].indexOf(state),
    },
    {
      name: "What",
      cell: ({ id, text }) => <a href={hrefOf("alerts", { alert: id })}>{text}</a>,
      className: "wrap",
    },
    {
      name: "Of",
      cell: ({ key }) =>
        Object.entries(key).map(([field, value]) => (
          <div key={field} title={field}>
            <ValueLink field={field} value={value} />
          </div>
        )),
      isMinor: true,
    },
    { name: "Rule", cell: ({ rule }) => rule, sortBy: ({ rule }) => rule, isMinor: true },
    {
      name: "Began",
      cell: ({ since }) => <span title={formatTime(since, now)}>{formatAge(since, now)}</span>,
      sortBy: ({ since }) => since,
      isNumber: true,
    },
    {
      name: "Ended",
      cell: ({ clearedAt }) => (clearedAt === undefined ? "–" : formatAge(clearedAt, now)),
      sortBy: ({ clearedAt = 0 }) => clearedAt,
      isNumber: true,
      isMinor: true,
    },
  ];
}
