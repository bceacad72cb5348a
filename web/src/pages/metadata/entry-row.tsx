import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { splitTags } from "../../api/entries.ts";
import type { Entry } from "../../api/entry.ts";
import { useLack } from "../../api/session.ts";
import { hrefOfText } from "../../navigation/place.ts";
import { Badge } from "../../ui/tile.tsx";

export interface EntryRowProps {
  readonly index: number;
  /** Pixels. */
  readonly top: number;
  /** Undefined while it is being read. */
  readonly entry: Entry | undefined;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly isEditing: boolean;
  readonly toggle: (isRange: boolean) => void;
  readonly open: (entry: Entry) => void;
  readonly edit: (isOn: boolean) => void;
  readonly save: (entry: Entry, known: Entry) => Promise<void>;
}

/** One entry in the table; its name and tags can be edited in their places. */
export function EntryRow(props: EntryRowProps): JSX.Element {
  const { index, top, entry, isActive, isSelected, isEditing } = props;
  const className = ["entry-row", isActive ? "active" : "", isSelected ? "selected" : ""].join(" ");
  return (
    <div
      id={`entry-${index}`}
      class={className}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      style={{ transform: `translateY(${top}px)` }}
    >
      {entry === undefined ? (
        <span role="gridcell" class="waiting">
          …
        </span>
      ) : isEditing ? (
        <EditedCells {...props} entry={entry} />
      ) : (
        <Cells {...props} entry={entry} />
      )}
    </div>
  );
}

type CellsProps = EntryRowProps & { readonly entry: Entry };

function Cells({ entry, isSelected, toggle, open, edit }: CellsProps): JSX.Element {
  const { key, name = "", tags = [], vlan = "", metadata = {}, layer = "" } = entry;
  const lack = useLack("editor", "metadata");
  const isTheirs = layer !== "";
  const begin = (): void => {
    if (!isTheirs && lack === undefined) edit(true);
  };
  return (
    <>
      <span role="gridcell">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={isSelected}
          disabled={isTheirs}
          aria-label={`Select ${key}`}
          onClick={(event) => toggle(event.shiftKey)}
        />
      </span>
      <span role="gridcell" class="mono">
        <button type="button" class="link" tabIndex={-1} title={key} onClick={() => open(entry)}>
          {key}
        </button>
      </span>
      <span role="gridcell" onDblClick={begin} title={lack ?? "Double-click to edit"}>
        {name}
        {isTheirs && <Badge state="plain">{layer}</Badge>}
      </span>
      <span role="gridcell" class="minor" onDblClick={begin}>
        {tags.map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
      </span>
      <span role="gridcell" class="minor number">
        {vlan}
      </span>
      <span role="gridcell" class="minor note">
        {Object.entries(metadata)
          .map(([one, value]) => `${one}=${value}`)
          .join(", ")}{" "}
        <a
          class="own-page"
          tabIndex={-1}
          href={hrefOfText(key)}
          aria-label={`The page of ${key}`}
          title={`What ${key} is and does`}
        >
          ↗
        </a>
      </span>
    </>
  );
}

/** Enter saves, Escape leaves all as it was. */
function EditedCells({ entry, edit, save }: CellsProps): JSX.Element {
  const [name, setName] = useState(entry.name ?? "");
  const [tags, setTags] = useState((entry.tags ?? []).join(", "));
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.select(), []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") edit(false);
    else if (event.key === "Enter") {
      void save({ ...entry, name: name.trim(), tags: splitTags(tags) }, entry).then(() => edit(false));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <span role="gridcell" />
      <span role="gridcell" class="mono">
        {entry.key}
      </span>
      <span role="gridcell">
        <input
          ref={first}
          value={name}
          aria-label={`Name of ${entry.key}`}
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </span>
      <span role="gridcell" class="minor">
        <input
          value={tags}
          aria-label={`Tags of ${entry.key}`}
          onInput={(event) => setTags(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </span>
      <span role="gridcell" class="minor note">
        Enter saves
      </span>
      <span role="gridcell" class="minor note">
        Escape leaves it
      </span>
    </>
  );
}
