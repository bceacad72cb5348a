// What is kept of the changes of a store: after restarts, power cuts and faults of the disk it agrees with the file.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { parseKey } from "../../src/base/ip/index.ts";
import type { UdmChange, UdmEntry, CollectorUdmStore, UdmWrite } from "../../src/metadata/index.ts";
import { faultFileIo, type FaultKind } from "../support/fault-file-io.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { runs } from "../support/runs.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { memoryPath, storeOn, type StoreFixture } from "../support/udm-store-fixture.ts";

const stateDirectory = "/memory";
const all = { limit: 1000 };

async function started(io: MemoryFileIo, options: Parameters<typeof storeOn>[1] = {}): Promise<StoreFixture> {
  const fixture = storeOn(io, { stateDirectory, ...options });
  await fixture.store.start();
  return fixture;
}

const named = (op: "create" | "update", key: string, name: string): UdmWrite => ({
  op,
  key: parseKey(key),
  values: udmEntry("::", { name }),
});
const put = (store: CollectorUdmStore, key: string, name: string): UdmWrite =>
  named(store.current().get(parseKey(key)) === undefined ? "create" : "update", key, name);

const shown = (changes: readonly UdmChange[]): unknown[] =>
  changes.map(({ number, author, method, changes: entries }) => [
    number,
    author,
    method,
    ...entries.map(
      ({ before, after }) => `${(after ?? before)?.key.text} ${before?.name ?? "-"} > ${after?.name ?? "-"}`,
    ),
  ]);

