import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Alert, AlertDetails, AttackAnswer } from "../../api/alerts.ts";
import { alertCall } from "../../api/alerts.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { amountOf, timesOf, unitOfAlert, viewOfAlert } from "../../format/alert-text.ts";
import { formatShare } from "../../format/numbers.ts";
import { formatAge, formatTime } from "../../format/times.ts";
import { hrefOf } from "../../navigation/place.ts";
import { AlertBadges, ValueLink } from "../../ui/alert-parts.tsx";
import { TimeChart } from "../../ui/charts/time-chart.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import { AlertActions } from "./alert-actions.tsx";
import { AnswerTable } from "./answers-section.tsx";

export interface AlertViewProps {
  readonly id: string;
  /** Another number when something happened to it. */
  readonly turn: number;
  readonly answers: readonly AttackAnswer[];
  readonly approvals: number;
  readonly reload: () => void;
}

/** One alert: what it is about, its evidence, its notices, and what can be done. */
export function AlertView({ id, turn, answers, approvals, reload }: AlertViewProps): JSX.Element {
  const details = useTurnedCall<AlertDetails>(alertCall(id), turn, { everyMs: 5000 });
  if (details.failure?.status === 404)
    return (
      <Empty title="This alert is not known any more">
        The last 1000 that have ended are kept. <a href={hrefOf("alerts", { state: "all" })}>All alerts</a>
      </Empty>
    );
  return (
    <Shown of={details} what="Asking for the alert">
      {(answer) => (
        <Details
          details={answer}
          at={details.loadedAt ?? Date.now()}
          answers={answers.filter(({ alert }) => alert === id)}
          approvals={approvals}
          reload={() => {
            details.reload();
            reload();
          }}
        />
      )}
    </Shown>
  );
}

function Details({
  details,
  at,
  answers,
  approvals,
  reload,
}: {
  readonly details: AlertDetails;
  readonly at: number;
  readonly answers: readonly AttackAnswer[];
  readonly approvals: number;
  readonly reload: () => void;
}): JSX.Element {
  const { alert, recent, notices } = details;
  const { page, query } = viewOfAlert(alert);
  const words = { explore: "Explore this moment", exporters: "Its exporter", devices: "Devices" } as const;
  return (
    <>
      <Section
        title={alert.text}
        note={<AlertBadges alert={alert} />}
        actions={
          <>
            <a class="button" href={hrefOf(page, query)}>
              {words[page]}
            </a>
            <AlertActions alert={alert} reload={reload} />
          </>
        }
      >
        <Facts alert={alert} />
        <Series alert={alert} recent={recent} at={at} />
      </Section>
      <TopTables alert={alert} />
      {answers.length > 0 && (
        <Section title="Answers" note="routes against it">
          <AnswerTable answers={answers} approvals={approvals} reload={reload} />
        </Section>
      )}
      <Section title="Notices" note="messages to receivers about it">
        <Notices notices={notices} />
      </Section>
    </>
  );
}

function Facts({ alert }: { readonly alert: Alert }): JSX.Element {
  const now = Date.now();
  const { rule, key, since, firedAt, clearedAt, value, peak, limit, unit, acknowledged, snoozed, silence } = alert;
  const by = (name: string): string => (name === "" ? "" : ` by ${name}`);
  return (
    <dl class="facts">
      <dt>Rule</dt>
      <dd>{rule}</dd>
      {Object.entries(key).map(([field, of]) => (
        <>
          <dt>
            <code>{field}</code>
          </dt>
          <dd>
            <ValueLink field={field} value={of} />
          </dd>
        </>
      ))}
      <dt>Value, peak</dt>
      <dd>
        {amountOf(value, unit)}, {amountOf(peak, unit)}
        {limit !== undefined && <> (limit {amountOf(limit, unit)})</>}
      </dd>
      <dt>Began</dt>
      <dd>
        {formatTime(since, now)}
        {firedAt !== undefined && <>, fires since {formatTime(firedAt, now)}</>}
      </dd>
      {clearedAt !== undefined && (
        <>
          <dt>Ended</dt>
          <dd>
            {formatTime(clearedAt, now)}
            {alert.because !== undefined && <>: {alert.because}</>}
          </dd>
        </>
      )}
      {acknowledged !== undefined && (
        <>
          <dt>Seen</dt>
          <dd>
            {formatAge(acknowledged.at, now)}
            {by(acknowledged.by)}
          </dd>
        </>
      )}
      {clearedAt === undefined && snoozed !== undefined && (
        <>
          <dt>Snoozed</dt>
          <dd>
            until {formatTime(snoozed.until, now)}
            {by(snoozed.by)}
          </dd>
        </>
      )}
      {silence !== undefined && (
        <>
          <dt>Silenced</dt>
          <dd>until {formatTime(silence.until, now)}</dd>
        </>
      )}
      {alert.note !== undefined && (
        <>
          <dt>Note</dt>
          <dd>{alert.note}</dd>
        </>
      )}
    </dl>
  );
}

