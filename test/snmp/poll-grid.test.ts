import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { PollGrid } from "../../src/snmp/poller/poll-times.ts";
import { Schedule } from "../../src/snmp/poller/poll-times.ts";
import { cleanUp } from "../support/clean-up.ts";

interface GridRig {
  readonly grid: PollGrid;
  readonly polls: readonly (readonly [string, number])[];
  missed: number;
  /** Set: polls do not end. */
  isStuck: boolean;
  /** Lets time pass, millisecond by millisecond. */
  pass(ms: number): void;
  /** Time leaps, as it does for a process that is stopped. */
  leap(ms: number): void;
  now(): number;
}

function startGrid(t: TestContext): GridRig {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const polls: (readonly [string, number])[] = [];
  const clock = { now: () => now, monotonic: () => now };
  const schedule = new Schedule(clock);
  cleanUp(t, () => schedule.stop());
  const rig: GridRig = {
    grid: new PollGrid({
      schedule,
      clock,
      poll: (type) => {
        polls.push([type, now]);
        return rig.isStuck ? new Promise(() => {}) : Promise.resolve();
      },
      onMissed: (count) => void (rig.missed += count),
    }),
    polls,
    missed: 0,
    isStuck: false,
    pass(ms) {
      for (let i = 0; i < ms; i++) {
        now++;
        t.mock.timers.tick(1);
      }
    },
    leap(ms) {
      now += ms;
      t.mock.timers.tick(ms);
    },
    now: () => now,
  };
  return rig;
}

/** Lets what hangs on a poll's end run. */
const settle = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

test("types are due on one grid; a shorter or longer interval keeps the place, a new type joins the next", async (t) => {
  const rig = startGrid(t);
  rig.grid.plan(new Map([["slow", 300]]), 70);
  rig.pass(100);
  await settle();
  assert.deepEqual(rig.polls, [["slow", 70]]);
  assert.equal(rig.grid.nextDue(), 370);
  // At 100 the next was due at 370: by sixties, not "at once" and not "in sixty", which would bring all devices into step.
  rig.grid.plan(new Map([["slow", 60]]), 0);
  assert.equal(rig.grid.nextDue(), 130);
  rig.grid.plan(
    new Map([
      ["slow", 60],
      ["new", 1000],
    ]),
    0,
  );
  rig.pass(30);
  await settle();
  assert.deepEqual(rig.polls.slice(1), [
    ["slow", 130],
    ["new", 130],
  ]);
  rig.grid.plan(new Map([["new", 1000]]), 0);
  rig.pass(900);
  assert.equal(rig.polls.length, 3, "a type that is gone is not polled");
  rig.grid.plan(new Map([["new", 5000]]), 0);
  assert.equal(rig.grid.nextDue(), 1130);
  rig.grid.clear();
  assert.equal(rig.grid.nextDue(), undefined);
});

test("polls that are left out are counted: one runs still, or time has leapt", async (t) => {
  const rig = startGrid(t);
  rig.grid.plan(new Map([["dynamic", 60]]), 0);
  rig.pass(1);
  await settle();
  assert.equal(rig.polls.length, 1);
  rig.leap(60 * 5);
  await settle();
  assert.equal(rig.polls.length, 2);
  assert.equal(rig.missed, 4);
  assert.equal(rig.grid.nextDue(), 360, "the grid is the same");
  rig.isStuck = true;
  rig.pass(60);
  await settle();
  rig.pass(120);
  assert.equal(rig.polls.length, 3);
  assert.equal(rig.missed, 6);
});

test("what is cancelled does not stay in the schedule until its time", () => {
  const clock = { now: () => 0, monotonic: () => 0 };
  const schedule = new Schedule(clock);
  for (let i = 0; i < 10_000; i++) schedule.cancel(schedule.at(86_400_000 + i, () => {}));
  assert.equal(schedule.size, 0);
  assert.ok(schedule.kept < 100, `${schedule.kept} are kept`);
  schedule.stop();
});
