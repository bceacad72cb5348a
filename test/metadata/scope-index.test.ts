import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { compareSpecificity, type Address, type Key } from "../../src/base/ip/index.ts";
import { SharedIndex, SharedIndexReader, type UdmIndex } from "../../src/metadata/index.ts";
import { runs } from "../support/runs.ts";
import { leastEntries } from "../support/shared-index.ts";
import { denseAddress, denseKeyText, udmEntry } from "../support/udm-entry.ts";

/** Numbers in several chunks of the table. */
const numbers = [1, 2, 127, 128, 9999, 16_383] as const;
const step = fc.record({
  scope: fc.constantFrom(0, ...numbers),
  /** Which of the two layers of the scope; 0 is its own entries. */
  layer: fc.nat(2),
  puts: fc.array(denseKeyText, { maxLength: 8 }),
  deletes: fc.array(fc.nat(20), { maxLength: 3 }),
  inherits: fc.boolean(),
  goes: fc.nat(5).map((n) => n === 0),
});
const asked = fc
  .tuple(fc.constantFrom<4 | 6>(4, 6), fc.nat(63), fc.constantFrom(0, ...numbers))
  .map(([family, n, scope]) => ({ address: denseAddress(family, n), scope }));

/** A scope as the slow model has it. */
interface Model {
  /** The keys of its own entries, then those of its layers. */
  readonly keys: readonly Map<string, Key>[];
  inherits: boolean;
}

const newModel = (inherits: boolean): Model => ({ keys: [new Map(), new Map(), new Map()], inherits });

function textsOf(reader: SharedIndexReader, questions: readonly { address: Address; scope: number }[]): string[][] {
  const words = questions.flatMap(({ address: { family, value } }) =>
    family === 4
      ? [0, 0, 0xffff, Number(value)]
      : [96n, 64n, 32n, 0n].map((shift) => Number((value >> shift) & 0xffffffffn)),
  );
  const scopes = Int32Array.from(questions, ({ scope }) => scope);
  return reader.texts(
    Int32Array.from(words),
    questions.length,
    (read) =>
      questions.map((_, i) => {
        const { bytes, starts, ends, count } = read(i);
        return Array.from({ length: count }, (__, t) => {
          const { key, name } = JSON.parse(Buffer.from(bytes.subarray(starts[t], ends[t])).toString()) as {
            key: string;
            name: string;
          };
          return `${key} ${name}`;
        });
      }),
    scopes,
  );
}

