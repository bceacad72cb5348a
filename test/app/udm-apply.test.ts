import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { startCommandWorld, type CommandWorld } from "../support/udm-commands.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const plan = "10.0.0.0/8:\n  name: ten\n  tags: [a]\n10.0.0.1:\n  name: one\n  metadata:\n    site: AMS\n";

async function planned(t: TestContext): Promise<CommandWorld> {
  const world = await startCommandWorld(t);
  const { code, err } = await world.runWith({ input: [plan] }, "udm", "apply", "-f", "-", "--yes");
  assert.equal(code, 0, err);
  return world;
}

test("apply shows what changes, asks, and changes only that", async (t) => {
  const { runWith, run } = await planned(t);
  await run("udm", "set", "10.9.9.9");
  const file = join(tempDirectory(t), "plan.yml");
  writeFileSync(file, `${plan.replace("AMS", "FRA").replace("[a]", "[a, b]")}192.0.2.0/24: {name: doc}\n`);
  const shown = [
    "~ 10.0.0.0/8",
    "    - tags: a",
    "    + tags: a, b",
    "~ 10.0.0.1",
    "    - metadata site: AMS",
    "    + metadata site: FRA",
    "+ 192.0.2.0/24",
    "    + name: doc",
    "3 changes: 1 to create, 2 to update, 0 to delete; 0 unchanged",
    "",
  ].join("\n");
  assert.deepEqual(await run("udm", "diff", "-f", file), { code: 0, out: shown, err: "" });
  assert.equal((await run("udm", "diff", "-f", file, "--exit-code")).code, 1);
  assert.equal((await run("udm", "apply", "-f", file, "--dry-run")).out, shown);
  const nobody = await run("udm", "apply", "-f", file);
  assert.equal(nobody.code, 2);
  assert.match(nobody.err, /nobody can be asked here: give --yes/);
  const refused = await runWith({ answers: ["no"] }, "udm", "apply", "-f", file);
  assert.deepEqual([refused.code, refused.err], [1, "Apply? [y/N] error: nothing was changed\n"]);
  assert.match((await run("udm", "get", "10.0.0.1")).out, /site=AMS/);
  const applied = await runWith({ answers: ["y"] }, "udm", "apply", "-f", file);
  assert.deepEqual([applied.code, applied.out], [0, `${shown}applied\n`]);
  assert.equal((await run("udm", "list", "-o", "name")).out, "10.0.0.0/8\n10.0.0.1\n10.9.9.9\n192.0.2.0/24\n");
  assert.match((await run("udm", "diff", "-f", file)).out, /^0 changes: .*; 3 unchanged\n$/);
});

test("a person who waits reads how far apply and export are, on the standard error", async (t) => {
  const { runWith } = await startCommandWorld(t);
  const given = { input: [plan], isWatched: true };
  const applied = await runWith(given, "udm", "apply", "-f", "-", "--yes");
  assert.deepEqual([applied.code, applied.err], [0, "comparing 2 entries …\nsaving …\n"]);
  const { out, err } = await runWith({ isWatched: true }, "udm", "export", "--format", "ndjson");
  assert.deepEqual([out.split("\n").length, err], [3, "waiting for the collector …\n"]);
});

test("udm sources lists the sources", async (t) => {
  const { run } = await startCommandWorld(t);
  assert.deepEqual(await run("udm", "sources"), await run("source", "list"));
});

test("what list writes can be applied: JSON, lines of JSON, YAML", async (t) => {
  const { run, runWith } = await planned(t);
  for (const format of ["json", "ndjson", "yaml"]) {
    const { out } = await run("udm", "list", "-o", format);
    const again = await runWith({ input: [out] }, "udm", "diff", "-f", "-");
    assert.match(again.out, /^0 changes: .*; 2 unchanged\n$/, format);
  }
});

test("apply names all that is wrong with a file, and changes nothing", async (t) => {
  const { run, runWith } = await planned(t);
  const bad = "10.0.0.1: {name: 3}\nnonsense: {}\n10.0.0.3: {vlan: x}\n10.0.0.4:\n  tags: ['']\n10.0.0.5: {odd: 1}\n";
  const { code, out, err } = await runWith({ input: [bad] }, "udm", "apply", "-f", "-", "--yes");
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^warning: -:6:12: field "odd" is not used$/m);
  assert.match(err, /^error: -:2:1: key "nonsense"/m);
  assert.match(err, /^error: -:3:18: vlan/m);
  assert.match(err, /^error: -:4:1: 10\.0\.0\.4: tag "" is empty$/m);
  const json =
    '[{"key":"10.0.0.1","vlan":"x"},{"name":"no key"},{"key":"x"},3,{"key":"10.0.0.2"},{"key":"10.0.0.2","a":1}]';
  const faults = (await runWith({ input: [json] }, "udm", "apply", "-f", "-", "--yes")).err;
  for (const fault of [
    "[0]: vlan must be a number",
    "[1]: key is missing",
    '[2]: key "x"',
    "[3]: expected an entry",
    '[5]: field "a"',
  ]) {
    assert.ok(faults.includes(`error: -: ${fault}`), `${fault} in ${faults}`);
  }
  assert.equal((await run("udm", "count")).out, "2\n");
});