suite("what is kept", { concurrency: true }, () => {
  test("each commit has a number, its author, its method, and its entries before and after", async () => {
    const { store, metrics } = await started(memoryFileIo(), { clock: { now: () => 5000, monotonic: () => 0 } });
    assert.deepEqual([store.history.first(), store.history.last()], [1, 0]);
    const first = await store.submit([named("create", "10.0.0.1", "a"), named("create", "10.0.0.2", "b")], {
      user: "ann",
      author: "cli",
      method: "BatchCreateUdms",
    });
    assert.equal(first.change, 1);
    await store.submit([named("update", "10.0.0.1", "c")], { author: "cli", method: "UpdateUdm" });
    assert.equal((await store.submit([named("update", "10.0.0.1", "c")])).change, undefined, "nothing changed");
    await store.commit([{ op: "delete", key: parseKey("10.0.0.2") }]);
    assert.deepEqual(shown(await store.history.list(all)), [
      [3, "", "delete", "10.0.0.2 b > -"],
      [2, "cli", "UpdateUdm", "10.0.0.1 a > c"],
      [1, "ann", "BatchCreateUdms", "10.0.0.1 - > a", "10.0.0.2 - > b"],
    ]);
    assert.deepEqual((await store.history.lastOf([parseKey("10.0.0.1")]))[0], {
      number: 2,
      time: 5000,
      author: "cli",
      method: "UpdateUdm",
      entries: 1,
    });
    assert.equal((await store.history.lastOf([parseKey("10.0.0.3")]))[0], undefined);
    assert.equal(await metrics.value("netgloss_udm_history_changes_total"), 3);
    await store.stop();
  });

  test("others get turns while a big change is noted", async () => {
    const { store } = await started(memoryFileIo());
    const keys = Array.from({ length: 12_000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
    let turns = 0;
    let turnsOfKeeping = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    count();
    let turnsWhenCurrent = 0;
    store.watch(() => (turnsWhenCurrent = turns));
    store.history.watch(() => (turnsOfKeeping = turns - turnsWhenCurrent));
    await store.commit(keys.map((key) => named("create", key, "n")));
    isOver = true;
    assert.ok(turnsOfKeeping >= 2, `${turnsOfKeeping} turns`);
    const lasts = await store.history.lastOf(keys.map((key) => parseKey(key)));
    assert.ok(lasts.every((last) => last?.number === 1));
    await store.stop();
  });

  test("is found by key, author and number", async () => {
    const { store } = await started(memoryFileIo());
    for (let i = 0; i < 10; i++) {
      await store.commit([put(store, `10.0.0.${i % 3}`, `n${i}`)], { user: i % 2 === 0 ? "even" : "odd" });
    }
    const numbers = async (query: object): Promise<number[]> =>
      (await store.history.list({ ...all, ...query })).map(({ number }) => number);
    assert.deepEqual(await numbers({ key: parseKey("10.0.0.1") }), [8, 5, 2]);
    assert.deepEqual(await numbers({ author: "odd", after: 3 }), [10, 8, 6, 4]);
    assert.deepEqual(await numbers({ before: 4, limit: 2 }), [3, 2]);
    assert.equal((await store.history.get(4))?.number, 4);
    assert.equal(await store.history.get(11), undefined);
    await store.stop();
  });

  test("whatever entries hold, and what the file alone knows of them", async () => {
    const io = memoryFileIo();
    io.put(memoryPath, "10.0.0.1:\n  name: a\n  contexts: [exporter]\n  owner: x\n");
    const { store } = await started(io);
    const odd = udmEntry("10.0.0.2", {
      name: 'a\\"{"key":"10.0.0.9"',
      tags: ["b", "a", "b"],
      vlan: 2n ** 64n - 1n,
      metadata: { "2": "x", "1": "日本", __proto__x: "1" },
    });
    await store.commit([{ op: "create", key: odd.key, values: odd }, named("update", "10.0.0.1", "b")]);
    await store.stop();
    const again = await started(io);
    const [change] = await again.store.history.list(all);
    const find = (key: string): unknown => again.store.current().get(parseKey(key));
    assert.deepEqual(change?.changes[0]?.after, find("10.0.0.2"));
    assert.deepEqual(change?.changes[1]?.after, find("10.0.0.1"));
    assert.deepEqual(change?.changes[1]?.before?.fileOnly?.contexts, ["exporter"]);
    assert.equal((await again.store.history.lastOf([parseKey("10.0.0.9")]))[0], undefined);
    await again.store.stop();
  });

  test("is bounded: the oldest go first, and one that is too big loses its entries", async () => {
    const io = memoryFileIo();
    const { store } = await started(io, { historyBytes: 32_000 });
    for (let i = 1; i <= 200; i++) await store.commit([put(store, "10.0.0.1", `name ${i} ${"x".repeat(100)}`)]);
    const { history } = store;
    assert.equal(history.last(), 200);
    assert.ok(history.first() > 100 && history.first() < 170, String(history.first()));
    const left = await history.list(all);
    assert.equal(left.length, 201 - history.first());
    assert.ok(historySize(io) <= 36_000);
    const many = Array.from({ length: 200 }, (_, i) => named("create", `10.1.0.${i}`, "y".repeat(100)));
    await store.commit(many);
    const big = await history.get(201);
    assert.deepEqual([big?.isCut, big?.entries, big?.changes], [true, 200, []]);
    await store.stop();
    const again = await started(io, { historyBytes: 32_000 });
    assert.equal(again.store.history.last(), 201);
    assert.equal((await again.store.history.lastOf([parseKey("10.0.0.1")]))[0]?.number, 200);
    await again.store.stop();
  });

  test("watchers learn of each change after it is saved", async () => {
    const { store } = await started(memoryFileIo());
    const seen: unknown[] = [];
    const end = store.history.watch((change) => seen.push([change.number, store.current().size]));
    store.history.watch(() => {
      throw new Error("of a watcher");
    });
    await Promise.all([
      store.commit([named("create", "10.0.0.1", "a")]),
      store.commit([named("create", "10.0.0.2", "b")]),
    ]);
    end();
    await store.commit([named("create", "10.0.0.3", "c")]);
    assert.deepEqual(seen, [
      [1, 2],
      [2, 2],
    ]);
    await store.stop();
  });
});

suite("at a start", { concurrency: true }, () => {
  test("what was appended and not saved is no part of it, whichever number it had", async () => {
    const io = memoryFileIo();
    const { store } = await started(io);
    await store.commit([named("create", "10.0.0.1", "a")]);
    const file = io.text(memoryPath) as string;
    await Promise.all([
      store.commit([named("update", "10.0.0.1", "b")]),
      store.commit([named("create", "10.0.0.2", "b")]),
    ]);
    io.put(memoryPath, file);
    // As after a SIGKILL: nothing was closed.
    const again = await started(io.afterPowerLoss("latest"));
    assert.deepEqual(shown(await again.store.history.list(all)), [[1, "", "create", "10.0.0.1 - > a"]]);
    assert.equal((await again.store.submit([named("create", "10.0.0.3", "c")])).change, 2);
    assert.equal((await again.store.history.lastOf([parseKey("10.0.0.2")]))[0], undefined);
    await again.store.stop();
    await store.stop();
  });

  test("a torn end is cut, and a line that was damaged is left out", async () => {
    for (const damage of ["cut", "flip", "garbage"] as const) {
      const io = memoryFileIo();
      const { store } = await started(io);
      for (let i = 1; i <= 4; i++) await store.commit([put(store, "10.0.0.1", `n${i}`)]);
      const [path = ""] = historyPaths(io);
      const text = io.text(path) as string;
      const lines = text.split("\n");
      if (damage === "cut") io.put(path, text.slice(0, -5));
      else if (damage === "flip")
        io.put(path, [...lines.slice(0, 2), lines[2]?.replace("n2", "x2"), ...lines.slice(3)].join("\n"));
      else io.put(path, Buffer.concat([Buffer.from(text), Buffer.alloc(500)]));
      const again = await started(io.afterPowerLoss("latest"));
      await store.stop();
      const numbers = (await again.store.history.list(all)).map(({ number }) => number);
      const expected = { cut: [4, 3, 2, 1], flip: [4, 3, 1], garbage: [4, 3, 2, 1] }[damage];
      assert.deepEqual(numbers, expected, damage);
      // The last change is in the file, so that the history has it as an edit when its line is gone.
      assert.equal((await again.store.history.get(4))?.author, damage === "cut" ? "file" : "");
      assert.equal(await again.metrics.value("netgloss_udm_history_failures_total", { step: "torn" }), 1);
      assert.equal((await again.store.submit([put(again.store, "10.0.0.1", "new")])).change, 5);
      await again.store.stop();
    }
  });

  test("the numbering has a name, which is another one when numbers may be given again", async () => {
    const io = memoryFileIo();
    const { store } = await started(io, { historyBytes: 8000 });
    const epoch = store.history.epoch();
    assert.match(epoch, /^[0-9a-f]{32}$/);
    // So many that the oldest files go.
    for (let i = 0; i < 100; i++) await store.commit([put(store, "10.0.0.1", `${i}${"n".repeat(100)}`)]);
    assert.ok(store.history.first() > 1);
    await store.stop();
    const again = await started(io.afterPowerLoss("latest"), { historyBytes: 8000 });
    assert.equal(again.store.history.epoch(), epoch);
    await again.store.stop();
    const torn = io.afterPowerLoss("latest");
    const path = historyPaths(torn).at(-1) as string;
    torn.put(path, (torn.text(path) as string).slice(0, -5));
    const lost = io.afterPowerLoss("latest");
    for (const one of historyPaths(lost)) await lost.unlink(one);
    for (const disk of [torn, lost]) {
      const after = await started(disk, { historyBytes: 8000 });
      assert.notEqual(after.store.history.epoch(), epoch);
      await after.store.stop();
    }
  });

  test("an edit by hand is a change whose author is `file`", async () => {
    const io = memoryFileIo();
    const { store } = await started(io);
    await store.commit([named("create", "10.0.0.1", "a"), named("create", "10.0.0.2", "b")]);
    await store.stop();
    io.put(memoryPath, "10.0.0.1:\n  name: by hand\n");
    const again = await started(io);
    const [edit] = shown(await again.store.history.list(all)) as unknown[][];
    assert.deepEqual(edit, [2, "file", "EditFile", "10.0.0.1 a > by hand", "10.0.0.2 b > -"]);
    assert.equal(await again.metrics.value("netgloss_udm_history_edits_total"), 1);
    await again.store.stop();
  });

  test("an edit by hand is noted with all of its entries, those that no change was about included, however the collector ended", async () => {
    for (const ending of ["stop", "kill"] as const) {
      const io = memoryFileIo();
      io.put(memoryPath, "10.0.0.1: {name: a}\n10.0.0.2: {name: b}\n10.0.0.3: {name: c}\n10.0.0.4: {name: d}\n");
      const { store } = await started(io);
      await store.commit([put(store, "10.0.0.4", "changed")]);
      await store.stop();
      const second = await started(io);
      assert.equal(second.store.history.last(), 1, "what nobody touched is no edit");
      await second.store.commit([put(second.store, "10.0.0.3", "later")]);
      if (ending === "stop") await second.store.stop();
      const disk = io.afterPowerLoss("latest");
      const text = (disk.text(memoryPath) as string)
        .replace("name: a", "name: by hand")
        .replace(/10\.0\.0\.2:\n.*\n/, "");
      disk.put(memoryPath, `${text}10.0.0.5:\n  name: new\n`);
      const { store: again, metrics } = await started(disk);
      assert.deepEqual(shown([(await again.history.get(3)) as UdmChange]), [
        [3, "file", "EditFile", "10.0.0.1 a > by hand", "10.0.0.2 b > -", "10.0.0.5 - > new"],
      ]);
      assert.equal(await metrics.value("netgloss_udm_history_edits_total"), 1);
      await again.stop();
      const last = await started(disk.afterPowerLoss("latest"));
      assert.equal(last.store.history.last(), 3, "and is noted once");
      await last.store.stop();
      if (ending === "kill") await second.store.stop();
    }
  });

  test("without files that can be read there is no history, and writes go on", async () => {
    const io = memoryFileIo();
    const broken = { ...io, list: async () => Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" })) };
    const { store, health, metrics } = storeOn(broken, { stateDirectory });
    await store.start();
    assert.equal((await store.submit([named("create", "10.0.0.1", "a")])).change, undefined);
    assert.equal(health.isDegraded(), true);
    assert.equal(await metrics.value("netgloss_udm_history_failures_total", { step: "open" }), 1);
    await store.stop();
  });
});

test("edits by hand all over a long file are found, wherever they are", async () => {
  const keys = Array.from({ length: 6000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
  const fileOf = (names: ReadonlyMap<string, string>): string =>
    [...names].map(([key, name]) => `${key}:\n  name: ${name}\n`).join("");
  const edit = fc.record({
    at: fc.nat(5999),
    length: fc.integer({ min: 1, max: 300 }),
    name: fc.constantFrom("", "b", "cc"),
  });
  const property = fc.asyncProperty(
    fc.array(edit, { maxLength: 8 }),
    fc.array(edit, { maxLength: 8 }),
    async (one, other) => {
      const states = [one, other].map((edits) => {
        const names = new Map(keys.map((key) => [key, "a"]));
        for (const { at, length, name } of edits) {
          for (const key of keys.slice(at, at + length)) {
            if (name === "") names.delete(key);
            else names.set(key, name);
          }
        }
        // Of a key that comes again, the place is another one.
        return new Map(keys.flatMap((key) => (names.has(key) ? [[key, names.get(key) ?? ""] as const] : [])));
      });
      const [before, after] = states as [Map<string, string>, Map<string, string>];
      const io = memoryFileIo();
      io.put(memoryPath, fileOf(before));
      const { store } = await started(io);
      await store.stop();
      io.put(memoryPath, fileOf(after));
      const again = await started(io);
      const [found] = await again.store.history.list(all);
      const differing = keys.filter((key) => before.get(key) !== after.get(key));
      assert.deepEqual(
        (found?.changes ?? []).map(({ before: old, after: now }) => [(now ?? old)?.key.text, old?.name, now?.name]),
        differing.map((key) => [key, before.get(key), after.get(key)]),
      );
      await again.store.stop();
    },
  );
  await fc.assert(property, runs(10));
});

test("any sequence of commits, restarts and edits by hand leaves a history that leads to what the file says", async () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant("write" as const), at: fc.nat(3), name: fc.nat(2) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom("restart" as const, "edit" as const),
        at: fc.nat(3),
        name: fc.nat(2),
      }),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const io = memoryFileIo();
      let { store } = await started(io);
      for (const { kind, at, name } of steps) {
        if (kind !== "write") {
          await store.stop();
          if (kind === "edit") io.put(memoryPath, `10.0.0.${at}:\n  name: e${name}\n`);
          ({ store } = await started(io));
        } else {
          const key = `10.0.0.${at}`;
          const isThere = store.current().get(parseKey(key)) !== undefined;
          await store.commit([
            isThere && name === 0 ? { op: "delete", key: parseKey(key) } : put(store, key, `n${name}`),
          ]);
        }
      }
      const replayed = new Map<string, UdmEntry>();
      for (const change of (await store.history.list(all)).toReversed()) {
        for (const { before, after } of change.changes) {
          if (after !== undefined) replayed.set(after.key.text, after);
          else replayed.delete(before?.key.text ?? "");
        }
      }
      const entries = [...store.current().entries()];
      const lasts = await store.history.lastOf(entries.map(({ key }) => key));
      const known = entries.filter((_, i) => lasts[i] !== undefined);
      assert.deepEqual([...replayed.values()].map(plain).toSorted(), known.map(plain).toSorted());
      await store.stop();
    }),
    runs(8),
  );
});

