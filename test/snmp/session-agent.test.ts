import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { SnmpClient, formatOid, walk, type VarBind } from "../../src/snmp/index.ts";
import {
  createSnmpAgent,
  listen,
  listenAll,
  moveCounters,
  octets,
  oidOf,
  parseSnmprec,
} from "../support/snmp-agent/index.ts";
import { referenceData } from "../support/reference-data.ts";
import {
  communityCredential,
  createManualClock,
  createSessionFixture,
  smallTable,
  usmUser,
} from "../support/snmp-session-fixture.ts";

const sample = `1.3.6.1.2.1.1.1.0|4x|4c696e7578
1.3.6.1.2.1.1.2.0|6|1.3.6.1.4.1.8072
1.3.6.1.2.1.1.3.0|67:numeric|rate=100
1.3.6.1.2.1.1.4.0|4|a | b
1.3.6.1.2.1.1.6.0|4|
1.3.6.1.2.1.1.7.0|2|-5
1.3.6.1.2.1.4.20.1.1.192.0.2.1|64|192.0.2.1
1.3.6.1.2.1.4.20.1.1.192.0.2.2|64x|c0000202
1.3.6.1.2.1.4.20.1.1.192.0.2.3|64|abcd
1.3.6.1.4.1.1.1|2:numeric|min=1,max=2,wrap=1,initial=2
1.3.6.1.4.1.1.2|4:writecache|value=outlet 1
1.3.6.1.4.1.1.3|70|18446744073709551615
1.3.6.1.4.1.1.4|68x|9f78
1.3.6.1.4.1.1.10|65|1
1.3.6.1.4.1.1.9|66|2
`;

test("a walk in snmprec form is replayed", async () => {
  const clock = createManualClock();
  const { open, client } = createSessionFixture({ table: parseSnmprec(sample), clock });
  clock.advance(5000);
  const values: VarBind[] = [];
  const summary = await walk(open(), [[1, 3]], (_, varbinds) => void values.push(...varbinds));
  assert.equal(summary.isComplete, true);
  const shown = values.map(({ oid, type, value }) => {
    const plain = value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value);
    return `${formatOid(oid)} ${type} ${plain}`;
  });
  assert.deepEqual(shown, [
    ".1.3.6.1.2.1.1.1.0 OctetString Linux",
    ".1.3.6.1.2.1.1.2.0 ObjectIdentifier 1,3,6,1,4,1,8072",
    ".1.3.6.1.2.1.1.3.0 TimeTicks 500",
    ".1.3.6.1.2.1.1.4.0 OctetString a | b",
    ".1.3.6.1.2.1.1.6.0 OctetString ",
    ".1.3.6.1.2.1.1.7.0 Integer32 -5",
    ".1.3.6.1.2.1.4.20.1.1.192.0.2.1 IpAddress \u00c0\u0000\u0002\u0001",
    ".1.3.6.1.2.1.4.20.1.1.192.0.2.2 IpAddress \u00c0\u0000\u0002\u0002",
    ".1.3.6.1.2.1.4.20.1.1.192.0.2.3 IpAddress abcd",
    ".1.3.6.1.4.1.1.1 Integer32 2",
    ".1.3.6.1.4.1.1.2 OctetString outlet 1",
    ".1.3.6.1.4.1.1.3 Counter64 18446744073709551615",
    ".1.3.6.1.4.1.1.4 Opaque \u009fx",
    ".1.3.6.1.4.1.1.9 Gauge32 2",
    ".1.3.6.1.4.1.1.10 Counter32 1",
  ]);
  client.close();
});

test("counters move with time, sysUpTime is the agent's own, and a reboot starts it again", async () => {
  const clock = createManualClock();
  const { open, agent, client } = createSessionFixture({ clock, uptime: 60, table: moveCounters(smallTable, 5) });
  const session = open();
  const read = async (): Promise<unknown[]> => {
    const oids = ["1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.2.2.1.10.7", "1.3.6.1.2.1.31.1.1.1.6.1"].map(oidOf);
    return (await session.get(oids)).varbinds.map(({ value }) => value);
  };
  assert.deepEqual(await read(), [6000, (4_294_967_290 + 600) % 2 ** 32, 299n]);
  clock.advance(10_000);
  assert.deepEqual(await read(), [7000, (4_294_967_290 + 700) % 2 ** 32, 349n]);
  agent.reboot();
  assert.deepEqual(await read(), [0, 4_294_967_290, 18_446_744_073_709_551_615n]);
  client.close();
});

