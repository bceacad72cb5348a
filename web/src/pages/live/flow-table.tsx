import type { JSX } from "preact";
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { formatNumber } from "../../format/numbers.ts";
import { formatTime } from "../../format/times.ts";
import { hrefOfText } from "../../navigation/place.ts";
import type { RecordFields, TailRecord } from "./use-tail.ts";

export interface FlowTableProps {
  readonly records: readonly TailRecord[];
  readonly isAdded: (field: string) => boolean;
  /** A click on what names an address. */
  readonly onName: (address: string) => void;
}

/** Flows, the newest first; each opens to all its fields. */
export function FlowTable({ records, isAdded, onName }: FlowTableProps): JSX.Element {
  const [open, setOpen] = useState<number | undefined>(undefined);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Flows">
      <table class="data flows">
        <caption class="hidden">Flows, the newest first</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col" class="minor">
              Protocol
            </th>
            <th scope="col" class="number">
              Bytes
            </th>
            <th scope="col" class="number minor">
              Packets
            </th>
            <th scope="col" class="minor">
              Exporter
            </th>
          </tr>
        </thead>
        <tbody>
          {records.map(({ id, fields }) => (
            <Fragment key={id}>
              <tr>
                <td>
                  <button
                    type="button"
                    class="opener"
                    aria-expanded={open === id}
                    aria-label={`All fields of the flow at ${timeOf(fields)}`}
                    onClick={() => setOpen(open === id ? undefined : id)}
                  >
                    <span aria-hidden="true">{open === id ? "▾" : "▸"}</span> {timeOf(fields)}
                  </button>
                </td>
                <End fields={fields} end="src" onName={onName} />
                <End fields={fields} end="dst" onName={onName} />
                <td class="minor">{protocolOf(fields)}</td>
                <td class="number">{formatNumber(numberOf(fields["flow.bytes"]), "B")}</td>
                <td class="number minor">{formatNumber(numberOf(fields["flow.packets"]))}</td>
                <td class="minor">
                  <Named
                    address={textOf(fields["flow.export.ip.addr"])}
                    name={textOf(fields["flow.export.ip.subnet.name"]) ?? textOf(fields["flow.export.host.name"])}
                  />
                </td>
              </tr>
              {open === id && (
                <tr class="all-fields">
                  <td colSpan={7}>
                    <AllFields fields={fields} isAdded={isAdded} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function End({
  fields,
  end,
  onName,
}: {
  readonly fields: RecordFields;
  readonly end: "src" | "dst";
  readonly onName: (address: string) => void;
}): JSX.Element {
  const address = textOf(fields[`flow.${end}.ip.addr`]);
  const name = textOf(fields[`flow.${end}.ip.subnet.name`]) ?? textOf(fields[`flow.${end}.host.name`]);
  const port = fields[`flow.${end}.l4.port.id`];
  const service = textOf(fields[`flow.${end}.l4.port.name`]);
  return (
    <td>
      <Named address={address} name={name} port={typeof port === "number" ? port : undefined} service={service} />
      {address !== undefined && name === undefined && (
        <button
          type="button"
          class="button quiet name-it"
          aria-label={`name it: ${address}`}
          onClick={() => onName(address)}
        >
          name it
        </button>
      )}
    </td>
  );
}

/** A name above its address; the address leads to its explanation. */
function Named({
  address,
  name,
  port,
  service,
}: {
  readonly address: string | undefined;
  readonly name: string | undefined;
  readonly port?: number | undefined;
  readonly service?: string | undefined;
}): JSX.Element {
  return (
    <span class="named">
      {name !== undefined && <span class="added">{name}</span>}
      {address !== undefined && (
        <span class="address">
          <a href={hrefOfText(address)}>{address}</a>
          {port !== undefined && <span class="note"> :{port}</span>}
          {service !== undefined && <span class="added note"> {service}</span>}
        </span>
      )}
    </span>
  );
}

function AllFields({
  fields,
  isAdded,
}: {
  readonly fields: RecordFields;
  readonly isAdded: (field: string) => boolean;
}): JSX.Element {
  return (
    <dl class="fields">
      {Object.entries(fields)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, value]) => (
          <div key={name} class={isAdded(name) ? "added-field" : undefined}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
    </dl>
  );
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

function timeOf(fields: RecordFields): string {
  const at = Date.parse(textOf(fields["@timestamp"]) ?? "");
  return Number.isNaN(at) ? "" : formatTime(at, Date.now());
}

function protocolOf(fields: RecordFields): string {
  const protocol = fields["l4.proto.name"] ?? fields["l4.proto.id"];
  return typeof protocol === "string" || typeof protocol === "number" ? String(protocol) : "";
}
