import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { AddressEnricher } from "../../src/enrich/index.ts";
import { KeyError, parseKey } from "../../src/base/ip/index.ts";
import type { RecordFields, Value } from "../../src/record/index.ts";
import { createMetrics, silentLog } from "../../src/base/report/index.ts";
import { readFileText } from "../support/udm-store-fixture.ts";

const doc = readFileSync(resolve(import.meta.dirname, "../../../docs/metadata.md"), "utf8");

test("the first example of docs/metadata.md is true", async () => {
  const record = JSON.parse(block("json", 0)) as Record<string, Value>;
  const expected = JSON.parse(block("json", 1)) as Record<string, Value>;
  assert.deepEqual(await enriched(block("yaml", 0), record), Object.entries(expected));
});

test("the keys that docs/metadata.md shows are read and shown so", () => {
  const rows = table("you write");
  assert.ok(rows.length >= 5);
  for (const [text = "", what = "", shown] of rows) {
    const key = parseKey(text);
    assert.equal(key.text, shown);
    const kind = { ip: "IP", cidr: "CIDR", range: "range" }[key.kind];
    assert.ok(what.includes(kind), `${text}: ${what}`);
  }
});

test("the keys that docs/metadata.md calls refused are", () => {
  const rows = table("refused");
  assert.ok(rows.length >= 5);
  for (const [text = ""] of rows) assert.throws(() => parseKey(text), KeyError, text);
});

test("the renamings that docs/metadata.md shows are true", async () => {
  const rows = table("source has");
  assert.ok(rows.length >= 3);
  for (const [has = "", gets = ""] of rows) {
    const pairs = (text: string): string[][] => text.split(" and ").map((pair) => pair.replaceAll("`", "").split(": "));
    const yaml = ["10.0.0.1:", "  metadata:", ...pairs(has).map((pair) => `    ${pair.join(": ")}`)].join("\n");
    const record = await enriched(yaml, { "flow.src.ip.addr": "10.0.0.1" });
    assert.deepEqual(record.slice(1).sort(byName), pairs(gets).sort(byName));
  }
});

async function enriched(yaml: string, fields: Readonly<Record<string, Value>>): Promise<unknown[][]> {
  const { index } = await readFileText(yaml);
  const enricher = new AddressEnricher({
    watch: (listener) => {
      listener(index);
      return () => {};
    },
    ttlMs: 1000,
    invalidate: true,
    maxCached: 10,
    clock: { now: () => 0, monotonic: () => 0 },
    metrics: createMetrics(),
    log: silentLog,
  });
  await enricher.start();
  const record: RecordFields = new Map(Object.entries(fields));
  enricher.enrich(record);
  return [...record];
}

function byName([a]: readonly unknown[], [b]: readonly unknown[]): number {
  return String(a) < String(b) ? -1 : 1;
}

/** The text of a fenced block, by its language and its place among those of that language. */
function block(language: string, place: number): string {
  const blocks = [...doc.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter((found) => found[1] === language);
  return blocks[place]?.[2] ?? assert.fail(`no block ${place} of ${language}`);
}

/** The cells of the table whose first heading is this one; a cell that is one piece of code without its marks. */
function table(heading: string): string[][] {
  const start = doc.indexOf(`\n| ${heading} |`);
  assert.ok(start >= 0, heading);
  const lines =
    doc
      .slice(start + 1)
      .split("\n\n")[0]
      ?.split("\n") ?? [];
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim().replace(/^`([^`]*)`$/, "$1")),
  );
}
