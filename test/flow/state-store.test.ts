import assert from "node:assert/strict";
import { test } from "node:test";
import { createStateFiles } from "../../src/app/parts/flow-parts.ts";
import { StateStore, type ExporterState } from "../../src/flow/index.ts";
import { createMetrics, silentLog, systemClock, type Metrics } from "../../src/base/report/index.ts";
import type { FileIo } from "../../src/base/file/index.ts";
import { faultFileIo } from "../support/fault-file-io.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { until } from "../support/until.ts";

interface Running {
  readonly store: StateStore;
  readonly metrics: Metrics;
  readonly value: (name: string, labels?: Record<string, string>) => Promise<number>;
}

let runs = 0;
function createStore(io: FileIo, options: { maxFileBytes?: number; clock?: typeof systemClock } = {}): Running {
  const metrics = createMetrics();
  const files = createStateFiles("/memory", io, `run${++runs}`, async () => {});
  const { clock = systemClock, maxFileBytes } = options;
  const store = new StateStore(files, { log: silentLog, metrics, clock }, maxFileBytes);
  return {
    store,
    metrics,
    value: async (name, labels = {}) => (await metrics.value(`netgloss_flow_state_${name}`, labels)) ?? 0,
  };
}

const state = (address: string, lastSeen = 1000): ExporterState => ({
  address,
  firstSeen: 1,
  lastSeen,
  templates: [
    {
      protocol: "netflow9",
      domain: 1,
      port: null,
      isOptions: false,
      raw: Buffer.from("0100000100010004", "hex"),
      definedAt: 5,
    },
  ],
  options: [],
});
const change = (...changed: ExporterState[]) => ({ changed, forgotten: [] as string[] });

async function loadAll(io: FileIo): Promise<{ addresses: string[]; running: Running }> {
  const running = createStore(io);
  await running.store.start();
  const addresses = (await running.store.load()).map(({ address }) => address).toSorted();
  return { addresses, running };
}

async function written(io: MemoryFileIo, ...addresses: string[]): Promise<MemoryFileIo> {
  const { store } = createStore(io);
  await store.start();
  await store.load();
  store.put(change(...addresses.map((address) => state(address))));
  await store.stop();
  return io;
}

test("what was put is there for the next run; a change is on the disk without a stop, and survives a loss of power", async () => {
  const io = memoryFileIo();
  const { store, value } = createStore(io);
  await store.start();
  assert.deepEqual(await store.load(), []);
  const all = ["192.0.2.1", "192.0.2.2", "2001:db8::1"];
  store.put(change(...all.map((address) => state(address))));
  await until("the files are written", async () => (await value("writes_total")) >= 2);
  await until("all of them", async () => (await loadAll(io.afterPowerLoss("synced"))).addresses.length === 3);
  assert.deepEqual((await loadAll(io.afterPowerLoss("latest"))).addresses, all);
  assert.equal(await value("exporters"), 3);
  await store.stop();
  const [first] = await (async () => {
    const again = createStore(io);
    await again.store.start();
    return again.store.load();
  })();
  assert.deepEqual(first?.templates[0]?.raw, Buffer.from("0100000100010004", "hex"));
});

test("a state that another one replaces before it is written costs nothing", async () => {
  const io = memoryFileIo();
  const { store } = createStore(io);
  await store.start();
  let read = 0;
  const counted = (lastSeen: number): ExporterState => {
    const { templates, ...rest } = state("192.0.2.1", lastSeen);
    return {
      ...rest,
      get templates() {
        read++;
        return templates;
      },
    };
  };
  for (let i = 0; i < 100; i++) store.put(change(counted(i)));
  assert.equal(read, 0);
  await store.stop();
  const { running } = await loadAll(io);
  assert.deepEqual(
    (await running.store.load()).map(({ lastSeen }) => lastSeen),
    [99],
  );
});

test("an exporter that is forgotten leaves the files; one that did not come again in this run stays", async () => {
  const io = await written(memoryFileIo(), "192.0.2.1", "192.0.2.2");
  const { running } = await loadAll(io);
  running.store.put({ changed: [state("192.0.2.3")], forgotten: ["192.0.2.1", "203.0.113.1"] });
  await running.store.stop();
  assert.deepEqual((await loadAll(io)).addresses, ["192.0.2.2", "192.0.2.3"]);
});

test("what was put since is known, too, to a decoder that starts in between; the files are read once", async () => {
  const io = await written(memoryFileIo(), "192.0.2.1", "192.0.2.2");
  const { addresses, running } = await loadAll(io);
  assert.deepEqual(addresses, ["192.0.2.1", "192.0.2.2"]);
  running.store.put({ changed: [state("192.0.2.1", 5000), state("192.0.2.3")], forgotten: ["192.0.2.2"] });
  const known = new Map((await running.store.load()).map(({ address, lastSeen }) => [address, lastSeen]));
  assert.deepEqual(
    known,
    new Map([
      ["192.0.2.1", 5000],
      ["192.0.2.3", 1000],
    ]),
  );
  await running.store.stop();
  assert.deepEqual((await loadAll(io)).addresses, ["192.0.2.1", "192.0.2.3"]);
});

