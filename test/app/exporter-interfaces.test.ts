import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { ExporterInterfaces } from "../../src/app/index.ts";
import { createHealth, createMetrics, silentLog, type Metrics } from "../../src/base/report/index.ts";
import type { Credential, InterfaceChange } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import {
  createFakeNetwork,
  createSnmpAgent,
  gauge,
  integer,
  listen,
  octets,
  oidOf,
} from "../support/snmp-agent/index.ts";
import { smallTable, usmUser } from "../support/snmp-session-fixture.ts";
import { until } from "../support/until.ts";

/** Its second interface says all, its third nothing but its name. */
const described = smallTable.with([
  { oid: oidOf("1.3.6.1.2.1.2.2.1.3.2"), value: integer(6) },
  { oid: oidOf("1.3.6.1.2.1.2.2.1.7.2"), value: integer(2) },
  { oid: oidOf("1.3.6.1.2.1.31.1.1.1.15.2"), value: gauge(100_000) },
  { oid: oidOf("1.3.6.1.2.1.31.1.1.1.18.2"), value: octets("CUST: Example") },
]);

interface Rig {
  readonly part: ExporterInterfaces;
  readonly metrics: Metrics;
  readonly exporters: string[];
  readonly changes: InterfaceChange[];
  readonly polled: (change: InterfaceChange) => void;
  /** Lets time pass, one look at exporters at its end. */
  readonly pass: (ms: number) => Promise<void>;
  readonly results: () => Promise<readonly (number | undefined)[]>;
}

async function start(t: TestContext, credentials: readonly Credential[]): Promise<Rig> {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let now = 0;
  const clock = { now: () => now, monotonic: () => now };
  const network = createFakeNetwork();
  network.attachAgent("192.0.2.1", 161, createSnmpAgent({ table: described, users: [usmUser] }));
  const metrics = createMetrics();
  const exporters: string[] = [];
  const changes: InterfaceChange[] = [];
  let polled: (change: InterfaceChange) => void = () => {};
  const part = new ExporterInterfaces(
    {
      credentials,
      port: 161,
      retries: 0,
      timeoutMs: 50,
      ttlMs: 3_600_000,
      types: async () => new Map([[6, "ethernetCsmacd"]]),
      exporters: async () => exporters.map((address) => ({ address, lastSeen: now })),
      watchPolled(listener) {
        polled = listener;
        return () => {};
      },
    },
    { log: silentLog, metrics, clock, health: createHealth() },
    network.open,
  );
  await part.start();
  cleanUp(t, () => part.stop());
  part.watch((change) => void changes.push(change));
  const result = async (name: string): Promise<number | undefined> => {
    const line = new RegExp(`^netgloss_flow_exporter_names_total\\{result="${name}"\\} (\\d+)$`, "m");
    return Number(line.exec(await metrics.render())?.[1]);
  };
  return {
    part,
    metrics,
    exporters,
    changes,
    polled: (change) => polled(change),
    async pass(ms) {
      now += ms;
      t.mock.timers.tick(5000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
    results: async () => [await result("named"), await result("failed")],
  };
}

const community = (name: string): Credential => ({ version: "2c", community: name });
const interfaces = new Map([
  [1, { name: "lo", bitsPerSecond: 10_000_000 }],
  [2, { name: "eth0", alias: "CUST: Example", type: "ethernetCsmacd", admin: "down", bitsPerSecond: 100_000_000_000 }],
  [7, { name: "eth1" }],
]);

for (const [what, credentials] of [
  ["the second community", [community("hush"), community("public")]],
  ["a user", [usmUser]],
  ["version 1", [{ version: "1", community: "public" }]],
] as const) {
  test(`an exporter is asked with ${what}, once until its names are old, and forgotten with it`, async (t) => {
    const { exporters, changes, pass, results } = await start(t, credentials);
    exporters.push("192.0.2.1");
    await pass(5000);
    const known = { ip: "192.0.2.1", addresses: [], interfaces };
    await until("names", () => changes.length > 0);
    assert.deepEqual(changes, [{ deviceId: "exporter 192.0.2.1", known }]);
    await pass(5000);
    assert.deepEqual(await results(), [1, 0]);
    await pass(3_600_000);
    await until("asked again", async () => (await results())[0] === 2);
    exporters.length = 0;
    await pass(5000);
    await until("forgotten", () => changes.at(-1)?.known === undefined);
  });
}

test("an exporter that does not answer is counted, and asked again after a quarter of an hour", async (t) => {
  const { exporters, changes, pass, results } = await start(t, [community("public")]);
  exporters.push("192.0.2.9");
  await pass(5000);
  await until("it failed", async () => (await results())[1] === 1);
  await pass(60_000);
  assert.deepEqual(await results(), [0, 1]);
  await pass(15 * 60_000);
  await until("it failed again", async () => (await results())[1] === 2);
  assert.deepEqual(changes, []);
});

test("a device that is polled is not asked, and its own names count", async (t) => {
  const { exporters, changes, polled, pass, results } = await start(t, [community("public")]);
  const known = { ip: "192.0.2.1", addresses: [], interfaces: new Map([[1, { name: "polled" }]]) };
  polled({ deviceId: "192.0.2.1:161", known });
  exporters.push("192.0.2.1");
  await pass(5000);
  await pass(5000);
  assert.deepEqual(await results(), [0, 0]);
  assert.deepEqual(changes.at(-1), { deviceId: "192.0.2.1:161", known });
});

for (const pool of ["main", "1"]) {
  test(`flows have the names that their exporter gives by SNMP, threads: ${pool}`, async (t) => {
    const agent = await listen(createSnmpAgent({ table: described }));
    cleanUp(t, () => agent.close());
    const { send } = await startFlowCollector(t, {
      SVC_PROCESSOR_POOL_SIZE: pool,
      EF_PROCESSOR_ENRICH_NETIF_SNMP_ENABLE: "true",
      EF_PROCESSOR_ENRICH_NETIF_SNMP_PORT: String(agent.port),
      EF_PROCESSOR_ENRICH_NETIF_SNMP_VERSION: "2",
      EF_PROCESSOR_ENRICH_NETIF_SNMP_COMMUNITIES: "wrong, public",
      EF_PROCESSOR_ENRICH_NETIF_SNMP_TIMEOUT: "1",
      EF_PROCESSOR_ENRICH_NETIF_SNMP_RETRIES: "0",
    });
    const flow = netflow5([{}]);
    const record = await until("the names", async () => {
      const one = await send(flow);
      return "flow.in.netif.name" in one && one;
    });
    const facts = (way: string): unknown[] =>
      ["name", "alias", "type.name", "speed", "state.admin.name"].map((fact) => record[`flow.${way}.netif.${fact}`]);
    assert.deepEqual(facts("in"), ["lo", undefined, undefined, 10_000_000, undefined]);
    assert.deepEqual(facts("out"), ["eth0", "CUST: Example", "ethernetCsmacd", 100_000_000_000, "down"]);
  });
}
