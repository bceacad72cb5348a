import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileFormatsPage, settingsTable } from "../../src/app/index.ts";

test("the page of file formats is what the shapes say, and names settings that there are", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/reference/file-formats.md"), "utf8");
  assert.equal(page, fileFormatsPage(), "run `npm run generate`");
  for (const [, name = ""] of page.matchAll(/`(SVC_\w+)`/g)) assert.ok(Object.hasOwn(settingsTable, name), name);
});
