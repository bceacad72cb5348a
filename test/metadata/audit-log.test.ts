import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import { SharedIndex, type UdmStore, type WriteOrigin } from "../../src/metadata/index.ts";
import { applyBatches } from "../../src/metadata/store/collector-store.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { leastEntries } from "../support/shared-index.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { memoryPath, storeOn } from "../support/udm-store-fixture.ts";
import type { LogLine } from "../support/recorded-log.ts";

const create = (store: UdmStore, keys: readonly string[], origin?: WriteOrigin): Promise<unknown> =>
  store.commit(
    keys.map((key) => ({ op: "create", key: parseKey(key), values: udmEntry("::") })),
    origin,
  );

const written = (lines: readonly LogLine[]): LogLine[] => lines.filter(({ message }) => message === "metadata written");
const hostBits = (lines: readonly LogLine[]): LogLine[] => lines.filter(({ message }) => /host bits/.test(message));

suite("the log of writes", () => {
  test("has a line for each write: method, keys, revision and who made it", async () => {
    const { store, lines } = storeOn(memoryFileIo());
    await store.start();
    await create(store, ["10.0.0.1"], { method: "CreateUdm", user: "ada", peer: "192.0.2.9" });
    await store.commit([{ op: "delete", key: parseKey("10.0.0.1") }]);
    await assert.rejects(store.commit([{ op: "delete", key: parseKey("10.0.0.1") }]));
    const many = Array.from({ length: 12 }, (_, i) => `10.0.1.${i}`);
    await create(store, many, { method: "BatchCreateUdms" });
    const revision = store.current().version;
    assert.deepEqual(
      written(lines).map(({ level, fields }) => [level, fields]),
      [
        [
          "info",
          {
            method: "CreateUdm",
            user: "ada",
            peer: "192.0.2.9",
            keys: ["10.0.0.1"],
            entries: 1,
            revision: revision - 2,
          },
        ],
        ["info", { method: "delete", keys: ["10.0.0.1"], entries: 1, revision: revision - 1 }],
        ["info", { method: "BatchCreateUdms", keys: many.slice(0, 10), entries: 12, revision }],
      ],
    );
    await store.stop();
  });

  test("has a line for each of masses of writes", async () => {
    const { store, lines } = storeOn(memoryFileIo());
    await store.start();
    for (let i = 0; i < 100; i++) await create(store, [`10.0.0.${i}`, `10.0.1.${i}`]);
    assert.equal(written(lines).filter(({ level }) => level === "info").length, 100);
    await store.stop();
  });
});

suite("prefixes with host bits", () => {
  test("are taken, and a write says what they cover", async () => {
    const { store, lines } = storeOn(memoryFileIo());
    await store.start();
    await create(store, ["10.20.30.40/24", "10.0.0.0/8", "2001:db8::1/64"]);
    assert.deepEqual(
      hostBits(lines).map(({ level, fields }) => [level, fields]),
      [
        [
          "warn",
          {
            keys: [
              { key: "10.20.30.40/24", covers: "10.20.30.0/24" },
              { key: "2001:db8::1/64", covers: "2001:db8::/64" },
            ],
            entries: 2,
          },
        ],
      ],
    );
    await store.commit([{ op: "delete", key: parseKey("10.20.30.40/24") }]);
    assert.equal(hostBits(lines).length, 1);
    await store.stop();
  });

  test("are named when a file is read, the first ones one by one", async () => {
    const io = memoryFileIo();
    const bad = Array.from({ length: 30 }, (_, i) => `10.0.${i}.1/24: {}\n`).join("");
    io.put(memoryPath, `${bad}10.1.0.0/16:\n  name: fine\n2001:db8::5/64:\n  name: "ö"\n`);
    const { store, lines } = storeOn(io);
    await store.start();
    const [line, ...more] = hostBits(lines);
    assert.deepEqual(more, []);
    assert.equal(line?.level, "warn");
    assert.equal(line?.fields["entries"], 31);
    const keys = line?.fields["keys"] as unknown[];
    assert.equal(keys.length, 20);
    assert.deepEqual(keys[0], { key: "10.0.0.1/24", covers: "10.0.0.0/24" });
    await store.stop();
  });
});

test("an edit is given up when a batch fails by no refusal", async () => {
  const index = new SharedIndex({ maxEntries: leastEntries }).empty();
  let dropped = 0;
  const begin = index.edit.bind(index);
  index.edit = () => {
    const edit = begin();
    const drop = edit.drop.bind(edit);
    edit.drop = () => {
      dropped++;
      drop();
    };
    return edit;
  };
  const key = parseKey("10.0.0.1");
  const broken = { op: "create", key, values: { ...udmEntry("::"), tags: undefined } } as never;
  await assert.rejects(
    applyBatches(index, [
      { writes: [{ op: "create", key: parseKey("10.0.0.2"), values: udmEntry("::") }], origin: {} },
      { writes: [broken], origin: {} },
    ]),
    TypeError,
  );
  assert.equal(dropped, 1);
});
