import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { settingsTable } from "../../src/app/settings/settings-table.ts";

const root = resolve(import.meta.dirname, "../../..");
const read = (name: string): string => readFileSync(join(root, "docs", name), "utf8");
const page = read("change-over.md");

test("docs/change-over.md names only settings and pages that there are", () => {
  const known = Object.keys(settingsTable);
  const names = Array.from(page.matchAll(/\b(SVC_[A-Z0-9_]+)(\*?)/g), ([, name = "", star]) => ({
    name,
    isPrefix: star === "*",
  }));
  assert.ok(names.length > 60);
  const wrong = names.filter(
    ({ name, isPrefix }) => !known.some((one) => (isPrefix ? one.startsWith(name) : one === name)),
  );
  assert.deepEqual(wrong, []);
  for (const [, path = ""] of page.matchAll(/\]\(([a-z0-9/-]+\.md)/g)) {
    assert.ok(existsSync(join(root, "docs", path)), path);
  }
});

test("docs/change-over.md names only fields that there are", () => {
  const records = read("reference/records.md");
  const [, table = ""] = page.split("| here | goflow2 |");
  const fields = Array.from(table.split("\n\n")[0]?.matchAll(/^\| (`[^|]+`) \|/gm) ?? [], ([, cell = ""]) =>
    cell.split(", "),
  ).flat();
  assert.ok(fields.length > 12);
  assert.deepEqual(
    fields.filter((field) => !records.includes(`| ${field} |`)),
    [],
  );
});
