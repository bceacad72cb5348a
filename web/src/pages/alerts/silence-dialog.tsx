import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ListAlertsAnswer } from "../../api/answers.gen.ts";
import { alertsCall } from "../../api/alerts.ts";
import { callApi } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { AlertBadges } from "../../ui/alert-parts.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";

/** How long somebody has to stop typing before the preview is asked for, milliseconds. */
const pauseMs = 300;

/** A new silence: which alerts, how long, why; with the open alerts that it would hold back. */
export function SilenceDialog({
  filter: first,
  onClose,
  onDone,
}: {
  readonly filter: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): JSX.Element {
  const [filter, setFilter] = useState(first);
  const [time, setTime] = useState("8h");
  const [from, setFrom] = useState("");
  const [comment, setComment] = useState("");
  const action = useAction();
  const isEmpty = filter.trim() === "";
  const submit = async (): Promise<void> => {
    const begin = from === "" ? {} : { from: new Date(from).toISOString() };
    const body = { filter, for: time, ...begin, ...(comment !== "" && { comment }) };
    const isDone = await action.run(async () => void (await callApi({ path: "api/v1/watch/silences/add", body })));
    if (!isDone) return;
    onDone();
    onClose();
  };
  return (
    <Dialog title="Silence alerts" onClose={onClose} isWide>
      <form class="silence">
        <p class="note">
          No notices are sent of alerts that pass the filter. They are shown and kept, and answers to attacks go on.
        </p>
        <label class="field">
          <span>Filter: fields of keys, and alert.rule.name, alert.text, alert.value</span>
          <textarea rows={2} class="mono" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </label>
        <div class="alert-choice">
          <label class="field">
            <span>For, such as 30m, 8h, 7d</span>
            <input value={time} onInput={(event) => setTime(event.currentTarget.value)} />
          </label>
          <label class="field">
            <span>From (this computer’s time; empty: now)</span>
            <input type="datetime-local" value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
          </label>
          <label class="field grow">
            <span>Why</span>
            <input value={comment} maxLength={500} onInput={(event) => setComment(event.currentTarget.value)} />
          </label>
        </div>
        {!isEmpty && <Preview filter={filter} />}
        {action.failure !== undefined && <Failure failure={action.failure} />}
        <div class="dialog-actions">
          <ActionButton
            needs="editor"
            area="flow"
            kind="primary"
            takesEnter
            lack={isEmpty ? "Say which alerts." : undefined}
            onAction={submit}
          >
            Silence
          </ActionButton>
        </div>
      </form>
    </Dialog>
  );
}

/** The open alerts that pass a filter. */
function Preview({ filter }: { readonly filter: string }): JSX.Element {
  const [asked, setAsked] = useState(filter);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(filter), pauseMs);
    return () => clearTimeout(timer);
  }, [filter]);
  const found = useCall<ListAlertsAnswer>(alertsCall({ state: "firing,pending", filter: asked, limit: 10 }));
  const { answer, failure } = found;
  return (
    <div role="status" aria-live="polite">
      {failure !== undefined && <p class="fault">{failure.message}</p>}
      {answer !== undefined && (
        <>
          <p>
            <strong>
              {answer.matched === 0
                ? "No open alert passes it now."
                : `${String(answer.matched)} open ${answer.matched === 1 ? "alert passes" : "alerts pass"} it now:`}
            </strong>
          </p>
          <ul class="trouble">
            {answer.alerts.map((alert) => (
              <li key={alert.id}>
                <AlertBadges alert={alert} />
                <div>{alert.text}</div>
              </li>
            ))}
          </ul>
          {answer.matched > answer.alerts.length && (
            <p class="note">… and {answer.matched - answer.alerts.length} more.</p>
          )}
        </>
      )}
    </div>
  );
}
