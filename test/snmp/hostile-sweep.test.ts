import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { DiscoveryReport } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createSnmpAgent, integer, octets, oidOf, type AgentTable } from "../support/snmp-agent/index.ts";
import { rigTable, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { tempDirectory } from "../support/temp-directory.ts";

async function run(rig: SnmpRig): Promise<DiscoveryReport> {
  const started = await rig.snmp.networks?.run({ isDryRun: false, networks: [] });
  assert.ok(started?.ok, JSON.stringify(started));
  return started.ended;
}

const start = (t: TestContext, networks: string): Promise<SnmpRig> =>
  startSnmpRig(t, { discovery: {}, files: { "devices/lab.yml": "", "networks.yml": networks } });

const named = (name: string): AgentTable => rigTable.with([{ oid: oidOf("1.3.6.1.2.1.1.5.0"), value: octets(name) }]);

/** Below a column, an instance after each one, for ever. */
function endless(table: AgentTable, column: string): AgentTable {
  const root = oidOf(column);
  return {
    ...table,
    after(oid) {
      const isBelow = root.every((arc, i) => oid[i] === arc);
      const isBefore = !isBelow && root.some((arc, i) => oid[i] === undefined || oid[i] < arc);
      if (!isBelow && !isBefore) return table.after(oid);
      const next = table.after(oid);
      if (!isBelow && next !== undefined && next.oid.some((arc, i) => root[i] !== undefined && arc < root[i]))
        return next;
      const count = isBelow ? (oid.at(-1) ?? 0) + 1 : 1;
      return { oid: [...root, 10, 0, count >> 8, (count & 255) + (count >> 8 > 255 ? count : 0)], value: integer(1) };
    },
  };
}

test("hostile agents cost a search no more than its limits, and the others are found", async (t) => {
  const rig = await start(
    t,
    "lab:\n  ranges: [198.51.100.0/28]\n  communities: [public]\n  timeout: 500\n  retries: 0\n",
  );
  const attach = (host: number, table: AgentTable): ReturnType<typeof createSnmpAgent> => {
    const agent = createSnmpAgent({ table });
    rig.network.attachAgent(`198.51.100.${host}`, 161, agent);
    return agent;
  };
  attach(1, named("good-1"));
  const endlessAgent = attach(2, endless(named("endless"), "1.3.6.1.2.1.4.20.1.1"));
  const slow = createSnmpAgent({ table: named("slow") });
  rig.network.attach("198.51.100.3", 161, (datagram) => {
    const answers = slow.handle(datagram);
    setTimeout(() => answers.forEach((answer) => rig.network.inject(answer, "198.51.100.3", 161)), 1500);
    return [];
  });
  attach(4, named("liar")).faults.liesAbout = (response) => ({ ...response, requestId: response.requestId + 1 });
  attach(5, named("shifter")).faults.liesAbout = (response) => ({
    ...response,
    varbinds: response.varbinds.map((varbind) => ({ ...varbind, oid: oidOf("1.3.6.1.2.1.1.9.9") })),
  });
  const elsewhere = createSnmpAgent({ table: named("elsewhere") });
  rig.network.attach("198.51.100.6", 161, (datagram) =>
    elsewhere.handle(datagram).map((answer) => ({ datagram: answer, address: "203.0.113.9", port: 161 })),
  );
  rig.network.attach("198.51.100.7", 161, () => [{ datagram: Buffer.from("302602010104", "hex") }]);
  rig.network.attach("198.51.100.8", 161, (datagram) => Array.from({ length: 50 }, () => ({ datagram })));
  attach(14, named("good-14"));
  const report = await run(rig);
  const found = report.new.map(({ name }) => name);
  for (const name of ["good-1", "good-14", "endless"]) assert.ok(found.includes(name), `${name} in ${found.join()}`);
  for (const name of ["slow", "liar", "elsewhere"]) assert.ok(!found.includes(name), name);
  assert.equal(report.probed, 14);
  assert.ok(endlessAgent.requests < 2100, `${endlessAgent.requests} requests`);
});

/** A program `ping` of our own, before all others. */
function useProgram(t: TestContext, text: string | undefined): void {
  const directory = tempDirectory(t);
  const before = process.env["PATH"];
  if (text !== undefined) {
    writeFileSync(join(directory, "ping"), `#!/bin/sh\n${text}\n`);
    chmodSync(join(directory, "ping"), 0o755);
  }
  process.env["PATH"] = text === undefined ? directory : `${directory}:${before}`;
  cleanUp(t, () => void (process.env["PATH"] = before));
}

const pinged =
  "lab:\n  ranges: [198.51.100.0/29]\n  communities: [public]\n  timeout: 500\n  retries: 0\n  ping: true\n";

test("with ping, only addresses that answer one are asked by SNMP", async (t) => {
  useProgram(t, 'for last; do :; done; case "$last" in *.3|*.5) exit 0;; *.4) exit 2;; *) exit 1;; esac');
  const rig = await start(t, pinged);
  const agents = [1, 3, 4].map((host) => {
    const agent = createSnmpAgent({ table: named(`sw${host}`) });
    rig.network.attachAgent(`198.51.100.${host}`, 161, agent);
    return agent;
  });
  const report = await run(rig);
  assert.deepEqual(
    report.new.map(({ name }) => name),
    ["sw3"],
  );
  assert.deepEqual([agents[0]?.requests, agents[2]?.requests], [0, 0]);
  const results = ["found", "silent", "no_ping"].map((result) =>
    rig.metrics.value("netgloss_snmp_discovery_addresses_total", { result }),
  );
  assert.deepEqual(await Promise.all(results), [1, 1, 4]);
});

test("without the program ping a search fails and says what is missing", async (t) => {
  useProgram(t, undefined);
  const rig = await start(t, pinged);
  await assert.rejects(run(rig), /needs the program ping/);
});
