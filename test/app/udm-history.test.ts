import assert from "node:assert/strict";
import { test } from "node:test";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";

const plan =
  "10.0.0.0/8:\n  name: ten\n  tags: [a]\n10.0.0.1:\n  name: one\n  tags: [old]\n192.0.2.1:\n  tags: [old]\n";

test("search finds by text and by filter", async (t) => {
  const { run, runWith } = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) });
  assert.equal((await runWith({ input: [plan] }, "udm", "apply", "-f", "-", "--yes")).code, 0);
  assert.equal((await run("udm", "search", "ON", "-o", "name")).out, "10.0.0.1\n");
  assert.equal((await run("udm", "search", "--filter", "tag = old", "-o", "name")).out, "10.0.0.1\n192.0.2.1\n");
  assert.equal((await run("udm", "search", "--limit", "1", "--order", "-key", "-o", "name")).out, "192.0.2.1\n");
  assert.equal((await run("udm", "search", "nothing", "-o", "json")).out, "[]\n");
  const bad = await run("udm", "search", "--filter", "nmae = x");
  assert.equal(bad.code, 5);
  assert.match(bad.err, /name/);
});

test("history shows who changed what, undo puts it back and refuses what others changed since", async (t) => {
  const { run, runWith } = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) });
  await runWith({ input: [plan] }, "udm", "apply", "-f", "-", "--yes");
  await run("udm", "set", "10.0.0.1", "--name", "uno");
  const shown = await run("udm", "history", "10.0.0.1");
  assert.match(
    shown.out,
    /^2 {2}\d{4}-\S+ {2}cli {2}BatchUpsertUdms {2}1 entry\n {2}~ 10\.0\.0\.1\n {6}- name: one\n {6}\+ name: uno\n1 /,
  );
  const lines = (await run("udm", "history", "-o", "ndjson", "--limit", "1")).out.trim().split("\n");
  assert.equal((JSON.parse(lines[0] ?? "") as { number: number }).number, 2);
  assert.equal(lines.length, 1);
  assert.equal((await run("udm", "history", "--author", "nobody")).out, "");
  assert.match((await run("udm", "history", "-o", "short")).out, /^2 .*\n1 .*3 entries\n$/);

  const dry = await run("udm", "undo", "2", "--dry-run");
  assert.match(dry.out, /- name: uno\n {4}\+ name: one\n1 change: /);
  assert.match((await run("udm", "get", "10.0.0.1")).out, /uno/);
  assert.equal((await run("udm", "undo", "2")).code, 2, "nobody can be asked");
  const undone = await runWith({ answers: ["y"] }, "udm", "undo", "2");
  assert.match(undone.out, /undone by change 3\n$/);
  assert.match((await run("udm", "get", "10.0.0.1")).out, / one /);
  assert.equal((await run("udm", "undo", "2", "--yes")).code, 4);
  assert.equal((await run("udm", "undo", "99", "--yes")).code, 3);
  const wrong = await run("udm", "undo", "abc");
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /'abc' is invalid for argument 'number'\. expected a whole number from 1/);
});

test("history says when the collector keeps none", async (t) => {
  const { run } = await startCommandWorld(t, {});
  await run("udm", "set", "10.0.0.1", "--name", "one");
  const shown = await run("udm", "history");
  assert.deepEqual([shown.code, shown.out], [0, ""]);
  assert.match(shown.err, /keeps no changes: .*SVC_STATE_DIRECTORY_PATH/);
});

test("apply is one change; --replace deletes what is not in the file, within bounds", async (t) => {
  const { run, runWith } = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) });
  await runWith({ input: [plan] }, "udm", "apply", "-f", "-", "--yes");
  const changed = `${plan.replace("name: one", "name: eins")}10.0.0.9: {}\n`;
  await runWith({ input: [changed] }, "udm", "apply", "-f", "-", "--yes");
  assert.match(
    (await run("udm", "history", "-o", "short", "--limit", "1")).out,
    /^2 .*BatchUpsertUdms {2}2 entries\n$/,
  );
  const file = "10.0.0.0/8: {name: ten, tags: [a]}\n10.0.0.1: {name: eins, tags: [old]}\n";
  const ask = (...options: string[]): ReturnType<typeof run> =>
    runWith({ input: [file] }, "udm", "apply", "-f", "-", "--replace", "10.0.0.0/8", ...options);
  const tooMany = await ask("--yes");
  assert.equal(tooMany.code, 4);
  assert.match(tooMany.err, /1 of 3 entries would be deleted/);
  assert.equal((await run("udm", "count")).out, "4\n");
  const done = await ask("--yes", "--max-deletes", "1");
  assert.equal(
    done.out,
    "- 10.0.0.9\n1 change: 0 to create, 0 to update, 1 to delete; 2 unchanged\napplied\n",
    done.err,
  );
  assert.equal((await run("udm", "list", "-o", "name")).out, "10.0.0.0/8\n10.0.0.1\n192.0.2.1\n");
  const diff = await runWith({ input: [file] }, "udm", "diff", "-f", "-", "--replace", "all");
  assert.match(diff.out, /^- 192\.0\.2\.1\n/);
  assert.equal((await runWith({ input: [file] }, "udm", "diff", "-f", "-", "--replace", "nonsense")).code, 2);
});

test("delete by filter shows the keys and asks", async (t) => {
  const { run, runWith } = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) });
  await runWith({ input: [plan] }, "udm", "apply", "-f", "-", "--yes");
  const asked = await runWith({ answers: ["n"] }, "udm", "delete", "--filter", "tag = old");
  assert.deepEqual([asked.code, asked.out], [1, "- 10.0.0.1\n- 192.0.2.1\n"]);
  assert.equal((await run("udm", "delete", "--filter", "tag = old", "--yes")).code, 0);
  assert.equal((await run("udm", "list", "-o", "name")).out, "10.0.0.0/8\n");
  assert.equal((await run("udm", "delete")).code, 2);
});
