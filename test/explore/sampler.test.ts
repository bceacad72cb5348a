import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as check, integer, property } from "fast-check";
import {
  LineSampler,
  SamplingJudge,
  createSamplingMemory,
  lostRecords,
  setOpen,
  type SamplingMemory,
} from "../../src/explore/sampling/index.ts";
import { createDirectSampler } from "../support/direct-sampler.ts";

interface Taken {
  readonly lines: string[];
  /** For how many each stands. */
  readonly weights: number[];
}

/** A sampler, and what it has taken. */
function rig(whole: number, memory = createSamplingMemory(1), chooser = 0, sampled = whole) {
  const rates = { whole, sampled };
  const taken: Taken = { lines: [], weights: [] };
  setOpen(memory, true);
  const judge = new SamplingJudge(memory, rates);
  const sampler = createDirectSampler(
    memory,
    rates,
    (lines, records) => {
      const texts = lines.toString().split("\n").slice(0, -1);
      taken.lines.push(...texts);
      taken.weights.push(...texts.map(() => records / texts.length));
    },
    chooser,
  );
  return { memory, judge, sampler, taken };
}

const unlimited = { whole: 0, sampled: 0 };
let number = 0;
/** Gives this many records, in pieces. */
function offer(sampler: LineSampler, count: number, piece = 25, text = "x"): void {
  for (let left = count; left > 0; left -= piece) {
    const size = Math.min(piece, left);
    const lines = Array.from({ length: size }, () => `${number++} ${text.repeat(number % 7)}\n`);
    sampler.look(Buffer.from(lines.join("")), size);
  }
}

/** Doubles the factor so often. */
function lag(memory: SamplingMemory, times: number): void {
  const judge = new SamplingJudge(memory, unlimited);
  for (let i = 0; i < times; i++) judge.adapt(1, 1000 * i);
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

test("what is taken stands for all, whatever the factor does meanwhile", () => {
  const { judge, sampler, taken } = rig(100);
  let later = 0;
  for (let second = 0; second < 20; second++) {
    offer(sampler, 1000);
    judge.judgeRate(1);
    if (second === 0) later = taken.lines.length;
  }
  assert.ok(Math.abs(sum(taken.weights) - 20_000) <= judge.factor, `${sum(taken.weights)}`);
  assert.ok(taken.lines.length - later <= 19 * 100, `${taken.lines.length - later} of 19 seconds`);
  assert.equal(judge.factor, 16);
  assert.equal(judge.sampledOut, 20_000 - taken.lines.length);
});

test("a burst after a calm is thinned at once, and what is taken stands for all of it", () => {
  const { judge, sampler, taken } = rig(1000);
  for (let second = 0; second < 5; second++) judge.judgeRate(1);
  offer(sampler, 100_000);
  const { weights } = taken;
  assert.ok(weights.length < 2300, `${weights.length} of 100 000 are taken before the rate is judged`);
  assert.ok(
    weights.slice(0, 999).every((weight) => weight === 1),
    "what a second may bring is taken whole",
  );
  assert.ok(Math.abs(sum(weights) - 100_000) <= judge.factor, `${sum(weights)}`);
  judge.judgeRate(1);
  assert.equal(judge.factor, 128);
  judge.judgeRate(1);
  assert.equal(judge.factor, 1);
});

test("up to a rate all are taken, of more much less, and it does not change to and fro", () => {
  const { judge, sampler, taken } = rig(1000, createSamplingMemory(1), 0, 250);
  const takenOf = (count: number): number => {
    const before = taken.lines.length;
    offer(sampler, count, 5);
    judge.judgeRate(1);
    return taken.lines.length - before;
  };
  assert.equal(takenOf(990), 990);
  assert.ok(takenOf(4000) < 1250, "the first second of a burst");
  assert.equal(judge.factor, 32);
  assert.ok(takenOf(4000) <= 250);
  assert.ok(takenOf(900) <= 250);
  assert.equal(judge.factor, 8, "as long as nearly so many come");
  assert.ok(takenOf(1001) <= 251);
  takenOf(790);
  assert.equal(judge.factor, 1);
  assert.ok(takenOf(790) > 790 - 8, "a group that has begun ends");
  assert.ok(Math.abs(sum(taken.weights) - (990 + 8000 + 900 + 1001 + 1580)) <= 64);
});

test("the rate is that of all threads together", () => {
  const memory = createSamplingMemory(3);
  const rigs = [0, 1, 2].map((chooser) => rig(1000, memory, chooser));
  const [first] = rigs;
  for (let second = 0; second < 3; second++) {
    for (const { sampler } of rigs) offer(sampler, 2000);
    first?.judge.judgeRate(1);
  }
  assert.equal(first?.judge.factor, 8);
  assert.ok(Math.abs(sum(rigs.flatMap(({ taken }) => taken.weights)) - 18_000) <= 3 * 8);
});

test("one of each group is taken, a whole line, each as often as the others, whatever the pieces are", () => {
  check(
    property(
      array(integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 30 }),
      integer({ min: 0, max: 6 }),
      (pieces, exponent) => {
        const { memory, sampler, taken } = rig(0);
        lag(memory, exponent);
        const factor = 2 ** exponent;
        const first = number;
        for (const piece of pieces) offer(sampler, piece, piece, "a long text ");
        const count = number - first;
        const places = taken.lines.map((line) => Number(line.split(" ", 1)[0]) - first);
        assert.ok(taken.weights.every((weight) => weight === factor));
        const groups = places.map((place) => Math.floor(place / factor));
        const whole = Math.floor(count / factor);
        assert.deepEqual(
          groups.slice(0, whole),
          Array.from({ length: whole }, (_, i) => i),
        );
        assert.ok(groups.length - whole <= 1);
        for (const [i, line] of taken.lines.entries()) {
          const n = (places[i] as number) + first;
          assert.equal(line, `${n} ${"a long text ".repeat((n + 1) % 7)}`);
        }
      },
    ),
  );
  const { memory, sampler, taken } = rig(0);
  lag(memory, 3);
  const first = number;
  offer(sampler, 80_000, 25);
  const places = Array.from({ length: 25 }, () => 0);
  for (const line of taken.lines) {
    const place = (Number(line.split(" ", 1)[0]) - first) % 25;
    places[place] = (places[place] as number) + 1;
  }
  for (const times of places) assert.ok(Math.abs(times - 400) < 120, places.join(" "));
});

