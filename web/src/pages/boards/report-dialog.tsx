import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { saveReport, type NewReport, type Report } from "../../api/reports.ts";
import type { Board } from "../../api/saved-views.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";

export interface ReportDialogProps {
  readonly report: NewReport | Report;
  readonly boards: readonly Board[];
  /** Names of the actions that take reports. */
  readonly actions: readonly string[];
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** Which board is sent, when, of which time, and to whom. */
export function ReportDialog({ report, boards, actions, onClose, onSaved }: ReportDialogProps): JSX.Element {
  const [draft, setDraft] = useState(report);
  const action = useAction();
  const set = (change: Partial<NewReport>): void => setDraft({ ...draft, ...change });
  const known = [...new Set([...actions, ...report.actions])].filter((name) => name !== "");
  const toggle = (name: string, isOn: boolean): void =>
    set({ actions: isOn ? [...draft.actions, name] : draft.actions.filter((one) => one !== name) });
  const field = (name: "name" | "description" | "schedule" | "zone" | "period", label: string): JSX.Element => (
    <label>
      {label}
      <input value={draft[name]} onInput={(event) => set({ [name]: event.currentTarget.value })} />
    </label>
  );
  return (
    <Dialog title={"id" in report ? `Change ${report.name}` : "New report"} onClose={onClose}>
      <form class="form">
        {field("name", "Name")}
        {field("description", "Description")}
        <label>
          Board
          <select value={draft.board} onChange={(event) => set({ board: event.currentTarget.value })}>
            {boards.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {field("schedule", "When: hourly :15, daily 07:00, mon-fri 07:00,19:00, monthly last 18:00")}
        {field("zone", "Time zone")}
        {field("period", "Of the time before: hour, day, week, month, or 24h, 7d")}
        <fieldset>
          <legend>To</legend>
          {known.map((name) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={draft.actions.includes(name)}
                onChange={(event) => toggle(name, event.currentTarget.checked)}
              />
              {name}
            </label>
          ))}
        </fieldset>
        <label class="check">
          <input
            type="checkbox"
            checked={draft.paused}
            onChange={(event) => set({ paused: event.currentTarget.checked })}
          />
          Paused: sent by hand alone
        </label>
        {action.failure !== undefined && <Failure failure={action.failure} />}
        <div class="dialog-actions">
          <ActionButton
            needs="editor"
            area="flow"
            kind="primary"
            takesEnter
            lack={draft.name.trim() === "" ? "It needs a name." : undefined}
            onAction={async () => {
              const saved = { ...draft, name: draft.name.trim() };
              if (await action.run(async () => void (await saveReport(saved)))) onSaved();
            }}
          >
            Save
          </ActionButton>
        </div>
      </form>
    </Dialog>
  );
}
