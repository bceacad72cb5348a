import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bundleTests, writeBundles } from "../scripts/bundle-tests.ts";
import { tempDirectory } from "./support/temp-directory.ts";

test("files of a room share processes of a share of all time; long ones and those marked have their own", () => {
  const times: Readonly<Record<string, number>> = {
    "flow/long.test.js": 12,
    "flow/a.test.js": 6,
    "flow/b.test.js": 5,
    "flow/c.test.js": 3,
    "flow/marked.test.js": 1,
    "rest/long.test.js": 211,
    "udm/a.test.js": 1,
    "udm/deep/b.test.js": 1,
  };
  for (const unit of [1000, 10_000]) {
    const bundles = bundleTests(
      Object.keys(times),
      (file) => (times[file] ?? 0) * unit,
      (file) => file.includes("marked"),
    );
    assert.deepEqual(bundles, [
      ["rest/long.test.js"],
      ["flow/long.test.js"],
      ["flow/a.test.js", "flow/c.test.js"],
      ["flow/b.test.js"],
      ["udm/a.test.js", "udm/deep/b.test.js"],
      ["flow/marked.test.js"],
    ]);
  }
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
    true,
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
  const entries = writeBundles(folder, [["hangs.js"], ["ends.js", "leaks.js"]], 1, true);
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

test("an error that nothing catches ends the process, and names the test that runs", (t) => {
  const folder = tempDirectory(t);
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  const start =
    'import { test } from "node:test"; test("before", () => {}); test("outer", (t) => t.test("inner", async () => ';
  writeFileSync(
    join(folder, "throws.js"),
    `${start}{ setTimeout(() => { throw new Error("at its time"); }); await new Promise(() => setInterval(() => {}, 1000)); }));`,
  );
  writeFileSync(
    join(folder, "rejects.js"),
    `${start}{ void Promise.reject(new Error("unheard")); await new Promise(() => setInterval(() => {}, 1000)); }));`,
  );
  const [throws, rejects] = writeBundles(folder, [["throws.js"], ["rejects.js"]], 60, true).map(runEntry);
  assert.deepEqual([throws?.status, rejects?.status], [1, 1]);
  assert.match(throws?.stderr ?? "", /^throws\.js: nothing catches Error: at its time\n[^]*; running: outer > inner$/m);
  assert.match(rejects?.stderr ?? "", /^rejects\.js: nothing catches Error: unheard\n[^]*; running: outer > inner$/m);
});

test("tests of a suite are its own, also when their file is loaded late", (t) => {
  const folder = tempDirectory(t);
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  const text =
    'import { suite, test } from "node:test"; suite("all", () => { test("one", async () => {}); test("two", () => {}); });';
  writeFileSync(join(folder, "first.js"), text);
  writeFileSync(join(folder, "late.js"), `await new Promise((resolve) => setTimeout(resolve, 200)); ${text}`);
  const [entry = ""] = writeBundles(folder, [["first.js", "late.js"]], 60, true);
  const { stdout, status } = runEntry(entry);
  assert.equal(status, 0);
  assert.equal(stdout.match(/^ {4}ok \d - (?:one|two)$/gm)?.length, 4);
  assert.equal(stdout.match(/^ok \d - all$/gm)?.length, 2);
});

test("a suite that waits before it defines its tests keeps them where the runner follows all", (t) => {
  const folder = tempDirectory(t);
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  const text =
    'import { suite, test } from "node:test"; suite("all", async () => { await new Promise((resolve) => setTimeout(resolve, 50)); test("one", () => {}); });';
  writeFileSync(join(folder, "waits.js"), text);
  const [entry = ""] = writeBundles(folder, [["waits.js"]], 60, false);
  const { stdout, status } = runEntry(entry);
  assert.equal(status, 0);
  assert.equal(stdout.match(/^ {4}ok 1 - one$/gm)?.length, 1);
});

test("no suite of the unit tests waits before it defines its tests", () => {
  const root = join(import.meta.dirname, "../../test");
  const waiting = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.startsWith("system/") && path !== "bundle-tests.test.ts")
    .filter((path) => /\b(?:suite|describe)\([^\n]*\basync\b/.test(readFileSync(join(root, path), "utf8")));
  assert.deepEqual(waiting, []);
});

function runEntry(entry: string): { stdout: string; stderr: string; status: number | null } {
  return spawnSync(process.execPath, ["--test-reporter=tap", entry], { encoding: "utf8", env: {}, timeout: 60_000 });
}
