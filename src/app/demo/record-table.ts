import { textTable } from "../cli/text-table.ts";

/** A record as it left the collector. */
export type DemoRecord = Readonly<Record<string, unknown>>;

/** Records as a table for people: who talked to whom by name and address. */
export function recordTable(records: readonly DemoRecord[]): string {
  const header = ["EXPORTER", "PROTOCOL", "SOURCE", "", "DESTINATION", "", "IN", "OUT", "BYTES"];
  return textTable(
    header,
    records.map((record) => [
      named(record, "flow.export"),
      `${text(record["flow.export.type"])} ${text(record["flow.export.version.ver"])}`,
      named(record, "flow.src"),
      endPoint(record, "flow.src"),
      named(record, "flow.dst"),
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
  return text(record[`${object}.ip.subnet.name`] ?? "-");
}

function endPoint(record: DemoRecord, object: string): string {
  const ip = text(record[`${object}.ip.addr`]);
  const port = text(record[`${object}.l4.port.id`]);
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
