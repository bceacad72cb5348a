import type { JSX } from "preact";
import { useQueryState } from "../../navigation/place.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import { withCode } from "../../ui/with-code.tsx";
import { shownValue, type Setting } from "./settings-answer.ts";

const columns: readonly Column<Setting>[] = [
  {
    name: "Setting",
    cell: ({ name, help, expected }) => (
      <>
        <code class="setting-name">{name}</code>
        <span class="note setting-help">
          {withCode(help)} <span class="setting-expected">Value: {expected}.</span>
        </span>
      </>
    ),
    sortBy: ({ name }) => name,
    className: "wrap",
  },
  {
    name: "In force",
    cell: (setting) => {
      const value = shownValue(setting);
      return setting.isSecret === true || value === "empty" ? <i>{value}</i> : <code>{value}</code>;
    },
    className: "wrap",
  },
  {
    name: "From",
    cell: ({ origin }) =>
      origin === "default" ? <span class="note">default</span> : <Badge state="plain">{origin}</Badge>,
    sortBy: ({ origin }) => origin,
    className: "wrap origin",
  },
];

/** All settings, those that were changed first; found by words of their names, help and values. */
export function SettingsTable({ settings }: { readonly settings: readonly Setting[] }): JSX.Element {
  const [query, setQuery] = useQueryState();
  const words = (query.get("find") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const showsAll = query.get("all") === "1" || words.length > 0;
  const found = settings.filter((setting) => {
    if (!showsAll && setting.origin === "default") return false;
    const text =
      `${setting.name} ${setting.help} ${setting.group} ${setting.value ?? ""} ${setting.origin}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const groups = [...new Set(found.map(({ group }) => group))];
  return (
    <Section title="Settings in force" note={`${found.length} of ${settings.length}`}>
      <div class="bar">
        <label class="field grow">
          Find
          <input
            type="search"
            value={query.get("find") ?? ""}
            placeholder="a name, a value, a word"
            onInput={(event) => setQuery({ find: event.currentTarget.value }, { replace: true })}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={query.get("all") === "1"}
            onChange={(event) => setQuery({ all: event.currentTarget.checked ? 1 : undefined })}
          />{" "}
          Defaults, too
        </label>
      </div>
      {found.length === 0 &&
        (words.length > 0 ? (
          <Empty title="No setting has these words">Try fewer of them.</Empty>
        ) : (
          <Empty title="Everything is as it is by default">Tick "Defaults, too" to see all settings.</Empty>
        ))}
      {groups.map((group) => (
        <div key={group} class="settings-groups">
          <h3 class="sub">{group}</h3>
          <DataTable
            caption={`Settings: ${group}`}
            rows={found.filter((setting) => setting.group === group)}
            keyOf={({ name }) => name}
            columns={columns}
          />
        </div>
      ))}
    </Section>
  );
}
