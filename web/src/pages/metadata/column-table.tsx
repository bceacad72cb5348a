import type { JSX } from "preact";
import { DataTable } from "../../ui/data-table.tsx";
import { ownTarget, type SheetHead, type Target } from "./sheet.ts";

const fields: readonly (readonly [target: Target, label: string])[] = [
  ["", "nothing: leave it out"],
  ["key", "address, prefix or range"],
  ["name", "name"],
  ["tags", "tags"],
  ["vlan", "VLAN"],
  ["internal", "internal"],
];

/** Which column becomes which field, with the first values of each. */
export function ColumnTable({
  head,
  targets,
  change,
}: {
  readonly head: SheetHead;
  readonly targets: readonly Target[];
  readonly change: (targets: readonly Target[]) => void;
}): JSX.Element {
  const rows = head.columns.map((column, at) => ({ column, at }));
  return (
    <DataTable
      caption="Columns of the sheet"
      rows={rows}
      keyOf={({ at }) => String(at)}
      columns={[
        { name: "Column", cell: ({ column }) => <strong>{column}</strong> },
        {
          name: "Its first values",
          cell: ({ at }) => (
            <span class="note">
              {head.rows
                .map((row) => row[at] ?? "")
                .filter((value) => value !== "")
                .slice(0, 3)
                .join(" · ")}
            </span>
          ),
          isMinor: true,
          className: "wrap",
        },
        {
          name: "Becomes",
          cell: ({ column, at }) => (
            <TargetChoice
              column={column}
              target={targets[at] ?? ""}
              change={(target) => change(targets.with(at, target))}
            />
          ),
        },
      ]}
    />
  );
}

/** Which fields records get of metadata under a name. */
function fieldsOf(name: string): string {
  if (name === "") return "it needs a name";
  return name.startsWith(".")
    ? `flow.src${name}, flow.dst${name}: of each end of a flow`
    : `${name}: of the record as a whole; with a period before it, of each end`;
}

function TargetChoice({
  column,
  target,
  change,
}: {
  readonly column: string;
  readonly target: Target;
  readonly change: (target: Target) => void;
}): JSX.Element {
  const isMetadata = target.startsWith("metadata:");
  return (
    <span class="target">
      <select
        value={isMetadata ? "metadata" : target}
        aria-label={`What ${column} becomes`}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          change(chosen === "metadata" ? ownTarget(column) : (chosen as Target));
        }}
      >
        {fields.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
        <option value="metadata">metadata named …</option>
      </select>
      {isMetadata && (
        <input
          value={target.slice("metadata:".length)}
          aria-label={`Name of the metadata of ${column}`}
          onInput={(event) => change(`metadata:${event.currentTarget.value}`)}
        />
      )}
      {isMetadata && <span class="note">{fieldsOf(target.slice("metadata:".length))}</span>}
    </span>
  );
}
