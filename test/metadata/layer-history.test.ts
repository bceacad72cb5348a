// What sources change is in the history, apart from what people write.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import type { UdmChange, CollectorUdmStore } from "../../src/metadata/index.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { memoryPath, storeOn } from "../support/udm-store-fixture.ts";

const address = (i: number): string => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
const create = (store: CollectorUdmStore, key: string, name: string): Promise<unknown> =>
  store.submit([{ op: "create", key: parseKey(key), values: udmEntry("::", { name }) }], {
    user: "ann",
    method: "CreateUdm",
  });
const shown = ({ number, author, method, layer, entries, isCut, changes }: UdmChange): unknown[] => [
  number,
  author,
  method,
  layer,
  entries,
  isCut,
  changes.map(({ before, after }) => [before?.name, after?.name]),
];

async function started(io: MemoryFileIo = memoryFileIo()): Promise<{ io: MemoryFileIo; store: CollectorUdmStore }> {
  const { store } = storeOn(io, { stateDirectory: io.folder });
  await store.start();
  await store.layers.setNames(["netbox"]);
  return { io, store };
}

suite("changes of layers", { concurrency: true }, () => {
  test("are in the history with what was before and after; the first filling after a restart is none", async () => {
    const { store } = await started();
    await store.layers.replace("netbox", [udmEntry("10.0.0.1", { name: "restored" })]);
    await create(store, "10.0.0.1", "mine");
    await store.layers.replace(
      "netbox",
      [udmEntry("10.0.0.1", { name: "one" }), udmEntry("10.0.0.2", { name: "two" })],
      "RunSource",
    );
    await store.layers.replace("netbox", [udmEntry("10.0.0.2", { name: "two" })], "RunSource");
    await store.layers.replace("netbox", [udmEntry("10.0.0.2", { name: "two" })], "RunSource");
    const all = await store.history.list({ limit: 10 });
    assert.deepEqual(all.map(shown), [
      [3, "netbox", "RunSource", "netbox", 1, false, [["one", undefined]]],
      [
        2,
        "netbox",
        "RunSource",
        "netbox",
        2,
        false,
        [
          ["restored", "one"],
          [undefined, "two"],
        ],
      ],
      [1, "ann", "CreateUdm", undefined, 1, false, [[undefined, "mine"]]],
    ]);
    const numbers = async (query: object): Promise<number[]> =>
      (await store.history.list({ limit: 10, ...query })).map(({ number }) => number);
    assert.deepEqual(await numbers({ withoutLayers: true }), [1]);
    assert.deepEqual(await numbers({ author: "netbox" }), [3, 2]);
    assert.deepEqual(await numbers({ key: parseKey("10.0.0.1") }), [3, 2, 1]);
    // The person's entry is what the person made it.
    assert.equal((await store.history.lastOf([parseKey("10.0.0.1")]))[0]?.number, 1);
    assert.equal((await store.history.lastOf([parseKey("10.0.0.2")]))[0], undefined);
    await store.stop();
  });

  test("of many entries are kept in part, with their number", async () => {
    const { store } = await started();
    const many = Array.from({ length: 3000 }, (_, i) => udmEntry(address(i), { name: "x" }));
    await store.layers.replace("netbox", many, "RunSource");
    const [change] = await store.history.list({ limit: 1 });
    assert.deepEqual([change?.entries, change?.changes.length, change?.isCut], [3000, 1000, true]);
    await store.layers.setNames([]);
    await create(store, "192.0.2.1", "a");
    const [, gone] = await store.history.list({ limit: 2 });
    assert.deepEqual(
      [gone?.method, gone?.entries, gone?.changes.length, gone?.isCut],
      ["RemoveSource", 3000, 1000, true],
    );
    await store.stop();
  });

  test("do not mix with the file at the next start", async () => {
    const { io, store } = await started();
    await create(store, "10.0.0.1", "mine");
    await create(store, "10.0.0.2", "mine");
    await store.layers.replace("netbox", [udmEntry("10.0.0.1", { name: "n" }), udmEntry("10.0.0.3")], "RunSource");
    await store.stop();
    io.put(memoryPath, "10.0.0.1:\n  name: mine\n10.0.0.2:\n  name: by hand\n");
    const { store: next } = await started(io);
    const all = await next.history.list({ limit: 10 });
    assert.deepEqual(
      all.map(({ number, author, layer, changes }) => [
        number,
        author,
        layer,
        changes.map(({ after }) => after?.key.text),
      ]),
      [
        [4, "file", undefined, ["10.0.0.2"]],
        [3, "netbox", "netbox", ["10.0.0.1", "10.0.0.3"]],
        [2, "ann", undefined, ["10.0.0.2"]],
        [1, "ann", undefined, ["10.0.0.1"]],
      ],
    );
    assert.equal((await next.history.lastOf([parseKey("10.0.0.1")]))[0]?.number, 1);
    await next.stop();
  });

  test("a history without room costs no entries of sources", async () => {
    const io = memoryFileIo();
    const full: MemoryFileIo = {
      ...io,
      create: async (path, mode) => {
        if (path.includes(".history-")) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
        return io.create(path, mode);
      },
    };
    const { store } = await started(full);
    await store.layers.replace("netbox", [udmEntry("10.0.0.1", { name: "one" })], "RunSource");
    assert.equal(store.layers.list()[0]?.index.size, 1);
    assert.equal(store.history.last(), 0);
    await store.stop();
  });
});
