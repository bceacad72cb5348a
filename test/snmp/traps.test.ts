import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test, type TestContext } from "node:test";
import { createHealth, createMetrics, silentLog, systemClock, type Metrics } from "../../src/base/report/index.ts";
import { compileFilter, parseFilter, recordVocabulary } from "../../src/record/index.ts";
import {
  Snmp,
  definitionPathsIn,
  formatFinding,
  readTrapRules,
  type CompileCondition,
  type TrapSettings,
} from "../../src/snmp/index.ts";
import type { UsmMessage } from "../../src/snmp/session/message-codec.ts";
import type { Pdu } from "../../src/snmp/session/message-codec.ts";
import { KeyCache } from "../../src/snmp/session/security.ts";
import { cleanUp } from "../support/clean-up.ts";
import { freePort } from "../support/free-port.ts";
import { createAgentUsm } from "../support/snmp-agent/agent-usm.ts";
import { createFakeNetwork, createSnmpAgent, oidOf, parseSnmprec } from "../support/snmp-agent/index.ts";
import { usmUser } from "../support/snmp-session-fixture.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

type Json = Record<string, unknown>;

interface Rig {
  readonly records: Json[];
  readonly metrics: Metrics;
  readonly port: number;
  readonly refusedTraps: Snmp["refusedTraps"];
  /** Sends a datagram, and waits for an answer when one is wanted. */
  send(hex: string, wantsAnswer?: boolean): Promise<string>;
}

async function start(t: TestContext, settings: Partial<TrapSettings> = {}, device = ""): Promise<Rig> {
  const records: Json[] = [];
  const metrics = createMetrics();
  const devices = tempDirectory(t);
  const network = createFakeNetwork();
  if (device !== "") {
    const table = parseSnmprec(device);
    network.attachAgent("127.0.0.1", 161, createSnmpAgent({ table, maxMessageSize: 8000 }));
    writeFileSync(join(devices, "d.yml"), "core-1: {ip: 127.0.0.1, communities: [public]}\n");
  }
  const snmp = new Snmp({
    paths: { ...definitionPathsIn(resolve(import.meta.dirname, "../../../definitions")), devices: [devices] },
    persistDirectory: "",
    enricher: { enrich: (record) => void record.set("system.tags", "mine") },
    sink: {
      write: (lines) => {
        for (const line of Buffer.from(lines).toString().trimEnd().split("\n")) records.push(JSON.parse(line) as Json);
      },
    },
    clock: systemClock,
    log: silentLog,
    metrics,
    health: createHealth(),
    openSocket: network.open,
    traps: {
      address: "127.0.0.1",
      // Both kinds of sockets need the same one, and ports of TCP are the scarce ones.
      port: settings.tcp === true ? await freePort() : 0,
      credentialsDirectory: "",
      rulesPath: "",
      compileCondition: () => () => true,
      engineId: "80000000046e6574",
      isAllowed: () => true,
      acceptsUntimely: () => false,
      maxRate: 0,
      tcp: false,
      ...settings,
    },
  });
  await snmp.start();
  cleanUp(t, () => snmp.stop());
  const port = snmp.trapPort() as number;
  return {
    records,
    metrics,
    port,
    refusedTraps: () => snmp.refusedTraps(),
    send: (hex, wantsAnswer = false) =>
      new Promise((done, fail) => {
        const socket = createSocket("udp4");
        const timer = setTimeout(() => fail(new Error("no answer")), 5000);
        const end = (answer: string): void => {
          clearTimeout(timer);
          socket.close(() => done(answer));
        };
        socket.on("message", (answer) => end(answer.toString("hex")));
        socket.send(Buffer.from(hex, "hex"), port, "127.0.0.1", () => {
          if (!wantsAnswer) end("");
        });
      }),
  };
}

