import type { JSX } from "preact";
import type { TopologyLink } from "../api/topology.ts";
import { certaintyOf, endName, portText, type Certainty } from "../format/link-text.ts";
import { formatAge } from "../format/times.ts";
import { hrefOf, hrefOfText } from "../navigation/place.ts";
import { DataTable, type Column } from "./data-table.tsx";
import { Badge } from "./tile.tsx";

/** A link as one of its ends sees it. */
export interface SeenLink {
  readonly link: TopologyLink;
  readonly from: TopologyLink["a"];
  readonly to: TopologyLink["b"];
}

const badges = { confirmed: "good", likely: "plain", unsure: "warn", gone: "bad" } as const;

/** How sure a link is, as a word with a colour. */
export function CertaintyBadge({ certainty }: { readonly certainty: Certainty }): JSX.Element {
  return <Badge state={badges[certainty]}>{certainty}</Badge>;
}

/** Which tables say that a link is there, and what speaks against it. */
export function Evidence({ link }: { readonly link: TopologyLink }): JSX.Element {
  const byKind = new Map<string, number>();
  for (const { kind } of link.evidence) byKind.set(kind, (byKind.get(kind) ?? 0) + 1);
  const words = Array.from(byKind, ([kind, count]) => (count === 1 ? kind : `${kind} of both ends`));
  return (
    <>
      {words.join(", ")}
      {link.doubts.map((doubt) => (
        <div key={doubt} class="fault">
          {doubt}
        </div>
      ))}
    </>
  );
}

/** An end of a link; of a polled device with a way to its page, of another with one to what is known of its address. */
export function EndName({ end }: { readonly end: TopologyLink["a"] }): JSX.Element {
  const name = <strong>{endName(end)}</strong>;
  if (end.device !== undefined) return <a href={hrefOf("devices", { device: end.device })}>{name}</a>;
  if (end.address === undefined)
    return (
      <>
        {name} <span class="note">not polled</span>
      </>
    );
  return (
    <>
      <a href={hrefOfText(end.address)}>{name}</a> <span class="note">not polled</span>
    </>
  );
}

function End({ end }: { readonly end: SeenLink["from"] }): JSX.Element {
  return (
    <>
      <EndName end={end} /> {portText(end)}
    </>
  );
}

/** Links with their ports, in a table. `own`: they are all seen from one device, which is not repeated. */
export function LinkTable({
  caption,
  rows,
  own = false,
}: {
  readonly caption: string;
  readonly rows: readonly SeenLink[];
  readonly own?: boolean;
}): JSX.Element {
  const now = Date.now();
  const columns: readonly Column<SeenLink>[] = [
    own
      ? { name: "Port", cell: ({ from }) => portText(from) || "not known", sortBy: ({ from }) => portText(from) }
      : {
          name: "From",
          cell: ({ from }) => <End end={from} />,
          sortBy: ({ from }) => endName(from),
          className: "wrap",
        },
    {
      name: own ? "Neighbor" : "To",
      cell: ({ to }) => <End end={to} />,
      sortBy: ({ to }) => endName(to),
      className: "wrap",
    },
    { name: "Layer", cell: ({ link }) => link.layer, sortBy: ({ link }) => link.layer, isNumber: true, isMinor: true },
    {
      name: "State",
      cell: ({ link }) => <CertaintyBadge certainty={certaintyOf(link)} />,
      sortBy: ({ link }) => certaintyOf(link),
    },
    { name: "Said by", cell: ({ link }) => <Evidence link={link} />, isMinor: true, className: "wrap" },
    {
      name: "Since",
      cell: ({ link }) => formatAge(link.since, now),
      sortBy: ({ link }) => now - link.since,
      isNumber: true,
      isMinor: true,
    },
  ];
  return <DataTable caption={caption} rows={rows} keyOf={({ link }) => link.id} columns={columns} />;
}
