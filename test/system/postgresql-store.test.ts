// Several stores on one PostgreSQL: whatever breaks, no acknowledged write is lost, none is seen twice, all end equal.
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { parseKey } from "../../src/base/ip/index.ts";
import { UdmError, type CollectorUdmStore, type UdmChange, type UdmWrite } from "../../src/metadata/index.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { createFakeTime } from "../support/fake-time.ts";
import { cleanUp } from "../support/clean-up.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { killPartner } from "../support/partner.ts";
import {
  startDatabase,
  storeOnDatabase,
  withoutScopes,
  type PostgresqlFixture,
  type TestDatabase,
} from "../support/postgresql.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { plainEntries } from "../support/udm-store-fixture.ts";
import { until } from "../support/until.ts";

const created = (key: string, name: string): UdmWrite => ({
  op: "create",
  key: parseKey(key),
  values: udmEntry("::", { name }),
});
const updated = (key: string, name: string): UdmWrite => ({
  op: "update",
  key: parseKey(key),
  values: udmEntry("::", { name }),
  fields: ["name"],
});
const nameOf = (store: CollectorUdmStore, key: string): string | undefined => store.current().get(parseKey(key))?.name;
const codeOf = async (write: Promise<unknown>): Promise<string> =>
  write.then(
    () => "ok",
    (error: unknown) => (error instanceof UdmError ? error.code : String(error)),
  );

async function started(t: TestContext, fixture: PostgresqlFixture): Promise<PostgresqlFixture> {
  await fixture.store.start();
  cleanUp(t, () => fixture.store.stop());
  return fixture;
}

/** What a client was answered: which change made which name. */
interface Acknowledged {
  readonly change: number;
  readonly key: string;
  readonly name: string | undefined;
}

interface Storm {
  readonly acknowledged: readonly Acknowledged[];
  readonly refused: ReadonlyMap<string, number>;
}

/** Clients of each store write to the same few keys until the signal, while readers look up without end. */
async function storm(stores: readonly CollectorUdmStore[], signal: AbortSignal): Promise<Storm> {
  const acknowledged: Acknowledged[] = [];
  const refused = new Map<string, number>();
  const client = async (store: CollectorUdmStore, id: string): Promise<void> => {
    for (let i = 0; !signal.aborted; i++) {
      const key = `10.0.0.${i % 16}`;
      const name = `${id}-${i}`;
      const isThere = store.current().get(parseKey(key)) !== undefined;
      const write: UdmWrite = !isThere
        ? created(key, name)
        : i % 7 === 0
          ? { op: "delete", key: parseKey(key) }
          : updated(key, name);
      try {
        const { change } = await store.submit([write], { user: id });
        if (change !== undefined) acknowledged.push({ change, key, name: write.op === "delete" ? undefined : name });
      } catch (error) {
        assert.ok(error instanceof UdmError, String(error));
        refused.set(error.code, (refused.get(error.code) ?? 0) + 1);
        if (error.code === "unavailable") await sleep(20);
      }
    }
  };
  await Promise.all(stores.flatMap((store, s) => [0, 1].map((c) => client(store, `${s}${c}`))));
  return { acknowledged, refused };
}

/** Collects the changes that a store reports. */
function followed(store: CollectorUdmStore): UdmChange[] {
  const changes: UdmChange[] = [];
  store.history.watch((change) => void changes.push(change));
  return changes;
}

/** All acknowledged writes are in the log, once; all stores and the table are what the log says. */
async function assertAgreement(
  database: TestDatabase,
  fixtures: readonly PostgresqlFixture[],
  { acknowledged }: Storm,
): Promise<void> {
  const [state] = await database.sql<{ last: number }[]>`select last_number::float8 as last from netgloss.udm_state`;
  const last = state?.last ?? 0;
  for (const { store } of fixtures) await until("the state that is awaited", async () => store.history.last() === last);
  const log = await database.sql<{ number: number; key: string; before: string | null; after: string | null }[]>`
    select number::float8 as number, key, before->>'name' as before, after->>'name' as after from netgloss.udm_change order by number, position`;
  assert.deepEqual(
    log.map(({ number }) => number),
    Array.from({ length: last }, (_, i) => i + 1),
    "a number for each change, without a gap",
  );
  const names = new Map<string, string>();
  for (const { key, before, after } of log) {
    assert.equal(names.get(key) ?? null, before, key);
    if (after === null) names.delete(key);
    else names.set(key, after);
  }
  assert.equal(new Set(acknowledged.map(({ change }) => change)).size, acknowledged.length, "a number names one write");
  for (const { change, key, name } of acknowledged) {
    const { key: there, after } = log[change - 1] ?? {};
    assert.deepEqual([there, after ?? undefined], [key, name], `change ${change}`);
  }
  const table = await database.sql<{ key: string; name: string }[]>`
    select key, entry->>'name' as name from netgloss.udm_entry order by key`;
  assert.deepEqual(new Map(table.map(({ key, name }) => [key, name])), new Map([...names].toSorted(byText)));
  const [first] = fixtures;
  for (const { store } of fixtures) {
    const entries = [...store.current().entries()];
    assert.deepEqual(new Map(entries.map(({ key, name }) => [key.text, name])), names);
    assert.deepEqual(plainEntries(entries), plainEntries(first?.store.current().entries() ?? []));
  }
}

