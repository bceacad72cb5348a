import { fitTable, type FittedCell } from "./fit-table.ts";

/** A record as it left the collector. */
export type DemoRecord = Readonly<Record<string, unknown>>;

/** Of a usual terminal. */
const terminalWidth = 80;

/** Records as a table for people: who talked to whom by name. Names that are too long for 80 columns are cut, ports and bytes never. */
export function recordTable(records: readonly DemoRecord[]): string {
  return fitTable(
    ["VIA", "SOURCE", "DESTINATION", "IN", "OUT", "BYTES"],
    records.map((record) => [
      { text: named(record, "flow.export") },
      endPoint(record, "flow.src"),
      endPoint(record, "flow.dst"),
      { text: text(record["flow.in.netif.name"] ?? "-") },
      { text: text(record["flow.out.netif.name"] ?? "-") },
      { text: "", kept: text(record["flow.bytes"] ?? "-") },
    ]),
    terminalWidth,
  );
}

/** Rows of ifXTable: what each interface of each device has counted. */
export function interfaceTable(records: readonly DemoRecord[]): string {
  return fitTable(
    ["DEVICE", "INTERFACE", "BYTES IN", "BYTES OUT"],
    records.map((record) => [
      ...["system.host.name", "netif.name"].map((name) => ({ text: text(record[name] ?? "-") })),
      ...["netif.bytes.in", "netif.bytes.out"].map((name) => ({ text: "", kept: text(record[name] ?? "-") })),
    ]),
    terminalWidth,
  );
}

function named(record: DemoRecord, object: string): string {
  return text(record[`${object}.ip.subnet.name`] ?? record[`${object}.ip.addr`] ?? "-");
}

/** `web-1:443`, `[2001:db8::1]:443`; ICMP has no port. */
function endPoint(record: DemoRecord, object: string): FittedCell {
  const name = named(record, object);
  const port = record[`${object}.l4.port.id`];
  if (port === undefined) return { text: name };
  return name.includes(":") ? { text: `[${name}`, kept: `]:${text(port)}` } : { text: name, kept: `:${text(port)}` };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
