import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { AgentLimits } from "../../src/snmp/session/session.ts";
import { askEach } from "../../src/snmp/session/session.ts";
import { walk } from "../../src/snmp/session/walk.ts";
import { errorStatus, formatOid, type Oid, type VarBind } from "../../src/snmp/index.ts";
import {
  counter32,
  createTable,
  integer,
  makeOdd,
  octets,
  oidOf,
  raw,
  type AgentOptions,
  type AgentTable,
  type Oddities,
} from "../support/snmp-agent/index.ts";
import { createSessionFixture, smallTable, usmUser } from "../support/snmp-session-fixture.ts";
import { patientDevice, quickDevice, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const ifEntry = "1.3.6.1.2.1.2.2.1";
const indexes = [1, 2, 3, 4, 13];

/** Columns of ifTable and ifXTable, enough that a request for all of them is long. */
const columns: Readonly<Record<string, (index: number) => AgentTable["rows"][number]["value"]>> = {
  [`${ifEntry}.1`]: integer,
  [`${ifEntry}.2`]: (index) => octets(`port ${index}`),
  [`${ifEntry}.3`]: () => integer(6),
  [`${ifEntry}.4`]: () => integer(1500),
  [`${ifEntry}.5`]: () => ({ type: "Gauge32", value: 1_000_000_000 }),
  [`${ifEntry}.7`]: () => integer(1),
  [`${ifEntry}.8`]: () => integer(1),
  [`${ifEntry}.10`]: (index) => counter32(1000 * index, 10),
  [`${ifEntry}.11`]: () => counter32(100, 1),
  [`${ifEntry}.13`]: () => counter32(0, 0),
  [`${ifEntry}.14`]: () => counter32(0, 0),
  [`${ifEntry}.16`]: () => counter32(2000, 10),
  [`${ifEntry}.17`]: () => counter32(200, 1),
  [`${ifEntry}.19`]: () => counter32(0, 0),
  [`${ifEntry}.20`]: () => counter32(0, 0),
  "1.3.6.1.2.1.31.1.1.1.1": (index) => octets(`p${index}`),
  "1.3.6.1.2.1.31.1.1.1.18": (index) => octets(`to ${index}`),
};

const table = createTable([
  ...smallTable.rows.filter(({ oid }) => oid[6] === 1),
  { oid: oidOf("1.3.6.1.2.1.2.1.0"), value: integer(indexes.length) },
  ...Object.entries(columns).flatMap(([column, value]) =>
    indexes.map((index) => ({ oid: [...oidOf(column), index], value: value(index) })),
  ),
]);

const disordered = Object.fromEntries(Object.keys(columns).map((column) => [column, [1, 2, 13, 3, 4]]));

async function startOdd(
  t: TestContext,
  oddities: Oddities,
  agent: Partial<AgentOptions> = {},
  device = patientDevice,
): Promise<SnmpRig> {
  const files = { "devices/lab.yml": device.replace("[router]", "[auto]") };
  const rig = await startSnmpRig(t, { start: false, shipped: true, agent: { table, ...agent }, files });
  makeOdd(rig.agent, oddities);
  await rig.snmp.start();
  return rig;
}

/** Waits for all rows of both tables in a poll and gives those of the first. */
async function allRows(rig: SnmpRig): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const rowsOf = (object: string): Set<unknown> => new Set(rig.of(object).map((row) => row["snmp.object.entity"]));
  await until(
    "all rows",
    () => rowsOf("IF-MIB::ifTable").size === indexes.length && rowsOf("IF-MIB::ifXTable").size === indexes.length,
    30_000,
  );
  return rig.of("IF-MIB::ifTable").slice(0, indexes.length);
}

