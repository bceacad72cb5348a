import type { JSX } from "preact";
import type { LocateAnswer } from "../../api/answers.gen.ts";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { portText } from "../../format/link-text.ts";
import { formatWhole } from "../../format/numbers.ts";
import { formatAge } from "../../format/times.ts";
import { hrefOf } from "../../navigation/place.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Failure } from "../../ui/states.tsx";

type Location = LocateAnswer["locations"][number];

export const locateCall = (ip: string): ApiCall => ({ path: `api/v1/topology/locate/${encodeURIComponent(ip)}` });

/** Where switches have learnt an address. Nothing where no table has it, or SNMP is off. */
export function SwitchPort({ ip }: { readonly ip: string }): JSX.Element | null {
  const { answer, failure, reload } = useCall<LocateAnswer>(locateCall(ip), { everyMs: 30_000 });
  if (answer === undefined) {
    const isSilent =
      failure === undefined || failure.status === 404 || failure.status < 400 || failure.kind === "forbidden";
    return isSilent ? null : (
      <Section title="Switch port">
        <Failure failure={failure} retry={reload} />
      </Section>
    );
  }
  const { device, macs, locations } = answer;
  if (device === undefined && locations.length === 0) return null;
  return (
    <Section title="Switch port" note={macs.length > 0 && <span class="mono">{macs.join(", ")}</span>}>
      {device !== undefined && (
        <p>
          It is an address of <a href={hrefOf("devices", { device })}>{device}</a>.
        </p>
      )}
      {locations.length > 0 && (
        <DataTable
          caption="Switch ports"
          rows={locations}
          keyOf={({ device: at, mac, port }) => `${at} ${mac} ${portText({ port })}`}
          columns={columns}
        />
      )}
    </Section>
  );
}

const columns: readonly Column<Location>[] = [
  {
    name: "Switch",
    cell: ({ device, name }) => (
      <a href={hrefOf("devices", { device })}>
        <strong>{name}</strong>
      </a>
    ),
    className: "wrap",
  },
  { name: "Port", cell: ({ port }) => portText({ port }) || "not known", className: "wrap" },
  { name: "It is", cell: ({ isEdge }) => (isEdge ? "at this port" : "behind this port") },
  {
    name: "Addresses there",
    cell: ({ addresses }) => formatWhole(addresses),
    isNumber: true,
    isMinor: true,
  },
  { name: "Read", cell: ({ at }) => formatAge(at, Date.now()), isNumber: true, isMinor: true },
];
