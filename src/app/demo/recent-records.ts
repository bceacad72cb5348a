import type { Sink } from "../../record/index.ts";
import type { DemoRecord } from "./record-table.ts";

const kept = 200;

export interface RecentRecords extends Sink {
  /** The newest records of each exporter, this many of each, and the newest that names `address` if none of them does. */
  latest(ofEach: number, address: string): DemoRecord[];
  /** The newest row of ifXTable of each interface, by device and index. */
  interfaces(): DemoRecord[];
}

/** A sink that keeps the last records. It parses every line, so it is for a demonstration's rate only. */
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

/** Version first, so that the order is that of the protocols' age. */
function exporterOf(record: DemoRecord): string {
  return `${String(record["flow.export.version.ver"]).padStart(2)} ${String(record["flow.export.ip.addr"])}`;
}