describe("an odd agent is discovered, and all its rows are read", { concurrency: 4 }, () => {
  const cases: readonly (readonly [what: string, oddities: Oddities, most: number, version?: "1" | "2c"])[] = [
    ["tables that are not in order", { order: disordered }, 50],
    ["GetBulk is dropped", { bulk: "silent" }, 90],
    ["GetBulk is answered with genErr", { bulk: "genErr" }, 90],
    ["GetBulk is answered with noSuchName", { bulk: "noSuchName" }, 90],
    ["GetBulk is answered with tooBig", { bulk: "tooBig" }, 90],
    ["GetBulk is answered with one row", { bulk: "first row" }, 90],
    ["GetBulk is answered with one value", { bulk: "first value" }, 90],
    ["GetBulk is answered with nothing", { bulk: "empty" }, 90],
    ["more than 8 OIDs are dropped", { dropsAbove: 8 }, 120],
    ["more than 8 OIDs are dropped, and so is GetBulk", { dropsAbove: 8, bulk: "silent" }, 160],
    ["several OIDs are answered with genErr for the first", { blamesFirst: true }, 350],
    ["several OIDs are answered with genErr for the first", { blamesFirst: true }, 350, "1"],
    ["long answers cannot be read", { spoilsAbove: 10 }, 120],
  ];
  for (const [what, oddities, most, version = "2c"] of cases) {
    test(`version ${version}: ${what}`, async (t) => {
      const isSilent = oddities.bulk === "silent" || oddities.dropsAbove !== undefined;
      const device = isSilent ? quickDevice : patientDevice;
      const rig = await startOdd(t, oddities, {}, version === "1" ? `${device}  version: 1\n` : device);
      await until("the discovery", async () => ((await rig.discoveries()) ?? 0) > 0, 30_000);
      const rows = await allRows(rig);
      assert.deepEqual(
        new Set(rows.map((row) => row["snmp.object.entity"])),
        new Set(indexes.map((index) => `IF-MIB::ifTable.${index}`)),
      );
      for (const row of rows) assert.equal(row["snmp.object.isPartial"], oddities.order && true);
      const { requests = 0, polls = 1 } = rig.device().counts;
      t.diagnostic(`${requests} requests, ${polls} polls`);
      assert.ok(requests <= most * Math.max(1, polls / 2), `${requests} requests with ${polls} polls`);
      // A busy machine answers too late for a short time-out.
      if (!isSilent) assert.equal(await rig.discoveries("failed"), 0);
    });
  }
});

/** The table with values in place of some of its own, by the text of their instances. */
function withValues(values: Readonly<Record<string, AgentTable["rows"][number]["value"]>>): AgentTable {
  return table.with(Object.entries(values).map(([text, value]) => ({ oid: oidOf(text), value })));
}

test("odd values cost themselves: the device is discovered, the rest of its rows is there, and they are counted", async (t) => {
  const odd = withValues({
    "1.3.6.1.2.1.1.5.0": raw("04 7f 41"),
    [`${ifEntry}.5.1`]: raw("42 00"),
    [`${ifEntry}.5.2`]: raw("42 05 02 54 0b e4 00"),
    [`${ifEntry}.10.1`]: raw("41 00"),
    [`${ifEntry}.10.2`]: raw("41 05 01 00 00 00 07"),
    [`${ifEntry}.4.3`]: raw("30 02 05 00"),
    [`${ifEntry}.2.4`]: raw("06 02 2b 86"),
  });
  const rig = await startOdd(t, {}, { table: odd });
  const rows = await allRows(rig);
  const row = (index: number): Readonly<Record<string, unknown>> | undefined =>
    rows.find((one) => one["snmp.object.entity"] === `IF-MIB::ifTable.${index}`);
  const received = (index: number): unknown => row(index)?.["netif.bytes.in"];
  assert.equal(received(1), undefined);
  assert.equal(received(2), 7);
  assert.ok(Number(received(3)) >= 3000);
  for (const one of rows) assert.equal(one["snmp.object.isPartial"], undefined);
  const count = async (fault: string): Promise<number> =>
    (await rig.count("values_malformed_total", { device: "192.0.2.1:161", fault })) ?? 0;
  for (const fault of ["cut", "empty", "width", "length", "tag", "oid"]) assert.ok((await count(fault)) > 0, fault);
  assert.equal(rig.device().state, "up");
});

test("instances that the agent says are not there, amid a column, are passed over", async (t) => {
  const rig = await startOdd(
    t,
    {},
    { table: withValues({ [`${ifEntry}.2.3`]: { type: "noSuchInstance", value: null } }) },
  );
  const rows = await allRows(rig);
  const named = rows.filter((row) => Object.values(row).some((value) => /^port \d+$/.test(String(value))));
  assert.equal(named.length, indexes.length - 1);
});

