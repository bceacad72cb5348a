// The store on PostgreSQL keeps the contract that the file keeps.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before as beforeAll, suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import type { Metrics } from "../../src/base/report/index.ts";
import { parseKey } from "../../src/base/ip/index.ts";
import { parseServerAddress } from "../../src/base/postgresql/index.ts";
import {
  parseNameKey,
  SharedIndexReader,
  type CollectorUdmStore,
  type CoveringEntryTexts,
  type UdmLayers,
  type UdmPostgresqlStore,
  type UdmPostgresqlStoreOptions,
  type UdmWrite,
} from "../../src/metadata/index.ts";
import { startSources } from "../metadata/sources/source-rig.ts";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { startDatabase, storeOnDatabase, withoutScopes, type TestDatabase } from "../support/postgresql.ts";
import { runs } from "../support/runs.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { udmStoreContract, type OpenStore } from "../support/udm-store-contract.ts";

const all = allTests();
type DatabaseScopes = NonNullable<UdmPostgresqlStore["databaseScopes"]>;
let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase(all);
});

udmStoreContract("PostgreSQL store", async () => {
  await database.reset();
  return open();
});

udmStoreContract("PostgreSQL store, in a scope", async () => {
  await database.reset();
  return openScope();
});

async function open(): Promise<OpenStore> {
  const { store } = storeOnDatabase(database.url);
  await store.start();
  return {
    store,
    async reopen() {
      await store.stop();
      return open();
    },
    close: () => store.stop(),
  };
}

/** A scope, with entries of the same keys in another one and in none. */
async function openScope(): Promise<OpenStore> {
  const { store, scopes } = await startedScopes();
  for (const name of ["acme", "beta"]) await scopes.set({ name, match: [], inherit: true }, "", {});
  const others = [store, scopes.store("beta") as CollectorUdmStore];
  for (const other of others) {
    if (other.current().size === 0) await other.commit([{ op: "create", key: parseKey("10.0.0.1"), values: other1 }]);
  }
  const name = (): readonly (string | undefined)[] =>
    others.map((other) => other.current().get(parseKey("10.0.0.1"))?.name);
  return {
    store: scopes.store("acme") as CollectorUdmStore,
    async reopen() {
      await store.stop();
      return openScope();
    },
    async close() {
      assert.deepEqual(name(), ["other", "other"], "a write in a scope changes nothing elsewhere");
      await store.stop();
    },
  };
}

const other1 = udmEntry("::", { name: "other" });

async function startedScopes(options: Partial<UdmPostgresqlStoreOptions> = {}): Promise<{
  readonly store: UdmPostgresqlStore;
  readonly scopes: DatabaseScopes;
  readonly metrics: Metrics;
}> {
  const { store, metrics } = storeOnDatabase(database.url, { hasScopes: true, ...options });
  await store.start();
  return { store, metrics, scopes: store.databaseScopes as DatabaseScopes };
}

const created = (key: string, name: string): UdmWrite => ({
  op: "create",
  key: parseKey(key),
  values: udmEntry("::", { name }),
});
/** What two collectors must have alike: definitions in their order, entries, and numbers of changes. */
const allOf = (store: CollectorUdmStore, scopes: DatabaseScopes): unknown => [
  scopes.list(),
  scopes.list().map(({ name }) => {
    const of = scopes.store(name) as CollectorUdmStore;
    return [name, of.history.last(), [...of.current().entries()]];
  }),
  [store.history.last(), [...store.current().entries()]],
];
/** What look-ups of other threads see at an address in a scope. */
function namesAt(store: CollectorUdmStore, address: string, scope: string): readonly string[] {
  const reader = new SharedIndexReader(store.readerHandle());
  const number = reader.scopes().scopes.find(({ name }) => name === scope)?.number ?? 0;
  const words = Int32Array.of(0, 0, 0xffff, Number(parseKey(address).first));
  const namesOf = (read: (i: number) => CoveringEntryTexts): string[] => {
    const { bytes, starts, ends, count } = read(0);
    const texts = Array.from({ length: count }, (_, i) => Buffer.from(bytes.subarray(starts[i], ends[i])).toString());
    return texts.map((text) => (JSON.parse(text) as { name: string }).name);
  };
  return reader.texts(words, 1, namesOf, Int32Array.of(number));
}

