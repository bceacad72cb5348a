import type { JSX } from "preact";
import type { Entry } from "../../api/entry.ts";
import { hrefOfText } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { DataTable } from "../../ui/data-table.tsx";

/** Entries with what they say; those that people write can be edited. */
export function EntryList({
  entries,
  edit,
}: {
  readonly entries: readonly Entry[];
  readonly edit: (entry: Entry) => void;
}): JSX.Element {
  return (
    <DataTable
      caption="Entries"
      rows={entries}
      keyOf={({ key, layer = "" }) => `${key} ${layer}`}
      columns={[
        {
          name: "Key",
          cell: ({ key }) => (
            <a class="mono" href={hrefOfText(key)}>
              {key}
            </a>
          ),
        },
        { name: "Name", cell: ({ name = "" }) => name, sortBy: ({ name = "" }) => name },
        {
          name: "Tags",
          cell: ({ tags = [] }) =>
            tags.map((tag) => (
              <span key={tag} class="tag">
                {tag}
              </span>
            )),
          isMinor: true,
        },
        { name: "VLAN", cell: ({ vlan = "" }) => vlan, isNumber: true, isMinor: true },
        {
          name: "Metadata",
          cell: ({ metadata = {} }) =>
            Object.entries(metadata)
              .map(([name, value]) => `${name}=${value}`)
              .join(", "),
          isMinor: true,
          className: "wrap",
        },
        {
          name: "Edit",
          cell: (entry) => (
            <ActionButton
              needs="editor"
              area="metadata"
              lack={
                (entry.layer ?? "") === "" ? undefined : `It comes from the source ${entry.layer}: change it there.`
              }
              onAction={() => edit(entry)}
            >
              Edit<span class="hidden"> {entry.key}</span>
            </ActionButton>
          ),
          isNumber: true,
        },
      ]}
    />
  );
}
