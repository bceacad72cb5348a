// Collectors of a fleet divide devices: none has two pollers, and none is left out for long, whatever fails.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { Membership, Shares, type ShareTaker } from "../../src/fleet/index.ts";
import { createHealth, createMetrics, silentLog, type Metrics } from "../../src/base/report/index.ts";
import { createFakeTime, settle, type FakeTime } from "../support/fake-time.ts";
import { createMemoryFleet, type MemoryFleet } from "../support/memory-fleet.ts";
import { runs } from "../support/runs.ts";

const leaseMs = 15_000;
const devices = Array.from({ length: 60 }, (_, i) => `10.0.0.${i}:161`);

interface Collector {
  readonly name: string;
  readonly membership: Membership;
  readonly shares: Shares;
  readonly metrics: Metrics;
  /** What it polls now. */
  readonly polled: Set<string>;
  /** What came with each device. */
  readonly kept: Map<string, string | undefined>;
  isDead: boolean;
}

interface World {
  readonly time: FakeTime;
  readonly fleet: MemoryFleet;
  readonly start: (name: string, keys?: readonly string[], keepsWithoutLease?: boolean) => Promise<Collector>;
  /** It stops working, and nobody learns of it. */
  readonly kill: (collector: Collector) => void;
}

function world(): World {
  const time = createFakeTime();
  const fleet = createMemoryFleet(() => time.clock.monotonic());
  return {
    time,
    fleet,
    async start(name, keys = devices, keepsWithoutLease = false) {
      const metrics = createMetrics();
      const reporting = { metrics, clock: time.clock, log: silentLog, health: createHealth() };
      const after = (action: () => void, ms: number): (() => void) =>
        time.after(() => void (collector.isDead || action()), ms);
      const watch = (listener: () => void): (() => void) =>
        fleet.tables.watch(() => void (collector.isDead || listener()));
      const tables = { ...fleet.tables, watch };
      const membership = new Membership(tables, "fra", name, leaseMs, reporting, after);
      const polled = new Set<string>();
      const kept = new Map<string, string | undefined>();
      const taker: ShareTaker = {
        async take(taken) {
          for (const { key, kept: text } of taken) {
            polled.add(key);
            kept.set(key, text);
          }
          await Promise.resolve();
        },
        async release(released) {
          for (const key of released) polled.delete(key);
          await Promise.resolve();
          return new Map(released.map((key) => [key, `${name} had it`]));
        },
      };
      const shares = new Shares(membership, tables, taker, keepsWithoutLease, reporting, after);
      const collector: Collector = { name, membership, shares, metrics, polled, kept, isDead: false };
      await membership.start();
      shares.offer(keys);
      await shares.start();
      await settle();
      return collector;
    },
    kill(collector) {
      collector.isDead = true;
      collector.polled.clear();
    },
  };
}

const pollersOf = (collectors: readonly Collector[], key: string): readonly string[] =>
  collectors.filter(({ polled }) => polled.has(key)).map(({ name }) => name);

function assertOne(collectors: readonly Collector[], keys: readonly string[] = devices): void {
  for (const key of keys)
    assert.equal(pollersOf(collectors, key).length, 1, `${key}: ${pollersOf(collectors, key).join()}`);
}

