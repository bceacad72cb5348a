import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { createRandom } from "../../bench/support/random.ts";
import { compareSpecificity, formatAddress, parseKey, type Address, type Key } from "../../src/base/ip/index.ts";
import { SharedIndex, SharedIndexReader, type UdmIndex } from "../../src/metadata/index.ts";
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

const asked = fc.tuple(fc.constantFrom<4 | 6>(4, 6), fc.nat(63)).map(([family, n]) => denseAddress(family, n));

suite("layers in one index", () => {
  test("are looked up together: the most specific first, of equal keys the earlier layer", () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 6 }),
        fc.array(asked, { maxLength: 12 }),
        (steps, addresses) => {
          const shared = new SharedIndex({ maxEntries: leastEntries });
          const reader = new SharedIndexReader(shared.handle());
          // One of them is always searched.
          const places = [undefined, shared.layerPlaces(), shared.layerPlaces(), undefined];
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
              places[layer]?.add(entry.key);
              entries.set(entry.key.text, entry.key);
            }
            for (const i of deletes) {
              const key = [...entries.values()][i];
              if (key !== undefined && edit.delete(key)) entries.delete(key.text);
            }
            const next = edit.done();
            states[layer] = next;
            if (layer === 0) shared.publish(next);
            else {
              const published = states.map((index, i) => ({ index, places: places[i] }));
              shared.publishLayers(published.slice(1), undefined);
            }
            shared.release(state);
            assert.ok(reader.version() > version, "the version grows");
            version = reader.version();
            const expected = addresses.map(({ family, value }) =>
              model
                .flatMap((keys, from) => [...keys.values()].map((key) => ({ key, from })))
                .filter(({ key }) => key.family === family && key.first <= value && value <= key.last)
                .toSorted((a, b) => compareSpecificity(a.key, b.key) || a.from - b.from)
                .map(({ key, from }) => `${key.text} ${from}`),
            );
            assert.deepEqual(textsOf(reader, addresses), expected);
            assert.deepEqual(
              addresses.map((address) => textsOf(reader, [address])[0]),
              expected,
            );
            for (const [i, address] of addresses.entries()) {
              const covering = reader.covering(address).map(({ key, name }) => `${key.text} ${name}`);
              assert.deepEqual(covering.toSorted(), expected[i]?.toSorted());
            }
          }
        },
      ),
      runs(150),
    );
  });

  test("are found wherever their entries are, however wide", () => {
    for (const family of [4, 6] as const) {
      const bits = family === 4 ? 32 : 128;
      const random = createRandom(3);
      const address = (): bigint => {
        let value = 0n;
        for (let n = 0; n < bits / 32; n++) value = (value << 32n) | BigInt(random());
        return value;
      };
      const text = (value: bigint): string => formatAddress({ family, value: BigInt.asUintN(bits, value) });
      const anyKey = (): Key => {
        const from = address();
        const length = random() % (bits + 1);
        if (random() % 2 === 0) return parseKey(`${text(from)}/${length}`);
        const to = from + (1n << BigInt(bits - length));
        return parseKey(to >> BigInt(bits) === 0n ? `${text(from)}-${text(to)}` : text(from));
      };
      const shared = new SharedIndex({ maxEntries: leastEntries });
      const layers = [0, 1, 2].map((layer) => {
        const places = shared.layerPlaces();
        const keys = Array.from({ length: 100 }, anyKey);
        const edit = shared.empty().edit();
        for (const key of keys) {
          edit.put(udmEntry(key.text, { name: String(layer) }), "");
          places?.add(key);
        }
        return { index: edit.done(), places, keys: new Map(keys.map((key) => [key.text, key])) };
      });
      shared.publishLayers(layers, undefined);
      const reader = new SharedIndexReader(shared.handle());
      for (const value of layers.flatMap(({ keys }) =>
        [...keys.values()].flatMap(({ first, last }) => [first, last, last + 1n]),
      )) {
        if (value >> BigInt(bits) !== 0n) continue;
        const expected = layers.flatMap(({ keys }, layer) =>
          [...keys.values()]
            .filter(({ first, last }) => first <= value && value <= last)
            .map((key) => `${key.text} ${layer}`),
        );
        assert.deepEqual(textsOf(reader, [{ family, value }])[0]?.toSorted(), expected.toSorted());
      }
    }
  });

  test("give their memory back when nobody sees them any more", () => {
    const shared = new SharedIndex({ maxEntries: leastEntries });
    const reader = new SharedIndexReader(shared.handle());
    let state = shared.empty();
    const used: number[] = [];
    for (let round = 0; round < 300; round++) {
      const edit = state.edit();
      for (let i = 0; i < 20; i++) edit.put(udmEntry(`10.0.${round % 7}.${i}`, { name: `${round}` }), "");
      const next = edit.done();
      shared.publishLayers([{ index: next }], undefined);
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
    const shared = new SharedIndex({ maxEntries: leastEntries });
    const state = shared.empty();
    assert.throws(
      () =>
        shared.publishLayers(
          Array.from({ length: 128 }, () => ({ index: state })),
          undefined,
        ),
      /127 layers/,
    );
    shared.release(state);
    assert.throws(() => shared.publishLayers([{ index: state }], undefined), /not a state/);
  });
});

/** Of each address: the keys of the texts with the name of their entries. */
function textsOf(reader: SharedIndexReader, addresses: readonly Address[]): string[][] {
  const words = addresses.flatMap(({ family, value }) =>
    family === 4
      ? [0, 0, 0xffff, Number(value)]
      : [96n, 64n, 32n, 0n].map((shift) => Number((value >> shift) & 0xffffffffn)),
  );
  return reader.texts(Int32Array.from(words), addresses.length, (read) =>
    addresses.map((_, address) => {
      const { bytes, starts, ends, count } = read(address);
      return Array.from({ length: count }, (_text, i) => {
        const { key, name } = JSON.parse(Buffer.from(bytes.subarray(starts[i], ends[i])).toString()) as {
          key: string;
          name: string;
        };
        return `${key} ${name}`;
      });
    }),
  );
}