test("apply of many entries lists once and makes all changes", async (t) => {
  const { run, runWith } = await planned(t);
  const many = Array.from({ length: 300 }, (_, i) => `10.1.${i >> 8}.${i & 255}: {name: host-${i}}\n`).join("");
  assert.equal((await runWith({ input: [many] }, "udm", "apply", "-f", "-", "--yes")).code, 0);
  const changed = many.replaceAll("host-1", "router-1");
  const { out } = await runWith({ input: [changed] }, "udm", "apply", "-f", "-", "--yes");
  assert.match(out, /^111 changes: 0 to create, 111 to update, 0 to delete; 189 unchanged$/m);
  assert.equal((await run("udm", "count")).out, "302\n");
});

/** An editor that makes one step of a script each time it is run; `#shown` in a step gets what it saw. */
function editor(t: TestContext, steps: readonly string[]): Record<string, string> {
  const directory = tempDirectory(t);
  const path = join(directory, "editor.mjs");
  writeFileSync(
    path,
    `import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
const [, , file] = process.argv;
const log = ${JSON.stringify(join(directory, "log"))};
const step = existsSync(log) ? readFileSync(log, "utf8").split("=====").length - 1 : 0;
const text = readFileSync(file, "utf8");
appendFileSync(log, text + "=====");
const edit = new Function("text", ${JSON.stringify(steps.map((step) => `() => ${step}`).join(";;"))}.split(";;")[step].replace("() =>", "return"));
writeFileSync(file, edit(text));
`,
  );
  chmodSync(path, 0o700);
  return { EDITOR: `${process.execPath} ${path}`, LOG: join(directory, "log") };
}

test("edit changes, creates and deletes what the text says", async (t) => {
  const { run, runWith } = await planned(t);
  const env = editor(t, [
    'text.replace("ten", "TEN").replace(/10\\.0\\.0\\.1:[^]*AMS\\n/, "").replace("{}", "{vlan: 5}")',
  ]);
  const edited = await runWith({ env }, "udm", "edit", "10.0.0.0/8", "10.0.0.1", "2001:DB8::0");
  assert.deepEqual(edited, { code: 0, out: "3 changes: 1 to create, 1 to update, 1 to delete: done\n", err: "" });
  const { out } = await run("udm", "list", "-o", "ndjson");
  assert.equal(out, '{"key":"10.0.0.0/8","name":"TEN","tags":["a"]}\n{"key":"2001:db8::","vlan":"5"}\n');
  const left = await runWith({ env: editor(t, ["text"]) }, "udm", "edit", "10.0.0.0/8");
  assert.deepEqual(left, { code: 0, out: "nothing was changed\n", err: "" });
});

test("edit puts faults back as comments with their lines, until the text is right or left alone", async (t) => {
  const { run, runWith } = await planned(t);
  const fixed = editor(t, ['text.replace("name: ten", "vlan: x")', 'text.replace("vlan: x", "vlan: 8")']);
  assert.equal((await runWith({ env: fixed }, "udm", "edit", "10.0.0.0/8")).code, 0);
  assert.match((await run("udm", "get", "10.0.0.0/8", "-o", "ndjson")).out, /"vlan":"8"/);
  const { readFileSync } = await import("node:fs");
  const [, second = ""] = readFileSync(fixed["LOG"] ?? "", "utf8").split("=====");
  const [fault = "", ...text] = second.split("\n");
  const place = /^#! line (\d+), column \d+: vlan/.exec(fault);
  assert.equal(
    [fault, ...text][Number(place?.[1]) - 1]?.trim(),
    "vlan: x",
    "the line is that of the text with its comments",
  );

  const given = editor(t, ['text.replace("vlan: 8", "vlan: y")', "text"]);
  const { code, err } = await runWith({ env: given }, "udm", "edit", "10.0.0.0/8");
  assert.equal(code, 1);
  assert.match(err, /^error: line \d+, column \d+: vlan .*\nnothing was changed; your text is in .*entries\.yml\n$/);
});

test("edit notices that somebody else was there, and keeps the text", async (t) => {
  const { run, runWith, port } = await planned(t);
  const other = `require("node:child_process").execFileSync(process.execPath, [${JSON.stringify(join(import.meta.dirname, "../../../bin/netgloss.js"))}, "udm", "set", "10.0.0.1", "--name", "other", "--url", "http://127.0.0.1:${port}"])`;
  const env = editor(t, [
    `(globalThis.require = process.getBuiltinModule("node:module").createRequire("/"), ${other}, text.replace("one", "mine"))`,
  ]);
  const { code, err } = await runWith({ env }, "udm", "edit", "10.0.0.1");
  assert.equal(code, 4, err);
  assert.match(err, /10\.0\.0\.1 was changed by somebody else meanwhile\nnothing was changed; your text is in /);
  assert.match((await run("udm", "get", "10.0.0.1")).out, /other/);
  const failing = await runWith({ env: { EDITOR: "false" } }, "udm", "edit", "10.0.0.1");
  assert.match(failing.err, /the editor false ended with 1/);
});

test("JSON that says a name twice is refused, for one of both values would be lost", async (t) => {
  const { runWith } = await planned(t);
  const input = ['{"key":"10.0.0.1","name":"a","name":"b"}\n'];
  const { code, err } = await runWith({ input }, "udm", "apply", "-f", "-", "--yes");
  assert.equal(code, 1);
  assert.match(err, /the name "name" is given twice in one object/);
});
