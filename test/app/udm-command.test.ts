import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld, type CommandRun } from "../support/udm-commands.ts";

type Run = (...argv: string[]) => Promise<CommandRun>;

/** `netgloss udm` as the client of a collector. */
async function start(t: TestContext, more: Record<string, string> = {}): Promise<Run> {
  const world = await startCommandWorld(t, more);
  return (...argv) => world.run("udm", ...argv);
}

test("set creates an entry, changes only what is given, and clears what is named", async (t) => {
  const run = await start(t);
  const created = await run(
    "set",
    "10.0.0.0/8",
    "--name",
    "ten",
    "--tag",
    "a",
    "--tag",
    "b",
    "--vlan",
    "18446744073709551615",
  );
  assert.equal(created.code, 0, created.err);
  const ten = { key: "10.0.0.0/8", name: "ten", tags: ["a", "b"], vlan: "18446744073709551615" };
  assert.deepEqual(JSON.parse(created.out), ten);
  const changed = await run(
    "set",
    "10.0.0.0/8",
    "--internal",
    "--meta",
    ".site=HQ",
    "--meta",
    "__proto__=x=y",
    "--clear",
    "vlan",
  );
  assert.equal(
    changed.out,
    '{"key":"10.0.0.0/8","name":"ten","tags":["a","b"],"internal":true,"metadata":{".site":"HQ","__proto__":"x=y"}}\n',
  );
  const cleared = await run("set", "10.0.0.0/8", "--internal", "false", "--name", "");
  assert.doesNotMatch(cleared.out, /internal|name/);
});

test("set adds and removes single tags and metadata values, and leaves the others", async (t) => {
  const run = await start(t);
  const result = async (...options: string[]): Promise<{ tags?: string[]; metadata?: Record<string, string> }> => {
    const { code, out, err } = await run("set", "10.0.0.1", ...options);
    assert.equal(code, 0, err);
    return JSON.parse(out) as { tags?: string[]; metadata?: Record<string, string> };
  };
  assert.deepEqual((await result("--tag", "+pci", "--tag", "-old", "--meta", "site=A")).tags, ["pci"]);
  const more = await result("--tag", "+core", "--meta", "rack=1");
  assert.deepEqual([more.tags, more.metadata], [["pci", "core"], { site: "A", rack: "1" }]);
  const less = await result("--tag", "-pci", "--tag", "+core", "--tag", "+x", "--meta", "-site", "--meta", "rack=2");
  assert.deepEqual([less.tags, less.metadata], [["core", "x"], { rack: "2" }]);
  assert.deepEqual((await result("--tag", "a", "--tag", "b")).tags, ["a", "b"], "without signs they replace all");
  const all = await result("--clear", "tags", "--tag", "++y", "--clear", "metadata", "--meta", "k=");
  assert.deepEqual([all.tags, all.metadata], [["+y"], { k: "" }]);
  const mixed = await run("set", "10.0.0.1", "--tag", "+a", "--tag", "b");
  assert.equal(mixed.code, 2);
  assert.match(mixed.err, /--tag: either all have a sign/);
});

