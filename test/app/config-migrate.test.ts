import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { netObservNames, runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const golden = join(import.meta.dirname, "../../../test/app/golden");

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = createFakeTerminal(argv);
  const code = await runProgram(terminal);
  return { code, ...terminal.written };
}

test("config migrate prints the same settings by our names, with a comment on each that changes", async () => {
  const file = join(golden, "migrate.env");
  const { code, out, err } = await run("config", "migrate", file);
  assert.equal(out.replaceAll(`${golden}/`, ""), readFileSync(join(golden, "migrate.yml"), "utf8"));
  assert.equal(err, "17 same, 3 accepted, 2 missing, 1 unknown, 1 wrong\n");
  assert.equal(code, 1);
});

test("what it prints is a settings file that means the same there, NetObserv's defaults included", async (t) => {
  const file = join(golden, "migrate.env");
  const { out } = await run("config", "migrate", file);
  const migrated = join(tempDirectory(t), "netgloss.yml");
  writeFileSync(migrated, out);
  const printed = await run("config", "print", "--config", migrated);
  assert.match(printed.out, /^SVC_FLOW_SERVER_UDP_ENABLE: true /m);
  assert.match(printed.out, /^SVC_LOG_LEVEL: error /m);
  const original = join(tempDirectory(t), "flowcoll.env");
  writeFileSync(original, readFileSync(file, "utf8").replace(/.*=soon\n/, ""));
  const before = await run("config", "print", "--config", original);
  const added = new Set(Array.from(out.matchAll(/^(\w+): .*# NetObserv's default/gm), ([, name]) => name));
  assert.equal(added.size, 9);
  const values = (text: string): string =>
    text
      .split("\n")
      .filter((line) => !added.has(line.split(":")[0]))
      .join("\n")
      .replaceAll(/ {2}#.*/g, "");
  assert.equal(values(printed.out), values(before.out));
  const again = await run("config", "migrate", "--check", migrated);
  assert.deepEqual([again.code, again.err], [0, "17 same, 0 accepted, 0 missing, 0 unknown, 0 wrong\n"]);
});

test("--check reports only what changes, each with its place; secrets are not shown", async () => {
  const file = join(golden, "migrate.env");
  const { code, out } = await run("config", "migrate", "--check", file);
  assert.equal(code, 1);
  const lines = out.replaceAll(`${golden}/`, "").split("\n");
  assert.ok(lines.includes("migrate.env:6: EF_LOGGER_LEVEL: EF_LOGGER_LEVEL becomes SVC_LOG_LEVEL; was panic"), out);
  assert.ok(lines.includes("migrate.env:17: EF_PROCESSOR_IFA_WORKER_SIZE: missing with PROCESSOR_IFA_ENABLE"), out);
  assert.doesNotMatch(out, /p#1|secret-key|POOL_SIZE|AWS/);
});

test("a later file wins, SVC_ over EF_, and the loser is a comment", async (t) => {
  const directory = tempDirectory(t);
  const [first, second] = [join(directory, "a.yml"), join(directory, "b.yml")];
  writeFileSync(first, "EF_API_PORT: 1\nSVC_API_IP: 10.0.0.1\n");
  writeFileSync(second, "EF_API_PORT: 2\nEF_API_IP: 10.0.0.2\n");
  const { code, out } = await run("config", "migrate", first, second);
  assert.equal(code, 0);
  assert.match(out, /^SVC_API_PORT: 2 /m);
  assert.match(out, /^# EF_API_PORT: 1 {2}# .*b\.yml:1:1 says SVC_API_PORT$/m);
  assert.match(out, /^SVC_API_IP: 10\.0\.0\.1$/m);
});

test("settings of named outputs stay as they are; names that are nearly known ones are named", async (t) => {
  const file = join(tempDirectory(t), "x.env");
  const lines = [
    "SVC_OUTPUT_KAFKA__EDGE__TOPIC=edge",
    "SVC_OUTPUT_KAFKA__EDGE__TIMEOUT=soon",
    "SVC_OUTPUT_KAFKA__EDGE__TOPPIC=edge",
    "EF_OUTPUT_KAFKA_BROKER=a:9092",
    "SVC_API_PROT=1",
  ];
  writeFileSync(file, lines.join("\n"));
  const { code, out, err } = await run("config", "migrate", file);
  assert.deepEqual(out.trimEnd().split("\n").slice(1), [
    "SVC_OUTPUT_KAFKA__EDGE__TOPIC: edge",
    "# SVC_OUTPUT_KAFKA__EDGE__TIMEOUT: soon  # wrong: SVC_OUTPUT_KAFKA__EDGE__TIMEOUT must be an integer from 1 to 3600, in seconds",
    "# SVC_OUTPUT_KAFKA__EDGE__TOPPIC: edge  # SVC_OUTPUT_KAFKA__EDGE__TOPPIC is not a setting: is SVC_OUTPUT_KAFKA__EDGE__TOPIC meant?",
    '# EF_OUTPUT_KAFKA_BROKER: "a:9092"  # netgloss does not know this name: is EF_OUTPUT_KAFKA_BROKERS meant?',
    "# SVC_API_PROT: 1  # netgloss does not know this name: is SVC_API_PORT meant?",
  ]);
  assert.equal(err, "1 same, 0 accepted, 0 missing, 3 unknown, 1 wrong\n");
  assert.equal(code, 1);
});

test("every public name can be migrated, and what comes out is valid", async (t) => {
  const directory = tempDirectory(t);
  const file = join(directory, "all.env");
  const migrated = join(directory, "all.yml");
  writeFileSync(
    file,
    Object.entries(netObservNames)
      .map(([name, { example }]) => `EF_${name}=${example}\n`)
      .join(""),
  );
  const { out, err } = await run("config", "migrate", file);
  assert.match(err, / 0 unknown, 0 wrong$/m);
  writeFileSync(migrated, out);
  assert.equal((await run("config", "print", "--config", migrated)).code, 0);
});

test("a file that cannot be read is named", async () => {
  const { code, err } = await run("config", "migrate", "/nowhere.yml");
  assert.equal(code, 78);
  assert.match(err, /^error: cannot read the settings file: .*\/nowhere\.yml/);
});

test("of a secret and its file, of which a start takes one, the later one is printed", async (t) => {
  const file = join(tempDirectory(t), "netgloss.yml");
  const password = "SVC_API_BASIC_AUTH_PASSWORD";
  for (const [first, second] of [
    [password, `${password}_FILE`],
    [`${password}_FILE`, password],
    ["SVC_OUTPUT_KAFKA__EAST__SASL_PASSWORD", "SVC_OUTPUT_KAFKA__EAST__SASL_PASSWORD_FILE"],
  ] as const) {
    writeFileSync(file, `${first}: one\n${second}: two\n`);
    const { out } = await run("config", "migrate", file);
    const lines = out.split("\n");
    assert.ok(lines.includes(`# ${first}: …  # ${file}:2:1 says ${second}, only one of both may be set`), out);
    assert.ok(lines.some((line) => line.startsWith(`${second}: two`)));
    assert.ok(!lines.some((line) => line.startsWith(`${first}:`)));
  }
});

test("outputs by namespaces become outputs that have names, with NetObserv's defaults of each that is on", async (t) => {
  const file = join(tempDirectory(t), "netobserv.env");
  writeFileSync(
    file,
    "EF_EDGE_OUTPUT_ELASTICSEARCH_ENABLE=true\nEF_EDGE_OUTPUT_ELASTICSEARCH_INDEX_PREFIX=mine\nEF_B_OUTPUT_KAFKA_ENABLE=false\n" +
      "EF_EDGE_OUTPUT_ELASTICSEARCH_MAX_RETRIES=3\nEF_EDGE_OUTPUT_KAFKA_PRODUCER_RETRY_BACKOFF=100\n",
  );
  const { code, out } = await run("config", "migrate", file);
  assert.equal(code, 0, out);
  const lines = out.split("\n").map((line) => line.replace(/ {2}# .*/, ""));
  assert.deepEqual(lines.slice(1, -1), [
    "SVC_OUTPUT_ELASTICSEARCH__EDGE__ENABLE: true",
    "SVC_OUTPUT_ELASTICSEARCH__EDGE__INDEX_PREFIX: mine",
    "SVC_OUTPUT_KAFKA__B__ENABLE: false",
    "# EF_EDGE_OUTPUT_ELASTICSEARCH_MAX_RETRIES: 3",
    "SVC_OUTPUT_KAFKA__EDGE__RETRY_BACKOFF: 100",
    "SVC_OUTPUT_ELASTICSEARCH__EDGE__INDEX_NAMING: netobserv",
    "SVC_OUTPUT_ELASTICSEARCH__EDGE__INDEX_TEMPLATE_ILM_LIFECYCLE: elastiflow",
  ]);
});

test("what a Compose file leaves open is named with its place, and the rest is taken", async (t) => {
  const directory = tempDirectory(t);
  const file = join(directory, "compose.yml");
  writeFileSync(
    file,
    "services:\n  a:\n    environment:\n      EF_LICENSE_KEY: ${KEY}\n      EF_INSTANCE_NAME: ${SITE:-x}\n" +
      "      EF_API_BASIC_AUTH_PASSWORD: ${PASSWORD}\n",
  );
  const { code, out, err } = await run("config", "migrate", file);
  assert.equal(code, 1);
  assert.match(err, /, 1 unfilled\n$/);
  assert.match(out, /^SVC_INSTANCE_NAME: x$/m);
  assert.match(out, /^# SVC_API_BASIC_AUTH_PASSWORD: {2}# left out: \$\{PASSWORD\} has no value/m);
  const report = await run("config", "migrate", "--check", file);
  assert.ok(report.out.includes(`${file}:6:7: EF_API_BASIC_AUTH_PASSWORD: left out: `), report.out);
  assert.doesNotMatch(report.out, /KEY/);
  writeFileSync(join(directory, ".env"), "PASSWORD=p\n");
  assert.equal((await run("config", "migrate", file)).code, 0);
});

test("our own files get no defaults of NetObserv's", async (t) => {
  const file = join(tempDirectory(t), "netgloss.yml");
  writeFileSync(file, "SVC_FLOW_SERVER_UDP_ENABLE: true\nSVC_OUTPUT_ELASTICSEARCH_ENABLE: true\n");
  const { out } = await run("config", "migrate", file);
  assert.doesNotMatch(out, /NetObserv/);
});

for (const command of [
  ["config", "migrate"],
  ["config", "check", "--config"],
  ["config", "print", "--config"],
]) {
  test(`${command.join(" ")} says which collector a foreign file is of, and where to read on`, async (t) => {
    const file = join(tempDirectory(t), "nfacctd.conf");
    writeFileSync(file, "daemonize: true\nplugins: print\naggregate: src_host\n");
    const { code, err } = await run(...command, file);
    assert.equal(code, 78);
    assert.match(
      err,
      /nfacctd\.conf is a configuration of pmacct, which is not read as it is: docs\/change-over\.md#pmacct says/,
    );
  });
}