const byText = ([a]: [string, string], [b]: [string, string]): number => (a < b ? -1 : 1);

suite("stores on one database", () => {
  test("write at once: one order for all, each write judged by what is there, each change reported once", async (t) => {
    const database = await startDatabase(t);
    const fixtures = await Promise.all(
      ["a", "b", "c"].map((collector) => started(t, storeOnDatabase(database.url, { collector }))),
    );
    const stores = fixtures.map(({ store }) => store);
    const reported = stores.map(followed);
    const same = await Promise.all(stores.map((store, i) => codeOf(store.commit([created("10.9.0.1", `${i}`)]))));
    assert.deepEqual(same.toSorted(), ["already_exists", "already_exists", "ok"]);
    await stores[0]?.commit([{ op: "delete", key: parseKey("10.9.0.1") }]);

    const result = await storm(stores, AbortSignal.timeout(3000));
    assert.ok(result.acknowledged.length > 3, `${result.acknowledged.length} writes`);
    for (const { lines } of fixtures)
      assert.deepEqual(
        lines.filter(({ level }) => level === "error"),
        [],
      );
    assert.equal(result.refused.get("unavailable"), undefined);
    await assertAgreement(database, fixtures, result);
    for (const changes of reported) {
      assert.deepEqual(
        changes.map(({ number }) => number),
        Array.from({ length: stores[0]?.history.last() ?? 0 }, (_, i) => i + 1),
      );
    }
    const [newest] = (await stores[1]?.history.list({ limit: 1 })) ?? [];
    assert.match(String(newest?.collector), /^[abc]$/);
    assert.match(String(newest?.author), /^[012][01]$/);
    const [seen] = await Promise.all(
      fixtures.map(({ metrics }) => metrics.value("netgloss_udm_postgresql_followed_commits_total")),
    );
    assert.ok((seen ?? 0) > 0);
  });

  test("the server is killed again and again under load", async (t) => {
    const database = await startDatabase(t);
    const fixtures = await Promise.all(
      ["a", "b", "c"].map((collector) => started(t, storeOnDatabase(database.url, { collector }))),
    );
    const end = new AbortController();
    const running = storm(
      fixtures.map(({ store }) => store),
      end.signal,
    );
    for (let i = 0; i < 3; i++) {
      await sleep(1000);
      const [{ store, metrics }] = fixtures as [PostgresqlFixture];
      const before = await metrics.value("netgloss_udm_postgresql_connections_total");
      killPartner(database.partner);
      await until(
        "the state that is awaited",
        async () => (await metrics.value("netgloss_udm_postgresql_connected")) === 0,
        10_000,
      );
      // Nothing is in the way of those who read.
      assert.ok([...store.current().entries()].length >= 0);
      await until(
        "the state that is awaited",
        async () => (await metrics.value("netgloss_udm_postgresql_connections_total")) !== before,
        30_000,
      );
    }
    await sleep(1000);
    end.abort();
    const result = await running;
    assert.ok((result.refused.get("unavailable") ?? 0) > 0);
    await until("the state that is awaited", async () => fixtures.every(({ health }) => !health.isDegraded()));
    await assertAgreement(database, fixtures, result);
  });

  test("the network to one of them has every fault", async (t) => {
    const database = await startDatabase(t);
    const proxy = await startFaultProxy(t, database.host, database.port);
    const behind = database.url.replace(`:${database.port}/`, `:${proxy.port}/`);
    const fixtures = await Promise.all([
      started(t, storeOnDatabase(database.url, { collector: "a" })),
      started(t, storeOnDatabase(behind, { collector: "b", timeoutMs: 1000 })),
    ]);
    const end = new AbortController();
    const running = storm(
      fixtures.map(({ store }) => store),
      end.signal,
    );
    for (const fault of ["away", "cutAnswer", "slow", "cutRequest", "silent", "cutAnswer", "away"] as const) {
      proxy.fault = fault;
      if (fault === "away") proxy.cut();
      await sleep(700);
      proxy.fault = "pass";
      await sleep(700);
    }
    for (let i = 0; i < 15; i++) {
      proxy.cut();
      await sleep(150);
    }
    end.abort();
    const result = await running;
    const [, far] = fixtures;
    await until("the network is whole", () => !far.health.isDegraded());
    await assertAgreement(database, fixtures, result);
    t.diagnostic(
      `answers lost, then found committed: ${await far.metrics.value("netgloss_udm_postgresql_lost_answers_total", { outcome: "committed" })}`,
    );
  });
});

