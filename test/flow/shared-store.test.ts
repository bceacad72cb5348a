import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedStore, type ExporterState, type SharedStateTable } from "../../src/flow/index.ts";
import { createMetrics, silentLog, type Clock, type Metrics } from "../../src/base/report/index.ts";
import { createMemoryExporterTables, type MemoryExporterTables } from "../support/memory-exporter-table.ts";

interface Rig {
  readonly tables: MemoryExporterTables;
  time: number;
  open(
    member: string,
    options?: {
      readonly table?: SharedStateTable;
      readonly clock?: Clock;
      readonly limits?: ConstructorParameters<typeof SharedStore>[4];
    },
  ): SharedStore & {
    readonly metrics: Metrics;
    value(name: string, labels?: Record<string, string>): Promise<number>;
  };
  /** Lets time pass; what is due runs. */
  pass(ms: number): Promise<void>;
}

const began = 1_700_000_000_000;

function createRig(): Rig {
  const rigClock: Clock = { now: () => rig.time, monotonic: () => rig.time };
  let actions: { at: number; run: () => void }[] = [];
  const rig: Rig = {
    time: began,
    tables: createMemoryExporterTables(() => rig.time),
    open(member, { table = rig.tables.table(member), clock = rigClock, limits } = {}) {
      const metrics = createMetrics();
      const after = (run: () => void, ms: number): (() => void) => {
        const action = { at: rig.time + ms, run };
        actions.push(action);
        return () => void (actions = actions.filter((one) => one !== action));
      };
      const reporting = { log: silentLog, metrics, clock };
      const store = new SharedStore(table, reporting, after, () => 0.5, limits);
      const value = async (name: string, labels = {}): Promise<number> =>
        (await metrics.value(`netgloss_flow_shared_${name}`, labels)) ?? 0;
      return Object.assign(store, { metrics, value });
    },
    async pass(ms) {
      for (const end = rig.time + ms; rig.time < end;) {
        rig.time = Math.min(end, ...actions.map(({ at }) => at));
        const due = actions.filter(({ at }) => at <= rig.time);
        actions = actions.filter(({ at }) => at > rig.time);
        for (const { run } of due) run();
        for (let i = 0; i < 20; i++) await Promise.resolve();
      }
    },
  };
  return rig;
}

const state = (address: string, at: number, more: Partial<ExporterState> = {}): ExporterState => ({
  address,
  firstSeen: at - 1000,
  lastSeen: at,
  templates: [
    {
      protocol: "netflow9",
      domain: 1,
      port: null,
      isOptions: false,
      raw: Buffer.from("0100000100010004", "hex"),
      definedAt: at - 500,
    },
  ],
  options: [],
  domains: [],
  ...more,
});
const change = (...changed: ExporterState[]) => ({ changed, forgotten: [] as string[] });

test("what one collector puts another finds, soon, with the times of its own clock", async () => {
  const rig = createRig();
  const [a, b] = [rig.open("a"), rig.open("b")];
  await a.start();
  // The clock of who writes is an hour behind.
  const behind = 3_600_000;
  const late: Clock = { now: () => rig.time - behind, monotonic: () => rig.time };
  const c = rig.open("c", { clock: late });
  await c.start();
  a.put(change(state("10.0.0.1", rig.time)));
  c.put(change(state("10.0.0.2", rig.time - behind)));
  await rig.pass(500);
  const found = await b.find(["10.0.0.1", "10.0.0.2"]);
  assert.deepEqual(
    found
      .map(({ address, lastSeen, templates: [template] }) => `${address} ${lastSeen} ${template?.definedAt}`)
      .toSorted(),
    [`10.0.0.1 ${began} ${began - 500}`, `10.0.0.2 ${began} ${began - 500}`],
  );
  assert.equal(await a.value("writes_total"), 1);
  assert.equal(await b.value("found_total"), 2);
});

test("many exporters are written in batches that leave the database room; each change of one at most once a second", async () => {
  const rig = createRig();
  const a = rig.open("a");
  await a.start();
  a.put(change(...Array.from({ length: 1000 }, (_, i) => state(`10.0.${i >> 8}.${i & 255}`, rig.time))));
  await rig.pass(1000);
  assert.ok(rig.tables.rows.size >= 300 && rig.tables.rows.size <= 500, `${rig.tables.rows.size}`);
  await rig.pass(3000);
  assert.equal(rig.tables.rows.size, 1000);
  assert.equal(await a.value("unwritten_exporters"), 0);
  const writes = await a.value("writes_total");
  for (let i = 0; i < 50; i++) {
    a.put(change(state("10.0.0.1", rig.time)));
    await rig.pass(100);
  }
  assert.ok((await a.value("writes_total")) - writes <= 6);
});

