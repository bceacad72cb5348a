import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  defaultApi,
  parseSettingsFile,
  readSettings,
  settingNames,
  settingOf,
  settingsPage,
} from "../../src/app/index.ts";
import { outputKinds } from "../../src/output/index.ts";

const root = join(import.meta.dirname, "../../..");

test("docs/reference/settings.md is what `npm run generate` writes", () => {
  assert.equal(readFileSync(join(root, "docs/reference/settings.md"), "utf8"), settingsPage());
});

test("the page has a row of five cells for every setting", () => {
  const rows = settingsPage()
    .split("\n")
    .filter((line) => line.startsWith("| `SVC_"));
  assert.deepEqual(
    rows.map((line) => /^\| `(SVC_[A-Z0-9_]+)` \|/.exec(line)?.[1]),
    settingNames,
  );
  for (const line of rows) assert.equal(line.split(" | ").length, 5, line);
});

test("a setting whose default is empty has an example, and every example is a value of its setting", () => {
  for (const name of settingNames) {
    const { type, default: fallback, example } = settingOf(name);
    if (!type.secret && type.format(fallback) === "") assert.ok(example, name);
    if (example !== undefined) assert.equal(type.format(type.parse(example)), example, name);
  }
});

test("a command that is given no URL asks where a collector listens without settings", () => {
  const { ip, port } = defaultApi;
  assert.deepEqual([settingOf("SVC_API_IP").default, settingOf("SVC_API_PORT").default], [ip, port]);
});

test("every setting is honoured somewhere outside its table", () => {
  const sourcesOf = (folder: string): string =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !/settings-table|read-settings/.test(path))
      .map((path) => readFileSync(join(root, folder, path), "utf8"))
      .join("");
  const [all, outputs] = [sourcesOf("src"), sourcesOf("src/app/outputs") + sourcesOf("src/output")];
  const honoured = new Set(Array.from(all.matchAll(/settings\.(SVC_\w+)/g), ([, name = ""]) => name));
  const idle = settingNames.filter((name) => {
    if (honoured.has(name)) return false;
    // Outputs to stores read their own settings, without the beginning of their names.
    const word = outputKinds.find((kind) => name.startsWith(`SVC_OUTPUT_${kind.word}_`))?.word;
    if (word === undefined) return true;
    const own = name.slice(`SVC_OUTPUT_${word}_`.length);
    return !new RegExp(`(?:settings|values)\\.${own}\\b|[{,] ${own}(?:: \\w+)?[, ]`).test(outputs);
  });
  assert.deepEqual(idle, [], "but for the one that only checks decide on");
});

test("config/quickstart.yml is valid, without warnings, and turns the metadata API on", () => {
  const path = join(root, "config/quickstart.yml");
  const { settings, unknown, warnings } = readSettings([parseSettingsFile(path, readFileSync(path, "utf8"))], () =>
    assert.fail("no secret files here"),
  );
  assert.deepEqual({ unknown, warnings }, { unknown: [], warnings: [] });
  assert.equal(settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE, true);
  assert.equal(settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE, true);
  assert.equal(settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH, "./var/ipaddrs.yml");
  assert.equal(settings.SVC_API_IP, "127.0.0.1");
});
