import type { ListCandidatesAnswer } from "../../api/answers.gen.ts";
import type { JSX } from "preact";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { formatWhole } from "../../format/numbers.ts";
import { formatAge } from "../../format/times.ts";
import { AddressLink } from "../../ui/address-link.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import type { Candidate } from "./network-search.ts";

export const candidatesCall: ApiCall = { path: "api/v1/snmp/candidates" };

/** Rows that are drawn; there may be thousands of neighbours. */
const maxShown = 200;

const states: Readonly<
  Record<Candidate["state"], readonly [badge: "good" | "warn" | "bad" | "plain", meaning: string]>
> = {
  outside: ["plain", "no network allows it"],
  off: ["plain", "its source is not in SVC_INPUT_SNMP_DISCOVERY_CANDIDATES"],
  waiting: ["good", "it is asked next"],
  silent: ["warn", "it did not answer"],
  refused: ["warn", "it took no credential"],
  duplicate: ["plain", "another address of a device"],
};

/** Addresses that neighbours and flows name, and why they are no devices. */
export function Candidates(): JSX.Element {
  const loaded = useCall<ListCandidatesAnswer>(candidatesCall, { everyMs: 10_000 });
  return (
    <>
      <h3 class="sub">Candidates</h3>
      <Shown of={loaded}>
        {({ candidates }) =>
          candidates.length === 0 ? (
            <Empty title="No other address is known">
              Neighbours of polled devices (LLDP, CDP, ARP) and exporters of flows that are no devices show up here.
            </Empty>
          ) : (
            <>
              <DataTable
                caption="Candidates"
                rows={candidates.slice(0, maxShown)}
                keyOf={({ address, source }) => `${address} ${source}`}
                columns={columns}
              />
              {candidates.length > maxShown && (
                <p class="note">
                  The first {maxShown} of {formatWhole(candidates.length)} candidates are shown;{" "}
                  <code>netgloss snmp candidates</code> lists all.
                </p>
              )}
            </>
          )
        }
      </Shown>
    </>
  );
}

const columns: readonly Column<Candidate>[] = [
  {
    name: "Address",
    cell: ({ address }) => <AddressLink text={address} />,
    sortBy: ({ address }) => address,
  },
  { name: "Named by", cell: ({ reason }) => reason, sortBy: ({ reason }) => reason, className: "wrap" },
  {
    name: "State",
    cell: ({ state, triedAt }) => (
      <>
        <Badge state={states[state][0]}>{state}</Badge>{" "}
        <span class="note">
          {states[state][1]}
          {triedAt !== undefined && `, ${formatAge(Date.parse(triedAt), Date.now())}`}
        </span>
      </>
    ),
    sortBy: ({ state }) => state,
    className: "wrap",
  },
  { name: "Network", cell: ({ network }) => network ?? "none", isMinor: true },
];