test("what cannot be meant is refused with what is wrong, and what to do", async (t) => {
  const { run, runWith } = await startCommandWorld(t);
  const cases: readonly (readonly [argv: readonly string[], code: number, err: RegExp])[] = [
    [["udm", "list", "--exact"], 2, /^error: --exact is of one key: give it\n$/],
    [["udm", "explain", "10.0.0.0/8"], 2, /^error: explain takes one address; .*: netgloss udm list 10\.0\.0\.0\/8\n$/],
    [
      ["udm", "set", "nonsense", "--name", "x"],
      5,
      /^error: invalid_argument: key: key "nonsense" is not an IP address/,
    ],
    [["udm", "set"], 2, /\(netgloss udm set --help shows how\)\n$/],
    [["udm", "gett"], 2, /Did you mean get\?\)\n\(netgloss udm --help shows how\)\n$/],
    [["nonsense"], 2, /\(run netgloss --help for the commands/],
    [["udm", "history", "--after", "x"], 2, /expected the number of a change, or 0\./],
    [
      ["udm", "set", "192.0.2.1", "--clear", "nme"],
      2,
      /expected one of name, tags, vlan, internal, metadata, contexts\./,
    ],
    [["flows", "top"], 2, /\(netgloss flows top --help shows how\)\n$/],
    [["udm", "count", "--password-file", "/nowhere"], 2, /^error: --password-file is of a user: give --user/],
    [["udm", "sources"], 5, /^error: no sources are set up/],
    [["source", "run", "x"], 5, /^error: unimplemented: no sources of metadata are set up/],
  ];
  for (const [argv, code, err] of cases) {
    const run1 = await run(...argv);
    assert.equal(run1.code, code, `${argv.join(" ")}: ${run1.err}`);
    assert.match(run1.err, err);
  }
  await run("udm", "set", "192.0.2.1");
  const env = { EDITOR: "no-such-editor", VISUAL: "" };
  const { code, err } = await runWith({ env }, "udm", "edit", "192.0.2.1");
  assert.deepEqual([code, err], [1, "error: there is no editor no-such-editor: $EDITOR names one\n"]);
});

test("set warns of host bits", async (t) => {
  const run = await start(t);
  const { code, out, err } = await run("set", "10.20.30.40/24", "--name", "x");
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(out), { key: "10.20.30.40/24", name: "x" });
  assert.equal(err, "warning: 10.20.30.40/24 has host bits: it covers all of 10.20.30.0/24\n");
  assert.equal((await run("set", "10.20.30.0/24", "--name", "y")).err, "");
});

test("set without fields creates a bare entry and never empties one", async (t) => {
  const run = await start(t);
  assert.equal((await run("set", "10.0.0.1", "--name", "x")).code, 0);
  const again = await run("set", "10.0.0.1");
  assert.equal(again.code, 4);
  assert.match(again.err, /^error: already_exists: /);
  assert.match((await run("list", "10.0.0.1", "--json")).out, /"name":"x"/);
  assert.equal((await run("set", "10.0.0.2")).out, '{"key":"10.0.0.2"}\n');
});

test("list shows a table or JSON lines, all or what relates to a key", async (t) => {
  const run = await start(t);
  await run("set", "10.0.0.0/8", "--name", "ten");
  await run("set", "10.0.0.1", "--name", "one", "--meta", "k=v", "--internal");
  await run("set", "2001:DB8::0/32");
  const all = await run("list");
  assert.equal(
    all.out,
    [
      "KEY            NAME  TAGS  VLAN  INTERNAL  CONTEXTS  METADATA",
      "10.0.0.0/8     ten",
      "10.0.0.1       one               yes                 k=v",
      "2001:db8::/32",
      "",
    ].join("\n"),
  );
  const related = await run("list", "10.0.0.1", "--json");
  assert.deepEqual(
    related.out
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { key: string }).key),
    ["10.0.0.0/8", "10.0.0.1"],
  );
  const exact = await run("list", "10.0.0.0/8", "--exact", "--json");
  assert.equal(exact.out, '{"key":"10.0.0.0/8","name":"ten"}\n');
  assert.equal((await run("count")).out, "3\n");
});

test("delete deletes, and what the API refuses is one line and an exit code", async (t) => {
  const run = await start(t);
  await run("set", "10.0.0.1");
  assert.deepEqual(await run("delete", "10.0.0.1"), { code: 0, out: "", err: "" });
  const gone = await run("delete", "10.0.0.1");
  assert.deepEqual([gone.code, gone.out], [3, ""]);
  assert.match(gone.err, /^error: not_found: .*10\.0\.0\.1.*\n$/);
  const refused = await run("list", "nonsense");
  assert.match(refused.err, /^error: invalid_argument: .*"nonsense"/);
  assert.equal(refused.code, 5);
});

test("credentials come from the settings or the URL", async (t) => {
  const settings = {
    SVC_API_BASIC_AUTH_ENABLE: "true",
    SVC_API_BASIC_AUTH_USERNAME: "admin",
    SVC_API_BASIC_AUTH_PASSWORD: "pä:ss%",
  };
  const run = await start(t, settings);
  assert.deepEqual(await run("count"), { code: 0, out: "0\n", err: "" });
  const other = createFakeTerminal(["udm", "count", "--url", "http://admin:wrong@127.0.0.1:1"], {});
  assert.equal(await runProgram(other), 6);
  assert.doesNotMatch(other.written.err, /wrong/, "no password in messages");
});