test("what nobody takes is lost and counted: all while Explore is closed, what a record stands for when there is no room", () => {
  const memory = createSamplingMemory(1);
  const drops: Record<string, number> = {};
  const to = {
    maxLength: 1000,
    allocate: () => assert.fail("nothing is written"),
    hasRoom: () => false,
    part() {},
    write: () => assert.fail("nothing is written"),
  };
  const sampler = new LineSampler(memory, unlimited, 0, Math.random, to, (reason, records) => {
    drops[reason] = (drops[reason] ?? 0) + records;
  });
  offer(sampler, 100);
  assert.deepEqual(drops, { closed: 100 });
  setOpen(memory, true);
  lag(memory, 2);
  offer(sampler, 400);
  assert.deepEqual(drops, { closed: 100, queue_full: 400 });
  assert.equal(lostRecords(memory), 500);
});

test("a full inbox doubles the factor, a calm one halves it much later", () => {
  const sampler = new SamplingJudge(createSamplingMemory(1), unlimited);
  sampler.adapt(0.6, 0);
  assert.equal(sampler.factor, 2);
  sampler.adapt(0.9, 100);
  assert.equal(sampler.factor, 2, "a change takes a while to show");
  sampler.adapt(0.9, 300);
  assert.equal(sampler.factor, 4);
  sampler.adapt(0.01, 5000);
  assert.equal(sampler.factor, 4);
  sampler.adapt(0.01, 10_400);
  assert.equal(sampler.factor, 2);
  sampler.adapt(0.01, 20_500);
  assert.equal(sampler.factor, 1);
});

test("a reader that catches up after each commit is calm, one that never does is not", () => {
  const judge = new SamplingJudge(createSamplingMemory(1), unlimited);
  judge.adapt(0.6, 0);
  for (let now = 1000; now <= 11_000; now += 1000) {
    judge.adapt(0.01, now);
    judge.adapt(0.3, now + 500);
  }
  assert.equal(judge.factor, 1, "0.3 is beyond the low mark, but not for long");
  assert.ok(judge.isCalm(11_500));
  judge.adapt(0.3, 14_000);
  assert.ok(!judge.isCalm(14_000), "nothing was low for three seconds");
});
