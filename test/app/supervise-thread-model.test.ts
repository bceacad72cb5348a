import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import * as fc from "fast-check";
import { SupervisedThread, type Thread, type Timers } from "../../src/app/threads/thread.ts";
import { silentLog } from "../../src/base/report/index.ts";
import { runs } from "../support/runs.ts";

/** A thread that exists in name only. */
interface FakeThread {
  readonly thread: Thread;
  readonly die: () => void;
  readonly begun: { readonly resolve: () => void; readonly reject: (error: Error) => void };
  isLiving: boolean;
}

interface Rig {
  readonly supervision: SupervisedThread;
  readonly made: FakeThread[];
  readonly changes: boolean[];
  readonly pass: (ms: number) => void;
  readonly living: () => number;
}

function createRig(): Rig {
  let now = 0;
  let waiting: { readonly at: number; readonly action: () => void }[] = [];
  const timers: Timers = {
    now: () => now,
    after(ms, action) {
      const one = { at: now + ms, action };
      waiting.push(one);
      return () => void (waiting = waiting.filter((other) => other !== one));
    },
  };
  const made: FakeThread[] = [];
  const changes: boolean[] = [];
  const begins = new Map<Thread, Promise<void>>();
  const supervision = new SupervisedThread(
    {
      make(onDeath) {
        let begun: FakeThread["begun"] = { resolve() {}, reject() {} };
        const promise = new Promise<void>((resolve, reject) => (begun = { resolve, reject }));
        promise.catch(() => {});
        const fake: FakeThread = {
          thread: {
            call: () => assert.fail(),
            post: () => assert.fail(),
            end: async () => void (fake.isLiving = false),
          },
          die() {
            // What it was to begin fails with it, as calls of a real thread do.
            if (!fake.isLiving) return;
            fake.isLiving = false;
            begun.reject(new Error("died"));
            onDeath();
          },
          begun,
          isLiving: true,
        };
        begins.set(fake.thread, promise);
        made.push(fake);
        return fake.thread;
      },
      begin: (thread) => begins.get(thread) ?? assert.fail(),
      onChange: (isAlive) => changes.push(isAlive),
      log: silentLog,
    },
    timers,
  );
  return {
    supervision,
    made,
    changes,
    pass(ms) {
      now += ms;
      const due = waiting.filter(({ at }) => at <= now);
      waiting = waiting.filter(({ at }) => at > now);
      for (const { action } of due) action();
    },
    living: () => made.filter(({ isLiving }) => isLiving).length,
  };
}

/** What the supervision is to do, without threads: how many were made, and what the one there is does. */
interface Model {
  now: number;
  made: number;
  phase: "beginning" | "working" | "waiting" | "stopped";
  since: number;
  until: number;
  failures: number;
  changes: boolean[];
}

const waits = [0, 100, 1000, 10_000];

function toWaiting(model: Model): void {
  model.until = model.now + (waits[Math.min(model.failures++, 3)] ?? 0);
  model.phase = "waiting";
}

class Die implements fc.AsyncCommand<Model, Rig> {
  readonly back: number;
  constructor(back: number) {
    this.back = back;
  }
  check = (): boolean => true;
  async run(model: Model, { made }: Rig): Promise<void> {
    const fake = made.at(-1 - (this.back % made.length));
    if (fake === made.at(-1) && (model.phase === "working" || model.phase === "beginning")) {
      if (model.phase === "working") {
        if (model.now - model.since > 60_000) model.failures = 0;
        model.changes.push(false);
      }
      toWaiting(model);
    }
    fake?.die();
  }
  toString = (): string => `die(${this.back})`;
}

class Begin implements fc.AsyncCommand<Model, Rig> {
  readonly works: boolean;
  constructor(works: boolean) {
    this.works = works;
  }
  check = ({ phase }: Readonly<Model>): boolean => phase === "beginning";
  async run(model: Model, { made }: Rig): Promise<void> {
    if (this.works) {
      model.phase = "working";
      model.since = model.now;
      model.changes.push(true);
      made.at(-1)?.begun.resolve();
    } else {
      toWaiting(model);
      made.at(-1)?.begun.reject(new Error("cannot begin"));
    }
  }
  toString = (): string => (this.works ? "begin works" : "begin fails");
}

