import type { FieldValues, Value } from "../../src/record/index.ts";

/** A record as the model has it. */
export type ModelRecord = Readonly<Record<string, Value>>;

export function fieldValues(record: ModelRecord): FieldValues {
  return { get: (name) => record[name] };
}

/** A line as the collector writes it. */
export function lineOf(record: ModelRecord): string {
  const fields = Object.entries(record).map(([name, value]) => {
    const text = JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? `bigint ${each}` : each));
    return `${JSON.stringify(name)}:${text.replace(/"bigint (-?\d+)"/g, "$1")}`;
  });
  return `{${fields.join(",")}}\n`;
}

type Summand = "bytes" | "packets" | "flows";
export type When = "flowed" | "received";

/** The first and the last millisecond of a record: when its bytes flowed by the clock of the collector, else when it came. */
export function timeOf(record: ModelRecord, when: When): readonly [first: number, last: number] {
  const at = Date.parse(record["@timestamp"] as string);
  const ms = (name: string): number =>
    Date.parse(String(record[name] ?? "")) - Number(record["flow.export.clock.offset"] ?? 0);
  const [start, end] = [ms("flow.start.timestamp"), ms("flow.end.timestamp")];
  const isPossible = start <= end && end - start <= 86_400_000 && end <= at + 2000 && end >= at - 1_800_000;
  return when === "flowed" && isPossible ? [start, end] : [at, at];
}

/** The records of a range, each with what it has there: millisecond by millisecond the same, and rounded down from its beginning on. */
export function partsWithin(
  records: readonly ModelRecord[],
  summand: Summand,
  when: When,
  from: number,
  to: number,
): readonly ModelRecord[] {
  return records.flatMap((record) => {
    const [first, last] = timeOf(record, summand === "flows" ? "received" : when);
    if (last < from || first >= to) return [];
    if (summand === "flows") return [record];
    const value = BigInt((record[`flow.${summand}`] as number | bigint | undefined) ?? 0);
    const upTo = (time: number): bigint =>
      (value * BigInt(Math.min(Math.max(time, first), last + 1) - first)) / BigInt(last + 1 - first);
    return [{ ...record, [`flow.${summand}`]: upTo(to) - upTo(from) }];
  });
}

/** The records that flowed both in a range and outside of it. */
export function crossing(
  records: readonly ModelRecord[],
  summand: Summand,
  when: When,
  from: number,
  to: number,
): readonly ModelRecord[] {
  return records.filter((record) => {
    const [first, last] = timeOf(record, summand === "flows" ? "received" : when);
    return last >= from && first < to && (first < from || last >= to);
  });
}

/** The sums of records by the values of some fields, a list counting under each of its values: by key in JSON. */
export function sumsBy(
  records: readonly ModelRecord[],
  dimensions: readonly string[],
  summand: Summand,
): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const record of records) {
    const value = summand === "flows" ? 1n : BigInt((record[`flow.${summand}`] as number | bigint | undefined) ?? 0);
    for (const key of keysOf(record, dimensions)) {
      const name = JSON.stringify(key);
      sums.set(name, (sums.get(name) ?? 0n) + value);
    }
  }
  return sums;
}

/** The records by the values of some fields, a list having a record under each of its values: by key in JSON. */
export function recordsBy(
  records: readonly ModelRecord[],
  dimensions: readonly string[],
): ReadonlyMap<string, readonly ModelRecord[]> {
  const found = new Map<string, ModelRecord[]>();
  for (const record of records) {
    for (const key of keysOf(record, dimensions)) {
      const name = JSON.stringify(key);
      found.set(name, [...(found.get(name) ?? []), record]);
    }
  }
  return found;
}

function keysOf(record: ModelRecord, [first, ...others]: readonly string[]): unknown[][] {
  if (first === undefined) return [[]];
  const value = record[first] ?? null;
  const values: readonly unknown[] =
    Array.isArray(value) && value.length > 0 ? value : [Array.isArray(value) ? null : value];
  const rest = keysOf(record, others);
  return values.flatMap((each) => rest.map((tail) => [[each], tail].flat()));
}
