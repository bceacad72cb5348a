import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import { createSnmp, definitionPathsIn } from "../../src/snmp/index.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const ifTable = "1.3.6.1.2.1.2.2.1";
const ifXTable = "1.3.6.1.2.1.31.1.1.1";
/** More rows than one GetBulk brings, indexes with gaps, counters up to the largest that there are. */
const indexes = Array.from({ length: 150 }, (_, i) => 1 + i * 7);

/** Columns by instance, as `OID|tag|value` lines in the order of their identifiers. */
function recording(): string {
  const column = (entry: string, number: number, tag: number, value: (index: number) => string | number | bigint) =>
    indexes.map((index) => `${entry}.${number}.${index}|${tag}|${value(index)}`);
  const lines = [
    "1.3.6.1.2.1.1.1.0|4|a recorded switch",
    "1.3.6.1.2.1.1.2.0|6|1.3.6.1.4.1.32473.1",
    "1.3.6.1.2.1.1.3.0|67|123456",
    "1.3.6.1.2.1.1.5.0|4|recorded-1",
    ...column(ifTable, 1, 2, (index) => index),
    ...column(ifTable, 2, 4, (index) => `Ethernet ${index}`),
    ...column(ifTable, 4, 2, (index) => 1500 + index),
    ...column(ifXTable, 1, 4, (index) => `eth${index}`),
    ...column(ifXTable, 6, 70, (index) => 2n ** 64n - BigInt(index)),
    ...column(ifXTable, 10, 70, (index) => 2n ** 53n + BigInt(index)),
    // What comes behind the last column: snmpbulkwalk would print each end of the view that it is told.
    "1.3.6.1.2.1.31.1.5.0|67|0",
  ];
  return `${lines.join("\n")}\n`;
}

/** Object, column, and the field's name in records with what its value is written like. */
const columns = [
  ["IF-MIB::ifTable", `.${ifTable}.2`, "netif.descr", '"([^"]*)"'],
  ["IF-MIB::ifTable", `.${ifTable}.4`, "netif.mtu", "(\\d+)"],
  ["IF-MIB::ifXTable", `.${ifXTable}.1`, "netif.name", '"([^"]*)"'],
  ["IF-MIB::ifXTable", `.${ifXTable}.6`, "netif.bytes.in", "(\\d+)"],
  ["IF-MIB::ifXTable", `.${ifXTable}.10`, "netif.bytes.out", "(\\d+)"],
] as const;

async function freePort(): Promise<number> {
  const socket = createSocket("udp4");
  const listening = once(socket, "listening");
  socket.bind(0, "127.0.0.1");
  await listening;
  const { port } = socket.address();
  socket.close();
  return port;
}

test("rows of a recording that snmpsim replays are what snmpbulkwalk prints", async (t) => {
  const snmpsimd = requireProgram(t, "snmpsimd", "apt-get install snmpsim");
  const snmpbulkwalk = snmpsimd && requireProgram(t, "snmpbulkwalk", "apt-get install snmp");
  if (snmpsimd === undefined || snmpbulkwalk === undefined) return;
  const directory = tempDirectory(t);
  const port = await freePort();
  const data = join(directory, "data");
  mkdirSync(data);
  writeFileSync(join(data, "public.snmprec"), recording());
  const options = [
    `--data-dir=${data}`,
    `--cache-dir=${join(directory, "cache")}`,
    `--agent-udpv4-endpoint=127.0.0.1:${port}`,
    "--logging-method=null",
    // It does not start as root unless it is told which user to be.
    ...(process.getuid?.() === 0 ? ["--process-user=root", "--process-group=root"] : []),
  ];
  const agent = spawn(snmpsimd, options, { stdio: "ignore" });
  t.after(async () => {
    const exit = once(agent, "exit");
    agent.kill("SIGKILL");
    await exit;
  });
  const walk = async (oid: string): Promise<string> =>
    (await run(snmpbulkwalk, ["-v2c", "-c", "public", "-m", "", "-One", `127.0.0.1:${port}`, oid])).stdout;
  await until("snmpsim to answer", () =>
    walk(".1.3.6.1.2.1.1.5").then(
      (printed) => printed.includes("recorded-1"),
      () => false,
    ),
  );

  const devices = join(directory, "devices");
  mkdirSync(devices);
  writeFileSync(join(devices, "lab.yml"), `lab: {ip: 127.0.0.1, port: ${port}, communities: [public]}\n`);
  const lines: string[] = [];
  const snmp = createSnmp({
    paths: { ...definitionPathsIn(join(import.meta.dirname, "../../../definitions")), devices: [devices] },
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: { write: (bytes) => void lines.push(...Buffer.from(bytes).toString().trimEnd().split("\n")) },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    health: createHealth(),
  });
  await snmp.start();
  try {
    const of = (object: string): string[] => lines.filter((line) => line.includes(`"snmp.object.name":"${object}"`));
    for (const object of ["IF-MIB::ifTable", "IF-MIB::ifXTable"]) {
      await until(`rows of ${object}`, () => of(object).length >= indexes.length);
    }
    for (const [object, oid, field, form] of columns) {
      // The text of a record keeps a Counter64 that a number of JavaScript would round.
      const value = new RegExp(`"${field.replaceAll(".", "\\.")}":${form}[,}]`);
      const polled = of(object).map((line) => [/"netif\.index":(\d+)/.exec(line)?.[1], value.exec(line)?.[1]]);
      const printed = (await walk(oid)).trim().split("\n");
      const expected = printed.map((line) => {
        const [, index, text] = /\.(\d+) = \w+: "?(.*?)"?$/.exec(line) ?? [];
        return [index, text];
      });
      assert.equal(expected.length, indexes.length, oid);
      assert.deepEqual(polled, expected, `${object} ${oid}`);
    }
    assert.ok(!lines.some((line) => line.includes("isPartial")));
  } finally {
    await snmp.stop();
  }
});