suite("scopes in PostgreSQL", () => {
  test("any edits and writes by two collectors, one of which stops now and then, are the same for both, and for one that starts later", async () => {
    const names = ["a", "b", "c"];
    const step = fc.oneof(
      {
        weight: 2,
        arbitrary: fc.record({
          op: fc.constant("set" as const),
          name: fc.constantFrom(...names),
          before: fc.constantFrom("", ...names),
          vlan: fc.nat(2),
        }),
      },
      fc.record({ op: fc.constant("remove" as const), name: fc.constantFrom(...names) }),
      {
        weight: 4,
        arbitrary: fc.record({
          op: fc.constant("write" as const),
          name: fc.constantFrom("", ...names),
          key: fc.constantFrom("10.0.0.1", "10.0.0.0/8"),
        }),
      },
      fc.record({ op: fc.constant("undo" as const) }),
      fc.record({ op: fc.constant("restart" as const) }),
      fc.record({ op: fc.constant("load" as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, fc.nat(1)), { minLength: 4, maxLength: 16 }), async (steps) => {
        await database.reset();
        const disk = memoryFileIo();
        const openAgain = (): ReturnType<typeof startedScopes> => startedScopes({ io: disk, stateDirectory: "/state" });
        const sides = [await startedScopes({ collector: "b" }), await openAgain()];
        // The scopes, and of each name its entries, which stay when it goes.
        let model: { name: string; vlan: number }[] = [];
        const entries = new Map<string, Map<string, string>>();
        const undo: (typeof model)[] = [];
        for (const [i, [one, side]] of steps.entries()) {
          const { store, scopes } = sides[side] as (typeof sides)[0];
          if (one.op === "restart") {
            await sides[1]?.store.stop();
            sides[1] = await openAgain();
          } else if (one.op === "load") await store.load();
          else if (one.op === "set") {
            const { name, before, vlan } = one;
            const rest = model.filter((scope) => scope.name !== name);
            const was = model.findIndex((scope) => scope.name === name);
            const next = before === "" ? (was < 0 ? undefined : model[was + 1]?.name) : before;
            const at = next === undefined ? rest.length : rest.findIndex((scope) => scope.name === next);
            const set = scopes.set({ name, match: [{ vlan: [String(vlan)] }], inherit: true }, before, {});
            if (at < 0) await assert.rejects(set, /there is no other scope/);
            else {
              await set;
              const then = rest.toSpliced(at, 0, { name, vlan });
              if (JSON.stringify(then) !== JSON.stringify(model)) undo.push(model);
              model = then;
            }
          } else if (one.op === "remove") {
            const isThere = model.some(({ name }) => name === one.name);
            if (!isThere) await assert.rejects(scopes.remove(one.name, {}), { code: "not_found" });
            else {
              await scopes.remove(one.name, {});
              undo.push(model);
              model = model.filter(({ name }) => name !== one.name);
            }
          } else if (one.op === "undo") {
            const [last] = await store.history.list({ limit: 1 });
            if (last?.scope === undefined) continue;
            await scopes.takeBack(last.scope, {}, false);
            const then = undo.pop() as typeof model;
            undo.push(model);
            model = then;
          } else {
            const of = one.name === "" ? store : scopes.store(one.name);
            // The other side has not heard of it yet, or it has gone.
            if (of === undefined) continue;
            const there = entries.get(one.name) ?? new Map<string, string>();
            const isGone = one.name !== "" && !model.some(({ name }) => name === one.name);
            const write: UdmWrite = there.has(one.key)
              ? { op: "update", key: parseKey(one.key), values: udmEntry("::", { name: `${i}` }) }
              : created(one.key, `${i}`);
            const done = of.commit([write]);
            if (isGone) await assert.rejects(done, { code: "unavailable" });
            else {
              await done;
              entries.set(one.name, there.set(one.key, `${i}`));
            }
          }
        }
        const third = await startedScopes({ collector: "c" });
        const expected = allOf(third.store, third.scopes);
        assert.deepEqual(
          third.scopes.list().map(({ name, match, count }) => [name, match[0]?.vlan, count]),
          model.map(({ name, vlan }) => [name, [String(vlan)], entries.get(name)?.size ?? 0]),
        );
        for (const { name } of model) {
          const there = [...(third.scopes.store(name)?.current().entries() ?? [])];
          assert.deepEqual(new Map(there.map(({ key, name: of }) => [key.text, of])), entries.get(name) ?? new Map());
        }
        for (const { store, scopes } of sides) {
          await until("what the third one sees", async () => isDeepStrictEqual(allOf(store, scopes), expected));
        }
        for (const { store } of [...sides, third]) await store.stop();
        // What is on disk is that state, without the database.
        const alone = await startedScopes({
          io: disk,
          stateDirectory: "/state",
          address: parseServerAddress("postgres://nobody@127.0.0.1:1/none"),
        });
        assert.deepEqual(allOf(alone.store, alone.scopes), expected);
        await alone.store.stop();
      }),
      runs(6),
    );
  });

  test("look-ups of threads see the entries of a scope before global ones, and the history of each is its own", async (t) => {
    await database.reset();
    const { store, scopes } = await startedScopes();
    cleanUp(t, () => store.stop());
    await scopes.set({ name: "acme", match: [{ vrf: ["red"] }], inherit: true }, "", { user: "root" });
    await scopes.set({ name: "beta", match: [], inherit: false }, "acme", {});
    const acme = scopes.store("acme") as CollectorUdmStore;
    await store.commit([created("10.0.0.1", "global")]);
    assert.equal((await acme.submit([created("10.0.0.0/8", "of acme")])).change, 1);
    assert.deepEqual(namesAt(store, "10.0.0.1", "acme"), ["of acme", "global"]);
    assert.deepEqual(namesAt(store, "10.0.0.1", "beta"), []);
    assert.deepEqual(namesAt(store, "10.0.0.1", "none"), ["global"]);
    const heads = await acme.history.list({ limit: 10 });
    assert.deepEqual([heads.map(({ number, entries }) => [number, entries]), acme.history.last()], [[[1, 1]], 1]);
    const global = await store.history.list({ limit: 10 });
    assert.deepEqual(
      global.map(({ number, method, author, scope }) => [number, method, author, scope?.after?.name]),
      [
        [3, "create", "", undefined],
        [2, "SetScope", "", "beta"],
        [1, "SetScope", "root", "acme"],
      ],
    );
    assert.equal((await acme.history.lastOf([parseKey("10.0.0.0/8")]))[0]?.number, 1);
    assert.deepEqual(await store.history.lastOf([parseKey("10.0.0.0/8")]), [undefined]);
    await assert.rejects(
      scopes.set({ name: "x", match: [{ vlan: ["5000"] }], inherit: true }, "", {}),
      /expected a VLAN/,
    );
    await scopes.remove("acme", {});
    assert.equal(acme.history.closed?.aborted, true);
    await assert.rejects(acme.commit([created("10.0.0.2", "late")]), { code: "unavailable" });
    assert.deepEqual(namesAt(store, "10.0.0.1", "acme"), ["global"]);
  });

  test("what sources say of a scope is behind its entries and before global ones, noted in its history, and waits for a scope that comes by another collector", async (t) => {
    await database.reset();
    const directory = tempDirectory(t);
    const plan = join(directory, "plan.ndjson");
    const rows = ["acme", "beta", undefined].map((scope) => ({ key: "10.0.0.0/8", name: `plan of ${scope}`, scope }));
    await writeFile(plan, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const { store, scopes } = await startedScopes();
    cleanUp(t, () => store.stop());
    const other = await startedScopes();
    cleanUp(t, () => other.store.stop());
    await scopes.set({ name: "acme", match: [], inherit: true }, "", {});
    const acme = scopes.store("acme") as CollectorUdmStore;
    const rig = await startSources(`- {name: plan, kind: ndjson, path: ${JSON.stringify(plan)}}`, {
      directory,
      over: { store, scopes },
    });
    cleanUp(t, () => rig.stop());
    const { run } = await rig.run("plan");
    assert.deepEqual([run?.reason, run?.faults, run?.missingScopes], [undefined, [], ["beta"]]);
    assert.deepEqual(namesAt(store, "10.0.0.1", "acme"), ["plan of acme", "plan of undefined"]);
    assert.equal((await acme.submit([created("10.0.0.0/8", "by hand")])).change, 2);
    assert.deepEqual(namesAt(store, "10.0.0.1", "acme"), ["by hand", "plan of acme", "plan of undefined"]);
    const told = async (of: CollectorUdmStore): Promise<unknown> =>
      (await of.history.list({ limit: 9 })).map(({ number, author, method, entries }) => [
        number,
        author,
        method,
        entries,
      ]);
    assert.deepEqual(await told(acme), [
      [2, "", "create", 1],
      [1, "plan", "RunSource", 1],
    ]);
    // Layers are each collector's own: the other one has no sources.
    await until("the other collector has the entry", () => namesAt(other.store, "10.0.0.1", "acme").length > 0);
    assert.deepEqual(namesAt(other.store, "10.0.0.1", "acme"), ["by hand"]);
    await other.scopes.set({ name: "beta", match: [], inherit: false }, "", {});
    await until("the new scope is filled", () => rig.entries("plan", "beta").length > 0);
    assert.deepEqual(namesAt(store, "10.0.0.1", "beta"), ["plan of beta"]);
    await other.scopes.remove("acme", {});
    await until("the scope has gone", () => rig.sources.states()[0]?.entries === 2);
    assert.deepEqual(namesAt(store, "10.0.0.1", "acme"), ["plan of undefined"]);
  });

  test("a source that goes on with a scope that was deleted puts nothing into the next one of its name", async (t) => {
    await database.reset();
    const { store, scopes } = await startedScopes();
    cleanUp(t, () => store.stop());
    const made = async (): Promise<UdmLayers> => {
      await scopes.set({ name: "acme", match: [{ vrf: ["red"] }], inherit: true }, "", {});
      const layers = scopes.layers().get("acme") as UdmLayers;
      await layers.setNames(["netbox"]);
      return layers;
    };
    const old = await made();
    await old.replace("netbox", [udmEntry("10.0.0.0/8", { name: "of before" })], "RunSource");
    await store.load();
    assert.deepEqual(namesAt(store, "10.0.0.1", "acme"), ["of before"]);
    await scopes.remove("acme", {});
    const fresh = await made();
    await fresh.replace("netbox", [udmEntry("10.0.0.0/8", { name: "of now" })], "RunSource");
    await old.replace("netbox", [udmEntry("10.0.0.0/16", { name: "late" })], "RunSource").catch(() => {});
    assert.deepEqual(namesAt(store, "10.0.0.1", "acme"), ["of now"]);
  });

  test("tables of a version without scopes are global entries and their history, and that version is refused from then on", async (t) => {
    await database.reset();
    const first = await startedScopes();
    await first.store.commit([created("10.0.0.1", "one")]);
    await first.store.commit([created("10.0.0.2", "two")]);
    await first.store.stop();
    await withoutScopes(database.sql);
    const { store, scopes } = await startedScopes();
    cleanUp(t, () => store.stop());
    assert.deepEqual(
      Array.from(store.current().entries(), ({ name }) => name),
      ["one", "two"],
    );
    assert.deepEqual(
      (await store.history.list({ limit: 9 })).map(({ number }) => number),
      [2, 1],
    );
    await scopes.set({ name: "acme", match: [], inherit: true }, "", {});
    await scopes.store("acme")?.commit([created("10.0.0.1", "of acme")]);
    assert.equal((await store.submit([created("10.0.0.3", "three")])).change, 4);
    const [{ least } = { least: 0 }] = await database.sql<
      { least: number }[]
    >`select max(least) as least from netgloss.migration`;
    assert.equal(least, 3);
  });

  test("names are in the database beside entries of addresses, with a history and a copy of their own", async (t) => {
    await database.reset();
    const disk = memoryFileIo();
    const names = { keys: "names" as const, space: "names:", io: disk, stateDirectory: "/state" };
    const metadata = storeOnDatabase(database.url, { io: disk, stateDirectory: "/state" });
    const first = storeOnDatabase(database.url, names);
    const second = storeOnDatabase(database.url, { ...names, io: memoryFileIo() });
    for (const { store } of [metadata, first, second]) {
      await store.start();
      cleanUp(t, () => store.stop());
    }
    const key = parseNameKey("interface:192.0.2.1/ge-0/0/1");
    await metadata.store.commit([created("10.0.0.1", "address")]);
    const made: UdmWrite = { op: "create", key, values: udmEntry("::", { name: "uplink" }) };
    assert.equal((await first.store.submit([made])).change, 1);
    assert.equal((await metadata.store.submit([created("10.0.0.2", "other")])).change, 2);
    await until("the other collector has it", async () => second.store.current().get(key)?.name === "uplink");
    assert.deepEqual([second.store.current().size, metadata.store.current().size], [1, 2]);
    assert.deepEqual([second.store.history.last(), metadata.store.history.last()], [1, 2]);
    assert.deepEqual(
      (await second.store.history.list({ limit: 9 })).map(({ changes }) => changes[0]?.after?.key.text),
      [key.text],
    );
    assert.deepEqual(
      second.health.checks().map(({ name, ready }) => [name, ready]),
      [["names", true]],
    );
    await first.store.stop();
    await metadata.store.stop();
    const nowhere = parseServerAddress("postgres://nobody@127.0.0.1:1/none");
    const alone = storeOnDatabase(database.url, { ...names, address: nowhere });
    await alone.store.start();
    cleanUp(t, () => alone.store.stop());
    assert.deepEqual(
      Array.from(alone.store.current().entries(), ({ key: { text }, name }) => [text, name]),
      [[key.text, "uplink"]],
    );
  });
});
