import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SavedViewsAnswer } from "../../api/answers.gen.ts";
import { saveBoard, type Board, type NewBoard } from "../../api/saved-views.ts";
import type { Role } from "../../api/session.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";

const mostViews = 12;
const roles: readonly Role[] = ["viewer", "editor", "operator", "admin"];

export interface BoardDialogProps {
  readonly board: NewBoard | Board;
  readonly views: SavedViewsAnswer["views"];
  readonly onClose: () => void;
  readonly onSaved: (board: Board) => void;
}

/** What a board is called, who sees it, and which views are on it, in which order. */
export function BoardDialog({ board, views, onClose, onSaved }: BoardDialogProps): JSX.Element {
  const [draft, setDraft] = useState(board);
  const action = useAction();
  const set = (change: Partial<NewBoard>): void => setDraft({ ...draft, ...change });
  const chosen = draft.views;
  const rest = views.filter(({ id }) => !chosen.includes(id));
  const nameOf = (id: string): string => views.find((view) => view.id === id)?.name ?? id;
  const move = (at: number, by: -1 | 1): void => {
    const next = [...chosen];
    const [one = ""] = next.splice(at, 1);
    next.splice(at + by, 0, one);
    set({ views: next });
  };
  return (
    <Dialog title={"id" in board ? `Change ${board.name}` : "New board"} onClose={onClose}>
      <form class="form">
        <label>
          Name
          <input value={draft.name} maxLength={100} onInput={(event) => set({ name: event.currentTarget.value })} />
        </label>
        <label>
          Description
          <input value={draft.description} onInput={(event) => set({ description: event.currentTarget.value })} />
        </label>
        <label>
          Seen by the role
          <select value={draft.role} onChange={(event) => set({ role: event.currentTarget.value as Role })}>
            {roles.map((role) => (
              <option key={role} value={role}>
                {role === "admin" ? role : `${role} and above`}
              </option>
            ))}
          </select>
        </label>
        <fieldset class="board-views">
          <legend>
            Views ({chosen.length} of {mostViews})
          </legend>
          {views.length === 0 && <p class="note">There are no views yet: save one in Explore.</p>}
          <ol>
            {chosen.map((id, at) => (
              <li key={id}>
                <span class="grow">{nameOf(id)}</span>
                <button
                  type="button"
                  class="button quiet"
                  disabled={at === 0}
                  aria-label={`${nameOf(id)} up`}
                  onClick={() => move(at, -1)}
                >
                  ↑
                </button>
                <button
                  type="button"
                  class="button quiet"
                  disabled={at === chosen.length - 1}
                  aria-label={`${nameOf(id)} down`}
                  onClick={() => move(at, 1)}
                >
                  ↓
                </button>
                <button
                  type="button"
                  class="button quiet"
                  aria-label={`Take ${nameOf(id)} off`}
                  onClick={() => set({ views: chosen.filter((each) => each !== id) })}
                >
                  ×
                </button>
              </li>
            ))}
          </ol>
          {rest.length > 0 && chosen.length < mostViews && (
            <label>
              Add a view
              <select value="" onChange={(event) => set({ views: [...chosen, event.currentTarget.value] })}>
                <option value="" disabled>
                  choose …
                </option>
                {rest.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </fieldset>
        <p class="note">
          Time and filter are those that the board is opened with: {draft.from} to {draft.to}
          {draft.filter === "" ? "" : `, ${draft.filter}`}.
        </p>
        {action.failure !== undefined && <Failure failure={action.failure} />}
        <div class="dialog-actions">
          <ActionButton
            needs="editor"
            area="flow"
            kind="primary"
            takesEnter
            lack={draft.name.trim() === "" ? "It needs a name." : undefined}
            onAction={async () => {
              await action.run(async () => onSaved(await saveBoard({ ...draft, name: draft.name.trim() })));
            }}
          >
            Save
          </ActionButton>
        </div>
      </form>
    </Dialog>
  );
}