const tlv = (tag: number, ...parts: string[]): string => {
  const body = parts.join("");
  const length = body.length / 2;
  const header = length < 128 ? length.toString(16).padStart(2, "0") : `81${length.toString(16).padStart(2, "0")}`;
  return tag.toString(16).padStart(2, "0") + header + body;
};
const text = (value: string): string => tlv(0x04, Buffer.from(value).toString("hex"));
const int = (value: number, tag = 0x02): string => tlv(tag, value.toString(16).padStart(value > 127 ? 4 : 2, "0"));
const oid = (value: string): string => {
  const [a = 0, b = 0, ...rest] = value.split(".").map(Number);
  const bytes = [a * 40 + b];
  for (const arc of rest) {
    const septets = [arc & 0x7f];
    for (let high = arc >>> 7; high > 0; high >>>= 7) septets.unshift((high & 0x7f) | 0x80);
    bytes.push(...septets);
  }
  return tlv(0x06, Buffer.from(bytes).toString("hex"));
};
const varbind = (name: string, value: string): string => tlv(0x30, oid(name), value);

const linkDown = "1.3.6.1.6.3.1.1.5.3";
const trapPdu = (tag: number, ...varbinds: string[]): string =>
  tlv(
    tag,
    int(77),
    int(0),
    int(0),
    tlv(
      0x30,
      varbind("1.3.6.1.2.1.1.3.0", int(1234, 0x43)),
      varbind("1.3.6.1.6.3.1.1.4.1.0", oid(linkDown)),
      ...varbinds,
    ),
  );
const v2 = (tag: number, community: string, ...varbinds: string[]): string =>
  tlv(0x30, int(1), text(community), trapPdu(tag, ...varbinds));
const ifIndex = varbind("1.3.6.1.2.1.2.2.1.1.7", int(7));
const ifOperStatus = varbind("1.3.6.1.2.1.2.2.1.8.7", int(2));
const unknownValue = varbind("1.3.6.1.4.1.99999.1.0", text("hot"));

test("a trap of version 2c is a record: its values have the names of polled objects", async (t) => {
  const rig = await start(t);
  await rig.send(v2(0xa7, "public", ifIndex, ifOperStatus, unknownValue));
  const record = await until("the record", () => rig.records[0]);
  const { "@timestamp": at, ...rest } = record;
  assert.match(String(at), /^\d{4}-.*Z$/);
  assert.deepEqual(rest, {
    "system.ip.addr": "127.0.0.1",
    "system.host.name": "127.0.0.1",
    "snmp.trap.oid": `.${linkDown}`,
    "snmp.trap.name": "linkDown",
    "snmp.trap.kind": "trap",
    "snmp.trap.version": "2c",
    "snmp.trap.uptime": 12_340,
    "netif.index": 7,
    "netif.state.oper.name": "down",
    "snmp.trap.varbinds": [".1.3.6.1.4.1.99999.1.0 = hot"],
    "system.tags": "mine",
  });
  assert.equal(await rig.metrics.value("netgloss_snmp_traps_total", { version: "2c", kind: "trap" }), 1);
});

test("an inform is answered with its own values, a trap is not", async (t) => {
  const rig = await start(t);
  const answer = await rig.send(v2(0xa6, "public", ifIndex), true);
  assert.equal(answer, v2(0xa2, "public", ifIndex));
  assert.equal((await until("the record", () => rig.records[0]))["snmp.trap.kind"], "inform");
});

test("traps of version 1 have the OIDs of version 2, and the agent's address", async (t) => {
  const rig = await start(t);
  const v1 = (generic: number, specific: number, address: string): string =>
    tlv(
      0x30,
      int(0),
      text("public"),
      tlv(
        0xa4,
        oid("1.3.6.1.4.1.318"),
        tlv(0x40, address),
        int(generic),
        int(specific),
        int(9, 0x43),
        tlv(0x30, ifIndex),
      ),
    );
  await rig.send(v1(2, 0, "c0000209"));
  await rig.send(v1(6, 5, "00000000"));
  const [generic, specific] = await until("the records", () => rig.records.length === 2 && rig.records);
  assert.equal(generic?.["snmp.trap.oid"], `.${linkDown}`);
  assert.equal(generic["system.ip.addr"], "192.0.2.9");
  assert.equal(generic["snmp.trap.sender.ip.addr"], "127.0.0.1");
  assert.equal(generic["snmp.trap.enterprise"], ".1.3.6.1.4.1.318");
  assert.equal(specific?.["snmp.trap.oid"], ".1.3.6.1.4.1.318.0.5");
  assert.equal(specific["system.ip.addr"], "127.0.0.1");
});

