import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { referenceData } from "../support/reference-data.ts";
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

interface Replay {
  readonly port: number;
  /** What snmpbulkwalk prints of a community's recording, numerically. */
  readonly walk: (community: string, oid: string) => Promise<string>;
}

/** Starts snmpsim on a directory of recordings, each known by its file's name as community; undefined: skipped. */
async function startReplay(t: TestContext, data: string, ready: string): Promise<Replay | undefined> {
  const snmpsimd = requireProgram(t, "snmpsimd", "apt-get install snmpsim");
  const snmpbulkwalk = snmpsimd && requireProgram(t, "snmpbulkwalk", "apt-get install snmp");
  if (snmpsimd === undefined || snmpbulkwalk === undefined) return undefined;
  const port = await freePort();
  const options = [
    `--data-dir=${data}`,
    `--cache-dir=${join(tempDirectory(t), "cache")}`,
    `--agent-udpv4-endpoint=127.0.0.1:${port}`,
    "--logging-method=null",
    // It does not start as root unless it is told which user to be.
    ...(process.getuid?.() === 0 ? ["--process-user=root", "--process-group=root"] : []),
  ];
  const agent = spawn(snmpsimd, options, { stdio: "ignore" });
  cleanUp(t, async () => {
    const exit = once(agent, "exit");
    agent.kill("SIGKILL");
    await exit;
  });
  const walk = async (community: string, oid: string): Promise<string> => {
    const asked = ["-v2c", "-c", community, "-t", "10", "-m", "", "-One", `127.0.0.1:${port}`, oid];
    return (await run(snmpbulkwalk, asked, { maxBuffer: 64 * 1024 * 1024 })).stdout;
  };
  const isReady = (): Promise<boolean> => walk(ready, ".1.3.6.1.2.1.1.5").then(Boolean, () => false);
  await until("snmpsim to answer", isReady, 120_000);
  return { port, walk };
}

/** Our own definitions, and one device on the port. */
function startPolling(t: TestContext, port: number, community: string, lines: string[]): Snmp {
  const devices = join(tempDirectory(t), "devices");
  mkdirSync(devices);
  writeFileSync(
    join(devices, "lab.yml"),
    `lab: {ip: 127.0.0.1, port: ${port}, communities: [${community}], device_groups: [auto], timeout: 20000}\n`,
  );
  const snmp = new Snmp({
    paths: { ...definitionPathsIn(join(import.meta.dirname, "../../../definitions")), devices: [devices] },
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: { write: (bytes) => void lines.push(...Buffer.from(bytes).toString().trimEnd().split("\n")) },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    health: createHealth(),
  });
  cleanUp(t, () => snmp.stop());
  return snmp;
}

/** Index and value of each row, as records have them and as snmpbulkwalk prints them. */
async function compareColumns(replay: Replay, community: string, lines: readonly string[]): Promise<number> {
  let compared = 0;
  for (const [object, oid, field, form] of columns) {
    const rows = lines.filter((line) => line.includes(`"snmp.object.name":"${object}"`));
    if (rows.length === 0) continue;
    // The text of a record keeps a Counter64 that a number of JavaScript would round.
    const value = new RegExp(`"${field.replaceAll(".", "\\.")}":${form}[,}]`);
    const polled = rows
      .map((line) => [/"netif\.index":(\d+)/.exec(line)?.[1], value.exec(line)?.[1]])
      .filter(([, text]) => text !== undefined);
    const printed = (await replay.walk(community, oid)).trim().split("\n");
    const expected = printed.flatMap((line) => {
      const [, index, text] = /\.(\d+) = [\w-]+: "?(.*?)"?$/.exec(line) ?? [];
      // An empty text gives no field.
      return text === undefined || text === "" ? [] : [[index, text]];
    });
    assert.deepEqual(polled, expected, `${community}: ${object} ${oid}`);
    compared += expected.length;
  }
  return compared;
}

const of = (lines: readonly string[], object: string): number =>
  lines.filter((line) => line.includes(`"snmp.object.name":"${object}"`)).length;

test("rows of a recording that snmpsim replays are what snmpbulkwalk prints", async (t) => {
  const data = tempDirectory(t);
  writeFileSync(join(data, "public.snmprec"), recording());
  const replay = await startReplay(t, data, "public");
  if (replay === undefined) return;
  const lines: string[] = [];
  await startPolling(t, replay.port, "public", lines).start();
  for (const object of ["IF-MIB::ifTable", "IF-MIB::ifXTable"]) {
    await until(`rows of ${object}`, () => of(lines, object) >= indexes.length);
  }
  assert.equal(await compareColumns(replay, "public", lines), columns.length * indexes.length);
  assert.ok(!lines.some((line) => line.includes("isPartial")));
});

const { path: recordings, skip } = referenceData("snmp");
const recorded = existsSync(recordings)
  ? readdirSync(recordings)
      .filter((name) => name.endsWith(".snmprec"))
      .map((name) => name.slice(0, -".snmprec".length))
  : [];

describe("recordings of devices, replayed by snmpsim", { skip }, () => {
  for (const name of recorded) {
    test(`${name}: discovery finds what it has, and rows are what snmpbulkwalk prints`, async (t) => {
      const data = tempDirectory(t);
      copyFileSync(join(recordings, `${name}.snmprec`), join(data, `${name}.snmprec`));
      const replay = await startReplay(t, data, name);
      if (replay === undefined) return;
      const lines: string[] = [];
      const snmp = startPolling(t, replay.port, name, lines);
      await snmp.start();
      const id = `127.0.0.1:${replay.port}`;
      await until("the discovery", () => snmp.device(id)?.state === "up", 240_000);
      const objects = snmp.device(id)?.objects ?? {};
      const tables = { "IF-MIB::ifTable": `.${ifTable}.2`, "IF-MIB::ifXTable": `.${ifXTable}.1` };
      for (const [object, column] of Object.entries(tables)) {
        const printed: string = await replay.walk(name, column);
        const there: number = printed.split("\n").filter((line) => line.startsWith(`${column}.`)).length;
        assert.equal(object in objects, there > 0, object);
        await until(`rows of ${object}`, () => of(lines, object) >= there, 240_000);
      }
      await snmp.stop();
      assert.ok((await compareColumns(replay, name, lines)) > 0);
      assert.equal(snmp.device(id), undefined);
    });
  }
});