suite("a store whose database", () => {
  test("is away goes on from memory, after a restart from the last copy, refuses writes at once, and catches up", async (t) => {
    const database = await startDatabase(t);
    const proxy = await startFaultProxy(t, database.host, database.port);
    const url = database.url.replace(`:${database.port}/`, `:${proxy.port}/`);
    const io = memoryFileIo();
    const kept = { io, stateDirectory: "/memory", collector: "a", exportPath: "/memory/ipaddrs.yml", timeoutMs: 1000 };
    const first = storeOnDatabase(url, kept);
    await first.store.start();
    const { store: other } = await started(t, storeOnDatabase(database.url, { collector: "b" }));
    await first.store.commit([created("10.0.0.1", "one")]);
    await until("the state that is awaited", async () => io.text("/memory/ipaddrs.yml") === "10.0.0.1:\n  name: one\n");

    proxy.fault = "away";
    proxy.cut();
    await until("the state that is awaited", async () => first.health.isDegraded());
    assert.match(
      String(first.health.checks()[0]?.detail),
      /is away: .*; the metadata is as of change 1 of 20.*cannot be written/,
    );
    assert.equal(first.health.isReady(), true);
    const start = performance.now();
    assert.equal(await codeOf(first.store.commit([created("10.0.0.2", "no")])), "unavailable");
    assert.ok(performance.now() - start < 500);
    assert.equal(nameOf(first.store, "10.0.0.1"), "one");
    await assert.rejects(first.store.history.list({ limit: 1 }), /the history is in the database/);
    await other.commit([created("10.0.0.3", "three"), updated("10.0.0.1", "uno")]);
    await first.store.stop();

    const second = await started(t, storeOnDatabase(url, kept));
    assert.equal(nameOf(second.store, "10.0.0.1"), "one");
    assert.equal(second.health.isReady(), true);
    assert.equal(second.health.isDegraded(), true);
    assert.ok(((await second.metrics.value("netgloss_udm_postgresql_stale_seconds")) ?? 0) > 0);
    assert.equal(await codeOf(second.store.commit([created("10.0.0.2", "no")])), "unavailable");

    proxy.fault = "pass";
    await until("the state that is awaited", async () => nameOf(second.store, "10.0.0.1") === "uno");
    assert.equal(second.health.isDegraded(), false);
    assert.equal(nameOf(second.store, "10.0.0.3"), "three");
    assert.equal(await second.metrics.value("netgloss_udm_postgresql_full_loads_total", { reason: "pruned" }), 0);
    assert.equal(await second.metrics.value("netgloss_udm_postgresql_stale_seconds"), 0);
    assert.equal(nameOf(second.store, "10.0.0.2"), undefined, "nothing was queued in secret");
  });

  test("never was there is not ready, and is found later", async (t) => {
    const database = await startDatabase(t);
    const proxy = await startFaultProxy(t, database.host, database.port);
    proxy.fault = "away";
    const url = database.url.replace(`:${database.port}/`, `:${proxy.port}/`);
    const { store, health } = await started(t, storeOnDatabase(url));
    assert.equal(health.isReady(), false);
    assert.throws(() => store.current(), /is away: 127\.0\.0\.1:\d+: .*; there is no metadata/);
    proxy.fault = "pass";
    await until("the state that is awaited", async () => health.isReady());
    assert.equal(store.current().size, 0);
  });

  test("has forgotten what a store missed, was set back, or was changed by hand, is read whole", async (t) => {
    const database = await startDatabase(t);
    const { store, metrics } = await started(t, storeOnDatabase(database.url, { collector: "a" }));
    const proxy = await startFaultProxy(t, database.host, database.port);
    const far = await started(
      t,
      storeOnDatabase(database.url.replace(`:${database.port}/`, `:${proxy.port}/`), { timeoutMs: 1000 }),
    );
    const loads = (fixture: PostgresqlFixture, reason: string): Promise<number | undefined> =>
      fixture.metrics.value("netgloss_udm_postgresql_full_loads_total", { reason });
    await store.commit([created("10.0.0.1", "one"), created("10.0.0.2", "two")]);
    await until("the state that is awaited", async () => far.store.history.last() === 1);

    proxy.fault = "away";
    proxy.cut();
    await store.commit([updated("10.0.0.1", "uno")]);
    await store.commit([updated("10.0.0.2", "due")]);
    await database.sql`delete from netgloss.udm_change where number <= 2`;
    await database.sql`delete from netgloss.udm_commit where number <= 2`;
    await database.sql`update netgloss.udm_state set first_number = 3`;
    proxy.fault = "pass";
    await until("the state that is awaited", async () => nameOf(far.store, "10.0.0.1") === "uno");
    assert.equal(await loads(far, "pruned"), 1);
    assert.equal(far.store.history.first(), 3);

    await database.sql`update netgloss.udm_entry set entry = '{"key":"10.0.0.2","name":"by hand"}' where key = '10.0.0.2'`;
    await store.commit([updated("10.0.0.1", "unchanged by that")]);
    assert.equal(nameOf(store, "10.0.0.2"), "due", "nobody has announced it");
    const [entry] = await store.commit([
      { op: "update", key: parseKey("10.0.0.2"), values: udmEntry("::", { vlan: 7n }), fields: ["vlan"] },
    ]);
    assert.equal(entry?.name, "by hand");
    assert.equal(await metrics.value("netgloss_udm_postgresql_full_loads_total", { reason: "changed_by_hand" }), 1);

    await database.sql`insert into netgloss.udm_entry values ('10.0.0.7', '{"name" : "spelt freely", "key":"10.0.0.7"}')`;
    await store.load();
    const [spelt] = await store.commit([
      { op: "update", key: parseKey("10.0.0.7"), values: udmEntry("::", { vlan: 7n }), fields: ["vlan"] },
    ]);
    assert.equal(spelt?.name, "spelt freely");
    assert.equal(await metrics.value("netgloss_udm_postgresql_full_loads_total", { reason: "changed_by_hand" }), 1);
    await until("the others see it", () => far.store.history.last() === 6);
    proxy.fault = "away";
    proxy.cut();
    await database.sql`update netgloss.udm_state set last_number = 3`;
    await database.sql`delete from netgloss.udm_commit where number > 3`;
    await database.sql`delete from netgloss.udm_change where number > 3`;
    proxy.fault = "pass";
    await until("the state that is awaited", async () => (await loads(far, "set_back")) === 1);
  });

  test("is locked by somebody else, or full, refuses writes in time, and takes them afterwards", async (t) => {
    const database = await startDatabase(t);
    const time = createFakeTime();
    const { store, health } = await started(t, storeOnDatabase(database.url, { after: time.after }));
    const check = (): string => JSON.stringify(health.checks().find(({ name }) => name === "metadata writes"));
    await store.commit([created("10.0.0.1", "one")]);
    await database.sql.begin(async (sql) => {
      await sql`select from netgloss.udm_state for update`;
      const start = performance.now();
      const error = await store.commit([updated("10.0.0.1", "two")]).then(
        () => undefined,
        (reason: unknown) => reason as UdmError,
      );
      assert.equal(error?.code, "unavailable");
      assert.match(error?.message ?? "", /somebody else holds a lock on its tables/);
      assert.ok(performance.now() - start < 4500);
    });
    await store.commit([updated("10.0.0.1", "two")]);

    // A trigger says what the server says when its disk is full.
    await database.sql.unsafe(`create function full_disk() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
      create trigger full_disk before insert on netgloss.udm_change execute function full_disk()`);
    const full = store.commit([updated("10.0.0.1", "three"), created("10.0.0.2", "new")]);
    await assert.rejects(full, /nothing has changed: could not extend file: No space left on device/);
    assert.equal(nameOf(store, "10.0.0.1"), "two");
    assert.match(check(), /"degraded":true.*No space left on device; trying again/);
    await time.pass(10_000);
    await until("a trial fails like a write", () => /"degraded":true/.test(check()));
    const other = await started(t, storeOnDatabase(database.url));
    await until("a trial at the start finds it", () => other.health.isDegraded());
    await database.sql`drop trigger full_disk on netgloss.udm_change`;
    await until("a trial finds that it is over", async () => {
      await time.pass(10_000);
      return check() === '{"name":"metadata writes","ready":true}';
    });
    await store.commit([updated("10.0.0.1", "three"), created("10.0.0.2", "new")]);
    assert.equal(store.history.last(), 3);
  });

  test("has IPv4-mapped keys of an older version gets them as IPv4 keys, and its history has those that were there twice", async (t) => {
    const database = await startDatabase(t);
    const first = storeOnDatabase(database.url);
    await first.store.start();
    await first.store.commit(["10.0.0.1", "2001:db8::1", "::ffff:10.0.0.0/95"].map((key) => created(key, key)));
    await first.store.stop();
    const { sql } = database;
    await withoutScopes(sql);
    await sql`alter table netgloss.udm_entry drop constraint ipv4_keys_as_ipv4`;
    await sql`drop function netgloss.ipv4_entry, netgloss.ipv4_key`;
    await sql`delete from netgloss.migration where number = 2`;
    const mapped = ["::ffff:10.0.0.1", "::ffff:10.0.0.9", "::ffff:10.0.0.0/104", "::ffff:10.0.0.1-::ffff:10.0.0.7"];
    for (const key of mapped) {
      await sql`insert into netgloss.udm_entry (key, entry) values (${key}, ${`{"key":"${key}","name":"mapped"}`}::text::json)`;
    }
    await sql`update netgloss.udm_change set key = '::ffff:10.0.0.1', after = '{"key":"::ffff:10.0.0.1","name":"10.0.0.1"}' where key = '10.0.0.1'`;
    const { store } = await started(t, storeOnDatabase(database.url));
    assert.deepEqual(
      Array.from(store.current().entries(), ({ key, name }) => [key.text, name]),
      [
        ["10.0.0.0/8", "mapped"],
        ["10.0.0.1-10.0.0.7", "mapped"],
        ["10.0.0.1", "10.0.0.1"],
        ["10.0.0.9", "mapped"],
        ["::ffff:10.0.0.0/95", "::ffff:10.0.0.0/95"],
        ["2001:db8::1", "2001:db8::1"],
      ],
    );
    const changes = await store.history.list({ limit: 10 });
    assert.deepEqual(
      changes.map(({ number, method, changes: all }) => [number, method, all[0]?.before?.name, all[0]?.after?.name]),
      [
        [2, "MergeMappedKeys", "mapped", undefined],
        [1, "create", undefined, "10.0.0.1"],
      ],
    );
    assert.equal((await store.submit([updated("10.0.0.9", "now")])).change, 3);
    await assert.rejects(
      sql`insert into netgloss.udm_entry (key, entry) values ('::ffff:1.2.3.4', '{}')`,
      /ipv4_keys_as_ipv4/,
    );
  });

  test("keeps no more history than it may, whoever writes", async (t) => {
    const database = await startDatabase(t);
    const { store } = await started(t, storeOnDatabase(database.url, { historyBytes: 20_000 }));
    const { store: other } = await started(t, storeOnDatabase(database.url, { owned: false }));
    await store.commit([created("10.0.0.1", "0")]);
    for (let i = 1; i <= 300; i++) await store.commit([updated("10.0.0.1", `${i}`)]);
    await until("the state that is awaited", async () => store.history.first() > 100);
    await until("the state that is awaited", async () => other.history.last() === 301);
    const [state] = await database.sql<{ bytes: number; sum: number }[]>`
      select log_bytes::float8 as bytes, (select sum(bytes)::float8 from netgloss.udm_commit) as sum from netgloss.udm_state`;
    assert.equal(state?.bytes, state?.sum);
    assert.ok((state?.bytes ?? 0) <= 22_000);
    assert.equal(await codeOf(other.commit([created("10.0.0.2", "no")])), "unavailable");
  });
});