test("instances come and go while the agent runs", async () => {
  const { open, agent, client } = createSessionFixture();
  const column = oidOf("1.3.6.1.2.1.2.2.1.2");
  const count = async (): Promise<number> => {
    let values = 0;
    await walk(open(), [column], (_, varbinds) => void (values += varbinds.length));
    return values;
  };
  assert.equal(await count(), 3);
  agent.table = agent.table.without((oid) => oid.at(-1) === 7);
  assert.equal(await count(), 2);
  agent.table = agent.table.with([{ oid: [...column, 9], value: { type: "Null", value: null } }]);
  assert.equal(await count(), 3);
  client.close();
});

test("hundreds of agents on one port number, each with its own address, through one socket", async () => {
  const fleet = await listenAll(300, (i) => ({
    table: smallTable.with([{ oid: oidOf("1.3.6.1.2.1.1.5.0"), value: octets(`device-${i}`) }]),
    users: [usmUser],
  }));
  const metrics = createMetrics();
  const client = new SnmpClient({ metrics, log: silentLog, clock: systemClock });
  const names = await Promise.all(
    fleet.members.map(async ({ address, port }, i) => {
      const credential = i % 2 === 0 ? communityCredential : usmUser;
      const target = { ip: address, port, credential, timeout: 5000, retries: 3, exponentialTimeout: false };
      const { varbinds } = await client.open(target).get([oidOf("1.3.6.1.2.1.1.5.0")]);
      return Buffer.from(varbinds[0]?.value as Uint8Array).toString();
    }),
  );
  assert.deepEqual(
    names,
    Array.from({ length: 300 }, (_, i) => `device-${i}`),
  );
  assert.equal(await metrics.value("netgloss_snmp_ignored_datagrams_total", { reason: "wrong_source" }), 0);
  client.close();
  await fleet.close();
});

test("a slow agent answers late", async () => {
  const agent = createSnmpAgent({ table: smallTable });
  agent.faults.delay = 500;
  const { port, close } = await listen(agent);
  const metrics = createMetrics();
  const client = new SnmpClient({ metrics, log: silentLog, clock: systemClock });
  const target = { ip: "127.0.0.1", port, credential: communityCredential, exponentialTimeout: false };
  const sysName = oidOf("1.3.6.1.2.1.1.5.0");
  const hasty = client.open({ ...target, timeout: 5, retries: 0 });
  await assert.rejects(hasty.get([sysName]), { code: "timeout" });
  const { varbinds } = await client.open({ ...target, timeout: 5000, retries: 0 }).get([sysName]);
  assert.equal(varbinds.length, 1);
  assert.equal(await metrics.value("netgloss_snmp_ignored_datagrams_total", { reason: "late" }), 1);
  client.close();
  await close();
});

const { path: recordings, skip } = referenceData("snmp");

test("recorded walks of real devices come over the wire as they were recorded", { skip }, async () => {
  for (const file of readdirSync(recordings).filter((name) => name.endsWith(".snmprec"))) {
    const text = readFileSync(join(recordings, file), "utf8");
    // The biggest take seconds and hold nothing that the others do not.
    if (text.length > 1_000_000) continue;
    const table = parseSnmprec(text);
    const { open, client } = createSessionFixture({ table, uptime: 10 });
    const session = open();
    const values: VarBind[] = [];
    for (const root of [
      [1, 0],
      [1, 2],
      [1, 3],
    ]) {
      const summary = await walk(session, [root], (_, varbinds) => void values.push(...varbinds));
      assert.equal(summary.isComplete, true, file);
    }
    assert.equal(values.length, table.rows.length, file);
    const recorded = table.rows.map(({ oid, value }) => {
      // What varies with time is known by its identifier only.
      if (typeof value === "function" || value.type === "TimeTicks") return formatOid(oid);
      return show({ oid, ...value });
    });
    const shown = values.map((varbind, i) => {
      return recorded[i]?.includes(" ") === true ? show(varbind) : formatOid(varbind.oid);
    });
    assert.equal(shown.join("\n"), recorded.join("\n"), file);
    client.close();
  }
});

function show({ oid, type, value }: VarBind): string {
  const plain = value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
  return `${formatOid(oid)} ${type} ${plain}`;
}
