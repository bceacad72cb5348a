import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { hrefOf } from "../../navigation/place.ts";
import { DropDown } from "../../ui/drop-down.tsx";

interface SavedView {
  readonly name: string;
  /** The query of its address. */
  readonly query: string;
}

const key = "netgloss.explore.saved";

function readViews(): readonly SavedView[] {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "[]") as SavedView[];
  } catch {
    return [];
  }
}

/** Views that this browser keeps by name. To others a view goes by its address. */
export function SavedViews(): JSX.Element {
  const [views, setViews] = useState(readViews);
  const [name, setName] = useState("");
  const keep = (next: readonly SavedView[]): void => {
    localStorage.setItem(key, JSON.stringify(next));
    setViews(next);
  };
  return (
    <DropDown className="menu" summaryClass="button" label="Saved views">
      <div class="menu-body">
        {views.length === 0 && <p class="note">None yet. This browser keeps them; to others, send the address.</p>}
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
        <form
          class="bar"
          onSubmit={(event) => {
            event.preventDefault();
            const title = name.trim();
            if (title === "") return;
            keep([...views.filter((view) => view.name !== title), { name: title, query: location.search }]);
            setName("");
          }}
        >
          <label class="field grow">
            Save this view as
            <input value={name} onInput={(event) => setName(event.currentTarget.value)} required />
          </label>
          <button class="button">Save</button>
        </form>
      </div>
    </DropDown>
  );
}
