import type { ListExportersAnswer } from "../../api/answers.gen.ts";
import type { JSX } from "preact";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { formatNumber, formatWhole } from "../../format/numbers.ts";
import { formatAge } from "../../format/times.ts";
import { usePlace } from "../../navigation/place.ts";
import { OpenAlerts } from "../../ui/alert-parts.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { Badge, Tile } from "../../ui/tile.tsx";
import { ConnectRouter } from "./connect-router.tsx";
import { Diagnoses } from "./diagnoses.tsx";
import { ExporterLink } from "./exporter-link.tsx";
import { ExporterDetail, exporterDiagnosisCall } from "./exporter-detail.tsx";
import { lossOf, lossText, protocolsOf, rateOf, samplingOf, type Diagnosis, type Exporter } from "./exporter.ts";
import "./exporters.css";

const exportersCall: ApiCall = { path: "api/v1/flow/exporters" };
const diagnosisCall: ApiCall = { path: "api/v1/flow/diagnosis" };

/** Who sends flows, what is wrong with them, and how to make a router send. */
export default function ExportersPage(): JSX.Element {
  const chosen = usePlace().query.get("exporter");
  const exporters = useCall<ListExportersAnswer>(exportersCall, { everyMs: 5000 });
  const diagnosis = useCall<{ diagnoses: readonly Diagnosis[] }>(diagnosisCall, { everyMs: 15_000 });
  const found = diagnosis.answer?.diagnoses;
  const calls = [exportersCall, diagnosisCall, ...(chosen === null ? [] : [exporterDiagnosisCall(chosen)])];
  return (
    <Page
      title="Exporters"
      lead="Who sends flows, what is wrong with which, and how to make a router send."
      calls={calls}
    >
      <Shown of={exporters}>
        {(answer) => (
          <>
            {answer.exporters.length > 0 && <Totals exporters={answer.exporters} diagnoses={found} />}
            {chosen !== null && <OpenAlerts names={chosen} />}
            {chosen !== null && (
              <ExporterDetail
                key={chosen}
                address={chosen}
                exporter={answer.exporters.find(({ address }) => address === chosen)}
              />
            )}
            {found !== undefined && found.length > 0 && chosen === null && (
              <Section title="What the doctor says">
                <Diagnoses
                  diagnoses={found}
                  names={new Map(answer.exporters.map(({ address, name }) => [address, name]))}
                />
              </Section>
            )}
            <Section
              title="Exporters"
              note={answer.exporters.length === 0 ? undefined : "The one that was silent for longest first"}
            >
              <ExporterTable answer={answer} diagnoses={found ?? []} />
            </Section>
            <ConnectRouter listening={answer.listening} />
          </>
        )}
      </Shown>
    </Page>
  );
}

function Totals({
  exporters,
  diagnoses,
}: {
  readonly exporters: readonly Exporter[];
  readonly diagnoses: readonly Diagnosis[] | undefined;
}): JSX.Element {
  const rate = exporters.reduce((sum, exporter) => sum + rateOf(exporter), 0);
  const losses = exporters.map(lossOf).filter((loss) => loss !== undefined);
  const worst = losses.length === 0 ? undefined : Math.max(...losses);
  const waiting = exporters.filter(({ domains }) => domains.some(({ waitingSets }) => waitingSets > 0)).length;
  const serious = diagnoses?.filter(({ severity }) => severity !== "note").length;
  const notes = (diagnoses?.length ?? 0) - (serious ?? 0);
  return (
    <div class="tiles">
      <Tile label="Exporters" value={formatWhole(exporters.length)} />
      <Tile label="Records per second" value={formatNumber(rate)} detail="over the last minute" />
      <Tile
        label="Worst loss"
        value={lossText(worst)}
        detail="by sequence numbers"
        state={worst === undefined ? undefined : worst > 0.01 ? "bad" : worst > 0 ? "warn" : "good"}
      />
      <Tile
        label="Waiting for templates"
        value={formatWhole(waiting)}
        detail="exporters"
        state={waiting > 0 ? "warn" : "good"}
      />
      {serious !== undefined && (
        <Tile
          label="Findings"
          value={formatWhole(serious)}
          detail={notes > 0 ? `and ${formatWhole(notes)} ${notes === 1 ? "note" : "notes"}` : "of the doctor"}
          state={serious > 0 ? "warn" : "good"}
        />
      )}
    </div>
  );
}

function ExporterTable({
  answer: { enabled, exporters },
  diagnoses,
}: {
  readonly answer: ListExportersAnswer;
  readonly diagnoses: readonly Diagnosis[];
}): JSX.Element {
  if (!enabled) {
    return (
      <Empty title="Flows are not received">
        Set <code>SVC_FLOW_SERVER_UDP_ENABLE</code> to true and start the collector again.
      </Empty>
    );
  }
  if (exporters.length === 0) {
    return (
      <Empty title="No exporter has sent flows yet">
        Give a router the commands below. It appears here with its first datagram.
      </Empty>
    );
  }
  return (
    <DataTable caption="Exporters" rows={exporters} keyOf={({ address }) => address} columns={columnsOf(diagnoses)} />
  );
}

const minute = 60_000;

function columnsOf(diagnoses: readonly Diagnosis[]): readonly Column<Exporter>[] {
  const now = Date.now();
  const worstOf = (address: string): Diagnosis | undefined =>
    diagnoses.find(({ exporter, severity }) => exporter === address && severity !== "note");
  return [
    {
      name: "Exporter",
      cell: ({ address, name }) => <ExporterLink address={address} name={name} />,
      sortBy: ({ address, name }) => name ?? address,
      className: "wrap",
    },
    {
      name: "State",
      cell: ({ address, lastSeen }) => {
        const worst = worstOf(address);
        if (worst !== undefined) {
          return <Badge state={worst.severity === "problem" ? "bad" : "warn"}>{worst.id.replaceAll("-", " ")}</Badge>;
        }
        return now - lastSeen > minute ? <Badge state="plain">quiet</Badge> : <Badge state="good">sending</Badge>;
      },
    },
    { name: "Protocol", cell: protocolsOf, isMinor: true },
    {
      name: "Records/s",
      cell: (exporter) => formatNumber(rateOf(exporter)),
      sortBy: rateOf,
      isNumber: true,
    },
    {
      name: "Loss",
      cell: (exporter) => lossText(lossOf(exporter)),
      sortBy: (exporter) => lossOf(exporter) ?? -1,
      isNumber: true,
    },
    {
      name: "Templates",
      cell: ({ domains }) => {
        const count = domains.reduce((sum, { templates }) => sum + templates.length, 0);
        const waiting = domains.some(({ waitingSets }) => waitingSets > 0);
        return waiting ? `${count}, waits for more` : formatWhole(count);
      },
      sortBy: ({ domains }) => domains.reduce((sum, { templates }) => sum + templates.length, 0),
      isNumber: true,
      isMinor: true,
    },
    { name: "Sampling", cell: samplingOf, isNumber: true, isMinor: true },
    {
      name: "Last seen",
      cell: ({ lastSeen }) => formatAge(lastSeen, now),
      sortBy: ({ lastSeen }) => now - lastSeen,
      isNumber: true,
      isMinor: true,
    },
  ];
}
