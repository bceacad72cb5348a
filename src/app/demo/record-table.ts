import { textTable } from "../cli/text-table.ts";

/** A record as it left the collector. */
export type DemoRecord = Readonly<Record<string, unknown>>;

/** Records as a table for people: who talked to whom by name and address. */
export function recordTable(records: readonly DemoRecord[]): string {
  const header = ["EXPORTER", "PROTOCOL", "SOURCE", "", "DESTINATION", "", "BYTES"];
  return textTable(
    header,
    records.map((record) => [
      named(record, "flow.export"),
      `${text(record["flow.export.type"])} ${text(record["flow.export.version.ver"])}`,
      named(record, "flow.src"),
      endPoint(record, "flow.src"),
      named(record, "flow.dst"),
      endPoint(record, "flow.dst"),
      text(record["flow.bytes"]),
    ]),
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
