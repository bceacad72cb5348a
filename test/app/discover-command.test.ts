import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createCollector, readSettings, runProgram } from "../../src/app/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { DefinitionTree } from "../support/definition-tree.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { createSnmpAgent, listen } from "../support/snmp-agent/index.ts";
import { smallTable } from "../support/snmp-session-fixture.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

type Settings = Readonly<Record<string, string>>;

/** A network with an agent at 127.0.0.77. */
async function network(t: TestContext): Promise<{ directory: string; file: string; text: string; port: number }> {
  const at = await listen(createSnmpAgent({ table: smallTable }), "127.0.0.77");
  cleanUp(t, () => at.close());
  const directory = tempDirectory(t);
  const file = join(directory, "networks.yml");
  const text = `lab:\n  ranges: [127.0.0.76-127.0.0.78]\n  port: ${at.port}\n  communities: [hush, public]\n  timeout: 100\n  retries: 2\n`;
  writeFileSync(file, text);
  return { directory, file, text, port: at.port };
}

async function program(
  argv: readonly string[],
  env: Settings = {},
): Promise<{ code: number; out: string; err: string }> {
  const terminal = createFakeTerminal(argv, env);
  const code = await runProgram(terminal);
  return { code, ...terminal.written };
}

test("snmp discover lets a collector search its networks, and shows what is different", async (t) => {
  const { directory, file, text, port } = await network(t);
  const settings = {
    SVC_API_PORT: "0",
    SVC_INPUT_SNMP_ENABLE: "true",
    SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH: join(directory, "state"),
    SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH: file,
    // A search of its own, 10 s after the start, would be in the way on a slow host.
    SVC_INPUT_SNMP_DISCOVERY_INTERVAL: "0",
    SVC_OUTPUT_FILE_ENABLE: "false",
  };
  const read = readSettings(
    [Object.entries(settings).map(([name, value]) => ({ name, text: value, origin: "test" }))],
    () => "",
  );
  const collector = createCollector({ settings: read.settings, log: silentLog, clock: systemClock, version: "0" });
  await collector.start();
  cleanUp(t, () => collector.stop());
  const url = ["--url", `http://127.0.0.1:${collector.apiPort()}`];

  const dry = await program(["snmp", "discover", "--dry-run", ...url]);
  assert.equal(dry.code, 0, dry.err);
  const row = new RegExp(`^new   127\\.0\\.0\\.77:${port} +r1 +.*, credential 2 \\(version 2c\\)$`, "m");
  assert.match(dry.out, row);
  assert.match(dry.out, /^3 addresses of lab in .* s: 1 new, 0 changed, .* 0 known\. Nothing was written\.$/m);
  const done = await program(["snmp", "discover", "--network", "lab", ...url]);
  assert.match(done.out, row);
  await until("it is polled", async () => / up /.test((await program(["snmp", "devices", ...url])).out));
  assert.deepEqual(readdirSync(join(directory, "state/discovered")).sort(), [".discovered.json", "r1.yml"]);
  const again = await program(["snmp", "discover", "--json", ...url]);
  const { known, new: fresh } = JSON.parse(again.out) as { known: number; new: unknown[] };
  assert.deepEqual([known, fresh], [1, []]);
  const unknown = await program(["snmp", "discover", "--network", "lba", ...url]);
  assert.deepEqual([unknown.code, /has no network lba: it has lab/.test(unknown.err)], [5, true]);
  assert.equal((await program(["snmp", "discover", "--out", directory, ...url])).code, 2);
  // A mistake in the file is reported, without the secret next to it.
  writeFileSync(file, text.replace("timeout", "timeuot"));
  const wrong = await program(["snmp", "discover", ...url]);
  assert.match(wrong.err, /networks\.yml:5:3: lab: timeuot: unknown key \(did you mean "timeout"\?\)/);
  assert.ok(!wrong.err.includes("hush"));
  const view = (await (await fetch(`${url[1]}/api/v1/snmp/discovery`)).json()) as Record<string, unknown>;
  assert.equal(view["enabled"], true);
  assert.ok(!("nextRun" in view) && !JSON.stringify(view).includes("hush"));
});

