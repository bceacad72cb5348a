import type { JSX } from "preact";
import { AddressLink } from "../../ui/address-link.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Badge } from "../../ui/tile.tsx";
import type { Difference, FoundRow } from "./network-search.ts";

/** Rows that are drawn; `netgloss snmp discover` shows all. */
const maxShown = 200;

const badges: Readonly<Record<Difference, "good" | "warn" | "bad" | "plain">> = {
  new: "good",
  changed: "warn",
  gone: "bad",
  duplicate: "plain",
  refused: "warn",
};

/** The differences that a search found. */
export function FoundTable({ rows }: { readonly rows: readonly FoundRow[] }): JSX.Element {
  return (
    <>
      <DataTable
        caption="What the last search found"
        rows={rows.slice(0, maxShown)}
        keyOf={({ what, device }) => `${what} ${device}`}
        columns={[
          { name: "What", cell: ({ what }) => <Badge state={badges[what]}>{what}</Badge>, sortBy: ({ what }) => what },
          {
            name: "Device",
            cell: ({ name, device }) => (
              <>
                {name !== "" && <strong>{name} </strong>}
                <AddressLink text={device} />
              </>
            ),
            sortBy: ({ name, device }) => `${name} ${device}`,
          },
          { name: "Why", cell: ({ why }) => why, className: "wrap" },
        ]}
      />
      {rows.length > maxShown && (
        <p class="note">
          The first {maxShown} of {rows.length} are shown. The report as a whole is in the answer of the API.
        </p>
      )}
    </>
  );
}
