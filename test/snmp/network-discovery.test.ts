import assert from "node:assert/strict";
import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { LogFields } from "../../src/base/report/index.ts";
import type { DiscoveryReport, UsmCredential } from "../../src/snmp/index.ts";
import {
  createSnmpAgent,
  identifier,
  integer,
  octets,
  oidOf,
  type AgentOptions,
  type AgentTable,
  type SnmpAgent,
} from "../support/snmp-agent/index.ts";
import { rigTable, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const user: UsmCredential = {
  version: "3",
  username: "sweeper",
  authenticationProtocol: "sha256",
  authenticationPassphrase: "secret of authentication",
  privacyProtocol: "aes",
  privacyPassphrase: "secret of privacy",
};

const networks = `campus:
  ranges: [198.51.100.0/24]
  excludes: [198.51.100.128/25]
  timeout: 40
  retries: 0
  credentials:
    - communities: [first-secret, second-secret]
    - version: 3
      v3_credentials:
        - username: sweeper
          authentication_protocol: sha256
          authentication_passphrase: secret of authentication
          privacy_protocol: aes
          privacy_passphrase: secret of privacy
`;

interface Found {
  readonly name?: string;
  readonly addresses?: readonly string[];
  readonly serial?: string;
  readonly sysObjectId?: string;
  readonly engineId?: string;
}

/** What a device says of itself. */
function tableFor({ name = "", addresses = [], serial, sysObjectId, engineId }: Found): AgentTable {
  return rigTable.with([
    { oid: oidOf("1.3.6.1.2.1.1.5.0"), value: octets(name) },
    ...(sysObjectId === undefined ? [] : [{ oid: oidOf("1.3.6.1.2.1.1.2.0"), value: identifier(sysObjectId) }]),
    ...(engineId === undefined ? [] : [{ oid: oidOf("1.3.6.1.6.3.10.2.1.1.0"), value: octets(engineId) }]),
    ...addresses.map((address) => ({ oid: oidOf(`1.3.6.1.2.1.4.20.1.1.${address}`), value: integer(1) })),
    ...(serial === undefined
      ? []
      : [
          { oid: oidOf("1.3.6.1.2.1.47.1.1.1.1.5.1"), value: integer(3) },
          { oid: oidOf("1.3.6.1.2.1.47.1.1.1.1.11.1"), value: octets(serial) },
        ]),
  ]);
}

function attach(rig: SnmpRig, address: string, found: Found, options: Partial<AgentOptions> = {}): SnmpAgent {
  const agent = createSnmpAgent({
    table: tableFor(found),
    communities: ["first-secret"],
    versions: ["2c"],
    ...options,
  });
  rig.network.attachAgent(address, 161, agent);
  return agent;
}

/** ENTITY-MIB gives serial numbers. */
const serials = { "autodiscover/identities/all.yml": ".1.3:\n  serial:\n    - entity: serial\n" };

async function start(t: TestContext, files = {}): Promise<SnmpRig> {
  return startSnmpRig(t, {
    discovery: {},
    files: { ...serials, "devices/lab.yml": "", "networks.yml": networks, ...files },
  });
}

async function run(rig: SnmpRig, isDryRun = false, names: string[] = []): Promise<DiscoveryReport> {
  const started = await rig.snmp.networks?.run({ isDryRun, networks: names });
  assert.ok(started?.ok, JSON.stringify(started));
  return started.ended;
}

const file = (rig: SnmpRig, name: string): Promise<string> => readFile(join(rig.foundDirectory, name), "utf8");

describe("discovery of networks", { concurrency: 8 }, () => {
  test("finds each device of a /24 once, by the credential that it takes, and polls it", async (t) => {
    const lines: string[] = [];
    const write = (fields: LogFields, message: string): void => void lines.push(JSON.stringify({ ...fields, message }));
    const log = { debug: write, info: write, warn: write, error: write };
    const rig = await startSnmpRig(t, {
      discovery: {},
      log,
      files: { ...serials, "devices/lab.yml": "", "networks.yml": networks },
    });
    for (const host of [3, 9, 14]) attach(rig, `198.51.100.${host}`, { name: `sw${host}` });
    for (const host of [20, 21])
      attach(rig, `198.51.100.${host}`, { name: `sw${host}` }, { communities: ["second-secret"] });
    attach(rig, "198.51.100.77", { name: "fw" }, { communities: [], users: [user], versions: ["3"] });
    attach(rig, "198.51.100.78", { name: "other" }, { users: [{ ...user, username: "nobody" }], versions: ["3"] });
    attach(rig, "198.51.100.200", { name: "excluded" });
    const report = await run(rig);
    assert.deepEqual(
      report.new.map(({ name, device, credential }) => [name, device, credential]),
      [
        ["sw3", "198.51.100.3:161", "1 (version 2c)"],
        ["sw9", "198.51.100.9:161", "1 (version 2c)"],
        ["sw14", "198.51.100.14:161", "1 (version 2c)"],
        ["sw20", "198.51.100.20:161", "2 (version 2c)"],
        ["sw21", "198.51.100.21:161", "2 (version 2c)"],
        ["fw", "198.51.100.77:161", "3 (version 3)"],
      ],
    );
    assert.deepEqual([report.addresses, report.probed], [127, 127]);
    assert.deepEqual(
      report.refused.map(({ address, network }) => [address, network]),
      [["198.51.100.78", "campus"]],
    );
    assert.match(report.refused[0]?.reason ?? "", /unknownUserNames/);
    const results = ["found", "refused", "silent", "no_ping"].map((result) =>
      rig.metrics.value("netgloss_snmp_discovery_addresses_total", { result }),
    );
    assert.deepEqual(await Promise.all(results), [6, 1, 120, 0]);
    assert.equal(await rig.metrics.value("netgloss_snmp_discovery_devices_total", { change: "new" }), 6);
    assert.ok(Number(await rig.metrics.value("netgloss_snmp_discovery_last_run_timestamp_seconds")) > 1e9);
    // What was found is polled without a further word.
    await until("all are up", () => [...rig.snmp.devices()].filter(({ state }) => state === "up").length === 6);
    assert.deepEqual((await readdir(rig.foundDirectory)).sort(), [
      ".discovered.json",
      "fw.yml",
      "sw14.yml",
      "sw20.yml",
      "sw21.yml",
      "sw3.yml",
      "sw9.yml",
    ]);
    const again = await run(rig);
    assert.deepEqual([again.new, again.changed, again.gone, again.duplicates, again.known], [[], [], [], [], 6]);
    const texts = [
      ...lines,
      JSON.stringify(report),
      JSON.stringify(rig.snmp.networks?.view()),
      await rig.metrics.render(),
    ];
    assert.ok(!/secret/.test(texts.join("\n")), "no credential is disclosed");
    assert.match(await file(rig, "sw3.yml"), /^ {2}communities: \["first-secret"\]$/m);
  });

  test("a device that answers at several addresses is one, and the reason is said", async (t) => {
    const rig = await start(t);
    attach(rig, "198.51.100.1", { name: "engine", engineId: "engine-1" });
    attach(rig, "198.51.100.2", { name: "engine", engineId: "engine-1" });
    attach(rig, "198.51.100.3", { name: "serial", serial: "FOC1234ABCD" });
    attach(rig, "198.51.100.4", { name: "serial", serial: "FOC1234ABCD" });
    attach(rig, "198.51.100.5", { name: "addresses", addresses: ["198.51.100.5", "198.51.100.6"] });
    attach(rig, "198.51.100.6", { name: "addresses", addresses: ["198.51.100.5", "198.51.100.6"] });
    // Copies of a virtual machine, a maker without serial numbers, two devices with the same name.
    attach(rig, "198.51.100.7", { name: "copy", engineId: "engine-2", addresses: ["198.51.100.7"] });
    attach(rig, "198.51.100.8", { name: "copy", engineId: "engine-2", addresses: ["198.51.100.8"] });
    attach(rig, "198.51.100.9", { name: "junk-a", serial: "To be filled by O.E.M." });
    attach(rig, "198.51.100.10", { name: "junk-b", serial: "To be filled by O.E.M." });
    const report = await run(rig);
    assert.deepEqual(
      report.duplicates.map(({ device, of, reason }) => `${device} ${of}: ${reason}`),
      [
        "198.51.100.2:161 engine: the same engine id 656e67696e652d31",
        "198.51.100.4:161 serial: the same serial number FOC1234ABCD",
        "198.51.100.6:161 addresses: 198.51.100.6 is one of its addresses",
      ],
    );
    assert.deepEqual(
      report.new.map(({ name }) => name),
      ["engine", "serial", "addresses", "copy", "copy-198.51.100.8", "junk-a", "junk-b"],
    );
    const again = await run(rig);
    assert.deepEqual([again.new.length, again.known, again.duplicates.length], [0, 7, 3]);
  });

  test("a device that is polled by a file of a person's is not found again, at none of its addresses", async (t) => {
    const rig = await start(t, {
      "devices/lab.yml": "core:\n  ip: 203.0.113.1\n  communities: [first-secret]\n",
    });
    const table = tableFor({ name: "core", addresses: ["203.0.113.1", "198.51.100.1"] });
    for (const address of ["203.0.113.1", "198.51.100.1"]) {
      rig.network.attachAgent(address, 161, createSnmpAgent({ table, communities: ["first-secret"] }));
    }
    await rig.snmp.rediscoverDevice(
      { ip: "203.0.113.1", port: 161 },
      { seconds: 10, signal: new AbortController().signal },
    );
    const report = await run(rig);
    assert.deepEqual(report.new, []);
    assert.deepEqual(report.duplicates, [
      { device: "198.51.100.1:161", of: "core", reason: "198.51.100.1 is one of its addresses" },
    ]);
  });

  test("another address and another credential are written into the file, around what a person wrote", async (t) => {
    const rig = await start(t);
    attach(rig, "198.51.100.1", { name: "moves", serial: "SERIAL-1" });
    const rotates = attach(rig, "198.51.100.2", { name: "rotates", serial: "SERIAL-2" });
    attach(rig, "198.51.100.3", { name: "goes", serial: "SERIAL-3" });
    await run(rig);
    await appendFile(join(rig.foundDirectory, "moves.yml"), "  # asked seldom, it is slow\n  timeout: 9000\n");
    for (const host of [1, 3]) rig.network.attach(`198.51.100.${host}`, 161, () => []);
    attach(rig, "198.51.100.50", { name: "moves", serial: "SERIAL-1" });
    assert.ok(rotates);
    attach(
      rig,
      "198.51.100.2",
      { name: "rotates", serial: "SERIAL-2" },
      { communities: [], users: [user], versions: ["3"] },
    );
    const [movesBefore, rotatesBefore] = [await file(rig, "moves.yml"), await file(rig, "rotates.yml")];

    const dry = await run(rig, true);
    assert.equal(dry.isDryRun, true);
    assert.deepEqual([await file(rig, "moves.yml"), await file(rig, "rotates.yml")], [movesBefore, rotatesBefore]);
    const report = await run(rig);
    assert.deepEqual(
      report.changed.map(({ name, changes }) => [name, changes]),
      [
        ["rotates", ["it takes credential 3 (version 3)"]],
        ["moves", ["address: 198.51.100.1:161 → 198.51.100.50:161"]],
      ],
    );
    assert.deepEqual([dry.changed, dry.gone.length], [report.changed, 1]);
    assert.deepEqual(
      report.gone.map(({ name, device }) => [name, device]),
      [["goes", "198.51.100.3:161"]],
    );
    assert.equal(await file(rig, "moves.yml"), movesBefore.replace("ip: 198.51.100.1", "ip: 198.51.100.50"));
    const rotated = await file(rig, "rotates.yml");
    assert.ok(rotated.startsWith(rotatesBefore.slice(0, rotatesBefore.indexOf("  version: 2c"))));
    assert.match(rotated, /version: 3\n {2}v3_credentials:\n {4}- username: "sweeper"\n/);
    assert.ok(!rotated.includes("communities"));
    await until("both are polled", () => {
      const up = [...rig.snmp.devices()].filter(({ state }) => state === "up");
      return up.some(({ ip }) => ip === "198.51.100.50") && up.some(({ version }) => version === "3");
    });
    assert.ok((await file(rig, "goes.yml")).includes("198.51.100.3"), "a device that is gone keeps its file");
    const again = await run(rig);
    assert.deepEqual([again.new, again.changed, again.gone.length, again.known], [[], [], 1, 2]);
  });

  test("a dry run writes nothing and counts nothing as found", async (t) => {
    const rig = await start(t);
    attach(rig, "198.51.100.1", { name: "one" });
    attach(rig, "198.51.100.2", { name: "two" }, { communities: ["second-secret"] });
    const report = await run(rig, true, ["campus"]);
    const probes = await rig.metrics.value("netgloss_snmp_discovery_probes_total");
    assert.equal(probes, rig.network.sent.length, "each datagram is counted");
    assert.deepEqual([report.isDryRun, report.new[0]?.name, report.new[0]?.file], [true, "one", undefined]);
    assert.deepEqual(await readdir(rig.foundDirectory), []);
    assert.deepEqual([...rig.snmp.devices()], []);
    assert.equal(await rig.metrics.value("netgloss_snmp_discovery_devices_total", { change: "new" }), 0);
  });

  test("a file that is there is never written over, whatever a device calls itself", async (t) => {
    const rig = await start(t);
    await writeFile(join(rig.foundDirectory, "sw.yml"), "# notes of a person\n");
    attach(rig, "198.51.100.1", { name: "sw" });
    attach(rig, "198.51.100.2", { name: "../../evil\n  ip: 10.0.0.1\n#" });
    attach(rig, "198.51.100.3", { name: "" });
    attach(rig, "198.51.100.4", { name: "sw" });
    const report = await run(rig);
    assert.equal(await file(rig, "sw.yml"), "# notes of a person\n");
    assert.deepEqual(
      report.new.map(({ name }) => name),
      ["sw", "evil-ip-10.0.0.1", "198.51.100.3", "sw-198.51.100.4"],
    );
    assert.deepEqual((await readdir(rig.foundDirectory)).sort(), [
      ".discovered.json",
      "198.51.100.3.yml",
      "evil-ip-10.0.0.1.yml",
      "sw-198.51.100.4.yml",
      "sw-2.yml",
      "sw.yml",
    ]);
    assert.equal(report.problem, undefined);
    assert.deepEqual(
      [...rig.snmp.devices()].map(({ ip }) => ip),
      [1, 2, 3, 4].map((host) => `198.51.100.${host}`),
    );
  });

  test("no more messages go out in a time than the rate allows, and no more addresses wait than in flight", async (t) => {
    const rig = await startSnmpRig(t, {
      discovery: { perSecond: 200, maxInFlight: 7 },
      files: {
        "devices/lab.yml": "",
        "networks.yml": "lab:\n  ranges: [198.51.100.0/27]\n  communities: [a, b]\n  timeout: 5\n",
      },
    });
    const times: number[] = [];
    for (let host = 1; host < 31; host++) {
      rig.network.attach(`198.51.100.${host}`, 161, () => {
        times.push(performance.now());
        return [];
      });
    }
    const report = await run(rig);
    // Two credentials, and a second try with each.
    assert.deepEqual([report.probed, times.length], [30, 120]);
    const took = (times.at(-1) as number) - (times[0] as number);
    assert.ok(took >= (1000 * 115) / 200, `120 messages in ${took} ms`);
  });

  test("a run that is stopped ends at once, and a second one at the same time is refused", async (t) => {
    const rig = await startSnmpRig(t, {
      discovery: { perSecond: 5 },
      files: { "devices/lab.yml": "", "networks.yml": networks },
    });
    const started = await rig.snmp.networks?.run({ isDryRun: false, networks: [] });
    assert.ok(started?.ok);
    const refused = await rig.snmp.networks?.run({ isDryRun: true, networks: [] });
    assert.deepEqual(refused?.ok === false && refused.reason, "busy");
    assert.equal(rig.snmp.networks?.view().running?.addresses, 127);
    const ended = assert.rejects(started.ended, /stopping/);
    await rig.snmp.stop();
    await ended;
    assert.equal(await rig.metrics.value("netgloss_snmp_discovery_runs_total", { result: "stopped" }), 1);
  });

  test("a name that no network has, and a file with a mistake, are refused", async (t) => {
    const rig = await start(t);
    const unknown = await rig.snmp.networks?.run({ isDryRun: true, networks: ["campsu"] });
    assert.match(JSON.stringify(unknown), /has no network campsu: it has campus/);
    await writeFile(join(rig.tree.directory, "networks.yml"), "a:\n  ranges: [10.0.0.0/8]\n  communities: [x]\n");
    const wide = await rig.snmp.networks?.run({ isDryRun: true, networks: [] });
    assert.match(JSON.stringify(wide), /networks.yml:2:11: a: ranges: 16777214 addresses up to here are more than/);
  });

  test("a run begins by itself after a start, unless the last one is not old", async (t) => {
    const rig = await startSnmpRig(t, {
      discovery: { intervalMs: 3_600_000 },
      files: { "devices/lab.yml": "", "networks.yml": networks },
    });
    const first = Date.parse(rig.snmp.networks?.view().nextRun ?? "");
    assert.ok(first - Date.now() < 11_000, "soon after the first start");
    await run(rig);
    await rig.restart();
    const next = Date.parse(rig.snmp.networks?.view().nextRun ?? "");
    assert.ok(next - Date.now() > 3_500_000, "an interval after the last run");
  });
});
