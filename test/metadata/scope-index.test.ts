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
  readonly keys: Map<string, Key>;
  inherits: boolean;
}

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
  test("have their own entries first, then those of all, unless they are isolated", () => {
    const property = fc.property(
      fc.array(step, { minLength: 1, maxLength: 10 }),
      fc.array(asked, { minLength: 1, maxLength: 12 }),
      (steps, questions) => {
        const shared = new SharedIndex({ maxEntries: leastEntries });
        const reader = new SharedIndexReader(shared.handle());
        const states = new Map<number, UdmIndex>();
        const model = new Map<number, Model>([[0, { keys: new Map(), inherits: true }]]);
        for (const { scope, puts, deletes, inherits, goes } of steps) {
          const before = states.get(scope) ?? shared.empty();
          if (goes && scope !== 0) {
            shared.publishScopes(new Map([[scope, undefined]]));
            states.delete(scope);
            model.delete(scope);
            shared.release(before);
          } else {
            const of = model.get(scope) ?? { keys: new Map<string, Key>(), inherits };
            of.inherits = inherits || scope === 0;
            model.set(scope, of);
            const edit = before.edit();
            for (const text of puts) {
              const entry = udmEntry(text, { name: String(scope) });
              edit.put(entry, "");
              of.keys.set(entry.key.text, entry.key);
            }
            for (const i of deletes) {
              const key = [...of.keys.values()][i];
              if (key !== undefined && edit.delete(key)) of.keys.delete(key.text);
            }
            const next = edit.done();
            states.set(scope, next);
            if (scope === 0) shared.publish(next);
            else shared.publishScopes(new Map([[scope, { index: next, inherits }]]));
            shared.release(before);
          }
          const covering = (of: number, { family, value }: Address): string[] =>
            [...(model.get(of)?.keys.values() ?? [])]
              .filter((key) => key.family === family && key.first <= value && value <= key.last)
              .toSorted(compareSpecificity)
              .map(({ text }) => `${text} ${of}`);
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
          shared.release(before);
          return [i + 1, { index, inherits: true }] as const;
        }),
      );
      shared.publishScopes(made, Buffer.from("[]"));
      const most = used();
      shared.publishScopes(new Map(Array.from(made.keys(), (number) => [number, undefined])), Buffer.from("[]"));
      for (const { index } of made.values()) shared.release(index);
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
