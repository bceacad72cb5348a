import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { flagOf, runProgram, settingGroups, settingOf } from "../../src/app/index.ts";
import { allTests } from "../support/clean-up.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";

const bin = join(import.meta.dirname, "../../../bin/netgloss.js");
const directory = tempDirectory(allTests());

function fileWith(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  return runWith({}, ...argv);
}

async function runWith(
  env: Record<string, string>,
  ...argv: string[]
): Promise<{ code: number; out: string; err: string }> {
  const terminal = createFakeTerminal(argv, env);
  const code = await runProgram(terminal);
  return { code, ...terminal.written };
}

test("the program runs as a process: version, usage error, bad settings", () => {
  const spawn = (...argv: string[]): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [bin, ...argv], { encoding: "utf8", env: { PATH: process.env["PATH"] } });
  const version = spawn("version");
  assert.equal(version.status, 0);
  assert.match(String(version.stdout), /^netgloss \d+\.\d+\.\d+, Node v\d+/);
  assert.equal(spawn("nonsense").status, 2);
  const bad = spawn("serve", "--svc-api-port", "http");
  assert.equal(bad.status, 78);
  assert.match(
    String(bad.stderr),
    /^error: flag --svc-api-port: SVC_API_PORT must be an integer from 0 to 65535, not "http"$/m,
  );
  assert.equal(bad.stdout, "");
});

test("a Node that is too old is refused by name", () => {
  const pretend = (version: string): ReturnType<typeof spawnSync> => {
    const change = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
    return spawnSync(process.execPath, ["--import", `data:text/javascript,${change}`, bin, "--version"], {
      encoding: "utf8",
    });
  };
  for (const version of ["18.20.8", "20.18.3"]) {
    const { status, stderr } = pretend(version);
    assert.equal(status, 1);
    assert.equal(stderr, `netgloss: needs Node 20.19 or later, this is ${version}.\n`);
  }
  for (const version of ["20.19.0", "22.1.0"]) assert.equal(pretend(version).status, 0, version);
});

test("help lists every command, and serve every setting but secrets, in groups", async () => {
  const { code, out } = await run("--help");
  assert.equal(code, 0);
  for (const command of ["serve", "demo", "config", "udm", "version"])
    assert.match(out, new RegExp(`^ {2}${command}\\b`, "m"));
  const serve = await run("serve", "--help");
  assert.equal(serve.code, 0);
  for (const { group, names } of settingGroups) {
    assert.ok(serve.out.includes(`${group}:\n`), group);
    for (const name of names) {
      const flag = settingOf(name).type.secret ? `${flagOf(name)}-file <` : `${flagOf(name)} `;
      assert.ok(serve.out.includes(flag), name);
    }
  }
  assert.doesNotMatch(serve.out, /--svc-api-basic-auth-password </);
});

test("without a command the help is shown and the exit code says so", async () => {
  const { code, err } = await run();
  assert.equal(code, 2);
  assert.match(err, /Usage: netgloss/);
});

test("config check accepts, warns and refuses", async () => {
  const good = await run("config", "check", "--running", "--svc-flow-server-udp-enable", "--svc-output-stdout-enable");
  assert.deepEqual(good, { code: 0, out: "settings are valid\n", err: "" });
  const warned = await runWith({ SVC_NONSENSE: "1" }, "config", "check", "--running");
  assert.equal(warned.code, 0);
  assert.match(warned.err, /warning: .*have no effect: SVC_NONSENSE \(environment\)/);
  const strict = await runWith({ SVC_NONSENSE: "1" }, "config", "check", "--running", "--strict");
  assert.equal(strict.code, 78);
  assert.match(strict.err, /error: .*SVC_NONSENSE/);
  assert.equal(strict.out, "");
});

test("errors of a settings file come with file, line and column", async () => {
  const path = fileWith("bad.yml", "SVC_API_PORT: 8080\nSVC_LOG_LEVEL: [debug\n");
  const syntax = await run("serve", "--config", path);
  assert.equal(syntax.code, 78);
  assert.match(syntax.err, new RegExp(`^error: ${path}:3:1: `));
  const value = await run("serve", "--config", fileWith("value.yml", "\n  SVC_API_PORT: -1\n"));
  assert.equal(value.code, 78);
  assert.match(value.err, /value\.yml:2:3: SVC_API_PORT must be/);
  const missing = await run("config", "check", "--config", join(directory, "none.yml"));
  assert.equal(missing.code, 78);
  assert.match(missing.err, /cannot read the settings file: .*none\.yml/);
});