suite("devices of a fleet", () => {
  test("are divided, and go to others with what is kept when a collector leaves", async () => {
    const { time, start } = world();
    const [a, b, c] = [await start("a"), await start("b"), await start("c")];
    await time.pass(1000);
    assertOne([a, b, c]);
    for (const { polled } of [a, b, c]) assert.ok(polled.size > 8 && polled.size < 35, String(polled.size));
    const had = [...b.polled];
    await b.shares.stop();
    await time.pass(1000);
    assert.equal(b.polled.size, 0);
    assertOne([a, c]);
    for (const key of had) assert.equal(a.kept.get(key) ?? c.kept.get(key), "b had it");
  });

  test("of a collector that dies are polled by others soon after its lease, and by no other before", async () => {
    const { time, start, kill } = world();
    const [a, b, c] = [await start("a"), await start("b"), await start("c")];
    await time.pass(1000);
    const had = [...b.polled];
    kill(b);
    await time.pass(leaseMs - leaseMs / 3 - 100);
    for (const key of had) assert.deepEqual(pollersOf([a, c], key), []);
    await time.pass(leaseMs + 100);
    assertOne([a, c]);
    const taken = await Promise.all(
      [a, c].map(({ metrics }) => metrics.value("netgloss_fleet_devices_taken_total", { from: "dead" })),
    );
    assert.equal(
      taken.reduce<number>((sum, count) => sum + (count ?? 0), 0),
      had.length,
    );
  });

  test("have one collector that leads, which searches networks; another one leads when it dies, and none without a lease", async () => {
    const { time, fleet, start, kill } = world();
    const all = [await start("a"), await start("b"), await start("c")];
    const leaders = (): readonly Collector[] => all.filter(({ isDead, shares }) => !isDead && shares.leads());
    await time.pass(1000);
    const [first, ...others] = leaders();
    assert.ok(first !== undefined);
    assert.deepEqual(others, []);
    kill(first);
    await time.pass(leaseMs * 2);
    assert.equal(leaders().length, 1);
    fleet.cut = () => "before";
    await time.pass(leaseMs * 2);
    assert.deepEqual(leaders(), []);
  });

  test("that one collector alone knows are polled by it", async () => {
    const { time, start } = world();
    const [a, b] = [await start("a"), await start("b", devices.slice(0, 20))];
    await time.pass(1000);
    assertOne([a, b]);
    b.shares.offer(["only:161"]);
    await time.pass(1000);
    assertOne([a, b], [...devices, "only:161"]);
    assert.deepEqual([...b.polled], ["only:161"]);
  });

  test("are not polled without a lease, unless they are to be kept; then until others have them", async () => {
    for (const keeps of [false, true]) {
      const { time, fleet, start } = world();
      const [a, b] = [await start("a", devices, keeps), await start("b", devices, keeps)];
      await time.pass(1000);
      const had = a.polled.size;
      fleet.cut = (member) => (member === "a" ? "before" : undefined);
      await time.pass(leaseMs);
      assert.equal(a.polled.size, keeps ? had : 0);
      await time.pass(2 * leaseMs);
      assert.equal(b.polled.size, devices.length);
      fleet.cut = () => undefined;
      await time.pass(leaseMs);
      assertOne([a, b]);
      assert.ok(a.polled.size > 0 && b.polled.size > 0);
    }
  });

  test("have one poller at every time, and each has one in the end, whatever is cut and whoever dies", async () => {
    const event = fc.record({
      kind: fc.constantFrom("cut before", "cut after", "mend", "kill", "start", "leave", "sleep", "offer"),
      who: fc.integer({ min: 0, max: 2 }),
      ms: fc.integer({ min: 1, max: leaseMs }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 12 }), async (events) => {
        const { time, fleet, start, kill } = world();
        const names = ["a", "b", "c"];
        const cuts = new Map<string, "before" | "after">();
        fleet.cut = (member) => cuts.get(member);
        const living = new Map<string, Collector>();
        const everyone: Collector[] = [];
        const begin = async (name: string): Promise<void> => {
          const begun = await start(name);
          living.set(name, begun);
          everyone.push(begun);
        };
        for (const name of names) await begin(name);
        const check = (): void => {
          for (const key of devices) {
            // A host that stood still does not know it yet: what it does is found out by its clock.
            const pollers = everyone.filter(
              ({ polled, membership }) => polled.has(key) && membership.session() !== undefined,
            );
            assert.ok(pollers.length <= 1, `${key}: ${pollers.map(({ name }) => name).join()}`);
          }
        };
        for (const { kind, who, ms } of events) {
          const name = names[who] as string;
          const collector = living.get(name);
          if (kind === "cut before") cuts.set(name, "before");
          else if (kind === "cut after") cuts.set(name, "after");
          else if (kind === "mend") cuts.delete(name);
          else if (kind === "kill" && collector !== undefined) {
            kill(collector);
            living.delete(name);
          } else if (kind === "start" && collector === undefined) await begin(name);
          else if (kind === "leave" && collector !== undefined) {
            await collector.shares.stop();
            await collector.membership.stop();
            collector.isDead = true;
            living.delete(name);
          } else if (kind === "sleep") time.sleep(ms);
          else if (kind === "offer") collector?.shares.offer(devices.slice(0, ms % devices.length));
          for (let passed = 0; passed < ms; passed += 500) {
            await time.pass(500);
            check();
          }
        }
        cuts.clear();
        for (const collector of living.values()) collector.shares.offer(devices);
        await time.pass(4 * leaseMs);
        check();
        if (living.size > 0) assertOne([...living.values()]);
      }),
      runs(15),
    );
  });
});
