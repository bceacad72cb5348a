import { existsSync, readFileSync } from "node:fs";
import { until } from "./until.ts";

/** A record of an output file. */
export type FlowRecord = Readonly<Record<string, unknown>>;

/** All records of a file of JSON lines; a line that has not been ended yet does not count. */
export function readRecords(path: string): FlowRecord[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as FlowRecord);
}

/** Waits until the file holds this many records of flows. */
export async function untilRecords(path: string, count: number): Promise<FlowRecord[]> {
  return until(`${count} records in ${path}`, () => {
    const records = readRecords(path);
    return records.length >= count && records;
  });
}

export interface FlowTotals {
  readonly flows: number;
  readonly packets: number;
  readonly bytes: number;
}

/** What the records add up to. */
export function totalsOf(records: readonly FlowRecord[]): FlowTotals {
  const sum = (name: string): number => records.reduce((total, record) => total + Number(record[name]), 0);
  return { flows: records.length, packets: sum("flow.packets"), bytes: sum("flow.bytes") };
}
