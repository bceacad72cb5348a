// Where entries apply is shown and kept by every command that writes whole entries.
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld, type CommandWorld } from "../support/udm-commands.ts";

const plan = `10.0.0.0/8:
  name: ten
  contexts:
    - exporter
10.0.0.1:
  name: one
"2001:db8::/32":
  name: doc
  contexts:
    - exporter
    - endpoint
`;

async function planned(t: TestContext): Promise<CommandWorld> {
  const world = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) });
  const { code, err } = await world.runWith({ input: [plan] }, "udm", "apply", "-f", "-", "--yes");
  assert.deepEqual([code, err], [0, ""]);
  return world;
}

test("list and get show contexts, and apply reads them back", async (t) => {
  const { run, runWith } = await planned(t);
  assert.equal((await run("udm", "list", "-o", "yaml")).out, plan);
  for (const output of ["json", "ndjson", "yaml"]) {
    const { out } = await run("udm", "list", "-o", output);
    const diff = await runWith({ input: [out] }, "udm", "diff", "-f", "-");
    assert.match(diff.out, /^0 changes: .*; 3 unchanged\n$/, output);
  }
  assert.equal(
    (await run("udm", "get", "2001:db8::/32", "-o", "json")).out,
    '{"key":"2001:db8::/32","name":"doc","contexts":["exporter","endpoint"]}\n',
  );
  assert.match((await run("udm", "list", "10.0.0.1", "-o", "ndjson")).out, /^.*"contexts":\["exporter"\]\}\n.*\n$/);
});

test("contexts of an entry are found among many with the same addresses", async (t) => {
  const { run, runWith } = await planned(t);
  const twins = Array.from({ length: 40 }, (_, i) => `172.16.${i}.1/12: {contexts: [endpoint]}\n`).join("");
  await runWith({ input: [twins] }, "udm", "apply", "-f", "-", "--yes");
  for (const i of [0, 25, 39]) {
    assert.match((await run("udm", "get", `172.16.${i}.1/12`, "-o", "json")).out, /"contexts":\["endpoint"\]/, `${i}`);
  }
});

test("apply sets the contexts that a file has and keeps the others", async (t) => {
  const { run, runWith } = await planned(t);
  const file = "10.0.0.0/8: {name: TEN}\n10.0.0.1: {name: one, contexts: [endpoint]}\n";
  const applied = await runWith({ input: [file] }, "udm", "apply", "-f", "-", "--yes");
  assert.equal(
    applied.out,
    [
      "~ 10.0.0.0/8",
      "    - name: ten",
      "    + name: TEN",
      "~ 10.0.0.1",
      "    + contexts: endpoint",
      "2 changes: 0 to create, 2 to update, 0 to delete; 0 unchanged",
      "applied",
      "",
    ].join("\n"),
  );
  const { out } = await run("udm", "list", "10.0.0.1", "-o", "ndjson");
  const contexts = out
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { contexts?: string[] }).contexts);
  assert.deepEqual(contexts, [["exporter"], ["endpoint"]]);
  const bad = await runWith(
    { input: ['[{"key": "10.0.0.1", "contexts": ["here"]}]'] },
    "udm",
    "apply",
    "-f",
    "-",
    "--yes",
  );
  assert.deepEqual([bad.code, bad.err], [1, "error: -: [0]: contexts must be a list of exporter, endpoint\n"]);
});

test("edit shows contexts and removes those that are taken out", async (t) => {
  const { run, runWith } = await planned(t);
  const editor = join(tempDirectory(t), "editor.sh");
  writeFileSync(editor, "#!/bin/sh\nsed -i -e '/contexts:/d' -e '/- exporter/d' \"$1\"\n");
  chmodSync(editor, 0o700);
  const { code, out, err } = await runWith({ env: { EDITOR: editor } }, "udm", "edit", "10.0.0.0/8");
  assert.deepEqual([code, out], [0, "1 change: 0 to create, 1 to update, 0 to delete: done\n"], err);
  assert.equal((await run("udm", "get", "10.0.0.0/8", "-o", "json")).out, '{"key":"10.0.0.0/8","name":"ten"}\n');
});

test("set changes contexts, with all else in one change", async (t) => {
  const { run } = await planned(t);
  const set = async (...options: string[]): Promise<unknown> => {
    const { code, out, err } = await run("udm", "set", "10.0.0.1", ...options);
    assert.equal(code, 0, err);
    return JSON.parse(out);
  };
  const entry = { key: "10.0.0.1", name: "one" };
  assert.deepEqual(await set("--context", "endpoint", "--context", "exporter", "--tag", "+x", "--meta", "a=b"), {
    ...entry,
    tags: ["x"],
    metadata: { a: "b" },
    contexts: ["exporter", "endpoint"],
  });
  assert.deepEqual(await set("--context", "endpoint", "--tag", "-x", "--clear", "metadata"), {
    ...entry,
    contexts: ["endpoint"],
  });
  assert.deepEqual(await set("--clear", "contexts"), entry);
  assert.match((await run("udm", "history", "-o", "short", "--limit", "1")).out, /^4 /);
  assert.match((await run("udm", "set", "10.0.0.1", "--context", "here")).err, /expected exporter or endpoint/);
});

test("clients that set tags of one entry at the same time all succeed", async (t) => {
  const { run } = await planned(t);
  await Promise.all(Array.from({ length: 8 }, (_, i) => run("udm", "set", "10.0.0.1", "--tag", `+t${i}`)));
  const { tags } = JSON.parse((await run("udm", "get", "10.0.0.1", "-o", "json")).out) as { tags: string[] };
  assert.deepEqual(tags.toSorted(), ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"]);
});
