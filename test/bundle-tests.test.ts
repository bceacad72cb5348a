import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bundleTests, writeBundles } from "../scripts/bundle-tests.ts";
import { tempDirectory } from "./support/temp-directory.ts";

test("files of a room share processes of about ten seconds; long ones and those marked have their own", () => {
  const times: Readonly<Record<string, number>> = {
    "flow/long.test.js": 12_000,
    "flow/a.test.js": 6_000,
    "flow/b.test.js": 5_000,
    "flow/c.test.js": 3_000,
    "flow/marked.test.js": 10,
    "udm/a.test.js": 1,
    "udm/deep/b.test.js": 1,
  };
  const bundles = bundleTests(
    Object.keys(times),
    (file) => times[file] ?? 0,
    (file) => file.includes("marked"),
  );
  assert.deepEqual(bundles, [
    ["flow/long.test.js"],
    ["flow/a.test.js", "flow/c.test.js"],
    ["flow/b.test.js"],
    ["flow/marked.test.js"],
    ["udm/a.test.js", "udm/deep/b.test.js"],
  ]);
});

test("a bundle runs all its files; one that cannot be loaded fails under its name", (t) => {
  const folder = tempDirectory(t);
  mkdirSync(join(folder, "room"));
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  const text = 'import { test } from "node:test"; test("it runs", () => {});';
  writeFileSync(join(folder, "room/good.js"), text);
  writeFileSync(join(folder, "room/bad.js"), 'throw new Error("at its top");');
  writeFileSync(join(folder, "room/other.js"), text);
  const [entry = "", single] = writeBundles(folder, [
    ["room/good.js", "room/bad.js", "room/other.js"],
    ["room/good.js"],
  ]);
  assert.equal(single, join(folder, "room/good.js"));
  const { stdout, status } = spawnSync(process.execPath, [entry], { encoding: "utf8", env: {} });
  assert.equal(status, 1);
  assert.match(stdout, /^not ok 2 - room\/bad\.js is loaded$/m);
  assert.equal(stdout.match(/^ok \d - it runs$/gm)?.length, 2);
});
