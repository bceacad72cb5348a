// Members of a fleet behind a connection that is cut, slow or half open: a key never has two holders, and gets one again in the end.
// And: versions that share the tables.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { suite, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { Fleet, Shares, fleetSchema, type ShareTaker } from "../../src/fleet/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { startFaultProxy, type Fault } from "../output/delivery/fault-proxy.ts";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { fleetAccess } from "../support/fleet-connection.ts";
import { startDatabase } from "../support/postgresql.ts";
import { until } from "../support/until.ts";

const leaseMs = 2000;
const keys = Array.from({ length: 40 }, (_, i) => `10.0.0.${i}:161`);

interface Member {
  readonly fleet: Fleet;
  readonly polled: ReadonlySet<string>;
  stop(): Promise<void>;
}

interface MemberOptions {
  readonly url: string;
  readonly fleet: string;
  readonly member: string;
  readonly keeps?: boolean;
  /** Called with each key that is taken. */
  readonly taken?: (key: string) => void;
}

async function startMember(t: TestContext, options: MemberOptions): Promise<Member> {
  const { url, member, keeps = false, taken } = options;
  const reporting = { clock: systemClock, log: silentLog, metrics: createMetrics(), health: createHealth() };
  const fleet = new Fleet(fleetAccess(url, member, 1000), options.fleet, member, leaseMs, reporting);
  const polled = new Set<string>();
  const taker: ShareTaker = {
    async take(all) {
      for (const { key } of all) {
        polled.add(key);
        taken?.(key);
      }
      await Promise.resolve();
    },
    async release(released) {
      for (const key of released) polled.delete(key);
      await Promise.resolve();
      return new Map();
    },
  };
  const shares = new Shares(fleet.membership, fleet.tables, taker, keeps, reporting);
  await fleet.start();
  shares.offer(keys);
  await shares.start();
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await shares.stop();
    await fleet.stop();
  };
  cleanUp(t, stop);
  return { fleet, polled, stop };
}

const isDivided = (...members: readonly Member[]): boolean =>
  keys.every((key) => members.filter(({ polled }) => polled.has(key)).length === 1) &&
  members.every(({ polled }) => polled.size > 0);

suite("a fleet on a real PostgreSQL", async () => {
  const database = await startDatabase(allTests());

  for (const keeps of [false, true]) {
    test(`whatever happens to a connection, keys ${keeps ? "are kept meanwhile" : "never have two holders"}, and are divided again afterwards`, async (t) => {
      const proxy = await startFaultProxy(t, database.host, database.port);
      const fleet = randomUUID();
      const twice: string[] = [];
      const members: Member[] = [];
      const taken = (key: string): void => {
        if (members.filter(({ polled }) => polled.has(key)).length > 1) twice.push(key);
      };
      const throughProxy = database.url.replace(`:${database.port}/`, `:${proxy.port}/`);
      const a = await startMember(t, { url: throughProxy, fleet, member: "a", keeps, taken });
      members.push(a);
      const b = await startMember(t, { url: database.url, fleet, member: "b", keeps, taken });
      members.push(b);
      await until("keys are divided", () => isDivided(a, b));
      const had = a.polled.size;

      const faults: readonly Fault[] = ["away", "silent", "cutRequest", "cutAnswer"];
      for (const fault of keeps ? faults.slice(0, 2) : faults) {
        proxy.fault = fault;
        proxy.cut();
        await until(`b has all keys (${fault})`, () => b.polled.size === keys.length);
        assert.equal(a.polled.size, keeps ? had : 0, fault);
        proxy.fault = "pass";
        await until(`keys are divided again (${fault})`, () => isDivided(a, b));
      }
      // Half open: nothing is reset, nothing is answered.
      proxy.fault = "silent";
      await until("b has all keys (half open)", () => b.polled.size === keys.length);
      assert.equal(a.polled.size, keeps ? had : 0);
      proxy.fault = "pass";
      await until("keys are divided again (half open)", () => isDivided(a, b));
      // A slow way, and cuts that are shorter than a lease, move nothing. On a busy host they may be longer.
      const movesNothing = async (): Promise<boolean> => {
        await until("keys are divided", () => isDivided(a, b));
        const before = [...a.polled];
        proxy.fault = "slow";
        await sleep(leaseMs);
        proxy.cut();
        await sleep(leaseMs);
        return isDeepStrictEqual([...a.polled], before);
      };
      let tries = 1;
      while (!(await movesNothing())) assert.ok(tries++ < 5, "keys have moved five times");
      if (!keeps) assert.deepEqual(twice, []);
    });
  }

  test("an older version goes on behind steps of a newer one that lets it, and says so when that does not", async (t) => {
    const fleet = randomUUID();
    const first = await startMember(t, { url: database.url, fleet, member: "a" });
    const newest = Math.max(...fleetSchema.steps.map(({ number }) => number));
    // What a newer version makes while older ones run.
    await database.sql.begin(async (sql) => {
      await sql`alter table netgloss.fleet_member add column zone text`;
      await sql`alter table netgloss.fleet_device add column zone text not null default ''`;
      await sql`insert into netgloss.fleet_migration (number, least) values (${newest + 1}, ${newest})`;
    });
    const second = await startMember(t, { url: database.url, fleet, member: "b" });
    await until("keys are divided", () => isDivided(first, second));

    await database.sql`insert into netgloss.fleet_migration (number, least) values (${newest + 2}, ${newest + 2})`;
    const third = await startMember(t, { url: database.url, fleet, member: "c" });
    await sleep(500);
    assert.equal(third.fleet.connection.isThere(), false);
    assert.match(third.fleet.connection.reason(), /the tables are of a newer version/);
    assert.equal(third.polled.size, 0);
    // Those that run go on until they connect again.
    assert.ok(isDivided(first, second));
    await database.sql`delete from netgloss.fleet_migration where number = ${newest + 2}`;
    await until("the third has its share", () => isDivided(first, second, third));
    await database.sql`delete from netgloss.fleet_migration where number > ${newest}`;
  });
});