test("max_repetitions: 1 asks by GetNext alone", async (t) => {
  const rig = await startOdd(t, { bulk: "silent" }, {}, `${patientDevice}  max_repetitions: 1\n`);
  await allRows(rig);
  assert.equal(rig.device().counts["timeouts"], 0);
});

for (const disowns of ["unknownUserNames", "silently"] as const) {
  test(`a device of version 3 whose engine is another one, and which answers the old one ${disowns}, is polled again`, async (t) => {
    const device =
      "r1:\n  ip: 192.0.2.1\n  version: 3\n  v3_credentials: [{username: operator, authentication_protocol: sha256, " +
      "authentication_passphrase: maplesyrup, privacy_protocol: aes, privacy_passphrase: buckwheat}]\n" +
      "  device_groups: [auto]\n  timeout: 200\n  retries: 0\n  poll_interval: 1\n  poll_intervals: {dynamic: 1, stable: 1}\n";
    const rig = await startOdd(t, {}, { users: [usmUser] }, device);
    await rig.polled();
    rig.agent.swap();
    rig.agent.faults.disowns = disowns;
    rig.records.length = 0;
    await until(
      "polls of the new engine",
      () => rig.of("IF-MIB::ifTable").length > 0 && rig.device().state === "up",
      30_000,
    );
  });
}

for (const [status, index] of [
  ["genErr", 0],
  ["genErr", 20],
  ["genErr", 99],
  ["tooBig", 0],
] as const) {
  test(`one OID of many that is answered with ${status} and index ${index}: the others are read, and as many are asked at once as before`, async () => {
    const { open, agent, client } = createSessionFixture({ table, maxMessageSize: 8000 });
    const oids = table.rows.slice(0, 40).map(({ oid }) => oid);
    const bad = oids[19] as Oid;
    agent.faults.liesAbout = (response, request) => {
      const at = request.varbinds.findIndex(({ oid }) => formatOid(oid) === formatOid(bad));
      if (at < 0) return response;
      return { ...response, errorStatus: errorStatus[status], errorIndex: index === 20 ? at + 1 : index };
    };
    const session = open();
    const answers = new Map<number, VarBind | number>();
    await askEach(
      session,
      oids,
      { type: "get", maxOids: 64 },
      (position, answer) => void answers.set(position, answer),
    );
    assert.equal(answers.size, 40);
    const failed = [...answers].filter(([, answer]) => typeof answer === "number");
    assert.deepEqual(failed, [[19, errorStatus[status]]]);
    assert.ok(agent.requests <= 14, `${agent.requests} requests`);
    assert.equal(session.limits.oids(64), 64);
    client.close();
  });
}

test("an agent that lost long requests by chance is asked for as many OIDs again before long, however often that happens", () => {
  const limits = new AgentLimits();
  limits.onAnswer(3);
  const answersUntilWide = (): number => {
    // The first time it may be the agent that is silent.
    limits.narrow(limits.onSilence(64) ?? limits.onSilence(64) ?? assert.fail("nothing is tried"));
    assert.equal(limits.oids(64), 8);
    let answers = 0;
    for (; limits.oids(64) < 64; answers++) limits.onAnswer(limits.oids(64));
    limits.onAnswer(64);
    return answers;
  };
  for (let i = 0; i < 5; i++) assert.ok(answersUntilWide() <= 1500);
});

test("an agent that takes few OIDs is tried with more ever more seldom", () => {
  const limits = new AgentLimits();
  limits.onAnswer(3);
  let silences = 0;
  for (let i = 0; i < 20_000; i++) {
    const asked = limits.oids(64);
    if (asked <= 8) {
      limits.onAnswer(asked);
      continue;
    }
    silences++;
    limits.narrow(limits.onSilence(asked) ?? assert.fail("it is silent"));
  }
  assert.ok(silences > 3 && silences < 10, `${silences} in vain`);
});

test("an agent without GetBulk in the place of one that has it is read from the second walk on", async () => {
  const { open, agent, client } = createSessionFixture({ table });
  const session = open({ timeout: 20, retries: 0 });
  const roots = Object.keys(columns).map(oidOf);
  assert.equal((await walk(session, roots, () => {})).isComplete, true);
  makeOdd(agent, { bulk: "silent" });
  assert.equal((await walk(session, roots, () => {})).isComplete, false);
  assert.equal((await walk(session, roots, () => {})).isComplete, true);
  client.close();
});
