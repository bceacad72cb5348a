import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { compareSpecificity, type Key } from "../../src/ip/index.ts";
import { createSharedIndex, openSharedIndex, type SharedIndexReader, type UdmIndex } from "../../src/udm/index.ts";
import { runs } from "../support/runs.ts";
import { leastEntries } from "../support/shared-index.ts";
import { denseAddress, denseKeyText, udmEntry } from "../support/udm-entry.ts";

/** Keys of a layer by their text, as the slow model has them. */
type Layer = Map<string, Key>;

const step = fc.record({
  layer: fc.nat(3),
  puts: fc.array(denseKeyText, { maxLength: 8 }),
  deletes: fc.array(fc.nat(20), { maxLength: 3 }),
});

suite("layers in one index", () => {
  test("are looked up together: the most specific first, of equal keys the earlier layer", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), fc.nat(63), (steps, n) => {
        const shared = createSharedIndex({ maxEntries: leastEntries });
        const reader = openSharedIndex(shared.handle());
        const states: UdmIndex[] = [0, 1, 2, 3].map(() => shared.empty());
        const model: Layer[] = states.map(() => new Map());
        let version = 0;
        for (const { layer, puts, deletes } of steps) {
          const state = states[layer] as UdmIndex;
          const entries = model[layer] as Layer;
          const edit = state.edit();
          for (const key of puts) {
            const entry = udmEntry(key, { name: String(layer) });
            edit.put(entry, "");
            entries.set(entry.key.text, entry.key);
          }
          for (const i of deletes) {
            const key = [...entries.values()][i];
            if (key !== undefined && edit.delete(key)) entries.delete(key.text);
          }
          const next = edit.done();
          states[layer] = next;
          if (layer === 0) shared.publish(next);
          else shared.publishLayers(states.slice(1), undefined);
          shared.release(state);
          assert.ok(reader.version() > version, "the version grows");
          version = reader.version();
          for (const family of [4, 6] as const) {
            const { value } = denseAddress(family, n);
            const covering = model
              .flatMap((keys, from) => [...keys.values()].map((key) => ({ key, from })))
              .filter(({ key }) => key.family === family && key.first <= value && value <= key.last)
              .toSorted((a, b) => compareSpecificity(a.key, b.key) || a.from - b.from);
            assert.deepEqual(
              textsOf(reader, family, value),
              covering.map(({ key, from }) => `${key.text} ${from}`),
            );
            assert.deepEqual(
              reader
                .covering({ family, value })
                .map(({ key, name }) => `${key.text} ${name}`)
                .toSorted(),
              covering.map(({ key, from }) => `${key.text} ${from}`).toSorted(),
            );
          }
        }
      }),
      runs(150),
    );
  });

  test("give their memory back when nobody sees them any more", () => {
    const shared = createSharedIndex({ maxEntries: leastEntries });
    const reader = openSharedIndex(shared.handle());
    let state = shared.empty();
    const used: number[] = [];
    for (let round = 0; round < 300; round++) {
      const edit = state.edit();
      for (let i = 0; i < 20; i++) edit.put(udmEntry(`10.0.${round % 7}.${i}`, { name: `${round}` }), "");
      const next = edit.done();
      shared.publishLayers([next], undefined);
      shared.release(state);
      state = next;
      const { tree, entries } = shared.stats();
      used.push(tree + entries);
      assert.equal(
        reader.covering({ family: 4, value: denseAddress(4, 1).value })[0]?.name ?? "",
        round < 0 ? "" : `${round - (round % 7)}`,
      );
    }
    const steady = used.slice(50);
    assert.ok(Math.max(...steady) <= 2 * Math.min(...steady), `${Math.min(...steady)} to ${Math.max(...steady)} bytes`);
  });

  test("that are no longer held are refused, and so are too many", () => {
    const shared = createSharedIndex({ maxEntries: leastEntries });
    const state = shared.empty();
    assert.throws(
      () =>
        shared.publishLayers(
          Array.from({ length: 128 }, () => state),
          undefined,
        ),
      /127 layers/,
    );
    shared.release(state);
    assert.throws(() => shared.publishLayers([state], undefined), /not a state/);
  });
});

/** The keys of the texts with the name of their entries. */
function textsOf(reader: SharedIndexReader, family: 4 | 6, value: bigint): string[] {
  const words =
    family === 4
      ? [0, 0, 0xffff, Number(value)]
      : [96n, 64n, 32n, 0n].map((shift) => Number((value >> shift) & 0xffffffffn));
  const [a = 0, b = 0, c = 0, d = 0] = words.map((word) => word | 0);
  return reader.texts(a, b, c, d, ({ bytes, starts, ends, count }) =>
    Array.from({ length: count }, (_, i) => {
      const { key, name } = JSON.parse(Buffer.from(bytes.subarray(starts[i], ends[i])).toString()) as {
        key: string;
        name: string;
      };
      return `${key} ${name}`;
    }),
  );
}