test("config print shows values and origins and hides secrets", async () => {
  const path = fileWith("print.yml", "SVC_API_IP: 10.0.0.1\n");
  const env = { SVC_API_BASIC_AUTH_PASSWORD: "hunter2", SVC_LOG_LEVEL: "debug" };
  const { code, out, err } = await runWith(env, "config", "print", "--config", path, "--svc-api-port", "9000");
  assert.equal(code, 0);
  assert.match(out, /^SVC_API_IP: 10\.0\.0\.1 {2}# .*print\.yml:1:1$/m);
  assert.match(out, /^SVC_LOG_LEVEL: debug {2}# environment$/m);
  assert.match(out, /^SVC_API_PORT: 9000 {2}# flag --svc-api-port$/m);
  assert.match(out, /^SVC_LOG_FORMAT: text {2}# default$/m);
  assert.match(out, /^# SVC_API_BASIC_AUTH_PASSWORD: hidden {2}# environment$/m);
  assert.doesNotMatch(out + err, /hunter2/);
});

test("a secret is read from the file that a flag names", async () => {
  const path = fileWith("password", "hunter2\n");
  const { code, out } = await run("config", "print", "--svc-api-basic-auth-password-file", path);
  assert.equal(code, 0);
  assert.match(out, /hidden {2}# flag --svc-api-basic-auth-password-file, file /);
});

test("a switch is on without a value and off with false", async () => {
  const on = await run("config", "print", "--svc-output-stdout-enable");
  assert.match(on.out, /^SVC_OUTPUT_STDOUT_ENABLE: true /m);
  const off = await runWith(
    { SVC_OUTPUT_STDOUT_ENABLE: "true" },
    "config",
    "print",
    "--svc-output-stdout-enable",
    "false",
  );
  assert.match(off.out, /^SVC_OUTPUT_STDOUT_ENABLE: false /m);
});

test("an unknown flag is a usage error that names the one meant", async () => {
  const { code, err } = await run("serve", "--svc-api-prot", "1");
  assert.equal(code, 2);
  assert.match(err, /Did you mean --svc-api-port/);
});

test("files of elements are judged: config check and serve refuse bad ones, no file is no elements", async () => {
  const flag = "--svc-flow-decoder-elements-path";
  const good = await run(
    "config",
    "check",
    "--running",
    flag,
    fileWith("elements.yml", "9/1: word, string\n0/8: client, ipv4Address\n"),
  );
  assert.equal(good.code, 0);
  assert.match(good.err, /elements\.yml:2:1: element 0\/8: has no effect/);
  const path = fileWith("bad-elements.yml", "9/1: word, int\n9/2: x y, string\n");
  const missing = join(directory, "no-elements.yml");
  for (const command of [
    ["config", "check"],
    ["serve", "--svc-flow-server-udp-enable"],
  ]) {
    const bad = await run(...command, flag, `${path},${missing}`);
    assert.equal(bad.code, 78);
    const lines = bad.err.split("\n").filter((line) => line.startsWith("error: "));
    assert.equal(lines.length, 3);
    assert.match(lines[0] ?? "", /no-elements\.yml/);
    assert.match(lines[1] ?? "", /bad-elements\.yml:1:6: element 9\/1: expected one of .*; found "int"/);
    assert.match(lines[2] ?? "", /bad-elements\.yml:2:1: element 9\/2: a name is letters/);
  }
});

test("serve over a broken metadata file says that it is not ready, and the error once", async () => {
  const path = fileWith("broken.yml", "10.1.2.3:\n  name: [x\n");
  const terminal = createFakeTerminal(["serve"], {
    SVC_API_PORT: "0",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: path,
  });
  const ended = runProgram(terminal);
  await until("it runs", () => terminal.written.err.includes("netgloss runs"));
  terminal.signals.emit("SIGTERM", "SIGTERM");
  assert.equal(await ended, 0);
  const { err } = terminal.written;
  assert.match(err, /WARN +netgloss runs, but it is not ready version=\S+ .*notReady=\["metadata"\]/);
  assert.doesNotMatch(err, /netgloss is ready/);
  assert.equal(err.split("broken.yml:").length, 2, err);
});

test("serve with a certificate of flows that cannot be read says so, and does not start", async () => {
  const terminal = createFakeTerminal(["serve"], {
    SVC_API_PORT: "0",
    SVC_FLOW_SERVER_TLS_ENABLE: "true",
    SVC_FLOW_SERVER_TLS_CERT_FILEPATH: "/nowhere/cert.pem",
    SVC_FLOW_SERVER_TLS_KEY_FILEPATH: "/nowhere/key.pem",
  });
  assert.equal(await runProgram(terminal), 1);
  assert.match(terminal.written.err, /ERROR cannot start error="TLS: cannot read \/nowhere\/cert\.pem: ENOENT/);
});

test("udm check judges a file offline", async () => {
  const good = await run("udm", "check", fileWith("good.yml", "10.0.0.0/8:\n  name: ten\n192.0.2.1:\n"));
  assert.deepEqual([good.code, good.err], [0, ""]);
  assert.match(good.out, /good\.yml: 2 entries\n$/);
  const bad = await run("udm", "check", fileWith("bad-key.yml", "10.0.0.0/8:\n  name: ten\n10.0.0.300:\n  name: x\n"));
  assert.equal(bad.code, 1);
  assert.match(bad.err, /^error: .*bad-key\.yml:3:1: key "10\.0\.0\.300" /);
  const all = await run(
    "udm",
    "check",
    fileWith(
      "all.yml",
      "10.0.0.300:\n10.0.0.1:\n  vlan: x\n  internal: maybe\n10.0.0.2:\n  nmae: y\n10.0.0.2: {}\n10.0.0.3: 7\n2001:db8::0: {}\n'2001:DB8::': {}\n",
    ),
  );
  assert.equal(all.code, 1);
  assert.deepEqual(
    all.err.split("\n").map((line) => line.replace(/: .*all\.yml:/, " ").replace(/^(\w+ \d+:\d+: .{0,30}).*/, "$1")),
    [
      'error 1:1: key "10.0.0.300" is not an IP ',
      "error 3:9: vlan must be a decimal integer",
      "error 4:13: internal must be true or false",
      'warning 6:3: field "nmae" is not used: is n',
      'error 7:1: key "10.0.0.2" is given twice,',
      "error 8:11: the entry of 10.0.0.3 must be ",
      'error 10:1: key "2001:DB8::" is given twic',
      all.err.split("\n")[7],
      "",
    ],
  );
  assert.match(all.err, /all\.yml: 6 errors: the collector would not read this file\n$/);
  const soft = await run("udm", "check", fileWith("soft.yml", `10.0.0.1:\n  name: ${"x".repeat(256)}\n`));
  assert.equal(soft.code, 0);
  assert.match(soft.err, /^warning: .*10\.0\.0\.1/);
  const missing = await run("udm", "check", join(directory, "none.yml"));
  assert.equal(missing.code, 1);
  assert.match(missing.err, /none\.yml: no such file/);
});

test("udm check reads pipes", () => {
  const check = (input: string): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [bin, "udm", "check", "/dev/stdin"], { input, encoding: "utf8" });
  const good = check("10.0.0.1: {}\n10.0.0.2: {}\n");
  assert.deepEqual([good.status, good.stdout], [0, "/dev/stdin: 2 entries\n"]);
  const bad = check("10.0.0.1: {}\nnonsense: {}\n");
  assert.equal(bad.status, 1);
  assert.match(String(bad.stderr), /^error: \/dev\/stdin:2:1: key "nonsense" /);
});

test("a wrong URL or file of certificates is wrong usage, not a stack", async () => {
  for (const argv of [
    ["udm", "count", "--url", "foo"],
    ["udm", "count", "--url", "ftp://127.0.0.1/"],
    ["snmp", "devices", "--url", "foo"],
    ["udm", "count", "--ca", "/nowhere.pem", "--url", "https://127.0.0.1:1"],
    ["udm", "count", "--ca", fileWith("no.pem", "x"), "--url", "https://127.0.0.1:1"],
  ]) {
    const { code, err } = await run(...argv);
    assert.equal(code, 2, argv.join(" "));
    assert.match(err, /expected a URL|--ca: /);
    assert.doesNotMatch(err, /\n {4}at /);
  }
});

test("udm says when nobody answers", async () => {
  const { code, err } = await run("udm", "count", "--url", "http://127.0.0.1:1");
  assert.equal(code, 6);
  assert.match(err, /^error: no answer from http:\/\/127\.0\.0\.1:1: .*Is netgloss running there\?/);
});

test("udm refuses malformed options before it calls anyone", async () => {
  for (const option of [
    ["--vlan", "x"],
    ["--meta", "x"],
    ["--internal", "x"],
  ]) {
    assert.equal((await run("udm", "set", "10.0.0.1", ...option)).code, 2, option.join(" "));
  }
});
