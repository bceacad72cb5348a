import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { GetWatchAnswer, ListAnswersAnswer, ListSilencesAnswer } from "../../api/answers.gen.ts";
import { alertCall, type Alert } from "../../api/alerts.ts";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { hrefOf, usePlace } from "../../navigation/place.ts";
import { Page, Section } from "../../ui/page.tsx";
import { Empty, Failure, Loading, Shown } from "../../ui/states.tsx";
import { ActionsSection } from "./actions-section.tsx";
import { AlertList } from "./alert-list.tsx";
import { AlertView } from "./alert-view.tsx";
import { AnswerTable } from "./answers-section.tsx";
import { SilencesSection } from "./silences-section.tsx";
import { streamCall, useAlerts } from "./use-alerts.ts";
import "./alerts.css";

const watchCall: ApiCall = { path: "api/v1/watch/rules" };
const answersCall: ApiCall = { path: "api/v1/watch/answers" };
const silencesCall: ApiCall = { path: "api/v1/watch/silences" };
const everyMs = 10_000;

/** What the rules have found, as it happens, and what can be done about it. */
export default function AlertsPage(): JSX.Element {
  const chosen = usePlace().query.get("alert");
  const watch = useCall<GetWatchAnswer>(watchCall, { everyMs });
  const calls = [watchCall, streamCall, silencesCall, answersCall, ...(chosen === null ? [] : [alertCall(chosen)])];
  return (
    <Page
      title="Alerts"
      lead="What the rules on flows and devices have found, and the notices sent."
      calls={calls}
      actions={
        chosen !== null && (
          <a class="button" href={hrefOf("alerts")}>
            All alerts
          </a>
        )
      }
    >
      <Shown of={watch} what="Asking for the rules">
        {(answer) => (answer.enabled ? <Watched watch={answer} chosen={chosen} reload={watch.reload} /> : <NoRules />)}
      </Shown>
    </Page>
  );
}

function Watched({
  watch,
  chosen,
  reload,
}: {
  readonly watch: GetWatchAnswer;
  readonly chosen: string | null;
  readonly reload: () => void;
}): JSX.Element {
  const live = useAlerts(true);
  const silences = useCall<ListSilencesAnswer>(silencesCall, { everyMs });
  const answers = useCall<ListAnswersAnswer>(answersCall, { everyMs });
  const turn = useTurn(live.alerts?.find(({ id }) => id === chosen));
  const reloadAll = (): void => {
    reload();
    silences.reload();
    answers.reload();
  };
  const open = (answers.answer?.answers ?? []).filter(({ state }) => state !== "ended" && state !== "refused");
  const approvals = answers.answer?.approvals ?? 1;
  return (
    <>
      {watch.fault !== undefined && (
        <p class="state failure" role="alert">
          <strong>{watch.fault}</strong>
        </p>
      )}
      {live.failure !== undefined && <Failure failure={live.failure} retry={live.retry} />}
      {chosen !== null ? (
        <AlertView
          key={chosen}
          id={chosen}
          turn={turn}
          answers={answers.answer?.answers ?? []}
          approvals={approvals}
          reload={reloadAll}
        />
      ) : (
        <>
          {live.alerts === undefined ? (
            live.failure === undefined && <Loading what="Asking for the alerts" />
          ) : watch.rules.length === 0 ? (
            <NoRules />
          ) : (
            <AlertList alerts={live.alerts} />
          )}
          {open.length > 0 && (
            <Section title="Answers to attacks" note={modeText(answers.answer?.mode, approvals)}>
              <AnswerTable answers={open} approvals={approvals} reload={answers.reload} />
            </Section>
          )}
          <SilencesSection silences={silences} />
          <ActionsSection actions={watch.actions} reload={reload} />
        </>
      )}
    </>
  );
}

function modeText(mode: ListAnswersAnswer["mode"] | undefined, approvals: number): string {
  if (mode === "automatic") return "announced at once";
  if (mode === "approve") return approvals > 1 ? "two users have to allow each" : "a user has to allow each";
  return "dry run: nothing is announced";
}

/** Another number whenever something happened to an alert. */
function useTurn(alert: Alert | undefined): number {
  const { state, acknowledged, snoozed, silence } = alert ?? {};
  const key = JSON.stringify([state, acknowledged?.at, snoozed?.until, silence?.id]);
  const turns = useMemo(() => new Map<string, number>(), []);
  const turn = turns.get(key) ?? turns.size;
  turns.set(key, turn);
  return turn;
}

/** How to begin: no rules are in force. */
function NoRules(): JSX.Element {
  return (
    <Section title="How to begin">
      <Empty title="No rules are set up">
        <p>
          A file names what is to be found. Ready rules come with the program: <code>netgloss watch ready</code> lists
          them. Set <code>SVC_WATCH_RULES_PATH</code> to a file such as this one, and start again:
        </p>
      </Empty>
      <pre class="rules-example" tabIndex={0} aria-label="A file of rules">
        {`actions:
  noc:
    webhook: {url: "http://127.0.0.1:9095/alerts"}
ready:
  dns-amplification: {act: [noc]}
  udp-flood: {act: [noc], when: "> 2G for 10s"}
  exporter-silent: {act: [noc]}
`}
      </pre>
    </Section>
  );
}
