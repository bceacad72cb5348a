import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { deleteEntries, splitTags, tagEntries } from "../../api/entries.ts";
import { useCall } from "../../api/use-call.ts";
import { formatWhole } from "../../format/numbers.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import type { EntryPages } from "./entry-pages.ts";
import { lastChangeCall, type ChangesAnswer } from "./history-call.ts";

/** The most elements that one request may have by default. */
const mostSelected = 100_000;

export interface BulkBarProps {
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (keys: ReadonlySet<string>) => void;
  readonly pages: EntryPages;
  readonly changed: (what: string) => void;
}

/** What can be done with many entries at once: each is one change of the history, which can be undone. */
export function BulkBar({ selected, setSelected, pages, changed }: BulkBarProps): JSX.Element {
  const [open, setOpen] = useState<"tag" | "delete" | undefined>(undefined);
  const action = useAction();
  const gone = useRef<AbortController | undefined>(undefined);
  const selectAll = async (): Promise<void> => {
    gone.current = new AbortController();
    const { signal } = gone.current;
    await action.run(async () => setSelected(new Set(await pages.keys(mostSelected, signal))));
  };
  const count = selected.size;
  return (
    <div class="bulk" role="group" aria-label="Selected entries">
      <span role="status">{count === 0 ? "None selected" : `${formatWhole(count)} selected`}</span>
      <button type="button" class="button quiet" aria-disabled={action.isBusy} onClick={() => void selectAll()}>
        {action.isBusy ? "Collecting …" : `Select all that match (up to ${formatWhole(mostSelected)})`}
      </button>
      {count > 0 && (
        <>
          <button type="button" class="button quiet" onClick={() => setSelected(new Set())}>
            Select none
          </button>
          <ActionButton needs="editor" area="metadata" onAction={() => setOpen("tag")}>
            Tag …
          </ActionButton>
          <ActionButton needs="editor" area="metadata" kind="danger" onAction={() => setOpen("delete")}>
            Delete …
          </ActionButton>
        </>
      )}
      {action.failure !== undefined && <Failure failure={action.failure} />}
      {open === "tag" && <TagDialog keys={[...selected]} onClose={() => setOpen(undefined)} changed={changed} />}
      {open === "delete" && (
        <DeleteDialog
          keys={[...selected]}
          onClose={() => setOpen(undefined)}
          changed={(what) => {
            setSelected(new Set());
            changed(what);
          }}
        />
      )}
    </div>
  );
}

interface BulkDialogProps {
  readonly keys: readonly string[];
  readonly onClose: () => void;
  readonly changed: (what: string) => void;
}

function TagDialog({ keys, onClose, changed }: BulkDialogProps): JSX.Element {
  const [add, setAdd] = useState("");
  const [remove, setRemove] = useState("");
  const action = useAction();
  const lists = { add: splitTags(add), remove: splitTags(remove) };
  const isEmpty = lists.add.length + lists.remove.length === 0;
  const apply = async (): Promise<void> => {
    const isDone = await action.run(async () => {
      const { updated = 0 } = await tagEntries(keys, lists);
      changed(`${formatWhole(updated)} of ${formatWhole(keys.length)} entries are changed`);
    });
    if (isDone) onClose();
  };
  return (
    <Dialog title={`Tag ${formatWhole(keys.length)} entries`} onClose={onClose}>
      <form>
        <div class="form">
          <label>
            Add these tags, with commas between
            <input value={add} onInput={(event) => setAdd(event.currentTarget.value)} autocomplete="off" />
          </label>
          <label>
            Remove these tags
            <input value={remove} onInput={(event) => setRemove(event.currentTarget.value)} autocomplete="off" />
          </label>
        </div>
        {action.failure !== undefined && <Failure failure={action.failure} />}
        <div class="dialog-actions">
          <ActionButton
            needs="editor"
            area="metadata"
            kind="primary"
            takesEnter
            lack={isEmpty ? "Enter a tag first." : undefined}
            onAction={apply}
          >
            {action.isBusy ? "Saving …" : "Change the tags"}
          </ActionButton>
        </div>
      </form>
    </Dialog>
  );
}

function DeleteDialog({ keys, onClose, changed }: BulkDialogProps): JSX.Element {
  const history = useCall<ChangesAnswer>(lastChangeCall);
  const action = useAction();
  const remove = async (): Promise<void> => {
    const isDone = await action.run(async () => {
      await deleteEntries(keys);
      changed(`${formatWhole(keys.length)} entries are deleted`);
    });
    if (isDone) onClose();
  };
  const shown = keys.slice(0, 20);
  return (
    <Dialog title={`Delete ${formatWhole(keys.length)} entries?`} onClose={onClose}>
      <p class="mono">
        {shown.join(", ")}
        {keys.length > shown.length && ` and ${formatWhole(keys.length - shown.length)} more`}
      </p>
      <p class="note">
        {history.answer !== undefined &&
          (history.answer.off === true
            ? "It cannot be undone: this collector keeps no changes."
            : "It is one change of the history, which can be undone.")}
      </p>
      {action.failure !== undefined && <Failure failure={action.failure} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Keep them
        </button>
        <ActionButton needs="editor" area="metadata" kind="danger" onAction={remove}>
          {action.isBusy ? "Deleting …" : "Delete them"}
        </ActionButton>
      </div>
    </Dialog>
  );
}