test("a file that is torn, foreign or newer is set aside, reported by reason, and costs the others nothing", async () => {
  const io = await written(memoryFileIo(), "192.0.2.1", "192.0.2.2", "192.0.2.3");
  const [torn = "", newer = "", ...rest] = io.names();
  assert.equal(rest.length, 1);
  io.put(`/memory/${torn}`, io.text(`/memory/${torn}`)?.slice(0, -5) ?? "");
  io.put(`/memory/${newer}`, (io.text(`/memory/${newer}`) ?? "").replace("exporters 1", "exporters 9"));
  io.put("/memory/exporters-3f.state", "PK\u0003\u0004");
  io.put("/memory/notes.txt", "of a person");
  const { addresses, running } = await loadAll(io);
  assert.equal(addresses.length, 1);
  for (const reason of ["torn", "newer", "foreign"]) assert.equal(await running.value("ignored_total", { reason }), 1);
  assert.ok(io.names().includes(`${newer}.ignored`), "a newer program finds it again");
  assert.equal(io.text("/memory/notes.txt"), "of a person");
  running.store.put(change(state("192.0.2.1"), state("192.0.2.2"), state("192.0.2.3")));
  await running.store.stop();
  assert.equal((await loadAll(io)).addresses.length, 3);
});

test("what a save that was cut off left behind is removed", async () => {
  const io = await written(memoryFileIo(), "192.0.2.1");
  const [name = ""] = io.names();
  io.put(`/memory/.${name}.abc-1.tmp`, "half");
  assert.deepEqual((await loadAll(io)).addresses, ["192.0.2.1"]);
  assert.deepEqual(io.names(), [name]);
});

test("whatever call of the operating system fails, nothing throws, the old or the new is found, and it is counted", async () => {
  const calls = async (io: ReturnType<typeof faultFileIo>): Promise<Running> => {
    const running = createStore(io);
    await running.store.start();
    await running.store.load();
    running.store.put(change(state("192.0.2.1", 2000)));
    await running.store.stop();
    return running;
  };
  const counted = faultFileIo(await written(memoryFileIo(), "192.0.2.1"));
  counted.arm(undefined);
  await calls(counted);
  const { length } = counted.calls();
  assert.ok(length > 8, `${length} calls`);
  for (const kind of ["before", "after", "short"] as const) {
    for (let call = 1; call <= length; call++) {
      const memory = await written(memoryFileIo(), "192.0.2.1");
      const io = faultFileIo(memory);
      io.arm({ call, kind, code: "EIO" });
      const { value } = await calls(io);
      for (const which of ["synced", "latest"] as const) {
        const { addresses } = await loadAll(memory.afterPowerLoss(which));
        assert.deepEqual(addresses, ["192.0.2.1"], `${kind} ${call}: ${io.calls()[call - 1]}`);
      }
      const failures = ["open", "load", "save"].map((operation) => value("failures_total", { operation }));
      const sum = (await Promise.all(failures)).reduce((a, b) => a + b, 0);
      assert.ok(sum === 1 || (await value("writes_total")) === 1, `${kind} ${call}: neither written nor counted`);
    }
  }
});

test("a save that failed is tried again, without a new change", async () => {
  const io = faultFileIo(memoryFileIo());
  let now = 0;
  const { store, value } = createStore(io, { clock: { now: () => now, monotonic: () => now } });
  await store.start();
  await store.load();
  io.arm({ call: 1, kind: "before", code: "ENOSPC" });
  store.put(change(state("192.0.2.1")));
  await until("the failure", async () => (await value("failures_total", { operation: "save" })) === 1);
  now += 60_000;
  await store.stop();
  assert.equal(await value("writes_total"), 1);
});

test("a file is cut to its bound: those silent for longest are left out, and counted", async () => {
  const io = memoryFileIo();
  const { store, value } = createStore(io, { maxFileBytes: 700 });
  await store.start();
  await store.load();
  const many = Array.from({ length: 300 }, (_, i) => state(`192.0.2.${i % 256}`, i));
  store.put(change(...many));
  await store.stop();
  for (const name of io.names()) assert.ok((io.text(`/memory/${name}`)?.length ?? 0) <= 700);
  assert.ok((await value("left_out_total")) > 0);
  const { addresses } = await loadAll(io);
  assert.ok(addresses.length > 0 && addresses.length < 256);
});

test("many changes of one exporter are few writes", async () => {
  const io = memoryFileIo();
  let now = 0;
  const { store, value } = createStore(io, { clock: { now: () => now, monotonic: () => now } });
  await store.start();
  await store.load();
  for (let i = 0; i < 50; i++) {
    store.put(change(state("192.0.2.1", i)));
    now += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until("a write", async () => (await value("writes_total")) === 1);
  await store.stop();
  assert.ok((await value("writes_total")) <= 2);
});
