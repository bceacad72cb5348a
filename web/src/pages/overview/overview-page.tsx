import type { JSX } from "preact";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { hrefOf } from "../../navigation/place.ts";
import { formatAge } from "../../format/times.ts";
import { formatNumber } from "../../format/numbers.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";

interface Exporter {
  readonly address: string;
  readonly lastSeen: number;
  readonly records: number;
  readonly recordsPerSecond: number;
}

const exportersCall: ApiCall = { path: "api/v1/flow/exporters" };

/** What goes on now, and what is wrong. */
export default function OverviewPage(): JSX.Element {
  const exporters = useCall<{ enabled: boolean; exporters: Exporter[] }>(exportersCall, { everyMs: 5000 });
  return (
    <Page title="Overview" lead="What goes on now, and what is wrong." calls={[exportersCall]}>
      <Section title="Exporters">
        <Shown of={exporters}>
          {(answer) =>
            answer.exporters.length === 0 ? (
              <Empty title="No exporter has sent flows yet">
                Point a router at this collector: <a href={hrefOf("exporters")}>Exporters</a> has the commands.
              </Empty>
            ) : (
              <DataTable
                caption="Exporters"
                rows={answer.exporters}
                keyOf={({ address }) => address}
                columns={[
                  { name: "Address", cell: ({ address }) => address, sortBy: ({ address }) => address },
                  {
                    name: "Rate",
                    cell: ({ recordsPerSecond }) => formatNumber(recordsPerSecond, "records/s"),
                    sortBy: ({ recordsPerSecond }) => recordsPerSecond,
                    isNumber: true,
                  },
                  { name: "Last seen", cell: ({ lastSeen }) => formatAge(lastSeen, Date.now()), isNumber: true },
                ]}
              />
            )
          }
        </Shown>
      </Section>
    </Page>
  );
}
