import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { mergeEntries } from "./merge-entries.ts";
import type { UdmEntry } from "../../src/metadata/index.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { runs } from "../support/runs.ts";

test("nothing merges to unset values", () => {
  assert.deepEqual(mergeEntries([]), { name: "", tags: [], vlan: 0n, internal: false, metadata: new Map() });
});

test("each field and each metadata key comes from the most specific entry that sets it", () => {
  const merged = mergeEntries([
    udmEntry("10.0.0.0/8", { name: "all", vlan: 10n, internal: true, metadata: { ".site": "world", owner: "net" } }),
    udmEntry("10.1.0.0/16", { name: "ams", tags: ["ams"], metadata: { ".site": "ams", ".room": "" } }),
    udmEntry("10.1.1.1", { tags: ["db"], metadata: { owner: "dba" } }),
  ]);
  assert.deepEqual(merged, {
    name: "ams",
    tags: ["db", "ams"],
    vlan: 10n,
    internal: true,
    metadata: new Map([
      ["owner", "dba"],
      [".site", "ams"],
      [".room", ""],
    ]),
  });
});

test("of entries of one size an IP wins over a CIDR, a CIDR over a range, then the first in list order", () => {
  const texts = ["10.0.0.1", "10.0.0.1/32", "10.0.0.1-10.0.0.1", "10.0.0.0/31", "10.0.0.1/31", "10.0.0.0-10.0.0.1"];
  const entries = texts.map((text) => udmEntry(text, { name: text, tags: [text] }));
  assert.deepEqual(mergeEntries(entries.toReversed()).tags, texts);
  for (const [i, text] of texts.entries()) assert.equal(mergeEntries(entries.slice(i).toReversed()).name, text);
});

test("a tag that several entries have comes once, at its most specific place", () => {
  const merged = mergeEntries([
    udmEntry("10.0.0.0/8", { tags: ["a", "b", "b"] }),
    udmEntry("10.0.0.1", { tags: ["b", "c", "b"] }),
  ]);
  assert.deepEqual(merged.tags, ["b", "c", "a"]);
});

test("the merge is what asking every entry for every value gives, in any order of the entries", () => {
  // All of these cover 10.0.0.9.
  const texts =
    "10.0.0.9 10.0.0.9/32 10.0.0.9-10.0.0.9 10.0.0.8/31 10.0.0.9/31 10.0.0.8-10.0.0.9 10.0.0.9-10.0.0.10 " +
    "10.0.0.0/24 10.0.0.0-10.0.0.255 10.0.0.1-10.0.1.0 0.0.0.0/0";
  const key = fc.constantFrom(...texts.split(" "));
  const values = fc.record({
    name: fc.constantFrom("", "a", "b"),
    tags: fc.array(fc.constantFrom("t1", "t2", "t3", "t4"), { maxLength: 3 }),
    vlan: fc.constantFrom(0n, 1n, 2n ** 64n - 1n),
    internal: fc.boolean(),
    metadata: fc.dictionary(fc.constantFrom("x", ".x", ".y", "__proto__"), fc.constantFrom("", "1", "2"), {
      noNullPrototype: false,
    }),
  });
  const table = fc
    .uniqueArray(fc.tuple(key, values), { selector: ([text]) => text, maxLength: 8 })
    .map((rows) => rows.map(([text, row]) => udmEntry(text, row)));
  fc.assert(
    fc.property(table, (entries) => {
      const merged = mergeEntries(entries);
      const expected = modelMerge(entries);
      assert.deepEqual(merged, expected);
      assert.deepEqual(mergeEntries(entries.toReversed()), expected);
    }),
    runs(2000),
  );
});

/** For each value: of the entries that set it, the one that no other beats. */
function modelMerge(entries: readonly UdmEntry[]): ReturnType<typeof mergeEntries> {
  const winner = (sets: (entry: UdmEntry) => boolean): UdmEntry | undefined => {
    const setting = entries.filter((entry) => sets(entry));
    return setting.find((one) => setting.every((other) => one === other || beats(one, other)));
  };
  const keys = new Set(entries.flatMap((entry) => [...entry.metadata.keys()]));
  const tags: string[] = [];
  const left = [...entries];
  while (left.length > 0) {
    const next = left.findIndex((one) => left.every((other) => one === other || beats(one, other)));
    for (const tag of left.splice(next, 1)[0]?.tags ?? []) if (!tags.includes(tag)) tags.push(tag);
  }
  return {
    name: winner((entry) => entry.name !== "")?.name ?? "",
    tags,
    vlan: winner((entry) => entry.vlan !== 0n)?.vlan ?? 0n,
    internal: entries.some((entry) => entry.internal),
    metadata: new Map(
      [...keys].map((key) => [key, winner((entry) => entry.metadata.has(key))?.metadata.get(key) ?? ""]),
    ),
  };
}

/** The rule as it is written down: fewest addresses; IP before CIDR before range; list order. */
function beats({ key: a }: UdmEntry, { key: b }: UdmEntry): boolean {
  const sizes = [a.last - a.first, b.last - b.first] as const;
  if (sizes[0] !== sizes[1]) return sizes[0] < sizes[1];
  const kinds = ["ip", "cidr", "range"];
  if (a.kind !== b.kind) return kinds.indexOf(a.kind) < kinds.indexOf(b.kind);
  if (a.first !== b.first) return a.first < b.first;
  return a.written < b.written;
}