/** The values with the limit; up to now as long as it goes on, else those before it fired. */
function Series({
  alert,
  recent,
  at,
}: {
  readonly alert: Alert;
  readonly recent: AlertDetails["recent"];
  readonly at: number;
}): JSX.Element | null {
  const series = recent ?? alert.series;
  const until = recent === undefined ? (alert.firedAt ?? alert.since) : at;
  const chart = useMemo(() => {
    if (series === undefined || series.values.length < 2) return undefined;
    const lines = [{ label: alert.rule, color: "--c1", values: series.values }];
    const { limit } = alert;
    const bound = { label: "limit", color: "--bad", isBefore: true, values: series.values.map(() => limit ?? 0) };
    return { times: timesOf(series, until), lines: limit === undefined ? lines : [...lines, bound] };
  }, [series, until, alert.limit]);
  if (chart === undefined) return null;
  const words = recent === undefined ? "before it fired" : "up to now";
  return (
    <>
      <h3 class="sub">The values {words}</h3>
      <TimeChart
        label={`Values of ${alert.rule} ${words}, with the limit; the highest is ${amountOf(Math.max(...(series?.values ?? [])), alert.unit)}`}
        times={chart.times}
        series={chart.lines}
        unit={unitOfAlert(alert.unit)}
        isStacked={false}
        isLastBegun={recent !== undefined}
        height={200}
      />
    </>
  );
}

const titles: Readonly<Record<string, string>> = {
  "flow.src.ip.addr": "Sources",
  "flow.dst.ip.addr": "Destinations",
  "flow.src.l4.port.id": "Source ports",
  "flow.dst.l4.port.id": "Destination ports",
  "l4.proto.name": "Protocols",
  "flow.src.as.label": "Source AS",
  "flow.dst.as.label": "Destination AS",
  "flow.export.ip.addr": "Exporters",
};

/** The largest values of the records that it is about, at that moment. */
function TopTables({ alert }: { readonly alert: Alert }): JSX.Element | null {
  const fields = Object.entries(alert.top ?? {});
  if (fields.length === 0) return null;
  return (
    <Section title="What it is made of" note="the largest values near the limit">
      <div class="top-tables">
        {fields.map(([field, values]) => (
          <div key={field}>
            <h3 class="sub" title={field}>
              {titles[field] ?? field}
            </h3>
            <DataTable
              caption={`${titles[field] ?? field} of the alert`}
              rows={values}
              keyOf={({ value }) => value}
              columns={[
                { name: "Value", cell: ({ value }) => <ValueLink field={field} value={value} />, className: "wrap" },
                {
                  name: "Share",
                  cell: ({ share }) => formatShare(share),
                  sortBy: ({ share }) => share,
                  isNumber: true,
                },
              ]}
            />
          </div>
        ))}
      </div>
    </Section>
  );
}

const noticeStates = { sent: "good", waiting: "warn", aside: "bad" } as const;

function Notices({ notices }: { readonly notices: AlertDetails["notices"] }): JSX.Element {
  if (notices.length === 0)
    return (
      <Empty title="No notice of it was sent">Its rule names no action, it is silenced, or it is too long ago.</Empty>
    );
  const now = Date.now();
  return (
    <DataTable
      caption="Notices of the alert"
      rows={notices}
      keyOf={({ action, kind, state, at = 0 }) => `${action} ${kind} ${state} ${String(at)}`}
      columns={[
        { name: "Action", cell: ({ action }) => action },
        { name: "Of", cell: ({ kind }) => (kind === "firing" ? "its begin" : kind === "cleared" ? "its end" : "many") },
        {
          name: "State",
          cell: ({ state }) => <Badge state={noticeStates[state]}>{state === "aside" ? "set aside" : state}</Badge>,
        },
        { name: "When", cell: ({ at }) => (at === undefined ? "–" : formatTime(at, now)) },
        { name: "Why", cell: ({ because = "" }) => because, className: "wrap" },
      ]}
    />
  );
}
