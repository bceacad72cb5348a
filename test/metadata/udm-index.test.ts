import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compareKeys, formatAddress, parseKey, type Address } from "../../src/base/ip/index.ts";
import type { UdmEntry, UdmIndex, UdmText } from "../../src/metadata/index.ts";
import { buildIndex, emptyIndex } from "../support/shared-index.ts";
import { denseAddress, denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { modelIndex } from "../support/udm-model.ts";
import { createRandom } from "../../bench/support/random.ts";
import { isFuzz, runs } from "../support/runs.ts";

// Making a failing table of thousands of entries small would outlast the time a test file has (240 s); a busy host needs some of that.
if (!isFuzz) fc.configureGlobal({ interruptAfterTimeLimit: 150_000, markInterruptAsFailure: true });

/** Tables from empty to three levels of nodes. */
const table = fc
  .oneof(fc.array(denseKeyText, { maxLength: 40 }), sizedTable(400), sizedTable(3000))
  .map((texts) => new Set(texts.map((text) => parseKey(text).text)))
  .map((distinct) => Array.from(distinct, (key, n) => udmEntry(key, { name: `${n}` })));

/** Words of addresses that lie at the ends of what compares as signed and as unsigned, and next to each other. */
const sparseWord = fc.constantFrom(0, 1, 0x2001_0db8, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff);

const sparseKey = fc
  .record({
    family: fc.constantFrom<4 | 6>(4, 6),
    words: fc.array(sparseWord, { minLength: 8, maxLength: 8 }),
    /** How many words of the second address are those of the first. */
    common: fc.nat(4),
    hostBits: fc.nat(128),
    kind: fc.constantFrom("ip", "cidr", "range"),
  })
  .map(({ family, words, common, hostBits, kind }) => {
    const bits = family === 4 ? 32 : 128;
    const value = (from: readonly number[]): bigint =>
      from.slice(0, bits / 32).reduce((sum, word) => (sum << 32n) | BigInt(word), 0n);
    const text = (address: bigint): string => formatAddress({ family, value: address });
    const [one, other] = [value(words), value([...words.slice(0, common), ...words.slice(4 + common)])];
    if (kind === "ip") return parseKey(text(one));
    if (kind === "cidr") return parseKey(`${text(one)}/${bits - (hostBits % (bits + 1))}`);
    return parseKey(one < other ? `${text(one)}-${text(other)}` : `${text(other)}-${text(one)}`);
  });

const sparseTable = fc
  .oneof(fc.array(sparseKey, { maxLength: 60 }), fc.array(sparseKey, { minLength: 300, maxLength: 900, size: "max" }))
  .map((given) => new Map(given.map((key) => [key.text, key])))
  .map((distinct) => Array.from(distinct.values(), (key, n) => udmEntry(key.text, { name: `${n}` })));

const changes = fc.array(fc.tuple(fc.boolean(), denseKeyText), { maxLength: 60 });

test("an empty index holds nothing", () => {
  assert.deepEqual(contents(emptyIndex()), []);
  assert.equal(emptyIndex().version, 0);
  assert.deepEqual(emptyIndex().covering(denseAddress(4, 1)), []);
});

test("a built index answers as the slow model, whatever the order of its entries", () => {
  fc.assert(
    fc.property(table, fc.infiniteStream(fc.nat()), (entries, randoms) => {
      const shuffled = entries.toSorted(() => (Number(randoms.next().value) % 2 === 0 ? -1 : 1));
      const index = buildIndex(shuffled, 7);
      assert.equal(index.version, 7);
      assertSame(index, modelIndex(entries, 7));
    }),
    runs(10),
  );
});

test("addresses that are alike in some of their words, and their neighbours, are told apart", () => {
  fc.assert(
    fc.property(sparseTable, fc.array(sparseKey, { minLength: 1, maxLength: 20 }), (entries, asked) => {
      const [grown, built] = [emptyIndex().edit(), buildIndex(entries, 1)];
      for (const entry of entries) grown.put(entry);
      const model = modelIndex(entries, 1);
      for (const index of [built, grown.done()]) {
        assertSameEntries(index.entries(), model.entries());
        for (const key of [...asked, ...entries.slice(0, 40).map((entry) => entry.key)]) {
          assertSameEntries(index.within(key), model.within(key));
          assert.deepEqual(index.get(key), model.get(key));
          const { family, first, last } = key;
          for (const value of [first - 1n, first, last, last + 1n]) {
            if (value < 0n || value >= 1n << (family === 4 ? 32n : 128n)) continue;
            assertSameEntries(index.covering({ family, value }), model.covering({ family, value }));
          }
        }
      }
    }),
    runs(30),
  );
});

test("more entries cover an address than a search has room for at first: each question finds all, asked first", () => {
  for (const [family, address] of [
    [4, "10.0.0.40"],
    [6, "2001:db8::40"],
  ] as const) {
    const base = parseKey(address).first;
    const text = (value: bigint): string => formatAddress({ family, value });
    for (const count of [64, 65, 300]) {
      const entries = Array.from({ length: count }, (_, i) =>
        udmEntry(`${text(base - BigInt(i % 60))}-${text(base + BigInt(Math.floor(i / 60)))}`, { name: `${i}` }),
      );
      const asked = { family, value: base };
      const model = modelIndex(entries, 1);
      const jsonOf = (index: UdmIndex, kind: UdmText): string =>
        Buffer.concat([...index.render({ covering: asked }, kind, ",", 32_768)]).toString();
      for (const kind of ["json", "key", "yaml"] as const) {
        assert.equal(jsonOf(buildIndex(entries), kind), jsonOf(model, kind));
      }
      assertSameEntries(buildIndex(entries).covering(asked), model.covering(asked));
      assert.deepEqual(shownTexts(buildIndex(entries), asked), shownTexts(model, asked));
      // Together with the last address, which none covers.
      const words = family === 4 ? [0, 0, 0xffff, Number(base)] : [0x2001_0db8, 0, 0, 0x40];
      const list = [words, [-1, -1, -1, -1], words];
      const found = buildIndex(entries).texts(Int32Array.from(list.flat()), list.length, (read) =>
        list.map((_, nth) => {
          const { bytes, starts, ends, count: texts } = read(nth);
          return Array.from({ length: texts }, (_text, i) => Buffer.from(bytes.slice(starts[i], ends[i])).toString());
        }),
      );
      const expected = shownTexts(model, asked).toSorted();
      assert.deepEqual(
        found.map((texts) => texts.toSorted()),
        [expected, [], expected],
      );
    }
  }
});

test("an index grown entry by entry answers as the slow model", () => {
  fc.assert(
    fc.property(table, (entries) => {
      const edit = emptyIndex().edit();
      for (const entry of entries) edit.put(entry);
      assertSame(edit.done(), modelIndex(entries, 1));
    }),
    runs(10),
  );
});

test("changes and replacements answer as the slow model, during the edit and after it", () => {
  fc.assert(
    fc.property(table, changes, (entries, steps) => {
      const edit = buildIndex(entries, 3).edit();
      const model = modelIndex(entries, 3).edit();
      for (const [n, [isPut, text]] of steps.entries()) {
        const entry = udmEntry(text, { name: `change ${n}` });
        if (isPut) {
          edit.put(entry);
          model.put(entry);
        } else {
          assert.equal(edit.delete(entry.key), model.delete(entry.key));
        }
        assert.deepEqual(edit.get(entry.key), model.get(entry.key));
      }
      assertSame(edit.done(), model.done());
    }),
    runs(15),
  );
});

test("thousands of changes of one edit, some taken back, cover what a built index covers", () => {
  for (const family of [4, 6] as const) {
    const bits = family === 4 ? 32 : 128;
    const random = createRandom(7);
    const address = (): bigint =>
      (1n << BigInt(bits - 4)) | (BigInt(random() & 0xffff_ffff) * (family === 4 ? 1n : 0x1_0000_0001n));
    const text = (value: bigint): string => formatAddress({ family, value: BigInt.asUintN(bits, value) });
    const anyKey = (): string => {
      const from = BigInt.asUintN(bits, address());
      const kind = random() % 4;
      if (kind === 0) return text(from);
      if (kind === 1) return `${text(from)}/${bits - (random() % 24)}`;
      const to = BigInt.asUintN(bits, from + BigInt(random() % (kind === 2 ? 50 : 50_000_000)));
      return from <= to ? `${text(from)}-${text(to)}` : text(from);
    };
    const entries = [...new Set(Array.from({ length: 5000 }, anyKey))].map((key) => udmEntry(key));
    const [before, put, undone] = [entries.slice(0, 1000), entries.slice(1000, 4000), entries.slice(4000)];
    const edit = buildIndex(before, 1).edit();
    for (const entry of put.slice(0, 1500)) edit.put(entry);
    const mark = edit.mark();
    for (const entry of undone) edit.put(entry);
    mark.undo();
    for (const entry of put.slice(1500)) edit.put(entry);
    const [index, built] = [edit.done(), buildIndex([...before, ...put], 2)];
    assert.deepEqual(keys(index), keys(built));
    for (const { key } of entries) {
      for (const value of [key.first, key.last, BigInt.asUintN(bits, key.last + 1n)]) {
        const found = (of: UdmIndex): string[] => of.covering({ family, value }).map((entry) => entry.key.text);
        assert.deepEqual(found(index), found(built));
      }
    }
  }
});

test("deleting is the reverse of inserting, down to nothing", () => {
  fc.assert(
    fc.property(table, table, (kept, passing) => {
      const lasting = kept.filter((entry) => !passing.some((other) => other.key.text === entry.key.text));
      const grown = buildIndex(lasting, 0).edit();
      for (const entry of passing) grown.put(entry);
      const shrunk = grown.done().edit();
      for (const entry of passing) assert.ok(shrunk.delete(entry.key));
      const index = shrunk.done();
      assertSame(index, modelIndex(lasting, 2));
      const emptied = index.edit();
      for (const entry of lasting) assert.ok(emptied.delete(entry.key));
      assertSame(emptied.done(), modelIndex([], 3));
    }),
    runs(8),
  );
});

test("a snapshot stays as it is while edits go on, and an edit that is dropped leaves no trace", () => {
  fc.assert(
    fc.property(table, changes, changes, (entries, steps, dropped) => {
      const start = buildIndex(entries, 0);
      const snapshots: UdmIndex[] = [start];
      const expected: UdmEntry[][] = [contents(start)];
      for (const [isPut, text] of steps) {
        const latest = snapshots.at(-1) as UdmIndex;
        const abandoned = latest.edit();
        for (const [alsoPut, other] of dropped.slice(0, 5)) {
          if (alsoPut) abandoned.put(udmEntry(other, { name: "dropped" }));
          else abandoned.delete(parseKey(other));
        }
        const edit = latest.edit();
        if (isPut) edit.put(udmEntry(text, { name: "kept" }));
        else edit.delete(parseKey(text));
        const next = edit.done();
        snapshots.push(next);
        expected.push(contents(next));
      }
      for (const [i, snapshot] of snapshots.entries()) assert.deepEqual(contents(snapshot), expected[i]);
    }),
    runs(10),
  );
});

test("two edits of one index do not see each other", () => {
  const index = buildIndex([udmEntry("10.0.0.1")], 0);
  const one = index.edit();
  const other = index.edit();
  one.put(udmEntry("10.0.0.2"));
  other.delete(parseKey("10.0.0.1"));
  assert.deepEqual(keys(one.done()), ["10.0.0.1", "10.0.0.2"]);
  assert.deepEqual(keys(other.done()), []);
  assert.deepEqual(keys(index), ["10.0.0.1"]);
});

test("every finished edit has a version one higher", () => {
  const index = emptyIndex().edit().done();
  assert.equal(index.version, 1);
  assert.equal(index.edit().done().version, 2);
});

test("an edit that is done cannot change what it made", () => {
  const edit = emptyIndex().edit();
  edit.put(udmEntry("10.0.0.1"));
  const index = edit.done();
  assert.throws(() => edit.put(udmEntry("10.0.0.2")), /done/);
  assert.throws(() => edit.delete(parseKey("10.0.0.1")), /done/);
  assert.deepEqual(keys(index), ["10.0.0.1"]);
});

test("building from entries with one key twice is refused, in two spellings too", () => {
  assert.throws(
    () => buildIndex([udmEntry("10.0.0.1"), udmEntry("::1"), udmEntry("10.0.0.1")], 0),
    /two entries have one key/,
  );
  assert.throws(
    () => buildIndex([udmEntry("2001:DB8::/32"), udmEntry("2001:db8:0::/32")], 0),
    /two entries have one key/,
  );
});

test("an answer may be iterated more than once", () => {
  const index = buildIndex([udmEntry("10.0.0.1"), udmEntry("10.0.0.2")], 0);
  const within = index.within(parseKey("10.0.0.0/8"));
  assert.equal([...within].length, 2);
  assert.equal([...within].length, 2);
});

test("a hundred thousand entries are built, found and emptied", () => {
  const entries = Array.from({ length: 100_000 }, (_, n) =>
    udmEntry(n % 10 === 0 ? `${ipText(n)}/${12 + (n % 17)}` : ipText((n * 7919) % 100_000)),
  );
  const distinct = [...new Map(entries.map((entry) => [entry.key.text, entry])).values()];
  const index = buildIndex(distinct, 0);
  assert.equal(index.size, distinct.length);
  let previous: UdmEntry | undefined;
  let count = 0;
  for (const entry of index.entries()) {
    assert.ok(previous === undefined || compareKeys(previous.key, entry.key) < 0);
    assert.ok(isSameEntry(entry, index.get(entry.key)));
    previous = entry;
    count++;
  }
  assert.equal(count, distinct.length);
  const edit = index.edit();
  for (const entry of distinct) edit.delete(entry.key);
  assert.equal(edit.done().size, 0);
});

function sizedTable(maxLength: number): fc.Arbitrary<string[]> {
  return fc.array(denseKeyText, { minLength: Math.floor(maxLength / 2), maxLength, size: "max" });
}

function ipText(n: number): string {
  return `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
}

/** The JSON of what covers an address, copied from where it lies. */
function shownTexts(index: UdmIndex, covering: Address): string[] {
  const texts: string[] = [];
  for (const { bytes, starts, ends, count } of index.jsonTexts({ covering }, 32_768)) {
    for (let i = 0; i < count; i++) texts.push(Buffer.from(bytes.slice(starts[i], ends[i])).toString());
  }
  return texts;
}

function contents(index: UdmIndex): UdmEntry[] {
  return [...index.entries()];
}

function keys(index: UdmIndex): string[] {
  return contents(index).map((entry) => entry.key.text);
}

/** Compares every question that can be asked in the dense universe. */
function assertSame(index: UdmIndex, model: UdmIndex): void {
  assert.equal(index.version, model.version);
  assert.equal(index.size, model.size);
  assertSameEntries(index.entries(), model.entries());
  for (const family of [4, 6] as const) {
    for (let n = 0; n < 64; n += 3) {
      const address = denseAddress(family, n);
      assertSameEntries(index.covering(address), model.covering(address));
    }
    assertSameEntries(index.covering({ family, value: 0n }), model.covering({ family, value: 0n }));
    for (const [from, to] of [
      [0, 63],
      [0, 0],
      [5, 20],
      [16, 31],
      [40, 63],
      [63, 63],
    ] as const) {
      const first = denseAddress(family, from).value;
      const last = denseAddress(family, to).value;
      const bounds = { kind: "range" as const, family, first, last, written: first, text: "" };
      assertSameEntries(index.within(bounds), model.within(bounds));
    }
  }
  for (const bounds of ["0.0.0.0/0", "10.0.0.0/8", "::/0", "10.0.0.7-10.0.0.9", "10.0.0.8/30", "10.0.0.8"]) {
    const key = parseKey(bounds);
    assertSameEntries(index.within(key), model.within(key));
    assert.deepEqual(index.get(key), model.get(key));
  }
  for (const entry of model.entries()) assert.deepEqual(index.get(entry.key), entry);
}

function assertSameEntries(actual: Iterable<UdmEntry>, expected: Iterable<UdmEntry>): void {
  const one = [...actual];
  const other = [...expected];
  const isSame = one.length === other.length && one.every((entry, i) => isSameEntry(entry, other[i]));
  // Texts only where they differ: building them for each of some ten thousand questions is most of a run.
  if (!isSame)
    assert.deepEqual(
      one.map((entry) => entry.key.text),
      other.map((entry) => entry.key.text),
    );
  assert.ok(isSame);
}

/** Every entry of these tables has a name of its own for its key. */
function isSameEntry(one: UdmEntry, other: UdmEntry | undefined): boolean {
  return one.key.text === other?.key.text && one.name === other.name;
}
