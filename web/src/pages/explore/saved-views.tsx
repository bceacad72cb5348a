import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SavedViewsAnswer } from "../../api/answers.gen.ts";
import { keepBrowserViews, readBrowserViews, sharedViewOf } from "../../api/browser-views.ts";
import { callApi } from "../../api/call.ts";
import { hrefOfView, savedViewsCall, saveViewCall, type NewView } from "../../api/saved-views.ts";
import { useCall } from "../../api/use-call.ts";
import { hrefOf } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { DropDown } from "../../ui/drop-down.tsx";
import { Failure } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Views that people share; what is shown is saved as one more. */
export function SavedViews({ shown }: { readonly shown: Omit<NewView, "name"> }): JSX.Element {
  const saved = useCall<SavedViewsAnswer>(savedViewsCall);
  const [name, setName] = useState("");
  const [said, setSaid] = useState("");
  const action = useAction();
  const save = async (): Promise<void> => {
    setSaid("");
    const isDone = await action.run(async () => {
      await callApi(saveViewCall({ ...shown, name: name.trim() }));
    });
    if (!isDone) return;
    setSaid(`"${name.trim()}" is saved.`);
    setName("");
    saved.reload();
  };
  const { views = [], kept = true } = saved.answer ?? {};
  return (
    <DropDown className="menu" summaryClass="button" label="Saved views">
      <div class="menu-body">
        {saved.failure !== undefined && <Failure failure={saved.failure} retry={saved.reload} />}
        {saved.answer !== undefined && views.length === 0 && (
          <p class="note">None yet. All who may see flows see them.</p>
        )}
        <ul class="plain">
          {views.map((view) => (
            <li key={view.id}>
              <a href={hrefOfView(view)} title={view.description}>
                {view.name}
              </a>
              <span class="note">{view.changedBy}</span>
            </li>
          ))}
        </ul>
        <form class="form">
          <label class="field">
            Save this view as
            <input value={name} maxLength={100} onInput={(event) => setName(event.currentTarget.value)} />
          </label>
          <ActionButton
            needs="editor"
            area="flow"
            takesEnter
            lack={name.trim() === "" ? "It needs a name." : undefined}
            onAction={save}
          >
            Save
          </ActionButton>
        </form>
        {action.failure !== undefined && <Failure failure={action.failure} />}
        <p role="status" class="note">
          {said}
          {!kept && " The collector has no state directory: a restart forgets it."}
        </p>
        <BrowserViews onShared={saved.reload} />
        <a href={hrefOf("boards")}>Boards, and all views</a>
      </div>
    </DropDown>
  );
}

/** Views that an earlier version kept in this browser: they are opened from here, and become views that people share. */
function BrowserViews({ onShared }: { readonly onShared: () => void }): JSX.Element | null {
  const [views, setViews] = useState(readBrowserViews);
  const action = useAction();
  const keep = (rest: typeof views): void => {
    keepBrowserViews(rest);
    setViews(rest);
  };
  const share = async (): Promise<void> => {
    await action.run(async () => {
      // One after the other: what was shared is gone from here when a later one is refused.
      for (let rest = views; rest[0] !== undefined; rest = rest.slice(1), keep(rest)) {
        await callApi(saveViewCall(sharedViewOf(rest[0])));
      }
    });
    onShared();
  };
  if (views.length === 0) return null;
  return (
    <section aria-label="In this browser alone">
      <p class="note">In this browser alone, from an earlier version:</p>
      <ul class="plain">
        {views.map((view) => (
          <li key={view.name}>
            <a href={`${hrefOf("explore")}${view.query}`}>{view.name}</a>
            <button
              type="button"
              class="button quiet"
              aria-label={`Delete ${view.name}`}
              onClick={() => keep(views.filter((each) => each !== view))}
            >
              Delete
            </button>
          </li>
        ))}
      </ul>
      <ActionButton needs="editor" area="flow" onAction={share}>
        Share them
      </ActionButton>
      {action.failure !== undefined && <Failure failure={action.failure} />}
    </section>
  );
}
