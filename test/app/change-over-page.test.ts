import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { settingsTable } from "../../src/app/settings/settings-table.ts";

const root = resolve(import.meta.dirname, "../../..");

test("docs/change-over.md names only settings, fields and pages that there are", () => {
  const page = readFileSync(join(root, "docs/change-over.md"), "utf8");
  const known = Object.keys(settingsTable);
  const names = Array.from(page.matchAll(/`(SVC_[A-Z0-9_]+)(\*?)/g), ([, name = "", star]) => ({
    name,
    isPrefix: star === "*",
  }));
  assert.ok(names.length > 40);
  const wrong = names.filter(
    ({ name, isPrefix }) => !known.some((one) => (isPrefix ? one.startsWith(name) : one === name)),
  );
  assert.deepEqual(wrong, []);

  const records = readFileSync(join(root, "docs/records.md"), "utf8");
  const [, table = ""] = page.split("| here | goflow2 |");
  const fields = Array.from(table.split("\n\n")[0]?.matchAll(/^\| (`[^|]+`) \|/gm) ?? [], ([, cell = ""]) =>
    cell.split(", "),
  ).flat();
  assert.ok(fields.length > 12);
  assert.deepEqual(
    fields.filter((field) => !records.includes(`| ${field} |`)),
    [],
  );
  for (const [, path = ""] of page.matchAll(/\]\(([a-z-]+\.md)/g))
    assert.ok(existsSync(join(root, "docs", path)), path);
});