test("what is no notification, or of nobody who counts, is refused and counted; good ones go on", async (t) => {
  const directory = tempDirectory(t);
  writeFileSync(join(directory, "noc.yml"), "communities: [secret]\n");
  const rig = await start(t, { credentialsDirectory: directory });
  await rig.send("00");
  await rig.send(v2(0xa7, "public"));
  await rig.send(tlv(0x30, int(1), text("secret"), trapPdu(0xa0)));
  const good = v2(0xa7, "secret", ifIndex);
  for (let cut = 1; cut < good.length / 2; cut += 3) await rig.send(good.slice(0, -2 * cut));
  await rig.send(good);
  await until("the good one", () => rig.records.length === 1);
  const refused = (reason: string): Promise<number | undefined> =>
    rig.metrics.value("netgloss_snmp_traps_refused_total", { reason });
  assert.equal(await refused("community"), 1);
  assert.equal(await refused("pdu_type"), 1);
  assert.ok(Number(await refused("malformed")) > 10);
});

test("an odd value of a trap costs itself, in every version, and is counted", async (t) => {
  const rig = await start(t);
  const odd = [
    varbind("1.3.6.1.2.1.2.2.1.10.7", tlv(0x41)),
    varbind("1.3.6.1.2.1.2.2.1.16.7", tlv(0x41, "0100000009")),
    varbind("1.3.6.1.4.1.99999.1.0", tlv(0x30, tlv(0x05))),
  ];
  await rig.send(v2(0xa7, "public", ...odd, ifIndex));
  const v1 = tlv(
    0xa4,
    oid("1.3.6.1.4.1.318"),
    tlv(0x40, "c0000209"),
    int(6),
    int(5),
    tlv(0x43),
    tlv(0x30, ...odd, ifIndex),
  );
  await rig.send(tlv(0x30, int(0), text("public"), v1));
  await until("both", () => rig.records.length === 2);
  for (const record of rig.records) {
    assert.equal(record["netif.index"], 7);
    assert.equal(record["netif.bytes.out"], 9);
    assert.equal(record["netif.bytes.in"], undefined);
    assert.deepEqual(record["snmp.trap.varbinds"], [
      ".1.3.6.1.2.1.2.2.1.10.7 = Malformed",
      ".1.3.6.1.4.1.99999.1.0 = Malformed",
    ]);
  }
  const count = (fault: string): Promise<number | undefined> =>
    rig.metrics.value("netgloss_snmp_traps_values_malformed_total", { fault });
  assert.deepEqual(await Promise.all(["cut", "empty", "tag"].map(count)), [2, 3, 2]);
});

/** A trap of version 3 of an engine with these boots and time. */
function v3(boots: number, time: number): string {
  const id = Buffer.from("80001f888000000001", "hex");
  const pdu: Pdu = {
    type: "trap",
    requestId: 9,
    errorStatus: 0,
    errorIndex: 0,
    varbinds: [
      { oid: oidOf("1.3.6.1.2.1.1.3.0"), type: "TimeTicks", value: 1 },
      { oid: oidOf("1.3.6.1.6.3.1.1.4.1.0"), type: "ObjectIdentifier", value: oidOf(linkDown) },
    ],
  };
  const scoped = { contextEngineId: id, contextName: new Uint8Array(0), pdu };
  const message = { id: 9, user: Buffer.from(usmUser.username) } as unknown as UsmMessage;
  const sealed = createAgentUsm([usmUser]).seal(message, scoped, new KeyCache().keysFor(usmUser, id), {
    id,
    boots,
    time,
  });
  return Buffer.from(sealed).toString("hex");
}

const trapUser =
  "v3_credentials: [{username: operator, authentication_protocol: sha256, authentication_passphrase: maplesyrup, " +
  "privacy_protocol: aes, privacy_passphrase: buckwheat}]\n";