test("an exporter that is heard stays fresh, a silent one is not found and removed in the end; a lost row is written again", async () => {
  const rig = createRig();
  const a = rig.open("a");
  await a.start();
  a.put(change(state("10.0.0.1", rig.time), state("10.0.0.2", rig.time)));
  await rig.pass(500);
  for (let minute = 0; minute < 40; minute++) {
    if (minute === 20) rig.tables.rows.delete("10.0.0.1 10.0.0.1 a");
    a.heard([["10.0.0.1", rig.time]]);
    await rig.pass(60_000);
  }
  const senders = ["10.0.0.1", "10.0.0.2"];
  assert.deepEqual(
    (await a.find(senders)).map(({ address }) => address),
    ["10.0.0.1"],
  );
  for (let minute = 0; minute < 60; minute++) {
    a.heard([["10.0.0.1", rig.time]]);
    await rig.pass(60_000);
  }
  assert.deepEqual([...rig.tables.rows.keys()], ["10.0.0.1 10.0.0.1 a"]);
  assert.equal(await a.value("pruned_total"), 1);
});

test("what an earlier run knew is written when the exporter is heard, not before", async () => {
  const rig = createRig();
  const a = rig.open("a");
  await a.start();
  a.put(change(state("10.0.0.1", rig.time - 86_400_000)));
  await rig.pass(2000);
  assert.equal(rig.tables.rows.size, 0);
  a.heard([["10.0.0.1", rig.time]]);
  await rig.pass(500);
  assert.equal(rig.tables.rows.size, 1);
});

test("a forgotten exporter is removed", async () => {
  const rig = createRig();
  const a = rig.open("a");
  await a.start();
  a.put(change(state("10.0.0.1", rig.time), state("10.0.0.3", rig.time, { relay: "10.0.0.1" })));
  await rig.pass(500);
  assert.equal(rig.tables.rows.size, 2);
  a.put({ changed: [], forgotten: ["10.0.0.1", "10.0.0.3 10.0.0.1"] });
  await rig.pass(500);
  assert.equal(rig.tables.rows.size, 0);
});

test("the database away: asking fails at once, what is new is written when it is back, and it is counted", async () => {
  const rig = createRig();
  const a = rig.open("a");
  await a.start();
  a.put(change(state("10.0.0.1", rig.time)));
  await rig.pass(500);
  rig.tables.isAway = true;
  a.put(change(state("10.0.0.2", rig.time)));
  await assert.rejects(a.find(["10.0.0.1"]), /does not answer/);
  await rig.pass(20_000);
  assert.equal(await a.value("failures_total", { operation: "find" }), 1);
  assert.equal(await a.value("unwritten_exporters"), 1);
  // Another server, that lacks the last rows.
  rig.tables.rows.clear();
  rig.tables.comeBack();
  await rig.pass(1000);
  assert.deepEqual([...rig.tables.rows.keys()].toSorted(), ["10.0.0.1 10.0.0.1 a", "10.0.0.2 10.0.0.2 a"]);
});

test("calls that fail one by one are made again", async () => {
  const rig = createRig();
  const a = rig.open("a");
  await a.start();
  const table = rig.tables.table("a");
  let failures = 0;
  const b = rig.open("b", {
    table: {
      ...table,
      write: (rows) => (failures++ < 2 ? Promise.reject(new Error("no")) : table.write(rows)),
    },
  });
  await b.start();
  b.put(change(state("10.0.0.1", rig.time)));
  await rig.pass(20_000);
  assert.equal(rig.tables.rows.size, 1);
  assert.equal(await b.value("failures_total", { operation: "write" }), 2);
});

test("what is too large goes without its names, or not at all, and is counted; what cannot be read is ignored", async () => {
  const rig = createRig();
  const a = rig.open("a", { limits: { rowBytes: 2000 } });
  await a.start();
  const apps = Array.from({ length: 200 }, (_, i) => [`1:${i}`, "application"] as const);
  const names = { netifs: [], apps, vrfs: [], rds: [], domainName: null };
  const sampling = { samplers: [], netifs: [], domainRate: 10 };
  const options = [{ protocol: "netflow9", domain: 1, bootTime: null, sampling, names }] as const;
  const [template] = state("10.0.0.1", rig.time).templates;
  const templates = Array.from({ length: 100 }, () => template as NonNullable<typeof template>);
  a.put(change(state("10.0.0.1", rig.time, { options }), state("10.0.0.2", rig.time, { templates })));
  await rig.pass(500);
  const [found, ...more] = await a.find(["10.0.0.1", "10.0.0.2"]);
  assert.deepEqual([more, found?.options[0]?.names.apps, found?.options[0]?.sampling.domainRate], [[], [], 10]);
  assert.equal(await a.value("left_out_total"), 1);
  for (const [key, row] of rig.tables.rows) rig.tables.rows.set(key, { ...row, text: `${row.text}}` });
  assert.deepEqual(await a.find(["10.0.0.1"]), []);
  assert.equal(await a.value("ignored_total"), 1);
});

test("when all ends what is new is written", async () => {
  const rig = createRig();
  const a = rig.open("a");
  await a.start();
  a.put(change(state("10.0.0.1", rig.time)));
  await a.stop();
  assert.equal(rig.tables.rows.size, 1);
  const { calls } = rig.tables;
  const before = { ...calls };
  await rig.pass(3_600_000);
  assert.deepEqual(calls, before);
});
