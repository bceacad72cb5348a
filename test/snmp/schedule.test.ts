import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { DiscoveryQueue, type DiscoveryOutcome } from "../../src/snmp/discovery/discover.ts";
import { planText, readPlan, type DevicePlan } from "../../src/snmp/discovery/device-plan.ts";
import { Schedule, type Scheduled } from "../../src/snmp/poller/poll-times.ts";
import { hasRestarted, type UptimeReading } from "../../src/snmp/poller/device-sessions.ts";
import { runs } from "../support/runs.ts";

test("the schedule runs what a sorted list would, in that order, with one timer", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  fc.assert(
    fc.property(
      fc.array(fc.record({ due: fc.integer({ min: 0, max: 500 }), isCancelled: fc.boolean() }), { maxLength: 60 }),
      (items) => {
        let now = 0;
        const clock = { now: () => now, monotonic: () => now };
        const schedule = new Schedule(clock);
        const ran: number[] = [];
        const scheduled: Scheduled[] = items.map(({ due }) =>
          schedule.at(due, () => {
            assert.ok(now >= due);
            ran.push(due);
          }),
        );
        items.forEach(({ isCancelled }, i) => isCancelled && schedule.cancel(scheduled[i] as Scheduled));
        const expected = items.filter(({ isCancelled }) => !isCancelled).map(({ due }) => due);
        assert.equal(schedule.size, expected.length);
        for (; now <= 501; now++) t.mock.timers.tick(1);
        assert.deepEqual(
          ran,
          expected.sort((a, b) => a - b),
        );
        assert.equal(schedule.size, 0);
        schedule.stop();
      },
    ),
    runs(50),
  );
});

test("a restart is a decrease that is not the wrap, another engine, or one more boot", () => {
  const reading = (ticks: number | undefined, seconds: number, boots?: number, engineId?: string): UptimeReading => ({
    ticks,
    boots,
    engineId,
    at: seconds * 1000,
  });
  const cases: readonly [UptimeReading, UptimeReading, boolean, string][] = [
    [reading(1000, 0), reading(7000, 60), false, "it goes on"],
    [reading(100_000, 0), reading(500, 60), true, "it went back"],
    [reading(2 ** 32 - 3000, 0), reading(3000, 60), false, "the wrap after 497 days"],
    [reading(2 ** 32 - 3_000_000, 0), reading(3000, 60), true, "before the wrap was due"],
    [reading(1000, 0), reading(2000, 3600), true, "longer than it was, but shorter than the time between"],
    [reading(undefined, 0), reading(2000, 3600), false, "nothing to compare"],
    [reading(1000, 0, 3), reading(7000, 60, 4), true, "one more boot"],
    [reading(1000, 0, 3, "aa"), reading(7000, 60, 3, "bb"), true, "another engine"],
    [reading(1000, 0, 3, "aa"), reading(7000, 60, 3, "aa"), false, "the same engine"],
  ];
  for (const [earlier, later, expected, name] of cases) assert.equal(hasRestarted(earlier, later), expected, name);
});

test("discoveries: one at a time for a device, joined, followed by another when asked afresh, limited in number", async () => {
  const ends = new Map<string, (outcome: DiscoveryOutcome) => void>();
  const begun: string[] = [];
  const queue = new DiscoveryQueue(
    (id) => {
      begun.push(id);
      return new Promise((resolve) => ends.set(id, resolve));
    },
    () => performance.now(),
    2,
  );
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 15));
  const first = queue.request("a", 0, false);
  assert.equal(queue.request("a", 0, false), first);
  void queue.request("b", 0, false);
  const third = queue.request("c", 0, false);
  await settle();
  assert.deepEqual(begun, ["a", "b"]);
  assert.deepEqual(queue.counts(), { queued: 1, running: 2 });
  assert.equal(queue.state("a"), "running");
  assert.equal(queue.state("c"), "queued");
  const again = queue.request("a", 0, true);
  assert.notEqual(again, first);
  ends.get("a")?.({ ok: true });
  assert.deepEqual(await first, { ok: true });
  await settle();
  assert.deepEqual(begun, ["a", "b", "c"]);
  queue.cancel("a");
  assert.equal((await again).ok, false);
  ends.get("b")?.({ ok: false, error: "no" });
  ends.get("c")?.({ ok: true });
  await queue.stop();
  assert.deepEqual(await third, { ok: true });
  assert.equal((await queue.request("d", 0, false)).ok, false);
});

test("a plan is read as it was written; anything else is no plan", () => {
  const plan: DevicePlan = {
    deviceId: "[2001:db8::1]:161",
    revision: "r",
    discoveredAt: 1,
    credential: 0,
    sysObjectId: [1, 3, 6, 1],
    sysName: "n",
    sysDescr: undefined,
    marks: new Map([["ifNumber", "3"]]),
    deviceGroups: ["generic"],
    objects: new Map([
      [
        "IF-MIB::ifTable",
        {
          index: [{ type: "Integer", oidText: ".1.3.6.1", field: "netif", syntax: "InterfaceIndex" }],
          attributes: new Map([["ifDescr", ".1.3.6.1.2"]]),
          contexts: ["10", "20"],
        },
      ],
    ]),
    problem: undefined,
    facts: new Map(),
    learnt: {
      descriptions: new Map([[1, "loopback"]]),
      names: new Map([[1, "lo"]]),
      ipv4Addresses: new Set(["192.0.2.1"]),
      inetAddresses: new Set(["2001:db8::1"]),
    },
  };
  const json = JSON.parse(planText(plan)) as Record<string, unknown>;
  const read = (other: unknown): DevicePlan | undefined => readPlan(plan.deviceId, JSON.stringify(other));
  assert.deepEqual(read(json), plan);
  for (const name of ["deviceId", "revision", "credential", "deviceGroups", "objects", "learnt"]) {
    assert.equal(read({ ...json, [name]: { no: 1 } }), undefined, name);
  }
  assert.equal(read({ ...json, credential: -1 }), undefined);
  fc.assert(fc.property(fc.jsonValue(), (other) => read(other) === undefined));
});