test("snmp discover --from searches without a collector, and writes only where it is said to", async (t) => {
  const { directory, file, port } = await network(t);
  const out = join(directory, "found");
  const without = await program(["snmp", "discover", "--from", file, "--rate", "1000"]);
  assert.match(without.out, /1 new.*Nothing was written/);
  const found = await program(["snmp", "discover", "--from", file, "--rate", "1000", "--out", out]);
  assert.equal(found.code, 0, found.err);
  const device = readFileSync(join(out, "r1.yml"), "utf8").replace(/^#.*\n/gm, "");
  assert.equal(device, `r1:\n  ip: 127.0.0.77\n  port: ${port}\n  version: 2c\n  communities: ["public"]\n`);
  assert.match((await program(["snmp", "discover", "--from", file, "--out", out])).out, /0 new, .* 1 known/);
  assert.equal((await program(["snmp", "check", out.replace(/found$/, "")])).code, 1, "no directory of definitions");
  writeFileSync(file, `${readFileSync(file, "utf8")}  ip_ranges: [192.0.2.1]\n`);
  const odd = await program(["snmp", "discover", "--from", file]);
  assert.deepEqual([odd.code, odd.err], [0, `warning: ${file}:7:3: lab: ip_ranges: unknown key is ignored\n`]);
  const missing = await program(["snmp", "discover", "--from", join(directory, "none.yml")]);
  assert.deepEqual([missing.code, /none\.yml: ENOENT/.test(missing.err)], [5, true]);
});

/** The settings of a small tree of definitions: that of the program takes longer to read than all else that is checked. */
async function fewDefinitions(t: TestContext): Promise<Settings> {
  const { directory } = await DefinitionTree.make(t);
  return {
    SVC_INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH: join(directory, "device_groups"),
    SVC_INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH: join(directory, "object_groups"),
    SVC_INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH: join(directory, "objects"),
    SVC_INPUT_SNMP_DEFAULTS_DIRECTORY_PATH: join(directory, "defaults"),
    SVC_INPUT_SNMP_AUTODISCOVER_DIRECTORY_PATH: join(directory, "autodiscover"),
    SVC_PROCESSOR_SNMP_ENUM_DEFINITIONS_DIRECTORY_PATH: join(directory, "enums"),
  };
}

test("config check judges the networks and where their devices go", async (t) => {
  const directory = tempDirectory(t);
  const few = await fewDefinitions(t);
  const file = join(directory, "networks.yml");
  const check = async (text: string, settings: Settings = few): Promise<string[]> => {
    writeFileSync(file, text);
    const { err } = await program(["config", "check"], {
      SVC_API_PORT: "0",
      SVC_INPUT_SNMP_ENABLE: "true",
      SVC_OUTPUT_STDOUT_ENABLE: "true",
      SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH: file,
      SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH: join(directory, "found"),
      ...settings,
    });
    return err
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.replace(`${file}:`, ""));
  };
  const good = "lab:\n  ranges: [192.0.2.0/24]\n  communities: [hush]\n";
  assert.deepEqual(await check(good), []);
  assert.deepEqual(await check(good, { ...few, SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH: "" }), [
    "error: SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH must be set, because SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH is set",
  ]);
  const candidates = {
    ...few,
    SVC_INPUT_SNMP_DISCOVERY_CANDIDATES: "flow",
    SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH: "",
  };
  assert.deepEqual(await check(good, candidates), [
    "error: SVC_INPUT_SNMP_DISCOVERY_CANDIDATES has no use without SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH",
  ]);
  const faults: readonly (readonly [text: string, problem: RegExp])[] = [
    ["- lab\n", /1:1: expected a mapping from names to networks, found a list/],
    ["", /1:1: expected a mapping from names to networks, found nothing/],
    ["default:\n  communities: [x]\n", /names no network/],
    ["lab: 192.0.2.0/24\n", /1:6: lab: expected a mapping, found a text/],
    [good.replace("192.0.2.0/24", "192.0.2.0/33"), /2:12: lab: ranges 1: "192.0.2.0\/33" is not a CIDR/],
    [good.replace("192.0.2.0/24", "192.0.2.9-192.0.2.1"), /starts after its end/],
    [good.replace("192.0.2.0/24", "224.0.0.1"), /has addresses of 224.0.0.0\/3, which are no device's/],
    [good.replace("192.0.2.0/24", '"2001:db8::/64"'), /too many IPv6 addresses: at most 1024/],
    [
      good.replace("192.0.2.0/24", "10.0.0.0/8"),
      /16777214 addresses up to here are more than SVC_INPUT_SNMP_DISCOVERY_MAX/,
    ],
    [good.replace("communities: [hush]", "port: 161"), /communities or v3_credentials are missing/],
    [`${good}  version: 3\n`, /version 3 has users/],
    [`${good}  credentials: [{communities: [hush]}]\n`, /not together with credentials/],
    [`${good}  retries: many\n`, /retries: expected a whole number from 0 to 10, found "many"/],
    [
      "lab:\n  ranges: [192.0.2.1]\n  credentials:\n    - v3_credentials: [{username: u, authentication_protocol: md6}]\n",
      /one of noauth, md5/,
    ],
    ["lab:\n  ranges: [192.0.2.1]\n  communities: *hush\n", /3:\d+: /],
  ];
  for (const [text, problem] of faults) {
    const found = await check(text);
    assert.equal(found.length, text.includes("md6") ? found.length : 1, `${text}${found.join("\n")}`);
    assert.match(found.join("\n"), problem, text);
    assert.match(found[0] ?? "", /^error: /, text);
    assert.ok(!found.join().includes("hush"), found.join());
  }
  mkdirSync(join(directory, "found"));
  assert.deepEqual(await check(good, {}), [], "with the definitions of the program");
});
