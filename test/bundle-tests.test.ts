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
  const [entry = "", single = ""] = writeBundles(
    folder,
    [["room/good.js", "room/bad.js", "room/other.js"], ["room/good.js"]],
    60,
  );
  const { stdout, status } = runEntry(entry);
  assert.equal(status, 1);
  assert.match(stdout, /^not ok 2 - room\/bad\.js is loaded$/m);
  assert.equal(stdout.match(/^ok \d - it runs$/gm)?.length, 2);
  assert.equal(runEntry(single).status, 0);
});

test("a test that hangs and what stays open after the tests end the process, and are named", (t) => {
  const folder = tempDirectory(t);
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  const start = 'import { test } from "node:test"; import { createServer } from "node:net"; ';
  const open = "createServer().listen(0, '127.0.0.1')";
  writeFileSync(
    join(folder, "hangs.js"),
    `${start}test("before", () => {}); test("outer", (t) => t.test("inner", () => { ${open}; return new Promise(() => {}); }));`,
  );
  writeFileSync(join(folder, "leaks.js"), `${start}test("passes", () => void ${open});`);
  writeFileSync(join(folder, "ends.js"), `${start}test("passes", () => void ${open}.unref());`);
  const entries = writeBundles(folder, [["hangs.js"], ["ends.js", "leaks.js"]], 1);
  const [hangs, leaks] = entries.map(runEntry);
  assert.deepEqual([hangs?.status, leaks?.status], [1, 1]);
  assert.match(
    hangs?.stderr ?? "",
    /^hangs\.js: nothing has begun or ended for 1 s; running: outer > inner; open: .*server at \{"address":"127\.0\.0\.1"/m,
  );
  assert.match(
    leaks?.stderr ?? "",
    /^ends\.js, leaks\.js: the tests are done and the process does not end; open: .*1 TCPServerWrap/m,
  );
  assert.equal(leaks?.stdout.match(/^ok \d - passes$/gm)?.length, 2);
});

function runEntry(entry: string): { stdout: string; stderr: string; status: number | null } {
  return spawnSync(process.execPath, ["--test-reporter=tap", entry], { encoding: "utf8", env: {}, timeout: 60_000 });
}
