// A member of a fleet counts as one only while nobody can have taken over from it, whatever fails.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Membership } from "../../src/fleet/index.ts";
import { createHealth, createMetrics, silentLog, type Health, type Metrics } from "../../src/base/report/index.ts";
import { createFakeTime, settle, type FakeTime } from "../support/fake-time.ts";
import { createMemoryFleet, type MemoryFleet } from "../support/memory-fleet.ts";

const leaseMs = 15_000;

interface Rig {
  readonly membership: Membership;
  readonly metrics: Metrics;
  readonly health: Health;
}

function join(time: FakeTime, fleet: MemoryFleet, member: string): Rig {
  const metrics = createMetrics();
  const health = createHealth();
  const reporting = { clock: time.clock, log: silentLog, metrics, health };
  const membership = new Membership(fleet.tables, "fra", member, leaseMs, reporting, time.after);
  return { membership, metrics, health };
}

function rig(): { readonly time: FakeTime; readonly fleet: MemoryFleet } {
  const time = createFakeTime();
  return { time, fleet: createMemoryFleet(() => time.clock.monotonic()) };
}

const names = ({ membership }: Rig): readonly string[] => membership.members().map(({ name }) => name);

suite("a member of a fleet", () => {
  test("knows the others, until they leave or their lease is over", async () => {
    const { time, fleet } = rig();
    const [a, b, c] = [join(time, fleet, "a"), join(time, fleet, "b"), join(time, fleet, "c")];
    for (const { membership } of [a, b, c]) await membership.start();
    await settle();
    assert.deepEqual(names(a), ["a", "b", "c"]);
    await b.membership.stop();
    await settle();
    assert.deepEqual(names(a), ["a", "c"]);
    fleet.cut = (member) => (member === "c" ? "before" : undefined);
    await time.pass(leaseMs + leaseMs / 3 + 1);
    assert.deepEqual(names(a), ["a"]);
    assert.equal(c.membership.session(), undefined);
    assert.equal(await c.metrics.value("netgloss_fleet_leases_lost_total", { reason: "no_answer" }), 1);
    assert.deepEqual(
      c.health.checks().map(({ ready, degraded, detail }) => [ready, degraded, detail]),
      [[true, true, "not a member of the fleet fra: the connection was cut"]],
    );
    fleet.cut = () => undefined;
    await time.pass(leaseMs / 3);
    assert.deepEqual(names(a), ["a", "c"]);
    assert.deepEqual(names(c), ["a", "c"]);
  });

  test("gives up before the database does, however its answers are lost", async () => {
    for (const cut of ["before", "after"] as const) {
      const { time, fleet } = rig();
      const a = join(time, fleet, "a");
      await a.membership.start();
      await time.pass(7000);
      fleet.cut = () => cut;
      for (let passed = 0; passed < 4 * leaseMs; passed += 100) {
        await time.pass(100);
        const row = fleet.rows.get("a");
        const lives = row !== undefined && row.until > time.clock.monotonic();
        if (a.membership.session() !== undefined) assert.ok(lives && row.session === a.membership.session());
      }
      assert.equal(a.membership.session(), undefined);
    }
  });

  test("gives up when the host stood still, and when its clock was set forward; a clock set back changes nothing", async () => {
    const { time, fleet } = rig();
    const a = join(time, fleet, "a");
    await a.membership.start();
    const before = a.membership.session();
    time.sleep(leaseMs);
    assert.equal(a.membership.session(), undefined);
    await time.pass(leaseMs / 3);
    const session = a.membership.session();
    assert.ok(session !== undefined && session !== before);
    time.jump(-3_600_000);
    assert.equal(a.membership.session(), session);
    fleet.cut = () => "before";
    await time.pass(leaseMs);
    assert.equal(a.membership.session(), undefined);
  });

  test("whose name another collector takes stays out until that one is gone", async () => {
    const { time, fleet } = rig();
    const [old, young] = [join(time, fleet, "a"), join(time, fleet, "a")];
    await old.membership.start();
    await young.membership.start();
    await time.pass(leaseMs / 3);
    assert.equal(old.membership.session(), undefined);
    const session = young.membership.session();
    await time.pass(10 * leaseMs);
    assert.equal(young.membership.session(), session);
    assert.equal(old.membership.session(), undefined);
    assert.match(old.health.checks()[0]?.detail ?? "", /another collector has the name a/);
    await young.membership.stop();
    await time.pass(leaseMs / 3);
    assert.notEqual(old.membership.session(), undefined);
    await old.membership.stop();
    assert.equal(fleet.rows.size, 0);
  });

  test("that starts while the database is away joins when it is there", async () => {
    const { time, fleet } = rig();
    fleet.cut = () => "before";
    const a = join(time, fleet, "a");
    await a.membership.start();
    assert.equal(a.membership.session(), undefined);
    assert.match(a.health.checks()[0]?.detail ?? "", /the connection was cut/);
    fleet.cut = () => undefined;
    await time.pass(1000);
    assert.notEqual(a.membership.session(), undefined);
  });
});