test("check warns of host bits", async (t) => {
  const path = join(tempDirectory(t), "plan.yml");
  writeFileSync(path, "10.20.30.40/24: {}\n");
  const terminal = createFakeTerminal(["udm", "check", path]);
  assert.equal(await runProgram(terminal), 0);
  assert.equal(terminal.written.out, `${path}: 1 entry\n`);
  assert.equal(
    terminal.written.err,
    `warning: ${path}:1:1: key 10.20.30.40/24 has host bits: it covers all of 10.20.30.0/24\n`,
  );
});

test("--names is about names: set, got, listed, found, edited, applied, imported, exported, undone and deleted", async (t) => {
  const folder = tempDirectory(t);
  const { run: command, runWith } = await startCommandWorld(t, {
    SVC_PROCESSOR_ENRICH_NAMES_PATH: join(folder, "names.yml"),
    SVC_STATE_DIRECTORY_PATH: folder,
  });
  const run = async (name: string, ...more: string[]): Promise<string> => {
    const { code, out, err } = await command("udm", name, ...more, "--names");
    assert.deepEqual([code, err], [0, ""], `${name} ${more.join(" ")}`);
    return out;
  };
  const uplink = await run("set", "interface:192.0.2.1/Gi0/1", "--name", "uplink", "--tag", "+wan");
  assert.equal(uplink, '{"key":"interface:192.0.2.1/Gi0/1","name":"uplink","tags":["wan"]}\n');
  await run("set", "mac:00-00-5E", "--name", "IANA");
  // Addresses are apart from them.
  assert.equal((await command("udm", "count")).out, "0\n");
  assert.equal(await run("count"), "2\n");
  assert.match(await run("get", "mac:00-00-5E", "-o", "ndjson"), /^\{"key":"mac:00:00:5e","name":"IANA"\}\n$/);
  assert.equal(await run("list", "mac:00:00:5e:00:53:01", "-o", "name"), "mac:00:00:5e\n");
  assert.equal(await run("search", "--filter", "tag = wan", "-o", "name"), "interface:192.0.2.1/Gi0/1\n");
  const file = join(folder, "wanted.yml");
  const yaml = await run("list", "-o", "yaml");
  writeFileSync(file, `${yaml}as:64496: {name: Example}\n`);
  assert.match(await run("diff", "-f", file, "--replace", "all"), /^\+ as:64496$/m);
  assert.match(await run("apply", "-f", file, "--yes"), /^\+ as:64496$/m);
  const csv = await run("export", "--format", "csv");
  await run("delete", "as:64496");
  writeFileSync(join(folder, "names.csv"), csv);
  assert.match(await run("import", join(folder, "names.csv"), "--yes"), /; 1 changes?: 1 to create, 0 to update/);
  assert.match(await run("history", "--limit", "1"), /as:64496/);
  await run("undo", "5", "--yes");
  assert.equal(await run("count"), "2\n");
  const editor = join(folder, "editor.sh");
  writeFileSync(editor, "#!/bin/sh\nsed -i 's/IANA/vendor/' \"$1\"\n", { mode: 0o755 });
  const edited = await runWith({ env: { EDITOR: editor, VISUAL: "" } }, "udm", "edit", "mac:00:00:5e", "--names");
  assert.equal(edited.code, 0, edited.err);
  assert.match(await run("get", "mac:00:00:5e"), /vendor/);
  const both = await command("udm", "count", "--names", "--scope", "acme");
  assert.equal(both.code, 2);
  assert.match(both.err, /'--names' cannot be used with option '--scope/);
  const wrong = await command("udm", "apply", "-f", file, "--yes");
  assert.notEqual(wrong.code, 0);
  assert.match(wrong.err, /wanted\.yml:\d+:1: key "as:64496" is not an IP address/);
});
