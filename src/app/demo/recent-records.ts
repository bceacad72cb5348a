import type { Sink } from "../../record/index.ts";
import type { DemoRecord } from "./record-table.ts";

const kept = 200;

export interface RecentRecords extends Sink {
  /** The newest records, oldest first; `address` is among them as soon as any record has named it. */
  latest(count: number, address: string): DemoRecord[];
}

/** A sink that keeps the last records. It parses every line, so it is for a demonstration's rate only. */
export function createRecentRecords(): RecentRecords {
  let records: DemoRecord[] = [];
  return {
    write(lines) {
      const text = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength).toString("utf8");
      const parsed = text.split("\n").filter((line) => line !== "");
      records = [...records, ...parsed.map((line) => JSON.parse(line) as DemoRecord)].slice(-kept);
    },
    latest(count, address) {
      const newest = records.slice(-count);
      const names = (record: DemoRecord): boolean =>
        record["flow.src.ip.addr"] === address || record["flow.dst.ip.addr"] === address;
      const featured = newest.some(names) ? undefined : records.findLast(names);
      return featured === undefined ? newest : [featured, ...newest.slice(1)];
    },
  };
}
