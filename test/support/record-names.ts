import type { RecordFields } from "../../src/record/index.ts";

/** Pairs of names of which one is a value and also the group of the other (`a` and `a.b`); none in a good record. */
export function nestedNames(record: RecordFields): string[] {
  const names = [...record.keys()];
  return names.flatMap((name) =>
    names.filter((other) => other.startsWith(`${name}.`)).map((other) => `${name} and ${other}`),
  );
}
