import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld, type CommandRun } from "../support/udm-commands.ts";
import { until } from "../support/until.ts";

async function run(answers: readonly string[], ...argv: string[]): Promise<CommandRun> {
  const terminal = createFakeTerminal(argv, {}, [], answers);
  return { code: await runProgram(terminal), ...terminal.written };
}

test("users and tokens that commands make may ask a running collector, which reads the file again", async (t) => {
  const file = join(tempDirectory(t), "users.yml");
  const on = ["--users-file", file];
  assert.equal((await run([], "user", "set", "vera", ...on)).code, 2, "a new user needs a role");
  const added = await run(["pass word", "pass word"], "user", "set", "vera", "--role", "viewer", ...on);
  assert.deepEqual(added, {
    code: 0,
    out: `${file}: user vera added\n`,
    err: "New password of vera: Again: ",
  });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.doesNotMatch(readFileSync(file, "utf8"), /pass word/);
  const world = await startCommandWorld(t, { SVC_API_USERS_PATH: file });
  const ask = (env: Record<string, string>, ...argv: string[]): Promise<CommandRun> =>
    world.runWith({ env: { NETGLOSS_URL: `http://127.0.0.1:${world.port}`, ...env } }, "udm", ...argv);
  const vera = { NETGLOSS_USER: "vera", NETGLOSS_PASSWORD: "pass word" };
  assert.equal((await ask({}, "count")).code, 5);
  assert.equal((await ask(vera, "count")).out, "0\n");
  const refused = await ask(vera, "set", "10.0.0.1");
  assert.deepEqual(
    [refused.code, refused.err],
    [5, "error: permission_denied: vera has the role viewer, this needs editor\n"],
  );

  const made = await run(
    [],
    "token",
    "create",
    "ci",
    "--role",
    "editor",
    "--area",
    "metadata",
    "--expires",
    "30d",
    ...on,
  );
  assert.match(made.err, /^This is shown once\. It is for metadata as editor, until \d{4}-/);
  assert.equal((await run([], "token", "create", "ci", ...on)).code, 4);
  const token = { NETGLOSS_TOKEN: made.out.trim() };
  await until("the file was read again", async () => (await ask(token, "set", "10.0.0.1")).code === 0);
  assert.match((await run([], "token", "list", ...on)).out, /^TOKEN {2}ROLE .*\nci {5}editor {2}metadata {10}\d{4}-/);
  assert.match((await run([], "user", "list", ...on)).out, /^USER .*\nvera {2}viewer {2}yes\n$/);
  assert.equal((await run([], "user", "set", "vera", "--role", "admin", ...on)).code, 0, "the password stays");
  // Who is limited to scopes stays so until it is said otherwise.
  const shown = async (): Promise<string> => (await run([], "user", "list", ...on)).out;
  assert.equal((await run([], "user", "set", "vera", "--scope", "acme", "beta", ...on)).code, 0);
  assert.equal((await run([], "user", "set", "vera", "--role", "viewer", ...on)).code, 0);
  assert.match(await shown(), /vera {2}viewer {2}yes {12,}acme,beta\n$/);
  const misspelt = await run([], "user", "set", "vera", "--scope", "Acme", ...on);
  assert.match(misspelt.err, /user vera: scopes 1: expected a name of up to 63 characters.*found "Acme"/);
  assert.equal((await run([], "user", "set", "vera", "--no-scope", ...on)).code, 0);
  assert.doesNotMatch(await shown(), /acme/);
  const limited = await run([], "token", "create", "tenant", "--scope", "acme", ...on);
  assert.match(limited.err, /^This is shown once\. It is for everything in acme as viewer, until \d{4}-/);
  assert.match((await run([], "token", "list", ...on)).out, /\ntenant {2}viewer .* acme {4}\d{4}-/);
  assert.equal((await run([], "token", "delete", "ci", ...on)).code, 0);
  assert.equal((await run([], "user", "delete", "nobody", ...on)).code, 3);
});

test("what cannot be done to a file of users is said, and changes nothing", async (t) => {
  const file = join(tempDirectory(t), "users.yml");
  const set = ["user", "set", "vera", "--role", "viewer", "--users-file", file];
  assert.match((await run(["a", "b"], ...set)).err, /the passwords differ: nothing was changed/);
  assert.match((await run([], ...set)).err, /nobody can be asked here: give --password-file or --no-password/);
  assert.match((await run([], "user", "list")).err, /which file\? Give --users-file, or SVC_API_USERS_PATH/);
  writeFileSync(file, "users:\n  a: {role: boss}\n");
  const broken = await run(["x", "x"], ...set);
  const why = 'user a: role: expected one of viewer, editor, operator, admin; found "boss"';
  assert.deepEqual([broken.code, broken.err], [1, `error: ${file}:2:13: ${why}\n`]);
  assert.equal(readFileSync(file, "utf8"), "users:\n  a: {role: boss}\n");
  const late = await run([], "token", "create", "x", "--expires", "2020-01-01", "--users-file", `${file}2`);
  assert.match(late.err, /--expires: 2020-01-01 has passed/);
  const check = await run([], "config", "check", "--running", "--svc-api-users-path", file);
  assert.deepEqual([check.code, check.out], [78, ""]);
  assert.match(check.err, /users\.yml:2:13: user a: role: expected one of/);
});
