import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, type Clock } from "../../src/base/report/index.ts";
import { Pacer } from "../../src/snmp/limits.ts";
import { DefinitionsLoader, definitionPathsIn } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { DefinitionTree } from "../support/definition-tree.ts";
import { countTurns } from "../support/count-turns.ts";

/** On which one look takes a millisecond. */
function countedClock(): Clock & { looks(): number } {
  let looks = 0;
  return { now: () => 0, monotonic: () => looks++, looks: () => looks };
}

test("a pacer lets one go on in each turn of the event loop, in order", async (t) => {
  const pacer = new Pacer(countedClock());
  const turns = countTurns();
  cleanUp(t, () => turns.stop());
  const seen: number[] = [];
  const at: number[] = [];
  await Promise.all(
    [1, 2, 3, 4].map(async (i) => {
      await pacer.rest();
      seen.push(i);
      at.push(turns.count);
    }),
  );
  assert.deepEqual(seen, [1, 2, 3, 4]);
  assert.equal(new Set(at).size, 4);
});

test("what runs at the same time shares the time of a turn", async (t) => {
  const pieceMs = 10;
  const pacer = new Pacer(countedClock(), pieceMs);
  const turns = countTurns();
  cleanUp(t, () => turns.stop());
  const items = 200;
  const inTurn = new Map<number, number>();
  let done = 0;
  const work = async (): Promise<void> => {
    for (let i = 0; i < items; i++) {
      done++;
      inTurn.set(turns.count, (inTurn.get(turns.count) ?? 0) + 1);
      if (pacer.isDue()) await pacer.rest();
    }
  };
  const workers = 8;
  await Promise.all(Array.from({ length: workers }, work));
  assert.equal(done, workers * items);
  // In the first turn each of them has done one piece of work before it looks.
  assert.ok(Math.max(...inTurn.values()) <= pieceMs + workers, `${Math.max(...inTurn.values())} pieces in one turn`);
});

test("a pacer that had nothing to do begins with a whole piece", async () => {
  let now = 0;
  const pacer = new Pacer({ now: () => now, monotonic: () => now });
  assert.equal(pacer.isDue(), false);
  now += 10;
  assert.equal(pacer.isDue(), true);
  await pacer.rest();
  assert.equal(pacer.isDue(), false);
  now += 1_000;
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  assert.equal(pacer.isDue(), false);
});

test("one file of many devices gives the event loop its turn, with a finding about each of them, too", async (t) => {
  const count = 500;
  const device = (i: number): string =>
    `d${i}:\n  ip: 198.51.${100 + (i >> 8)}.${i & 255}\n  communities: [public]\n  strange: 1\n  object_contexts: {none: [a]}\n`;
  const devices = Array.from({ length: count }, (_, i) => device(i)).join("");
  const tree = await DefinitionTree.make(t, { "devices/lab.yml": devices });
  const clock = countedClock();
  const loader = new DefinitionsLoader({
    paths: definitionPathsIn(tree.directory),
    metrics: createMetrics(),
    clock,
  });
  const turns = countTurns();
  cleanUp(t, () => turns.stop());
  const { definitions, findings } = await loader.load("start");
  assert.equal(definitions?.devices.size, count);
  assert.equal(findings.length, 2 * count);
  assert.deepEqual(
    [findings[0]?.line, findings[1]?.line, findings.at(-1)?.line, findings.at(-1)?.column],
    [4, 5, 5 * count, 27],
  );
  // Reading the text, its meaning, resolving it, its hash, the text again, the places of what is wrong.
  assert.ok(clock.looks() > 6 * count, `${clock.looks()} looks at the clock`);
  assert.ok(turns.count >= clock.looks() / 12, `${clock.looks()} looks in ${turns.count} turns`);
});
