import { textTable } from "../cli/terminal.ts";
import type { Sink } from "../../record/index.ts";

/** A cell: `text` is cut where the table is too wide; `kept` follows it and is never cut. */
interface FittedCell {
  readonly text: string;
  readonly kept?: string;
}

const gap = 2;
/** The shortest cut text: two characters and the mark. */
const leastText = 3;

/** Returns rows as a table of at most `width` columns: texts of the widest columns are cut, and end with `…`. */
function fitTable(header: readonly string[], rows: readonly (readonly FittedCell[])[], width: number): string {
  const cellsOf = (column: number): readonly FittedCell[] => rows.flatMap((row) => row[column] ?? []);
  const least = header.map((name, at) => Math.max(name.length, ...cellsOf(at).map(leastOf)));
  const widths = header.map((name, at) => Math.max(name.length, ...cellsOf(at).map((cell) => cellText(cell).length)));
  const room = width - gap * (header.length - 1);
  while (widths.reduce((sum, each) => sum + each, 0) > room) {
    const widest = widths.reduce(
      (best, each, at) => (each > (least[at] ?? 0) && each > (widths[best] ?? -1) ? at : best),
      -1,
    );
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return textTable(
    header,
    rows.map((row) => row.map((cell, at) => cutTo(cell, widths[at] ?? 0))),
  );
}

const cellText = ({ text, kept = "" }: FittedCell): string => `${text}${kept}`;

const leastOf = ({ text, kept = "" }: FittedCell): number => Math.min(text.length, leastText) + kept.length;

function cutTo(cell: FittedCell, width: number): string {
  const { text, kept = "" } = cell;
  const room = width - kept.length;
  if (text.length <= room) return cellText(cell);
  // Drop half of a surrogate pair.
  return `${text.slice(0, room - 1).replace(/[\uD800-\uDBFF]$/, "")}…${kept}`;
}

/** A record as it left the collector. */
export type DemoRecord = Readonly<Record<string, unknown>>;

/** The width of a usual terminal, columns. */
const terminalWidth = 80;

/** Returns a table of records: who talked to whom, by name. Names too long for 80 columns are cut, ports and bytes never. */
export function recordTable(records: readonly DemoRecord[]): string {
  return fitTable(
    ["VIA", "SOURCE", "DESTINATION", "IN", "OUT", "BYTES"],
    records.map((record) => [
      { text: named(record, "flow.export") },
      endPoint(record, "flow.src"),
      endPoint(record, "flow.dst"),
      { text: textOf(record["flow.in.netif.name"] ?? "-") },
      { text: textOf(record["flow.out.netif.name"] ?? "-") },
      { text: "", kept: textOf(record["flow.bytes"] ?? "-") },
    ]),
    terminalWidth,
  );
}

/** Returns a table of ifXTable rows: the counters of each interface of each device. */
export function interfaceTable(records: readonly DemoRecord[]): string {
  return fitTable(
    ["DEVICE", "INTERFACE", "BYTES IN", "BYTES OUT"],
    records.map((record) => [
      ...["system.host.name", "netif.name"].map((name) => ({ text: textOf(record[name] ?? "-") })),
      ...["netif.bytes.in", "netif.bytes.out"].map((name) => ({ text: "", kept: textOf(record[name] ?? "-") })),
    ]),
    terminalWidth,
  );
}

function named(record: DemoRecord, object: string): string {
  return textOf(record[`${object}.ip.subnet.name`] ?? record[`${object}.ip.addr`] ?? "-");
}

/** Returns an end of a flow: `web-1:443`, `[2001:db8::1]:443`; ICMP has no port. */
function endPoint(record: DemoRecord, object: string): FittedCell {
  const name = named(record, object);
  const port = record[`${object}.l4.port.id`];
  if (port === undefined) return { text: name };
  return name.includes(":")
    ? { text: `[${name}`, kept: `]:${textOf(port)}` }
    : { text: name, kept: `:${textOf(port)}` };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

const kept = 200;

export interface RecentRecords extends Sink {
  /** Returns the newest `ofEach` records of each exporter, and the newest one that names `address` if none of them does. */
  latest(ofEach: number, address: string): DemoRecord[];
  /** Returns the newest row of ifXTable of each interface, by device and index. */
  interfaces(): DemoRecord[];
}

/** Creates a sink that keeps the last records. It parses every line, so it suits only a demonstration's rate. */
export function createRecentRecords(): RecentRecords {
  let records: DemoRecord[] = [];
  const interfaces = new Map<string, DemoRecord>();
  return {
    write(lines) {
      const text = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength).toString("utf8");
      const lineTexts = text.split("\n").filter((line) => line !== "");
      const parsed = lineTexts.map((line) => JSON.parse(line) as DemoRecord);
      const flows = parsed.filter((record) => record["snmp.object.name"] === undefined);
      records = [...records, ...flows].slice(-kept);
      for (const record of parsed.filter((row) => row["snmp.object.name"] === "IF-MIB::ifXTable")) {
        interfaces.set(`${String(record["system.host.name"])} ${String(record["netif.index"])}`, record);
      }
    },
    latest(ofEach, address) {
      const exporters = [...new Set(records.map(exporterOf))].toSorted();
      const newest = exporters.flatMap((exporter) =>
        records.filter((record) => exporterOf(record) === exporter).slice(-ofEach),
      );
      const names = (record: DemoRecord): boolean =>
        record["flow.src.ip.addr"] === address || record["flow.dst.ip.addr"] === address;
      const featured = newest.some(names) ? undefined : records.findLast(names);
      return featured === undefined ? newest : [featured, ...newest];
    },
    interfaces: () => [...interfaces].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record),
  };
}

/** Returns a sort key of the exporter; the version comes first, so that protocols are sorted by age. */
function exporterOf(record: DemoRecord): string {
  return `${String(record["flow.export.version.ver"]).padStart(2)} ${String(record["flow.export.ip.addr"])}`;
}
