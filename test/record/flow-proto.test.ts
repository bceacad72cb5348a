import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { recordFields } from "../../src/record/index.ts";

const root = join(import.meta.dirname, "../../..");
const listPath = join(root, "test/record/flow-proto-numbers.tsv");
const schema = readFileSync(join(root, "proto/flow/v1/flow.proto"), "utf8");

/** The fields of the schema by their numbers: type and name, as they stand there. */
const inSchema: ReadonlyMap<number, string> = new Map(
  [...schema.matchAll(/^ {2}(\S.*) = (\d+)(?: \[json_name = "[^"]+"\])?;$/gm)].map(([, field = "", number]) => [
    Number(number),
    field,
  ]),
);

test("a number of the schema is its field's for ever: none changes its name or type, and none is given again", () => {
  const known = readFileSync(listPath, "utf8").trimEnd().split("\n");
  const found = Array.from(inSchema, ([number, field]) => `${number}\t${field}`);
  if (process.env["UPDATE_GOLDEN"] === "1") {
    // Only adds: what was given once stays in the list, also when its field has gone.
    const all = [...new Set([...known, ...found])].filter((line) => line !== "");
    writeFileSync(listPath, `${all.toSorted((a, b) => Number.parseInt(a) - Number.parseInt(b)).join("\n")}\n`);
    return;
  }
  for (const line of found) assert.ok(known.includes(line), `${line} is new or has changed`);
  const numbers = known.map((line) => Number.parseInt(line));
  assert.deepEqual(
    numbers.filter((number, i) => numbers.indexOf(number) !== i),
    [],
    "numbers that were given twice",
  );
});

test("every field that flows have has a number, the schema has each once, and no other", () => {
  const without = recordFields.filter(
    ({ group, name, protoNumber }) =>
      protoNumber === undefined &&
      !["alert", "counters", "snmp", "mibs"].includes(group) &&
      !name.startsWith("system."),
  );
  assert.deepEqual(
    without.map(({ name }) => name),
    [],
  );
  const numbers = recordFields.flatMap(({ protoNumber }) => protoNumber ?? []);
  assert.equal(new Set(numbers).size, numbers.length);
  assert.deepEqual(
    [...inSchema.keys()],
    [...numbers, 15, 16].toSorted((a, b) => a - b),
  );
  const names = [...inSchema.values()].map((field) => field.split(" ").at(-1));
  assert.equal(new Set(names).size, names.length);
});
