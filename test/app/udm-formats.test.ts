import assert from "node:assert/strict";
import { test } from "node:test";
import { startCommandWorld } from "../support/udm-commands.ts";

const awkward = [
  "--name",
  'a "b", c',
  "--tag",
  "x",
  "--tag",
  "y z",
  "--vlan",
  "7",
  "--internal",
  "--meta",
  ".site=A,B",
  "--context",
  "exporter",
];

test("list and get write a table, JSON, YAML, CSV or names", async (t) => {
  const { run } = await startCommandWorld(t);
  await run("udm", "set", "10.0.0.0/8", ...awkward);
  await run("udm", "set", "2001:db8::1");
  const list = async (format: string): Promise<string> => (await run("udm", "list", "-o", format)).out;

  assert.equal(await list("name"), "10.0.0.0/8\n2001:db8::1\n");
  const ten = {
    key: "10.0.0.0/8",
    name: 'a "b", c',
    tags: ["x", "y z"],
    vlan: "7",
    internal: true,
    metadata: { ".site": "A,B" },
    contexts: ["exporter"],
  };
  const json = await list("json");
  assert.deepEqual(JSON.parse(json), [ten, { key: "2001:db8::1" }]);
  assert.equal(json.split("\n").length, 5, "an element a line");
  assert.deepEqual(
    (await list("ndjson"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
    [ten, { key: "2001:db8::1" }],
  );
  assert.equal(
    await list("csv"),
    'key,name,tags,vlan,internal,contexts,metadata\n10.0.0.0/8,"a ""b"", c","x,y z",7,true,exporter,"{"".site"":""A,B""}"\n2001:db8::1,,,,,,\n',
  );
  assert.equal(
    await list("yaml"),
    '10.0.0.0/8:\n  name: "a \\"b\\", c"\n  tags:\n    - x\n    - y z\n  vlan: 7\n  internal: true\n  metadata:\n    .site: "A,B"\n  contexts:\n    - exporter\n"2001:db8::1": {}\n',
  );
  assert.match(
    await list("table"),
    /^KEY +NAME .*\n10\.0\.0\.0\/8 {3}a "b", c {2}x,y z {2}7 {5}yes {7}exporter {2}\.site=A,B\n/,
  );
  assert.deepEqual(JSON.parse((await run("udm", "get", "10.0.0.0/8", "-o", "json")).out), ten);
});

test("nothing is an empty document of each format", async (t) => {
  const { run } = await startCommandWorld(t);
  const empty = {
    json: "[]\n",
    ndjson: "",
    yaml: "{}\n",
    csv: "key,name,tags,vlan,internal,contexts,metadata\n",
    name: "",
  };
  for (const [format, text] of Object.entries(empty)) {
    assert.deepEqual(await run("udm", "list", "-o", format), { code: 0, out: text, err: "" });
  }
  assert.match((await run("udm", "list")).out, /^KEY .*METADATA\n$/);
  assert.equal((await run("udm", "list", "-o", "xml")).code, 2);
});

test("get names all keys that are missing, and shows the others", async (t) => {
  const { run } = await startCommandWorld(t);
  await run("udm", "set", "10.0.0.1", "--name", "one");
  const { code, out, err } = await run("udm", "get", "10.0.0.2", "10.0.0.1", "10.0.0.3", "-o", "ndjson");
  assert.deepEqual([code, out], [3, '{"key":"10.0.0.1","name":"one"}\n']);
  assert.match(err, /^error: not_found: key "10\.0\.0\.2" does not exist\n {2}key "10\.0\.0\.3"/);
});

test("delete takes several keys: none is deleted when one is missing", async (t) => {
  const { run } = await startCommandWorld(t);
  for (const key of ["10.0.0.1", "10.0.0.2", "10.0.0.3"]) await run("udm", "set", key);
  assert.equal((await run("udm", "delete", "10.0.0.1", "10.0.0.9")).code, 3);
  assert.equal((await run("udm", "count")).out, "3\n");
  assert.equal(
    (await run("udm", "delete", "10.0.0.1", "10.0.0.9", "--ignore-missing", "--dry-run")).out,
    "- 10.0.0.1\n",
  );
  assert.equal((await run("udm", "delete", "10.0.0.1", "10.0.0.2", "10.0.0.9", "--ignore-missing")).code, 0);
  assert.equal((await run("udm", "list", "-o", "name")).out, "10.0.0.3\n");
});

test("metrics are shown whole, by name, and without zeros", async (t) => {
  const { run } = await startCommandWorld(t);
  const all = await run("metrics");
  assert.match(all.out, /^# HELP /m);
  assert.match(all.out, /^netgloss_udm_entries 0$/m);
  const some = await run("metrics", "udm_entries");
  assert.ok(
    some.out.split("\n").every((line) => line === "" || line.includes("udm_entries")),
    some.out,
  );
  assert.doesNotMatch((await run("metrics", "--changed")).out, / 0$|^#/m);
  assert.equal((await run("metrics", "no_such_thing")).code, 3);
});
