import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { Delivery, type SpoolMode } from "../../../src/output/index.ts";
import { runs } from "../../support/runs.ts";
import { until } from "../../support/until.ts";
import { deliveryOptions } from "./delivery-fixture.ts";
import { createFakeStore, type FakeStore, type StoreMood } from "./fake-store.ts";
import { createMemoryDisk, type MemoryDisk } from "../../support/memory-disk.ts";

/** What the slow model knows: what happened to each line is asked of the store and the dead letters at the end. */
interface Model {
  readonly mode: SpoolMode;
  sent: number;
  /** Lines that were added in runs that ended by `stop`, or that run still. */
  readonly lines: Set<string>;
  /** Lines whose loan had been returned when their process was killed: they must survive it where the mode promises so. */
  readonly promised: Set<string>;
  /** Lines that may be lost: in memory when the process was killed. */
  readonly atRisk: Set<string>;
  /** Whether the disk has failed or been full: then memory stands in for it. */
  diskFailed: boolean;
  killed: boolean;
}

interface Real {
  readonly disk: MemoryDisk;
  readonly store: FakeStore;
  readonly stateDirectory: string;
  run: Run;
  readonly finished: Totals;
}

interface Totals {
  delivered: number;
  refused: number;
  dropped: number;
}

interface Run {
  readonly delivery: Delivery;
  readonly kill: () => void;
  /** Lines whose loan is not returned. */
  readonly lent: Set<string>;
}

let instances = 0;

function startRun(mode: SpoolMode, real: Pick<Real, "disk" | "store" | "stateDirectory">): Run {
  const process = real.disk.open();
  const delivery = new Delivery({
    ...deliveryOptions({ SPOOL_MODE: mode, stateDirectory: real.stateDirectory }),
    adapter: real.store.adapter,
    instance: `i${String(instances++).padStart(11, "0")}`,
    io: process.io,
  });
  delivery.start();
  return { delivery, kill: () => process.kill(), lent: new Set() };
}

type Command = fc.AsyncCommand<Model, Real>;
const always = (): boolean => true;

const send = (count: number): Command => ({
  check: always,
  async run(model, real) {
    const lines = Array.from({ length: count }, () => `{"n":${model.sent++}}`);
    const { lent, delivery } = real.run;
    for (const line of lines) {
      model.lines.add(line);
      lent.add(line);
    }
    const bytes = new Uint8Array(new SharedArrayBuffer(lines.join("\n").length + 1));
    bytes.set(Buffer.from(`${lines.join("\n")}\n`));
    delivery.add(bytes, count, () => {
      for (const line of lines) lent.delete(line);
      // Whoever lends may use the memory for something else.
      bytes.fill(0x78);
    });
  },
  toString: () => `send(${count})`,
});

const mood = (next: StoreMood): Command => ({
  check: always,
  run: async (_, real) => void (real.store.mood = next),
  toString: () => `store ${next}`,
});

const wait = (ms: number): Command => ({
  check: always,
  run: () => sleep(ms),
  toString: () => `wait(${ms})`,
});

const restart: Command = {
  check: always,
  async run(model, real) {
    const stopped = real.run.delivery.stop(1000);
    // A store that hangs would keep the drain until its limit.
    if (real.store.mood !== "works") real.store.mood = "works";
    await stopped;
    addTotals(real);
    real.run = startRun(model.mode, real);
  },
  toString: () => "restart",
};

const kill = (isPowerCut: boolean): Command => ({
  check: always,
  async run(model, real) {
    model.killed = true;
    const { lent } = real.run;
    for (const line of model.lines) (lent.has(line) ? model.atRisk : model.promised).add(line);
    model.lines.clear();
    real.run.kill();
    // What the dead process still has in its hands must not reach the store.
    const gone = real.run.delivery;
    const moodBefore = real.store.mood;
    real.store.mood = "hangs";
    await gone.stop(0);
    if (isPowerCut) real.disk.powerCut();
    real.store.mood = moodBefore === "hangs" ? "works" : moodBefore;
    real.run = startRun(model.mode, real);
  },
  toString: () => (isPowerCut ? "power cut" : "kill"),
});

const failCall = (nth: number): Command => ({
  check: (model) => model.mode !== "off",
  async run(model, real) {
    model.diskFailed = true;
    real.disk.failAt = nth;
  },
  toString: () => `fail the ${nth}th call`,
});

