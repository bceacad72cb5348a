import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as check, asyncProperty, constantFrom, string } from "fast-check";
import { MetadataWords } from "../../src/app/views/metadata-words.ts";
import { silentLog } from "../../src/base/report/index.ts";
import type { UdmIndex } from "../../src/metadata/index.ts";
import { runs } from "../support/runs.ts";

type Entry = Readonly<Record<string, unknown>>;

/** A state of the metadata with entries, a few at a time. */
function stateOf(version: number, entries: Iterable<Entry>, size = 1): UdmIndex {
  const texts = function* (): Generator<object> {
    let some: string[] = [];
    const portion = (): object => {
      const bytes = some.map((text) => Buffer.from(text));
      const ends = bytes.map((_, i) => bytes.slice(0, i + 1).reduce((sum, each) => sum + each.length, 0));
      const starts = bytes.map((each, i) => (ends[i] ?? 0) - each.length);
      some = [];
      return { bytes: Buffer.concat(bytes), starts, ends, count: bytes.length };
    };
    for (const entry of entries) {
      some.push(JSON.stringify(entry));
      if (some.length === 100) yield portion();
    }
    yield portion();
  };
  return { version, size, jsonTexts: texts } as unknown as UdmIndex;
}

function wordsOf(states: () => readonly UdmIndex[], now = (): number => 0) {
  const clock = { now: () => 0, monotonic: now };
  return { words: new MetadataWords(states, { clock, log: silentLog }) };
}

test("words are found by their beginning as a search through all finds them, few or many", async () => {
  const name = string({ unit: constantFrom("a", "A", "b", "é", "É", "-", "0"), minLength: 1, maxLength: 6 });
  await check(
    asyncProperty(
      array(name, { maxLength: 60 }),
      constantFrom(0, 20_000),
      array(name, { minLength: 1, maxLength: 5 }),
      async (names, more, beginnings) => {
        const all = [...names, ...Array.from({ length: more }, (_, i) => `b-${i.toString(36)}`)];
        const { words } = wordsOf(() => [
          stateOf(
            1,
            all.map((each) => ({ name: each })),
          ),
        ]);
        await words.of("names", 60_000);
        for (const beginning of ["", ...beginnings]) {
          const lower = beginning.toLowerCase();
          const wanted = [...new Set(all)].filter((each) => each.toLowerCase().startsWith(lower));
          const found = await words.of("names", 60_000, beginning);
          const order = (list: readonly string[]): readonly string[] =>
            list.map((each) => each.toLowerCase()).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
          assert.equal(found.complete, wanted.length < 200);
          assert.deepEqual(order(found.words), order(wanted).slice(0, 200));
          assert.deepEqual(
            found.words.map((each) => each.toLowerCase()),
            order(found.words),
          );
          assert.ok(found.words.every((each) => wanted.includes(each)));
          assert.equal(new Set(found.words).size, found.words.length);
        }
      },
    ),
    runs(20),
  );
});

test("what is too long, and kinds that are too many, are left out: the answer and a count say so", async () => {
  const entries = [
    { name: "x".repeat(257), tags: ["kept"] },
    { metadata: Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`.k${i}`, "v"])) },
  ];
  const { words } = wordsOf(() => [stateOf(1, entries)]);
  assert.deepEqual(await words.of("tags", 60_000), { words: ["kept"], complete: false });
  assert.deepEqual((await words.of("names", 0)).words, []);
  assert.deepEqual((await words.of("key k0", 0)).words, ["v"]);
  assert.deepEqual((await words.of("key k1499", 0)).words, []);
  assert.ok(words.counts.leftOut > 500);
});

test("changed entries are read again after a rest; a reading that fails leaves what was known", async () => {
  let now = 0;
  let state = stateOf(1, [{ name: "one" }]);
  const { words } = wordsOf(
    () => [state],
    () => now,
  );
  const ask = async (): Promise<readonly string[]> => (await words.of("names", 60_000)).words;
  const settled = async (): Promise<readonly string[]> => {
    await ask();
    while (!(await words.of("names", 0)).complete) await new Promise(setImmediate);
    return ask();
  };
  assert.deepEqual(await settled(), ["one"]);
  const broken = function* (): Generator<Entry> {
    yield { name: "lost" };
    throw new Error("this state of the metadata was released");
  };
  state = stateOf(2, broken());
  assert.deepEqual(await settled(), ["one"]);
  now += 10_000;
  assert.deepEqual(await settled(), ["one"]);
  state = stateOf(3, [{ name: "two" }]);
  now += 10_000;
  assert.deepEqual(await settled(), ["two"]);
});