test("a trap of version 3 from before its sender's last start is refused, and counted and kept by sender", async (t) => {
  const directory = tempDirectory(t);
  writeFileSync(join(directory, "noc.yml"), trapUser);
  const rig = await start(t, { credentialsDirectory: directory });
  await rig.send(v3(4, 9000));
  await until("the first", () => rig.records.length === 1);
  await rig.send(v3(4, 10));
  await until("the refusal", () => rig.refusedTraps().length === 1);
  const [{ lastAt, ...refused } = { lastAt: 0 }] = rig.refusedTraps();
  assert.deepEqual(refused, { sender: "127.0.0.1", reason: "time_window", count: 1 });
  assert.ok(Math.abs(lastAt - Date.now()) < 60_000);
  assert.equal(
    await rig.metrics.value("netgloss_snmp_traps_refused_by_sender_total", {
      sender: "127.0.0.1",
      reason: "time_window",
    }),
    1,
  );
  await rig.send(v3(5, 10));
  await until("the next start", () => rig.records.length === 2);
});

test("a sender whose engine boots do not grow is accepted where the settings say so", async (t) => {
  const directory = tempDirectory(t);
  writeFileSync(join(directory, "noc.yml"), trapUser);
  const rig = await start(t, {
    credentialsDirectory: directory,
    acceptsUntimely: (address) => address === "127.0.0.1",
  });
  await rig.send(v3(4, 9000));
  await until("the first", () => rig.records.length === 1);
  await rig.send(v3(4, 10));
  await until("the second", () => rig.records.length === 2);
  await rig.send(v3(4, 11));
  await until("the third", () => rig.records.length === 3);
  assert.deepEqual(rig.refusedTraps(), []);
});

test("a sender beyond its rate is left out, and the next record says how often", async (t) => {
  const rig = await start(t, { maxRate: 2 });
  for (let i = 0; i < 40; i++) await rig.send(v2(0xa7, "public", ifIndex));
  await until("the first", () => rig.records.length >= 10);
  await until("the next", async () => {
    await rig.send(v2(0xa7, "public", ifIndex));
    return rig.records.some((record) => record["snmp.trap.suppressed"] !== undefined);
  });
  const suppressed = rig.records.reduce((sum, record) => sum + Number(record["snmp.trap.suppressed"] ?? 0), 0);
  const leftOut = await rig.metrics.value("netgloss_snmp_traps_refused_total", { reason: "rate" });
  assert.ok(suppressed > 20 && suppressed <= Number(leftOut), `${suppressed} of ${leftOut}`);
});

test("a link that goes down at a polled device has its name, and the device is polled at once", async (t) => {
  const lines = [
    "1.3.6.1.2.1.1.2.0|6|1.3.6.1.4.1.99999",
    "1.3.6.1.2.1.1.3.0|67|12345",
    `1.3.6.1.2.1.1.5.0|4x|${Buffer.from("core-1.example").toString("hex")}`,
    `1.3.6.1.2.1.2.2.1.2.7|4x|${Buffer.from("ge-0/0/7").toString("hex")}`,
    "1.3.6.1.2.1.2.2.1.8.7|2|1",
  ];
  const rig = await start(t, {}, lines.join("\n"));
  const polls = (): number => rig.records.filter((record) => record["snmp.object.name"] === "IF-MIB::ifTable").length;
  await until("the first poll", () => polls() > 0);
  const before = polls();
  await rig.send(v2(0xa7, "public", ifIndex));
  const trap = await until("the trap", () => rig.records.find((record) => record["snmp.trap.oid"] !== undefined));
  assert.equal(trap["system.host.name"], "core-1.example");
  assert.equal(trap["netif.name"], "ge-0/0/7");
  await until("another poll", () => polls() > before);
});

test("traps and informs come by TCP, in pieces and several at once; what is no message closes its connection", async (t) => {
  const rig = await start(t, { tcp: true });
  const inform = Buffer.from(v2(0xa6, "public", ifIndex), "hex");
  const socket = connect(rig.port, "127.0.0.1");
  cleanUp(t, () => socket.destroy());
  socket.on("error", () => {});
  const answers: Buffer[] = [];
  socket.on("data", (chunk) => answers.push(chunk));
  socket.write(inform.subarray(0, 7));
  await until("the connection", async () => (await rig.metrics.value("netgloss_snmp_traps_connections")) === 1);
  socket.write(Buffer.concat([inform.subarray(7), Buffer.from(v2(0xa7, "public", ifOperStatus), "hex"), inform]));
  await until("three records", () => rig.records.length === 3);
  await until("two answers", () => Buffer.concat(answers).toString("hex") === v2(0xa2, "public", ifIndex).repeat(2));
  const closed = once(socket, "close");
  socket.write("GET / HTTP/1.1\r\n\r\n");
  await closed;
  assert.equal(await rig.metrics.value("netgloss_snmp_traps_refused_total", { reason: "malformed" }), 1);
  assert.equal(await rig.metrics.value("netgloss_snmp_traps_kernel_drops_total"), 0);
});

