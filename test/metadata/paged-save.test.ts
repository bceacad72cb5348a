// A save of a few changes writes the bytes that a save of everything would have written.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { parseKey } from "../../src/base/ip/index.ts";
import type { UdmEntry, UdmStore, UdmWrite } from "../../src/metadata/index.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { memoryPath, storeOn } from "../support/udm-store-fixture.ts";
import { anyValues } from "../support/udm-write-arbitrary.ts";
import { runs } from "../support/runs.ts";

/** What a store writes that has nothing written before: it renders all entries. */
async function writtenAtOnce(entries: readonly UdmEntry[]): Promise<string | undefined> {
  if (entries.length === 0) return "{}\n";
  const io = memoryFileIo();
  const { store } = storeOn(io);
  await store.start();
  await store.commit(entries.map((values): UdmWrite => ({ op: "create", key: values.key, values })));
  await store.stop();
  return io.text(memoryPath);
}

/** Creates or updates, or deletes where there is something to delete. */
async function write(store: UdmStore, key: string, values: UdmEntry | undefined): Promise<void> {
  const parsed = parseKey(key);
  const isThere = store.current().get(parsed) !== undefined;
  if (values !== undefined) await store.commit([{ op: isThere ? "update" : "create", key: parsed, values }]);
  else if (isThere) await store.commit([{ op: "delete", key: parsed }]);
}

suite("a save by pages", () => {
  test("writes what a save of all entries would write, after any writes, some of which fail to be saved", async () => {
    const step = fc.record({
      key: denseKeyText,
      values: fc.option(
        anyValues.map((values): UdmEntry => Object.assign(udmEntry("::"), values)),
        { nil: undefined },
      ),
      isFull: fc.boolean(),
    });
    const steps = fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { maxLength: 8 });
    const property = fc.asyncProperty(fc.nat(400), steps, async (filling, groups) => {
      const memory = memoryFileIo();
      let isFull = false;
      const io = {
        ...memory,
        rename: (from: string, to: string) =>
          isFull ? Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" })) : memory.rename(from, to),
      };
      const { store } = storeOn(io);
      await store.start();
      const fill = Array.from({ length: filling }, (_, i): UdmWrite => {
        const text = i % 3 === 0 ? `2001:db8::${i.toString(16)}` : `10.0.0.${i & 63}/${8 + (i >> 6)}`;
        return { op: "create", key: parseKey(text), values: udmEntry("::", { name: `n${i}` }) };
      });
      const distinct = new Map(fill.map((create) => [create.key.text, create]));
      if (fill.length > 0) await store.commit([...distinct.values()]);
      for (const group of groups) {
        isFull = group.some((one) => one.isFull) && group.length > 6;
        // All that are made in one turn are saved at once.
        await Promise.allSettled(group.map(({ key, values }) => write(store, key, values)));
        isFull = false;
      }
      await write(store, "255.255.255.255", udmEntry("::"));
      await store.stop();
      assert.equal(memory.text(memoryPath), await writtenAtOnce([...store.current().entries()]));
    });
    await fc.assert(property, runs(40));
  });

  test("writes an empty mapping when the last entry goes, and goes on from it", async () => {
    const io = memoryFileIo();
    const { store } = storeOn(io);
    await store.start();
    await write(store, "10.0.0.1", udmEntry("::"));
    await write(store, "10.0.0.1", undefined);
    assert.equal(io.text(memoryPath), "{}\n");
    await write(store, "10.0.0.2", udmEntry("::", { name: "x" }));
    assert.equal(io.text(memoryPath), "10.0.0.2:\n  name: x\n");
    await store.stop();
  });
});
