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

/** The sums of records by the values of some fields, a list counting under each of its values: by key in JSON. */
export function sumsBy(
  records: readonly ModelRecord[],
  dimensions: readonly string[],
  summand: "bytes" | "packets" | "flows",
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

function keysOf(record: ModelRecord, [first, ...others]: readonly string[]): unknown[][] {
  if (first === undefined) return [[]];
  const value = record[first] ?? null;
  const values: readonly unknown[] =
    Array.isArray(value) && value.length > 0 ? value : [Array.isArray(value) ? null : value];
  const rest = keysOf(record, others);
  return values.flatMap((each) => rest.map((tail) => [[each], tail].flat()));
}