test("one host may have 20 connections", async (t) => {
  const rig = await start(t, { tcp: true });
  const sockets = Array.from({ length: 21 }, () => connect(rig.port, "127.0.0.1").on("error", () => {}));
  cleanUp(t, () => sockets.forEach((socket) => socket.destroy()));
  await until(
    "a refusal",
    async () => (await rig.metrics.value("netgloss_snmp_traps_refused_total", { reason: "connections" })) === 1,
  );
  assert.equal(await rig.metrics.value("netgloss_snmp_traps_connections"), 20);
});

test("rules drop traps, and give them names, severities and categories; the first that is true counts", async (t) => {
  const rulesPath = join(tempDirectory(t), "rules.yml");
  writeFileSync(
    rulesPath,
    "noise: {when: netif.index = 9, drop: true}\n" +
      "uplink:\n  when: snmp.trap.name = linkDown and netif.index = 7\n" +
      "  severity: critical\n  category: availability\n  name: uplinkDown\n" +
      "all: {when: snmp.trap.oid exists, severity: info}\n",
  );
  const compileCondition: CompileCondition = (filter) => compileFilter(parseFilter(filter, "", recordVocabulary));
  const rig = await start(t, { rulesPath, compileCondition });
  const answer = await rig.send(v2(0xa6, "public", varbind("1.3.6.1.2.1.2.2.1.1.9", int(9))), true);
  assert.notEqual(answer, "", "an inform that is dropped is answered");
  await rig.send(v2(0xa7, "public", ifIndex));
  await rig.send(v2(0xa7, "public", unknownValue));
  await until("two records", () => rig.records.length === 2);
  const said = rig.records.map((record) =>
    ["snmp.trap.name", "event.severity.level", "event.category.name"].map((field) => record[field]),
  );
  assert.deepEqual(said, [
    ["uplinkDown", "critical", "availability"],
    ["linkDown", "info", undefined],
  ]);
  assert.equal(await rig.metrics.value("netgloss_snmp_traps_refused_total", { reason: "rule" }), 1);
  const other = await start(t, { rulesPath, compileCondition, naming: "netobserv" });
  await other.send(v2(0xa7, "public", ifIndex));
  await other.send(v2(0xa7, "public", unknownValue));
  await until("two records", () => other.records.length === 2);
  assert.deepEqual(
    other.records.map((record) => record["event.severity.level"]),
    ["Critical", "Informational"],
    "the words of NetObserv's dashboards",
  );
});

test("faults of rules are named with their place, all of them", () => {
  const compile: CompileCondition = (filter) => compileFilter(parseFilter(filter, "", recordVocabulary));
  const file = [
    "a: {when: snmp.trap.nam = linkDown, drop: true}",
    "b: {drop: true}",
    "c: {when: snmp.trap.name exists}",
    "d: {when: snmp.trap.name exists, severity: criticl}",
    "e: nothing",
    "",
  ].join("\n");
  const { rules, findings } = readTrapRules("rules.yml", Buffer.from(file), compile);
  assert.deepEqual(rules, []);
  const lines = findings.map(formatFinding);
  assert.equal(lines.length, 5, lines.join("\n"));
  assert.match(lines[0] ?? "", /^rules\.yml:1:\d+: a: when: .*snmp\.trap\.nam/);
  assert.match(lines[1] ?? "", /^rules\.yml:2:1: b: when is missing/);
  assert.match(lines[2] ?? "", /^rules\.yml:3:1: c: has no effect/);
  assert.match(lines[3] ?? "", /^rules\.yml:4:\d+: d: severity: .*did you mean "critical"/);
  assert.match(lines[4] ?? "", /^rules\.yml:5:\d+: e: expected a mapping/);
});
