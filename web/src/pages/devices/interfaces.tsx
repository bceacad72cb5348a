import type { JSX } from "preact";
import { formatNumber, formatShare } from "../../format/numbers.ts";
import { hrefOfValue } from "../../navigation/place.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import { loadOf, troubleOf, type Interface } from "./device.ts";

/** The interfaces of a device, with rates from the last two polls. */
export function Interfaces({
  states,
  name,
  ip,
}: {
  readonly states: readonly Interface[];
  readonly name: string;
  readonly ip: string;
}): JSX.Element {
  if (states.length === 0) {
    return (
      <Empty title="No interface is known">They come with the first poll of a device that has IF-MIB::ifTable.</Empty>
    );
  }
  const hasRates = states.some(({ inBitsPerSecond }) => inBitsPerSecond !== undefined);
  return (
    <>
      <DataTable
        caption={`Interfaces of ${name}`}
        rows={states}
        keyOf={({ index }) => String(index)}
        columns={columnsOf(ip)}
      />
      {!hasRates && <p class="note">Rates come with the second poll of the counters.</p>}
    </>
  );
}

function State({ admin, oper }: Interface): JSX.Element {
  if (admin === "down") return <Badge state="plain">turned off</Badge>;
  if (oper === undefined) return <span class="note">not said</span>;
  return <Badge state={oper === "up" ? "good" : oper === "down" ? "bad" : "warn"}>{oper}</Badge>;
}

function Load({ one }: { readonly one: Interface }): JSX.Element {
  const load = loadOf(one);
  if (load === undefined) return <>–</>;
  return (
    <span class="load">
      <meter value={Math.min(1, load)} max={1} high={0.8} optimum={0} aria-label={`Load of ${one.name ?? one.index}`} />
      {formatShare(load)}
    </span>
  );
}

const columnsOf = (ip: string): readonly Column<Interface>[] => [
  { name: "Index", cell: ({ index }) => index, sortBy: ({ index }) => index, isNumber: true, isMinor: true },
  {
    name: "Interface",
    cell: ({ name, alias, index }) => (
      <>
        <a href={hrefOfValue("interface", `${ip}@${String(index)}`)} title="Its flows">
          <strong>{name ?? `ifIndex ${index}`}</strong>
        </a>{" "}
        {alias !== undefined && alias !== name && <span class="note">{alias}</span>}
      </>
    ),
    sortBy: ({ name, index }) => name ?? String(index),
  },
  { name: "State", cell: State, sortBy: ({ oper = "" }) => oper },
  {
    name: "Speed",
    cell: ({ bitsPerSecond }) => formatNumber(bitsPerSecond, "bit/s"),
    sortBy: ({ bitsPerSecond = -1 }) => bitsPerSecond,
    isNumber: true,
    isMinor: true,
  },
  {
    name: "In",
    cell: ({ inBitsPerSecond }) => formatNumber(inBitsPerSecond, "bit/s"),
    sortBy: ({ inBitsPerSecond = -1 }) => inBitsPerSecond,
    isNumber: true,
  },
  {
    name: "Out",
    cell: ({ outBitsPerSecond }) => formatNumber(outBitsPerSecond, "bit/s"),
    sortBy: ({ outBitsPerSecond = -1 }) => outBitsPerSecond,
    isNumber: true,
  },
  { name: "Load", cell: (one) => <Load one={one} />, sortBy: (one) => loadOf(one) ?? -1, isNumber: true },
  {
    name: "Errors and discards",
    cell: (one) => {
      const rate = troubleOf(one);
      return rate === undefined ? "–" : <span class={rate > 0 ? "fault" : ""}>{formatNumber(rate, "packets/s")}</span>;
    },
    sortBy: (one) => troubleOf(one) ?? -1,
    isNumber: true,
    isMinor: true,
  },
];
