import { textTable } from "../cli/text-table.ts";

/** A record as it left the collector. */
export type DemoRecord = Readonly<Record<string, unknown>>;

/** The widest that an end of a flow may be, so that the table has 80 columns at most. */
const endWidth = 21;

/** Records as a table for people: who talked to whom by name. */
export function recordTable(records: readonly DemoRecord[]): string {
  return textTable(
    ["VIA", "SOURCE", "DESTINATION", "IN", "OUT", "BYTES"],
    records.map((record) => [
      named(record, "flow.export"),
      endPoint(record, "flow.src"),
      endPoint(record, "flow.dst"),
      text(record["flow.in.netif.name"] ?? "-"),
      text(record["flow.out.netif.name"] ?? "-"),
      text(record["flow.bytes"]),
    ]),
  );
}

/** Rows of ifXTable: what each interface of each device has counted. */
export function interfaceTable(records: readonly DemoRecord[]): string {
  return textTable(
    ["DEVICE", "INTERFACE", "BYTES IN", "BYTES OUT"],
    records.map((record) =>
      ["system.host.name", "netif.name", "netif.bytes.in", "netif.bytes.out"].map((name) => text(record[name] ?? "-")),
    ),
  );
}

function named(record: DemoRecord, object: string): string {
  return text(record[`${object}.ip.subnet.name`] ?? record[`${object}.ip.addr`] ?? "-");
}

/** `web-1:443`; a name that is too long is cut, the port never. */
function endPoint(record: DemoRecord, object: string): string {
  const port = text(record[`${object}.l4.port.id`]);
  const room = endWidth - port.length - 1;
  const name = named(record, object);
  return `${name.length > room ? `${name.slice(0, room - 1)}…` : name}:${port}`;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
