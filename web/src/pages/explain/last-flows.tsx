import type { JSX } from "preact";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { formatNumber } from "../../format/numbers.ts";
import { formatTime } from "../../format/times.ts";
import { hrefOf, hrefOfText } from "../../navigation/place.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Failure, Loading } from "../../ui/states.tsx";
import { withCode } from "../../ui/with-code.tsx";

type FlowRecord = Readonly<Record<string, unknown>>;

export const flowsCall = (filter: string): ApiCall => ({
  path: "api/v1/explore/flows",
  body: { from: "-1h", to: "now", filter, limit: 20 },
});

/** The last flows of the hour that match a filter, from the store for a look back. */
export function LastFlows({
  filter,
  self,
}: {
  readonly filter: string;
  readonly self?: string | undefined;
}): JSX.Element {
  const flows = useCall<{ records: readonly FlowRecord[] }>(flowsCall(filter), { everyMs: 10_000, keepsOld: true });
  const { answer, failure } = flows;
  const isOff = failure?.status === 404;
  return (
    <Section title="Last flows" note="of the last hour">
      {answer === undefined && failure === undefined && <Loading what="Looking for flows" />}
      {isOff && (
        <Empty title="This collector keeps no records to look back at">
          {withCode(failure.message)}. <a href={hrefOf("live", { filter })}>Live</a> shows its flows while they go by.
        </Empty>
      )}
      {failure !== undefined && !isOff && <Failure failure={failure} retry={flows.reload} />}
      {answer?.records.length === 0 && (
        <Empty title="No flows in the last hour">
          <a href={hrefOf("live", { filter })}>Watch for them live</a>.
        </Empty>
      )}
      {answer !== undefined && answer.records.length > 0 && (
        <DataTable
          caption="Last flows"
          rows={answer.records.map((record, at) => ({ record, at }))}
          keyOf={({ at }) => String(at)}
          columns={columnsOf(self)}
        />
      )}
    </Section>
  );
}

function columnsOf(self: string | undefined): readonly Column<{ readonly record: FlowRecord }>[] {
  const now = Date.now();
  return [
    {
      name: "Time",
      cell: ({ record }) => formatTime(Date.parse(textOf(record["@timestamp"])), now),
      isNumber: true,
    },
    { name: "From", cell: ({ record }) => <End record={record} end="src" self={self} />, className: "wrap" },
    { name: "To", cell: ({ record }) => <End record={record} end="dst" self={self} />, className: "wrap" },
    {
      name: "Protocol",
      cell: ({ record }) => textOf(record["l4.proto.name"] ?? record["flow.dst.l4.port.name"]),
      isMinor: true,
    },
    { name: "Bytes", cell: ({ record }) => formatNumber(Number(record["flow.bytes"]), "B"), isNumber: true },
    {
      name: "Packets",
      cell: ({ record }) => formatNumber(Number(record["flow.packets"])),
      isNumber: true,
      isMinor: true,
    },
  ];
}

function End({
  record,
  end,
  self,
}: {
  readonly record: FlowRecord;
  readonly end: "src" | "dst";
  readonly self: string | undefined;
}): JSX.Element {
  const address = textOf(record[`flow.${end}.ip.addr`]);
  const name = textOf(record[`flow.${end}.host.name`] ?? record[`flow.${end}.ip.subnet.name`]);
  const port = record[`flow.${end}.l4.port.id`];
  const shown = (
    <>
      {name !== "" && <strong>{name} </strong>}
      <span class="mono">{address}</span>
    </>
  );
  return (
    <>
      {address === self ? shown : <a href={hrefOfText(address)}>{shown}</a>}
      {port !== undefined && <span class="note">:{textOf(port)}</span>}
    </>
  );
}

const textOf = (value: unknown): string =>
  value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
