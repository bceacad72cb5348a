import { readdirSync, readFileSync } from "node:fs";

const golden = "test/flow/golden/";

/** A golden case, as far as its records are concerned: those of each of its datagrams. */
interface Case {
  readonly expected: { readonly records: readonly (readonly object[])[] };
}

/** The records of all golden cases, as lines have them. */
export const goldenLines: readonly string[] = readdirSync(golden)
  .flatMap((name) => readFileSync(golden + name, "utf8").split("\n"))
  .filter((line) => line !== "")
  .flatMap((line) => (JSON.parse(line) as Case).expected.records.flat())
  .map((record) => JSON.stringify(record));
