import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiFailure } from "../api/api-failure.ts";
import { deleteEntries, readEntry, saveEntry } from "../api/entries.ts";
import type { Entry } from "../api/entry.ts";
import { ActionButton } from "./action-button.tsx";
import { hrefOfText } from "../navigation/place.ts";
import { Dialog } from "./dialog.tsx";
import { draftOf, EntryForm, entryOf } from "./entry-form.tsx";
import { EntryDiff } from "./entry-diff.tsx";
import { Failure } from "./states.tsx";

export interface EntryDialogProps {
  /** The entry as it is shown; of a new one the values to begin with. */
  readonly entry: Entry;
  readonly isNew: boolean;
  readonly onClose: () => void;
  /** Called after each change. */
  readonly changed: (what: string) => void;
}

/** Edits an entry, or makes one. What others have changed meanwhile is shown, and never written over in silence. */
export function EntryDialog({ entry, isNew, onClose, changed }: EntryDialogProps): JSX.Element {
  const [draft, setDraft] = useState(() => draftOf(entry));
  const [known, setKnown] = useState<Entry | undefined>(isNew ? undefined : entry);
  const [failure, setFailure] = useState<ApiFailure | undefined>(undefined);
  /** What others have made of it. */
  const [theirs, setTheirs] = useState<{ readonly entry: Entry | undefined } | undefined>(undefined);
  const [isDeleting, setDeleting] = useState(false);

  const attempt = async (work: () => Promise<void>, what: string): Promise<void> => {
    setFailure(undefined);
    try {
      await work();
      changed(what);
      onClose();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      if (error.code !== "failed_precondition") setFailure(error);
      else setTheirs({ entry: await readEntry(draft.key.trim()) });
    }
  };
  const save = (on: Entry | undefined): Promise<void> =>
    attempt(() => saveEntry(entryOf(draft), on), `${draft.key.trim()} is saved`);
  const remove = (): Promise<void> =>
    attempt(async () => {
      const now = await readEntry(entry.key);
      if (now === undefined || JSON.stringify(now) !== JSON.stringify(known)) {
        throw new ApiFailure("refused", "", { code: "failed_precondition" });
      }
      await deleteEntries([entry.key]);
    }, `${entry.key} is deleted`);

  return (
    <Dialog
      title={isNew ? `Name ${entry.key === "" ? "an address" : entry.key}` : `Edit ${entry.key}`}
      onClose={onClose}
    >
      <form>
        {theirs !== undefined && (
          <Meanwhile
            known={known}
            theirs={theirs.entry}
            take={() => {
              if (theirs.entry === undefined) return onClose();
              setDraft(draftOf(theirs.entry));
              setKnown(theirs.entry);
              setTheirs(undefined);
            }}
            keepMine={() => {
              setKnown(theirs.entry);
              setTheirs(undefined);
              void save(theirs.entry);
            }}
          />
        )}
        {!isNew && (
          <p class="note">
            <a href={hrefOfText(entry.key)}>What it is and does</a>
          </p>
        )}
        <EntryForm draft={draft} setDraft={setDraft} isNew={isNew} violations={failure?.violations ?? []} />
        {entry.otherFields !== undefined && entry.otherFields !== "" && (
          <p class="note">The file says more of this entry, which is kept: {entry.otherFields.trim()}</p>
        )}
        {failure !== undefined && <Failure failure={failure} />}
        <div class="dialog-actions">
          {!isNew && !isDeleting && (
            <ActionButton needs="editor" area="metadata" kind="danger" onAction={() => setDeleting(true)}>
              Delete …
            </ActionButton>
          )}
          {isDeleting && (
            <ActionButton needs="editor" area="metadata" kind="danger" onAction={remove}>
              Yes, delete this entry
            </ActionButton>
          )}
          <ActionButton needs="editor" area="metadata" kind="primary" takesEnter onAction={() => save(known)}>
            Save
          </ActionButton>
        </div>
      </form>
    </Dialog>
  );
}

function Meanwhile({
  known,
  theirs,
  take,
  keepMine,
}: {
  readonly known: Entry | undefined;
  readonly theirs: Entry | undefined;
  readonly take: () => void;
  readonly keepMine: () => void;
}): JSX.Element {
  return (
    <div class="state failure" role="alert">
      <strong>
        Somebody else has {theirs === undefined ? "deleted" : known === undefined ? "created" : "changed"} this entry
        meanwhile.
      </strong>
      <div>Nothing was saved. This is what they did:</div>
      <EntryDiff
        change={{
          key: (theirs ?? known)?.key ?? "",
          ...(known && { before: known }),
          ...(theirs && { after: theirs }),
        }}
      />
      <button type="button" class="button" onClick={take}>
        {theirs === undefined ? "Leave it deleted" : "Begin with theirs"}
      </button>{" "}
      <button type="button" class="button" onClick={keepMine}>
        Save mine all the same
      </button>
    </div>
  );
}
