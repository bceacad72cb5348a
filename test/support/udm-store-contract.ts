// What every UdmStore does, whatever it keeps its entries in.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { parseKey } from "../../src/base/ip/index.ts";
import { UdmError, type UdmIndex, type UdmStore, type UdmValues, type UdmWrite } from "../../src/metadata/index.ts";
import { memoryUdmStore } from "./memory-udm-store.ts";
import { plainEntries } from "./udm-store-fixture.ts";
import { anyWrite } from "./udm-write-arbitrary.ts";
import { runs } from "./runs.ts";

export interface OpenStore {
  readonly store: UdmStore;
  /** The same database in another store; this one is not used any more. */
  reopen(): Promise<OpenStore>;
  close(): Promise<void>;
}

const nothing: UdmValues = { name: "", tags: [], vlan: 0n, internal: false, metadata: new Map() };

const create = (key: string, values: Partial<UdmValues> = {}): UdmWrite => {
  return { op: "create", key: parseKey(key), values: { ...nothing, ...values } };
};
const update = (key: string, values: Partial<UdmValues>, fields?: readonly (keyof UdmValues)[]): UdmWrite => {
  const write = { op: "update", key: parseKey(key), values: { ...nothing, ...values } } as const;
  return fields === undefined ? write : { ...write, fields };
};
const remove = (key: string): UdmWrite => ({ op: "delete", key: parseKey(key) });

const keys = (index: UdmIndex): string[] => [...index.entries()].map((entry) => entry.key.text);