const plain = ({ key, name }: UdmEntry): string => `${key.text} ${name}`;

suite("faults of the disk", { concurrency: true }, () => {
  /** The calls of a commit that begins a file of the history, and of one that does not. */
  async function callsOf(commits: number): Promise<readonly string[]> {
    const io = faultFileIo(memoryFileIo());
    const { store } = storeOn(io, { stateDirectory });
    await store.start();
    for (let i = 0; i < commits; i++) {
      io.arm(undefined);
      await store.commit([put(store, "10.0.0.1", `n${i}`)]);
    }
    return io.calls();
  }

  for (const kind of ["before", "after", "short"] satisfies FaultKind[]) {
    test(`at each call, ${kind} it: who was answered is in both, who was refused in none`, async () => {
      for (const commits of kind === "after" ? [1] : [1, 2]) {
        for (const [i, name] of (await callsOf(commits)).entries()) {
          if (kind !== "short" || name === "history.write") await runWithFault(commits, i + 1, kind);
        }
      }
    });
  }

  async function runWithFault(commits: number, call: number, kind: FaultKind): Promise<void> {
    const memory = memoryFileIo();
    const io = faultFileIo(memory);
    const { store } = storeOn(io, { stateDirectory });
    await store.start();
    for (let i = 1; i < commits; i++) await store.commit([put(store, "10.0.0.1", `n${i}`)]);
    io.arm({ call, kind, code: "EIO" });
    const isAnswered = await store.commit([put(store, "10.0.0.1", "faulty")]).then(
      () => true,
      () => false,
    );
    const where = `${commits} ${kind} ${io.calls()[call - 1]}`;
    io.arm(undefined);
    const check = async (fixture: CollectorUdmStore, isLast: boolean): Promise<void> => {
      const names = (await fixture.history.list(all)).map(({ changes }) => changes[0]?.after?.name);
      assert.equal(
        names.includes("faulty"),
        fixture.current().get(parseKey("10.0.0.1"))?.name === "faulty" || !isLast,
        where,
      );
    };
    if (isAnswered) assert.equal((await store.history.list(all))[0]?.changes[0]?.after?.name, "faulty", where);
    // As after a power cut: only what was synced is there.
    const cut = storeOn(memory.afterPowerLoss("latest"), { stateDirectory });
    await cut.store.start();
    if (isAnswered) assert.equal(cut.store.current().get(parseKey("10.0.0.1"))?.name, "faulty", where);
    await check(cut.store, true);
    await cut.store.stop();
    await store.commit([put(store, "10.0.0.1", "later")]);
    const numbers = (await store.history.list(all)).map(({ number }) => number);
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => b - a),
      where,
    );
    await store.stop();
    const again = storeOn(memory, { stateDirectory });
    await again.store.start();
    const [last] = await again.store.history.list(all);
    assert.equal(last?.changes[0]?.after?.name, "later", where);
    assert.equal(await again.metrics.value("netgloss_udm_history_failures_total", { step: "torn" }), 0, where);
    await again.store.stop();
  }
});

function historyPaths(io: MemoryFileIo): string[] {
  return io
    .names()
    .filter((name) => /\.history-\d+$/.test(name))
    .map((name) => `/memory/${name}`);
}

function historySize(io: MemoryFileIo): number {
  return historyPaths(io).reduce((sum, path) => sum + Buffer.byteLength(io.text(path) ?? ""), 0);
}
