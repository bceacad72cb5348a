// A process of its own: what other tests leave may keep objects from being collected (Node 24).
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SharedIndex, SharedIndexReader, type UdmIndex } from "../../src/metadata/index.ts";
import { denseAddress, udmEntry } from "../support/udm-entry.ts";
import { until } from "../support/until.ts";

// There is no other way to garbage collection in a process that was not started for it.
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const inUse = (shared: SharedIndex): number => shared.stats().tree + shared.stats().entries;

/** Publishes states that nobody keeps an object of. */
function publishMany(shared: SharedIndex, count: number): void {
  let index: UdmIndex = shared.empty();
  for (let n = 0; n < count; n++) {
    const edit = index.edit();
    edit.put(udmEntry("10.0.0.0/24", { name: `${n}`, tags: ["x".repeat(500)] }));
    index = edit.done();
    shared.publish(index);
  }
}

async function untilCollected(what: string, isSo: () => boolean): Promise<void> {
  await until(what, () => {
    collect();
    return isSo();
  });
}

test("states that were forgotten give their memory back, all but the published one", async () => {
  const shared = new SharedIndex({ maxEntries: 100 });
  const reader = new SharedIndexReader(shared.handle());
  publishMany(shared, 50);
  assert.equal(shared.stats().heldSnapshots, 51);
  await untilCollected("no object is left", () => shared.stats().heldSnapshots === 0);
  await until("one state is left", () => inUse(shared) < 3000);
  assert.deepEqual(
    reader.covering(denseAddress(4, 1)).map(({ name }) => name),
    ["49"],
  );
});

test("edits that were forgotten give back what they made", async () => {
  const shared = new SharedIndex({ maxEntries: 100 });
  const index = shared.empty();
  shared.publish(index);
  const before = inUse(shared);
  const forget = (): void => {
    for (let n = 0; n < 20; n++) index.edit().put(udmEntry("10.0.0.1", { name: `${n}` }));
  };
  forget();
  assert.ok(inUse(shared) > before);
  await untilCollected("all is as before", () => inUse(shared) === before);
  assert.equal(index.size, 0);
});

test("an iterator that is in the middle keeps its state, and gives it up with itself", async () => {
  const shared = new SharedIndex({ maxEntries: 5000 });
  const start = (): Generator<Uint8Array> => {
    const edit = shared.empty().edit();
    for (let n = 0; n < 1000; n++) edit.put(udmEntry(`10.0.${n >> 8}.${n & 255}`, { name: "kept" }));
    return edit.done().render("all", "json", ",", 100);
  };
  let pieces: Generator<Uint8Array> | undefined = start();
  const first = pieces.next();
  await untilCollected("the empty state is gone", () => shared.stats().heldSnapshots === 1);
  let text = Buffer.from(first.value as Uint8Array).toString();
  for (const piece of pieces) text += Buffer.from(piece).toString();
  assert.equal(text.match(/"kept"/g)?.length, 1000);
  pieces = undefined;
  await untilCollected("its state is gone", () => shared.stats().heldSnapshots === 0);
});
