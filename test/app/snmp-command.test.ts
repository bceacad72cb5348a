import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createCollector, readSettings, runProgram } from "../../src/app/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { DefinitionTree } from "../support/definition-tree.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { createSnmpAgent, listen } from "../support/snmp-agent/index.ts";
import { smallTable } from "../support/snmp-session-fixture.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("snmp: a collector with our own definitions polls an agent; operations and views by the command line", async (t) => {
  const agent = createSnmpAgent({ table: smallTable });
  const at = await listen(agent);
  cleanUp(t, () => at.close());
  const directory = tempDirectory(t);
  const file = join(directory, "devices.yml");
  const device = `r1: {ip: 127.0.0.1, port: ${at.port}, communities: [hush, public], timeout: 100, retries: 2}\n`;
  writeFileSync(file, device);
  const { settings } = readSettings(
    [
      Object.entries({
        SVC_API_PORT: "0",
        SVC_INPUT_SNMP_ENABLE: "true",
        SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: directory,
        SVC_OUTPUT_FILE_ENABLE: "false",
      }).map(([name, text]) => ({ name, text, origin: "test" })),
    ],
    () => "",
  );
  const lines: string[] = [];
  const sink = {
    write: (bytes: Uint8Array) => void lines.push(...Buffer.from(bytes).toString().trimEnd().split("\n")),
  };
  const collector = createCollector({ settings, log: silentLog, clock: systemClock, version: "0", sinks: [sink] });
  await collector.start();
  cleanUp(t, () => collector.stop());
  const run = async (...argv: string[]): Promise<{ code: number; out: string; err: string }> => {
    const terminal = createFakeTerminal(["snmp", ...argv, "--url", `http://127.0.0.1:${collector.apiPort()}`]);
    const code = await runProgram(terminal);
    return { code, out: terminal.written.out, err: terminal.written.err };
  };
  const id = `127.0.0.1:${at.port}`;

  await until("records", () => lines.some((line) => line.includes('"snmp.object.name":"IF-MIB::ifTable"')));
  const table = await run("devices");
  assert.match(table.out, new RegExp(`${id} +r1 +up +embedded,linux`));
  assert.match((await run("devices", id)).out, /"sysName": "r1"/);
  assert.match((await run("devices", "192.0.2.1:161")).err, /not_found/);

  const rediscovered = await run("rediscover", "127.0.0.1", String(at.port), "--wait", "20");
  assert.equal(rediscovered.code, 0);
  assert.match(rediscovered.out, /"result": "discovered"/);
  assert.match((await run("rediscover", "192.0.2.1")).err, /there is no device 192\.0\.2\.1:161/);

  assert.deepEqual((JSON.parse((await run("apply")).out) as { affected_devices: unknown }).affected_devices, []);
  writeFileSync(file, device.replace("timeout: 100", "timeuot: 100"));
  const refused = await run("apply", "--force");
  assert.equal(refused.code, 5);
  assert.match(refused.err, /devices\.yml:1:\d+: r1: .*timeout/);
  assert.ok(!refused.err.includes("hush"));
  // SIGHUP is apply without force.
  writeFileSync(file, device.replace("r1:", "renamed:"));
  collector.reload();
  await until("the name", async () => (await run("devices")).out.includes("renamed"));
});

test("while SNMP and flows are off, the lists of devices and exporters say so", async (t) => {
  const collector = createCollector({
    settings: readSettings([[{ name: "SVC_API_PORT", text: "0", origin: "test" }]], () => "").settings,
    log: silentLog,
    clock: systemClock,
    version: "0",
  });
  await collector.start();
  cleanUp(t, () => collector.stop());
  const url = `http://127.0.0.1:${collector.apiPort()}`;
  const list = async (path: string): Promise<unknown> => (await fetch(`${url}/api/v1/${path}`)).json();
  assert.deepEqual(await list("snmp/devices"), { enabled: false, devices: [] });
  const { listening: _listening, ...flows } = (await list("flow/exporters")) as Record<string, unknown>;
  assert.deepEqual(flows, { enabled: false, exporters: [] });
  const terminal = createFakeTerminal(["snmp", "devices", "--url", url]);
  assert.equal(await runProgram(terminal), 0);
  assert.match(terminal.written.err, /SNMP is not enabled.*SVC_INPUT_SNMP_ENABLE/);
});

test("snmp check of a part of the definitions judges it together with those of the program", async (t) => {
  const check = async (path: string): Promise<{ code: number; out: string; err: string }> => {
    const terminal = createFakeTerminal(["snmp", "check", path]);
    return { code: await runProgram(terminal), ...terminal.written };
  };
  const directory = tempDirectory(t);
  mkdirSync(join(directory, "devices"));
  writeFileSync(join(directory, "devices", "a.yml"), "r1: {ip: 192.0.2.1, communities: [x]}\n");
  for (const path of [directory, join(directory, "devices")]) {
    const good = await check(path);
    assert.deepEqual([good.code, good.err], [0, ""], path);
    assert.match(good.out, / 1 devices, /);
  }
  writeFileSync(join(directory, "devices", "a.yml"), "r1: {ip: 192.0.2.1, communties: [x]}\n");
  const bad = await check(join(directory, "devices"));
  assert.equal(bad.code, 1);
  assert.match(bad.err, /a\.yml:1:\d+: /);
  for (const path of [join(directory, "nowhere"), tempDirectory(t)]) {
    const none = await check(path);
    assert.equal(none.code, 1);
    assert.match(none.err, /^error: .*: no directory of definitions: [^\n]+\n$/);
  }
});

test("snmp check judges a directory without a collector", async (t) => {
  const tree = await DefinitionTree.make(t);
  const good = createFakeTerminal(["snmp", "check", tree.directory]);
  assert.equal(await runProgram(good), 0);
  assert.match(good.written.out, /1 devices, 3 objects: no errors/);
  mkdirSync(join(tree.directory, "objects/more"));
  writeFileSync(join(tree.directory, "objects/more/bad.yml"), "X::y:\n  attributes: 7\n");
  const bad = createFakeTerminal(["snmp", "check", tree.directory]);
  assert.equal(await runProgram(bad), 1);
  assert.match(bad.written.err, /bad\.yml:2:\d+: X::y/);
  const shipped = createFakeTerminal(["snmp", "check"]);
  assert.equal(await runProgram(shipped), 0);
});
