import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Alert } from "../../api/alerts.ts";
import { callApi } from "../../api/call.ts";
import { useLack } from "../../api/session.ts";
import { silenceFilter } from "../../format/alert-text.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Failure } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { SilenceDialog } from "./silence-dialog.tsx";

const snoozes = ["30m", "2h", "8h", "24h"] as const;

/** What a person may do about an alert; nothing for who may not. */
export function AlertActions({
  alert,
  reload,
}: {
  readonly alert: Alert;
  readonly reload: () => void;
}): JSX.Element | null {
  const lack = useLack("editor", "flow");
  const action = useAction();
  const [time, setTime] = useState<string>(snoozes[0]);
  const [isSilencing, setSilencing] = useState(false);
  if (lack !== undefined || alert.state === "cleared") return null;
  const path = `api/v1/watch/alerts/${encodeURIComponent(alert.id)}`;
  const post = async (what: string, body?: object): Promise<void> => {
    const call = { path: `${path}/${what}`, method: "POST" as const, ...(body !== undefined && { body }) };
    if (await action.run(async () => void (await callApi(call)))) reload();
  };
  return (
    <>
      {alert.acknowledged === undefined && (
        <ActionButton needs="editor" area="flow" kind="primary" onAction={() => post("acknowledge")}>
          Acknowledge
        </ActionButton>
      )}
      <span class="snooze">
        <ActionButton needs="editor" area="flow" onAction={() => post("snooze", { for: time })}>
          Snooze
        </ActionButton>
        <select aria-label="How long to snooze" value={time} onChange={(event) => setTime(event.currentTarget.value)}>
          {snoozes.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </span>
      <ActionButton needs="editor" area="flow" onAction={() => setSilencing(true)}>
        Silence …
      </ActionButton>
      {action.failure !== undefined && <Failure failure={action.failure} />}
      {isSilencing && (
        <SilenceDialog filter={silenceFilter(alert)} onClose={() => setSilencing(false)} onDone={reload} />
      )}
    </>
  );
}
