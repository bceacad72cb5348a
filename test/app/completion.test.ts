import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";

async function complete(...words: string[]): Promise<string[]> {
  const terminal = createFakeTerminal(["complete-words", "--", ...words]);
  assert.equal(await runProgram(terminal), 0, terminal.written.err);
  const lines = terminal.written.out.split("\n").filter((line) => line !== "");
  return lines.map((line) => line.split("\t")[0] ?? "");
}

test("commands, options and their values are completed from the commands themselves", async () => {
  assert.deepEqual(await complete("ver"), ["version"]);
  const commands = await complete("udm", "");
  for (const command of ["get", "list", "set", "edit", "apply", "diff", "delete"])
    assert.ok(commands.includes(command), command);
  assert.ok(!(await complete("")).includes("complete-words"));
  assert.deepEqual(await complete("udm", "list", "--out"), ["--output"]);
  assert.deepEqual(await complete("udm", "list", "-o", ""), ["table", "json", "ndjson", "yaml", "csv", "name"]);
  assert.deepEqual(await complete("udm", "list", "--exact", "--output", "j"), ["json"]);
  assert.deepEqual(await complete("udm", "apply", "-f", "x"), [":files"]);
  assert.deepEqual(await complete("udm", "check", ""), [":files"]);
  assert.deepEqual(await complete("completion", "z"), ["zsh"]);
  assert.deepEqual(
    await complete("nonsense", ""),
    await complete(""),
    "an argument that a command does not take is passed over",
  );
  assert.ok(
    (await complete("filter", "src.ip.addr in 10.0.0.0/8 and dst.na")).includes(
      "src.ip.addr in 10.0.0.0/8 and dst.name",
    ),
  );
  assert.deepEqual(await complete("demo", "--no-such-option", ""), []);
});

test("keys are asked for at the collector that the line names; without one there are none", async (t) => {
  const { run, port } = await startCommandWorld(t);
  for (const key of ["10.0.0.0/8", "10.1.0.0/16", "192.0.2.1", "2001:db8::/32"]) await run("udm", "set", key);
  const url = `http://127.0.0.1:${port}`;
  assert.deepEqual(await complete("udm", "get", "--url", url, "10."), ["10.0.0.0/8", "10.1.0.0/16"]);
  assert.deepEqual(await complete("udm", "edit", "--url", url, "10.0.0.0/8", "2001:"), ["2001:db8::/32"]);
  assert.deepEqual(await complete("udm", "list", "--url", url, "10.0.0.0/8", ""), [], "list takes one key");
  assert.deepEqual(await complete("udm", "get", "--url", "http://127.0.0.1:9", ""), []);
  assert.deepEqual(await complete("udm", "get", "--url", "nonsense", ""), []);
});

test("profiles give the URL, and are completed by their names", async (t) => {
  const { run, runWith, port } = await startCommandWorld(t, {
    SVC_API_BASIC_AUTH_ENABLE: "true",
    SVC_API_BASIC_AUTH_USERNAME: "operator",
    SVC_API_BASIC_AUTH_PASSWORD: "secret word",
  });
  assert.equal((await run("udm", "count")).out, "0\n");
  const home = tempDirectory(t);
  mkdirSync(join(home, "netgloss"));
  const path = join(home, "netgloss/config.yml");
  writeFileSync(join(home, "netgloss/password"), "secret word\n");
  const profile = `{url: "http://127.0.0.1:${port}", user: operator, password_file: password}`;
  writeFileSync(path, `current: lab\nprofiles:\n  lab: ${profile}\n  edge: {url: "http://127.0.0.1:9"}\n`);
  const env = { XDG_CONFIG_HOME: home, SVC_API_PORT: "9" };
  const count = (more: Record<string, string>, ...options: string[]): ReturnType<typeof run> =>
    runWith({ env: { ...env, ...more }, answers: ["secret word"] }, "udm", "count", ...options);
  assert.deepEqual(await count({}), { code: 0, out: "0\n", err: "" });
  assert.equal((await runWith({ env }, "complete-words", "--", "udm", "list", "--profile", "")).out, "lab\nedge\n");
  assert.equal((await count({}, "--profile", "edge")).code, 6);
  assert.equal((await count({ NETGLOSS_PROFILE: "edge" })).code, 6);
  assert.match((await count({}, "--profile", "labb")).err, /there is no profile labb in .*: is lab meant\?/);

  const url = `http://127.0.0.1:${port}`;
  const byUrl = await count({}, "--url", url);
  assert.equal(byUrl.code, 5, "the password of a profile is not sent to another URL");
  assert.match(byUrl.err, /^error: unauthenticated: .*see --user, NETGLOSS_TOKEN/);
  const asked = await count({}, "--url", url, "--user", "operator");
  assert.deepEqual(asked, { code: 0, out: "0\n", err: "Password of operator: " });
  assert.equal(
    (await count({ NETGLOSS_URL: url, NETGLOSS_USER: "operator", NETGLOSS_PASSWORD: "secret word" })).out,
    "0\n",
  );
  assert.equal((await count({ NETGLOSS_URL: url, NETGLOSS_PASSWORD: "wrong" }, "--user", "operator")).code, 5);
  const file = join(home, "netgloss/password");
  assert.equal((await count({ NETGLOSS_URL: url }, "--user", "operator", "--password-file", file)).err, "");
  assert.match((await count({ NETGLOSS_URL: "ftp://x" })).err, /NETGLOSS_URL: expected a URL/);
  assert.match((await count({}, "--ca", file)).err, /--ca: no certificate in PEM/);

  writeFileSync(path, "current: lab\nprofiles:\n  lab:\n    ulr: x\n");
  const { code, err } = await count({});
  assert.deepEqual([code, err], [2, `error: ${path}:4:5: ulr is not known here: is url meant?\n`]);
});
