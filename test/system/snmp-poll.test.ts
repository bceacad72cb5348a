import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);

async function freePort(): Promise<number> {
  const socket = createSocket("udp4");
  const listening = once(socket, "listening");
  socket.bind(0, "127.0.0.1");
  await listening;
  const { port } = socket.address();
  socket.close();
  return port;
}

const users = [
  { name: "sha-aes", authentication: "sha", privacy: "aes", snmpd: "SHA maplesyrup AES buckwheat" },
  { name: "sha256-aes256", authentication: "sha256", privacy: "aes256", snmpd: "SHA-256 maplesyrup AES-256 buckwheat" },
] as const;

test("rows of Debian's snmpd by 2c and 3 are what snmpbulkwalk prints", async (t) => {
  const snmpd = requireProgram(t, "snmpd", "apt-get install snmpd");
  const snmpbulkwalk = snmpd && requireProgram(t, "snmpbulkwalk", "apt-get install snmp");
  if (snmpd === undefined || snmpbulkwalk === undefined) return;
  const directory = tempDirectory(t);
  const port = await freePort();
  const configuration = [
    `agentAddress udp:127.0.0.1:${port}`,
    "rocommunity public",
    "sysName a-debian-agent",
    ...users.map(({ name, snmpd: terms }) => `createUser ${name} ${terms}\nrouser ${name} priv`),
  ];
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
    const { stdout } = await run(snmpbulkwalk, ["-v2c", "-c", "public", "-m", "", "-Oneq", `127.0.0.1:${port}`, oid]);
    return new Map(
      stdout
        .trim()
        .split("\n")
        .filter((line) => line.startsWith(`${oid}.`))
        .map((line) => {
          const at = line.indexOf(" ");
          return [line.slice(oid.length + 1, at), line.slice(at + 1).replaceAll('"', "")] as const;
        }),
    );
  };
  await until("snmpd to answer", () =>
    walk(".1.3.6.1.2.1.1.5").then(
      (values) => values.size > 0,
      () => false,
    ),
  );

  const devices = join(directory, "devices");
  const logins = [
    "version: 2c, communities: [public]",
    ...users.map(
      ({ name, authentication, privacy }) =>
        `version: 3, v3_credentials: [{username: ${name}, authentication_protocol: ${authentication}, ` +
        `authentication_passphrase: maplesyrup, privacy_protocol: ${privacy}, privacy_passphrase: buckwheat}]`,
    ),
  ];
  mkdirSync(devices);
  for (const login of logins) {
    writeFileSync(join(devices, "lab.yml"), `lab: {ip: 127.0.0.1, port: ${port}, ${login}}\n`);
    const records: Record<string, unknown>[] = [];
    const metrics = createMetrics();
    const snmp = new Snmp({
      paths: { ...definitionPathsIn(join(import.meta.dirname, "../../../definitions")), devices: [devices] },
      persistDirectory: "",
      enricher: { enrich() {} },
      sink: {
        write: (lines) => {
          for (const line of Buffer.from(lines).toString().trimEnd().split("\n")) {
            records.push(JSON.parse(line) as Record<string, unknown>);
          }
        },
      },
      clock: systemClock,
      log: silentLog,
      metrics,
      health: createHealth(),
    });
    await snmp.start();
    try {
      const of = (object: string): Record<string, unknown>[] =>
        records.filter((record) => record["snmp.object.name"] === object);
      await until(`rows by ${login}`, () => of("IF-MIB::ifTable").length > 0 && of("IF-MIB::ifXTable").length > 0);
      const device = snmp.device(`127.0.0.1:${port}`);
      assert.equal(device?.sysName, "a-debian-agent");
      assert.deepEqual(device.groups, ["embedded", "linux"]);
      const columns = [
        ["IF-MIB::ifTable", ".1.3.6.1.2.1.2.2.1.2", "netif.descr"],
        ["IF-MIB::ifTable", ".1.3.6.1.2.1.2.2.1.4", "netif.mtu"],
        ["IF-MIB::ifXTable", ".1.3.6.1.2.1.31.1.1.1.1", "netif.name"],
      ] as const;
      for (const [object, oid, field] of columns) {
        const printed = await walk(oid);
        assert.ok(printed.size > 0, oid);
        const polled = new Map(of(object).map((record) => [String(record["netif.index"]), String(record[field])]));
        assert.deepEqual(polled, printed, `${login} ${oid}`);
      }
      assert.ok(of("IF-MIB::ifXTable").every((record) => typeof record["netif.bytes.in"] === "number"));
      assert.equal(await metrics.value("netgloss_snmp_devices", { state: "up" }), 1);
    } finally {
      await snmp.stop();
    }
  }
});
