import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { runProgram } from "../../src/app/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn, type DefinitionPaths } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { freePort } from "../support/free-port.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const modules = "/usr/share/snmp/mibs";

/** The program's definitions together with those of a directory. */
function layered(directory: string, devices: string): DefinitionPaths {
  const program = definitionPathsIn(join(import.meta.dirname, "../../../definitions"));
  const own = definitionPathsIn(directory);
  return {
    ...program,
    objects: [...program.objects, ...own.objects],
    objectGroups: [...program.objectGroups, ...own.objectGroups],
    deviceGroups: [...program.deviceGroups, ...own.deviceGroups],
    enums: [...program.enums, ...own.enums],
    devices: [devices],
  };
}

test("definitions made of net-snmp's own module poll its agent: rows are what snmpbulkwalk prints", async (t) => {
  const snmpd = requireProgram(t, "snmpd", "apt-get install snmpd");
  const snmpbulkwalk = snmpd && requireProgram(t, "snmpbulkwalk", "apt-get install snmp");
  if (snmpd === undefined || snmpbulkwalk === undefined) return;
  const directory = tempDirectory(t);
  const output = join(directory, "made");
  const wish = ["NET-SNMP-AGENT-MIB", "--mibs", modules, "--output", output, "--device-group", "agent"];
  const terminal = createFakeTerminal(["snmp", "generate", ...wish]);
  assert.equal(await runProgram(terminal), 0, terminal.written.err);

  const port = await freePort();
  const configuration = [`agentAddress udp:127.0.0.1:${port}`, "rocommunity public", "sysName made"];
  writeFileSync(join(directory, "snmpd.conf"), `${configuration.join("\n")}\n`);
  const env = { ...process.env, SNMPCONFPATH: directory, SNMP_PERSISTENT_DIR: join(directory, "state"), MIBS: "" };
  const options = ["-f", "-Lf", join(directory, "log"), "-p", join(directory, "pid"), "-I", "-smux"];
  const agent = spawn(snmpd, options, { stdio: "ignore", env });
  cleanUp(t, async () => {
    const exit = once(agent, "exit");
    agent.kill();
    await exit;
  });
  const walk = async (oid: string): Promise<Map<string, string>> => {
    const address = `127.0.0.1:${port}`;
    const { stdout } = await run(snmpbulkwalk, ["-v2c", "-c", "public", "-m", "", "-Oneq", address, oid]);
    const lines = stdout.split("\n").filter((line) => line.startsWith(`${oid}.`));
    return new Map(
      lines.map((line) => [line.slice(oid.length + 1, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]),
    );
  };
  const isThere = (): Promise<boolean> =>
    walk(".1.3.6.1.2.1.1.5").then(
      ({ size }) => size > 0,
      () => false,
    );
  await until("snmpd to answer", isThere);

  const devices = join(directory, "devices");
  mkdirSync(devices);
  writeFileSync(
    join(devices, "lab.yml"),
    `lab: {ip: 127.0.0.1, port: ${port}, communities: [public], device_groups: [agent]}\n`,
  );
  const records: Record<string, unknown>[] = [];
  const snmp = new Snmp({
    paths: layered(output, devices),
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: {
      write: (lines) => {
        for (const line of Buffer.from(lines).toString().trimEnd().split("\n"))
          records.push(JSON.parse(line) as Record<string, unknown>);
      },
    },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    health: createHealth(),
  });
  await snmp.start();
  cleanUp(t, () => snmp.stop());
  const of = (object: string): Record<string, unknown>[] =>
    records.filter((record) => record["snmp.object.name"] === `NET-SNMP-AGENT-MIB::${object}`);
  await until("rows", () => of("nsCacheTable").length > 0 && of("nsModuleTable").length > 0);

  // An IMPLIED object identifier is the whole instance.
  const caches = await walk(".1.3.6.1.4.1.8072.1.5.3.1.2");
  const timeouts = of("nsCacheTable").map((record) => [
    String(record["ns.cached_oid"]).slice(1),
    String(record["ns.cache.timeout"]),
  ]);
  assert.deepEqual(Object.fromEntries(timeouts), Object.fromEntries(caches));
  const states = await walk(".1.3.6.1.4.1.8072.1.5.3.1.3");
  const labels = { 1: "enabled", 2: "disabled", 3: "empty", 4: "cached", 5: "expired" } as Record<string, string>;
  for (const record of of("nsCacheTable"))
    assert.ok(Object.values(labels).includes(String(record["ns.cache.status.name"])), JSON.stringify(record));
  assert.equal(states.size, timeouts.length);
  // A context, an object identifier and a number, each with its length but the last.
  const names = await walk(".1.3.6.1.4.1.8072.1.2.1.1.4");
  const rows = of("nsModuleTable").map((record) => {
    const context = Buffer.from((record["nsm.context_name"] as string | undefined) ?? "", "latin1");
    const oid = String(record["nsm.registration_point"]).slice(1).split(".");
    const instance = [context.length, ...context, oid.length, ...oid, Number(record["nsm.registration_priority"])].join(
      ".",
    );
    return [instance, JSON.stringify(record["ns.module.name"] ?? "")];
  });
  assert.ok(rows.length > 20, `${rows.length} rows`);
  const printed = [...names].map(([instance, name]) => [instance, name.replace(/^""$/, '""')]);
  assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(printed));
});
