import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { GapSearch } from "../../src/snmp/poller/appearances.ts";
import { compareOids, oidStartsWith, type Oid } from "../../src/snmp/session/ber.ts";
import { runs } from "../support/runs.ts";

const columns = (...numbers: number[]): Oid[] => numbers.map((number) => [1, 3, number]);

/** What an agent with these instances has after an OID. */
const after = (instances: readonly Oid[], oid: Oid): Oid | "end" =>
  instances.toSorted(compareOids).find((instance) => compareOids(instance, oid) > 0) ?? "end";

interface Look {
  readonly asked: readonly number[];
  readonly found: number | undefined;
}

function look(search: GapSearch, watched: readonly Oid[], instances: readonly Oid[], max: number): Look {
  const asked = search.next(max);
  const found = asked.map((position) => search.heard(position, after(instances, watched[position] as Oid)));
  return { asked, found: found.find((position) => position !== undefined) };
}

test("a gap is asked about once, by the first OID in it", () => {
  const watched = columns(2, 3, 4, 6, 7, 9);
  const search = new GapSearch(watched);
  const instances: Oid[] = [
    [1, 3, 1, 1],
    [1, 3, 5, 1],
    [1, 3, 8, 1],
  ];
  assert.deepEqual(look(search, watched, instances, 6), { asked: [0, 1, 2, 3, 4, 5], found: undefined });
  for (const round of [1, 2])
    assert.deepEqual(look(search, watched, instances, 6), { asked: [0, 3, 5], found: undefined }, `round ${round}`);
  instances.push([1, 3, 4, 7]);
  assert.deepEqual(look(search, watched, instances, 6), { asked: [0, 3, 5], found: 2 });
});

test("something else that appears in a gap hides nothing that is behind it", () => {
  const watched = columns(2, 4, 6, 8);
  const search = new GapSearch(watched);
  const instances: Oid[] = [];
  assert.deepEqual(look(search, watched, instances, 4).asked, [0, 1, 2, 3]);
  assert.deepEqual(look(search, watched, instances, 4).asked, [0]);
  instances.push([1, 3, 3, 1], [1, 3, 8, 0]);
  assert.deepEqual(look(search, watched, instances, 4), { asked: [0], found: undefined });
  assert.deepEqual(look(search, watched, instances, 4), { asked: [1, 2, 3], found: 3 });
});

test("an answer that does not come after what was asked for, or is the OID itself, is none", () => {
  const watched = columns(2, 4);
  const search = new GapSearch(watched);
  assert.deepEqual(search.next(1), [0]);
  assert.equal(search.heard(0, [1, 3, 2]), undefined);
  assert.deepEqual(search.next(1), [1]);
  assert.equal(search.heard(1, [1, 3, 2, 1]), undefined);
  assert.deepEqual(search.next(1), [0]);
});

const oidPart = fc.integer({ min: 0, max: 9 });
const watchedOids = fc
  .uniqueArray(fc.tuple(oidPart, oidPart), { minLength: 1, maxLength: 40, selector: String })
  .map((pairs) => pairs.map((pair): Oid => [1, ...pair]).toSorted(compareOids));
const instance = fc.tuple(oidPart, oidPart, oidPart).map(([a, b, c]): Oid => [1, a, b, c]);
const below = (watched: readonly Oid[], oid: Oid): boolean => watched.some((column) => oidStartsWith(oid, column));

test("what appears is found, whatever else does, and what is not there is not; each look is one request", () => {
  const lie = fc.oneof(instance, fc.constantFrom("end" as const, undefined));
  const cases = fc.record({
    watched: watchedOids,
    max: fc.integer({ min: 1, max: 12 }),
    others: fc.array(fc.array(instance, { maxLength: 10 }), { minLength: 1, maxLength: 5 }),
    lies: fc.array(fc.array(lie, { maxLength: 12 }), { maxLength: 5 }),
    wanted: fc.nat(),
  });
  fc.assert(
    fc.property(cases, ({ watched, max, others, lies, wanted }) => {
      const search = new GapSearch(watched);
      const isAsked = ({ asked }: Look): void => {
        assert.ok(asked.length >= 1 && asked.length <= max, `${asked.length} OIDs`);
        assert.equal(new Set(asked).size, asked.length);
        assert.ok(asked.every((position) => watched[position] !== undefined));
      };
      for (const answers of lies) {
        const asked = search.next(max);
        isAsked({ asked, found: undefined });
        asked.forEach((position, i) => search.heard(position, answers[i]));
      }
      const instances: Oid[] = [];
      for (const more of others) {
        instances.push(...more.filter((oid) => !below(watched, oid)));
        const seen = look(search, watched, instances, max);
        isAsked(seen);
        assert.equal(seen.found, undefined);
      }
      const target = wanted % watched.length;
      instances.push([...(watched[target] as Oid), 1]);
      let looks = 0;
      for (let found: number | undefined; found === undefined;) {
        // The round under way has to end, and the next one finds it at the latest.
        assert.ok(++looks <= 2 * Math.ceil(watched.length / max) + 2 * instances.length + 2, `${looks} looks`);
        const seen = look(search, watched, instances, max);
        isAsked(seen);
        found = seen.found;
        if (found !== undefined) assert.equal(found, target);
      }
    }),
    runs(400),
  );
});

test("once all gaps are known a round asks once for each of them", () => {
  const cases = fc.record({ watched: watchedOids, instances: fc.array(instance, { maxLength: 30 }) });
  fc.assert(
    fc.property(cases, ({ watched, instances }) => {
      const others = instances.filter((oid) => !below(watched, oid));
      const search = new GapSearch(watched);
      const max = watched.length;
      for (let i = 0; i < 3; i++) look(search, watched, others, max);
      const gaps = new Set(watched.map((oid) => String(after(others, oid))));
      assert.equal(look(search, watched, others, max).asked.length, gaps.size);
    }),
    runs(200),
  );
});