suite("scopes in one index", () => {
  test("have their own entries and layers first, then those of all, unless they are isolated", () => {
    const property = fc.property(
      fc.array(step, { minLength: 1, maxLength: 10 }),
      fc.array(asked, { minLength: 1, maxLength: 12 }),
      (steps, questions) => {
        const shared = new SharedIndex({ maxEntries: leastEntries });
        const reader = new SharedIndexReader(shared.handle());
        const states = new Map<number, readonly UdmIndex[]>();
        const model = new Map<number, Model>([[0, newModel(true)]]);
        for (const { scope, layer, puts, deletes, inherits, goes } of steps) {
          const before = states.get(scope) ?? [shared.empty(), shared.empty(), shared.empty()];
          if (goes && scope !== 0) {
            shared.publishScopes(new Map([[scope, undefined]]));
            states.delete(scope);
            model.delete(scope);
            for (const state of before) shared.release(state);
          } else {
            const at = scope === 0 ? 0 : layer;
            const of = model.get(scope) ?? newModel(inherits);
            of.inherits = inherits || scope === 0;
            model.set(scope, of);
            const edit = (before[at] as UdmIndex).edit();
            const keys = of.keys[at] as Map<string, Key>;
            for (const text of puts) {
              const entry = udmEntry(text, { name: `${scope} ${at}` });
              edit.put(entry, "");
              keys.set(entry.key.text, entry.key);
            }
            for (const i of deletes) {
              const key = [...keys.values()][i];
              if (key !== undefined && edit.delete(key)) keys.delete(key.text);
            }
            const next = before.with(at, edit.done());
            states.set(scope, next);
            const [index, ...layers] = next;
            if (scope === 0) shared.publish(index as UdmIndex);
            else shared.publishScopes(new Map([[scope, { index, layers, inherits }]]));
            shared.release(before[at] as UdmIndex);
          }
          const covering = (of: number, { family, value }: Address): string[] =>
            (model.get(of)?.keys ?? [])
              .flatMap((keys, at) => Array.from(keys.values(), (key) => ({ key, at })))
              .filter(({ key }) => key.family === family && key.first <= value && value <= key.last)
              .toSorted((a, b) => compareSpecificity(a.key, b.key) || a.at - b.at)
              .map(({ key, at }) => `${key.text} ${of} ${at}`);
          const expected = questions.map(({ address, scope: of }) => {
            const isIsolated = model.get(of)?.inherits === false;
            return [...(of === 0 ? [] : covering(of, address)), ...(isIsolated ? [] : covering(0, address))];
          });
          assert.deepEqual(textsOf(reader, questions), expected);
        }
      },
    );
    fc.assert(property, runs(150));
  });

  test("say where they changed: in one scope, or in all", () => {
    const shared = new SharedIndex({ maxEntries: leastEntries });
    const reader = new SharedIndexReader(shared.handle());
    const put = (before: UdmIndex, key: string): UdmIndex => {
      const edit = before.edit();
      edit.put(udmEntry(key), "");
      return edit.done();
    };
    const first = put(shared.empty(), "10.0.0.0/8");
    shared.publishScopes(new Map([[7, { index: first, inherits: true }]]), Buffer.from("[]"));
    reader.changes();
    const second = put(first, "10.1.0.0/16");
    shared.publishScopes(new Map([[7, { index: second, inherits: true }]]));
    const { first: from, last } = udmEntry("10.1.0.0/16").key;
    assert.deepEqual(reader.changes().changed, [{ family: 4, first: from, last, scope: 7 }]);
    const whole = reader.changes.call(
      (shared.publishScopes(new Map([[7, { index: first, inherits: false }]])), reader),
    ).changed;
    assert.deepEqual(
      whole?.map(({ family, scope }) => [family, scope]),
      [
        [4, 7],
        [6, 7],
      ],
    );
    const layer = put(shared.empty(), "10.2.0.0/16");
    shared.publishScopes(new Map([[7, { index: first, layers: [layer], inherits: false }]]));
    reader.changes();
    const other = put(layer, "10.3.0.0/16");
    shared.publishScopes(new Map([[7, { index: first, layers: [other], inherits: false }]]));
    assert.deepEqual(
      reader.changes().changed?.map((range) => [range.first, range.scope]),
      [[udmEntry("10.3.0.0/16").key.first, 7]],
    );
    shared.publishScopes(new Map([[7, { index: first, layers: [other], inherits: true }]]));
    assert.equal(reader.changes().changed?.length, 2, "what counts behind it is other, too");
    shared.publishScopes(new Map([[7, undefined]]), Buffer.from('[{"name":"a","number":8,"match":[]}]'));
    assert.equal(reader.changes().changed, undefined);
    assert.deepEqual(reader.scopes().scopes, [{ name: "a", number: 8, match: [] }]);
    assert.equal(reader.scopes(), reader.scopes(), "the same list while it is the same");
  });

  test("that are deleted and made again take no more memory", () => {
    const shared = new SharedIndex({ maxEntries: leastEntries });
    const used = (): number => shared.stats().tree + shared.stats().entries;
    const count = 1000;
    const round = (): number => {
      const made = new Map(
        Array.from({ length: count }, (_, i) => {
          const before = shared.empty();
          const edit = before.edit();
          edit.put(udmEntry("10.0.0.0/8", { name: `scope ${i}` }), "");
          const index = edit.done();
          const added = before.edit();
          added.put(udmEntry("10.0.0.0/16", { name: `layer ${i}` }), "");
          const layer = added.done();
          shared.release(before);
          return [i + 1, { index, layers: [layer], inherits: true }] as const;
        }),
      );
      shared.publishScopes(made, Buffer.from("[]"));
      const most = used();
      shared.publishScopes(new Map(Array.from(made.keys(), (number) => [number, undefined])), Buffer.from("[]"));
      for (const { index, layers } of made.values()) for (const state of [index, ...layers]) shared.release(state);
      shared.release(shared.empty());
      return most;
    };
    const first = round();
    const least = used();
    for (let i = 0; i < 3; i++) {
      assert.equal(round(), first);
      assert.equal(used(), least);
    }
    assert.ok(least < first / 10, `${least} of ${first} bytes are left`);
  });
});