const fillDisk = (room: number): Command => ({
  check: (model) => model.mode !== "off",
  async run(model, real) {
    model.diskFailed = true;
    const used = [...real.disk.files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
    real.disk.capacity = used + room;
  },
  toString: () => `room for ${room} bytes`,
});

const emptyDisk: Command = {
  check: always,
  run: async (_, real) => void (real.disk.capacity = Infinity),
  toString: () => "room again",
};

function addTotals(real: Real): void {
  const state = real.run.delivery.state();
  real.finished.delivered += state.deliveredRecords;
  real.finished.refused += state.refusedRecords;
  real.finished.dropped += state.droppedRecords;
}

const moods = ["works", "away", "hangs", "busy", "lies", "fussy", "small", "hostile", "poison", "split"] as const;
const commands = (withKill: boolean): fc.Arbitrary<Command>[] => [
  fc.integer({ min: 1, max: 25 }).map(send),
  fc.integer({ min: 1, max: 25 }).map(send),
  fc.constantFrom(...moods).map(mood),
  fc.integer({ min: 0, max: 20 }).map(wait),
  fc.integer({ min: 1, max: 12 }).map(failCall),
  fc.integer({ min: 0, max: 300 }).map(fillDisk),
  fc.constant(emptyDisk),
  fc.constant(restart),
  ...(withKill ? [fc.constant(kill(false)), fc.constant(kill(true))] : []),
];

for (const mode of ["off", "overflow", "always"] as const) {
  for (const withKill of [false, true]) {
    const how = withKill ? "kills and power cuts" : "restarts";
    test(`mode ${mode}, with ${how}: every record is delivered, refused or counted as dropped`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.commands(commands(withKill), { size: "+1" }), (all) => tryCommands(mode, all)),
        { ...runs(15), includeErrorInReport: true },
      );
    });
  }
}

async function tryCommands(mode: SpoolMode, all: Iterable<Command>): Promise<void> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "netgloss-delivery-"));
  const disk = createMemoryDisk();
  const store = createFakeStore();
  const finished = { delivered: 0, refused: 0, dropped: 0 };
  const real: Real = { disk, store, stateDirectory, finished, run: startRun(mode, { disk, store, stateDirectory }) };
  const model: Model = {
    mode,
    sent: 0,
    lines: new Set(),
    promised: new Set(),
    atRisk: new Set(),
    diskFailed: false,
    killed: false,
  };
  try {
    await fc.asyncModelRun(() => ({ model, real }), all);
    store.mood = "works";
    disk.failAt = 0;
    disk.capacity = Infinity;
    await until("all is delivered", async () => {
      const { waitingRecords, inFlight, state, fault } = real.run.delivery.state();
      // A disk that could not be written to is tried with the next record.
      if (fault?.startsWith("the spool") === true) await send(1).run(model, real);
      return state === "working" && waitingRecords === 0 && inFlight === 0 && real.run.lent.size === 0;
    });
    await real.run.delivery.stop(1000);
    addTotals(real);
    await check(model, real);
  } finally {
    await real.run.delivery.stop(1000);
    await rm(stateDirectory, { recursive: true, force: true });
  }
}

async function check(model: Model, { store, finished, stateDirectory }: Real): Promise<void> {
  // Nothing twice: a line has one identity, whatever happened.
  for (const [line, ids] of store.kept) {
    assert.ok(!line.includes("x"), `memory that was given back was sent: ${line}`);
    assert.equal(ids.size, 1, `${line} was delivered as ${[...ids].join(" and ")}`);
  }
  const letters = await readFile(join(stateDirectory, "dead-letters.ndjson"), "utf8").catch(() => "");
  const dead = letters.split("\n").slice(0, -1);
  const records = new Set(dead.map((line) => JSON.stringify((JSON.parse(line) as { record: unknown }).record)));
  const has = (line: string): boolean => store.kept.has(line) || records.has(line);
  // Nothing missing.
  const missing = [...model.lines].filter((line) => !has(line));
  assert.ok(missing.length <= finished.dropped, `missing: ${missing.join(" ")}`);
  if (model.mode === "always" && !model.diskFailed) {
    assert.deepEqual(
      [...model.promised].filter((line) => !has(line)),
      [],
      "what was on disk survives",
    );
  }
  if (!model.killed) {
    const { delivered, refused, dropped } = finished;
    const counted = delivered + refused + dropped;
    // A position that a disk did not take has batches sent, and counted, again.
    const isRight = model.diskFailed ? counted >= model.sent : counted === model.sent;
    assert.ok(isRight, `${JSON.stringify(finished)} of ${model.sent}`);
  }
  for (const line of records) assert.ok(store.refused.has(line), `${line} was never at fault`);
}