/** @param openEmpty a store of no entries that belongs to the caller alone. */
export function udmStoreContract(name: string, openEmpty: () => Promise<OpenStore>): void {
  const withStore = async (action: (store: UdmStore, open: OpenStore) => Promise<void>): Promise<void> => {
    const open = await openEmpty();
    try {
      await action(open.store, open);
    } finally {
      await open.close();
    }
  };

  suite(`a ${name}`, () => {
    test("starts without entries", () =>
      withStore(async (store) => {
        assert.deepEqual(keys(store.current()), []);
        assert.deepEqual(keys(await store.load()), []);
      }));

    test("no write makes an entry hold more than it may, whatever it held before", () =>
      withStore(async (store) => {
        const tags = (count: number): string[] => Array.from({ length: count }, (_, i) => `t${i}`);
        await store.commit([create("10.0.0.1", { tags: tags(1024) })]);
        const grow = (count: number): UdmWrite => update("10.0.0.1", { tags: tags(count) }, ["tags"]);
        await assert.rejects(store.commit([grow(1025)]), (error) => {
          assert.ok(error instanceof UdmError);
          assert.equal(error.code, "invalid_argument");
          const description = 'the 1025 tags of key "10.0.0.1" are more than 1024';
          assert.deepEqual(error.violations, [{ index: 0, field: "tags", description }]);
          return true;
        });
        assert.equal(store.current().get(parseKey("10.0.0.1"))?.tags.length, 1024);
        await store.commit([grow(3)]);
      }));

    test("answers a commit with the entries as they are now, or as they were before a delete", () =>
      withStore(async (store) => {
        const values = {
          name: "a",
          tags: ["t", "t"],
          vlan: 2n ** 64n - 1n,
          internal: true,
          metadata: new Map([["k", "v"]]),
        };
        const [made] = await store.commit([create("10.0.0.1", values)]);
        assert.deepEqual(made, { key: parseKey("10.0.0.1"), ...values });
        const [changed] = await store.commit([update("10.0.0.1", { name: "b" }, ["name"])]);
        assert.deepEqual(changed, { key: parseKey("10.0.0.1"), ...values, name: "b" });
        const [gone] = await store.commit([remove("10.0.0.1")]);
        assert.deepEqual(gone, changed);
        assert.deepEqual(keys(store.current()), []);
      }));

    test("replaces all values by an update without fields, clears a named field that is unset", () =>
      withStore(async (store) => {
        await store.commit([create("10.0.0.1", { name: "a", tags: ["t"], vlan: 7n })]);
        const [cleared] = await store.commit([update("10.0.0.1", { vlan: 9n }, ["tags"])]);
        assert.deepEqual([cleared?.name, cleared?.tags, cleared?.vlan], ["a", [], 7n]);
        const [replaced] = await store.commit([update("10.0.0.1", { internal: true })]);
        assert.deepEqual(replaced, { key: parseKey("10.0.0.1"), ...nothing, internal: true });
        const [same] = await store.commit([update("10.0.0.1", { name: "x" }, [])]);
        assert.deepEqual(same, replaced);
      }));

    test("distinguishes kinds of keys and takes two spellings for one key", () =>
      withStore(async (store) => {
        await store.commit([create("10.0.0.1"), create("10.0.0.1/32"), create("10.0.0.1-10.0.0.1")]);
        await refused(store.commit([create("2001:DB8::1"), create("2001:db8:0::1")]), "invalid_argument");
        assert.deepEqual(keys(store.current()), ["10.0.0.1/32", "10.0.0.1-10.0.0.1", "10.0.0.1"]);
      }));

    test("refuses a batch as a whole, with all that is wrong with it and the code of the first", () =>
      withStore(async (store) => {
        await store.commit([create("10.0.0.1")]);
        const before = store.current();
        const batch = [
          create("10.0.0.2"),
          create("10.0.0.1"),
          update("10.0.0.9", {}),
          remove("10.0.0.2"),
          remove("::1"),
        ];
        const error = await refused(store.commit(batch), "already_exists");
        assert.deepEqual(
          error.violations.map(({ index, field, description }) => [index, field, description]),
          [
            [1, "key", 'key "10.0.0.1" already exists'],
            [2, "key", 'key "10.0.0.9" does not exist'],
            [3, "key", 'key "10.0.0.2" is already in the batch, at position 0'],
            [4, "key", 'key "::1" does not exist'],
          ],
        );
        assert.equal(error.message, 'key "10.0.0.1" already exists');
        assert.equal(store.current(), before);
      }));

    test("lists a hundred violations at most", () =>
      withStore(async (store) => {
        const batch = Array.from({ length: 150 }, (_, i) => remove(`10.0.0.${i}`));
        const error = await refused(store.commit(batch), "not_found");
        assert.equal(error.violations.length, 100);
      }));

    test("takes an empty batch", () =>
      withStore(async (store) => {
        const before = store.current();
        assert.deepEqual(await store.commit([]), []);
        assert.equal(store.current(), before);
      }));

    test("validates concurrent writes in the order of the calls, each after those before it", () =>
      withStore(async (store) => {
        const outcomes = await Promise.allSettled([
          store.commit([create("10.0.0.1", { name: "first" })]),
          store.commit([create("10.0.0.1", { name: "second" })]),
          store.commit([update("10.0.0.1", { vlan: 5n }, ["vlan"])]),
          store.commit([remove("10.0.0.1")]),
          store.commit([update("10.0.0.1", {})]),
          store.commit([create("10.0.0.1", { name: "third" })]),
        ]);
        assert.deepEqual(
          outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value[0]?.name : codeOf(outcome.reason))),
          ["first", "already_exists", "first", "first", "not_found", "third"],
        );
        assert.equal(store.current().get(parseKey("10.0.0.1"))?.name, "third");
      }));

    test("shows a write to a reader as soon as it is answered, and leaves an older state as it was", () =>
      withStore(async (store) => {
        await store.commit([create("10.0.0.1")]);
        const before = store.current();
        await store.commit([create("10.0.0.2"), remove("10.0.0.1")]);
        assert.deepEqual(keys(before), ["10.0.0.1"]);
        assert.deepEqual(keys(store.current()), ["10.0.0.2"]);
        assert.ok(store.current().version > before.version);
      }));

    test("gives a watcher the state at once, each later one before its writer is answered, none after the end", () =>
      withStore(async (store) => {
        await store.commit([create("10.0.0.1")]);
        const seen: string[][] = [];
        const end = store.watch((index) => seen.push(keys(index)));
        assert.deepEqual(seen, [["10.0.0.1"]]);
        await store.commit([create("10.0.0.2")]);
        assert.deepEqual(seen.at(-1), ["10.0.0.1", "10.0.0.2"]);
        await assert.rejects(store.commit([create("10.0.0.2")]));
        assert.equal(seen.length, 2);
        end();
        await store.commit([remove("10.0.0.2")]);
        assert.equal(seen.length, 2);
      }));

    test("does and answers what the model does, across reopenings", async () => {
      const step = fc.oneof(
        { weight: 6, arbitrary: fc.array(fc.array(anyWrite, { maxLength: 4 }), { minLength: 1, maxLength: 4 }) },
        { weight: 1, arbitrary: fc.constant("reopen" as const) },
      );
      const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        const model = memoryUdmStore();
        let open = await openEmpty();
        try {
          for (const batches of steps) {
            if (batches === "reopen") {
              open = await open.reopen();
            } else {
              const { store } = open;
              const expected = await settle(model, batches);
              assert.deepEqual(await settle(store, batches), expected);
            }
            assert.deepEqual(plainEntries(open.store.current().entries()), plainEntries(model.current().entries()));
          }
        } finally {
          await open.close();
        }
      });
      await fc.assert(property, runs(20));
    });
  });
}

async function refused(commit: Promise<unknown>, code: string): Promise<UdmError> {
  const error: unknown = await commit.then(
    () => assert.fail("the commit was not refused"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof UdmError, String(error));
  assert.equal(error.code, code);
  return error;
}

/** Commits all batches at once; what happened to each, in a form to compare. */
async function settle(store: UdmStore, batches: readonly (readonly UdmWrite[])[]): Promise<unknown[]> {
  const outcomes = await Promise.allSettled(batches.map((batch) => store.commit(batch)));
  return outcomes.map((outcome) => {
    if (outcome.status === "fulfilled") return plainEntries(outcome.value);
    const error = outcome.reason as UdmError;
    return { code: error.code, at: error.violations.map(({ index, description }) => `${index}: ${description}`) };
  });
}

function codeOf(error: unknown): string {
  return error instanceof UdmError ? error.code : String(error);
}
