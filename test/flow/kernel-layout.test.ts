import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { addressLayout } from "../../src/record/index.ts";

const root = resolve(import.meta.dirname, "../../..");
const script = pathToFileURL(join(root, "scripts/kernel-layout.js")).href;
const { layoutModule } = (await import(script)) as { layoutModule: (table: string) => string };

const head = "part\tname\tbytes\talignment\tcomment";
const numbersOf = (table: string): Record<string, number> =>
  Object.fromEntries(
    Array.from(layoutModule(table).matchAll(/^export const (\w+) = (-?\d+);$/gm), ([, name = "", number]) => [
      name,
      Number(number),
    ]),
  );
const rows = (...cells: string[]): string => [head, ...cells.map((row) => row.replaceAll(" | ", "\t"))].join("\n");

test("rows of a part lie one behind the other, each at a multiple of its alignment", () => {
  const table = rows(
    "value | count | 3",
    "memory |  | 16",
    "memory | flag | 1",
    "memory | time | 8",
    "memory | list | 4 * count + 1",
    "memory | page | 8 | 4096",
    "memory | pageEnd | 0 | 1",
    "cell | cellFlag | 1",
    "cell | cellTime | 8",
    "cell | cellBytes | 0 | 32",
  );
  const memory = { count: 3, flag: 16, time: 24, list: 32, page: 4096, pageEnd: 4104 };
  assert.deepEqual(numbersOf(table), { ...memory, cellFlag: 0, cellTime: 8, cellBytes: 32 });
});

test("rows without bytes are numbered, numbers beyond those of JavaScript are kept, and comments come along", () => {
  const table = rows("kind | none", "kind | many | 7 | 1", "kind | last", `value | large | ${2n ** 62n} |  | Says so.`);
  const large = `/** Says so. */\nexport const large = ${2n ** 62n};\n`;
  assert.equal(layoutModule(table), `export const none = 0;\nexport const many = 1;\nexport const last = 8;\n${large}`);
});

test("a name that is not known, or there twice, is refused", () => {
  assert.throws(() => layoutModule(rows("memory | list | 4 * count")), /no row above is called count/);
  assert.throws(() => layoutModule(rows("memory | list | 4", "cell | list | 4")), /two rows are called list/);
});

test("there is memory for as many addresses as are prefetched, sources and destinations", () => {
  const numbers = numbersOf(readFileSync(join(root, "src/flow/kernel/layout.tsv"), "utf8"));
  assert.equal(addressLayout.maxListed, 2 * Number(numbers["maxPrefetched"]));
  const bytes = Number(numbers["endPrefixes"]) - Number(numbers["missingAddresses"]);
  assert.ok(bytes >= addressLayout.listedBytes * addressLayout.maxListed);
});