class Pass implements fc.AsyncCommand<Model, Rig> {
  readonly ms: number;
  constructor(ms: number) {
    this.ms = ms;
  }
  check = (): boolean => true;
  async run(model: Model, rig: Rig): Promise<void> {
    model.now += this.ms;
    if (model.phase === "waiting" && model.until <= model.now) {
      model.phase = "beginning";
      model.made++;
    }
    rig.pass(this.ms);
  }
  toString = (): string => `pass(${this.ms})`;
}

class Stop implements fc.AsyncCommand<Model, Rig> {
  check = (): boolean => true;
  async run(model: Model, { supervision, living }: Rig): Promise<void> {
    model.phase = "stopped";
    await supervision.stop(async () => {}, 1000);
    assert.equal(living(), 0, "none is left when stop has returned");
  }
  toString = (): string => "stop";
}

/** Runs the command, lets all promises settle, and compares. */
function checked(command: fc.AsyncCommand<Model, Rig>): fc.AsyncCommand<Model, Rig> {
  return {
    check: (model) => command.check(model),
    async run(model, rig) {
      await command.run(model, rig);
      await turn();
      assert.equal(rig.made.length, model.made, "threads made");
      assert.equal(rig.living(), model.phase === "beginning" || model.phase === "working" ? 1 : 0, "threads alive");
      assert.equal(rig.supervision.thread(), model.phase === "working" ? rig.made.at(-1)?.thread : undefined);
      assert.deepEqual(rig.changes, model.changes);
    },
    toString: () => String(command),
  };
}

test("whatever dies, begins, fails and stops in whatever order, there is one thread at most, as in the model", async () => {
  const commands = fc.commands(
    [
      fc.nat(3).map((back) => checked(new Die(back))),
      fc.constant(checked(new Die(0))),
      fc.boolean().map((works) => checked(new Begin(works))),
      fc.constant(checked(new Begin(true))),
      fc.constantFrom(0, 50, 100, 1000, 10_000, 61_000).map((ms) => checked(new Pass(ms))),
      fc.constant(checked(new Stop())),
    ],
    { maxCommands: 40 },
  );
  await fc.assert(
    fc.asyncProperty(commands, async (list) => {
      const rig = createRig();
      const started = rig.supervision.start();
      rig.made[0]?.begun.resolve();
      await started;
      const model: Model = { now: 0, made: 1, phase: "working", since: 0, until: 0, failures: 0, changes: [] };
      await fc.asyncModelRun(() => ({ model, real: rig }), list);
    }),
    runs(300),
  );
});

test("a first start that fails, dies or is stopped leaves nothing and is not repeated", async () => {
  const ends: ((rig: Rig) => void)[] = [
    ({ made }) => made[0]?.begun.reject(new Error("cannot begin")),
    ({ made }) => made[0]?.die(),
    ({ supervision }) => void supervision.stop(async () => {}, 1000),
    ({ supervision, made }) => {
      void supervision.stop(async () => {}, 1000);
      made[0]?.begun.resolve();
    },
  ];
  for (const end of ends) {
    const rig = createRig();
    const started = rig.supervision.start();
    end(rig);
    rig.made[0]?.begun.reject(new Error("ended"));
    await assert.rejects(started);
    rig.pass(20_000);
    assert.deepEqual([rig.made.length, rig.living(), rig.changes], [1, 0, []]);
  }
});

test("a thread that dies or fails while it finishes is not started again", async () => {
  for (const ending of ["dies", "fails", "is late"]) {
    const rig = createRig();
    const started = rig.supervision.start();
    rig.made[0]?.begun.resolve();
    await started;
    const stopped = rig.supervision.stop(async () => {
      if (ending === "fails") throw new Error("cannot finish");
      if (ending === "dies") rig.made[0]?.die();
      await new Promise(() => {});
    }, 1000);
    await turn();
    rig.pass(1000);
    await stopped;
    rig.pass(20_000);
    assert.deepEqual([rig.made.length, rig.living(), rig.changes], [1, 0, []], ending);
  }
});
