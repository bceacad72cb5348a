// Keys are divided evenly, and few change hands when a member comes or goes.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { ownerOf, pointOf } from "../../src/fleet/index.ts";
import { runs } from "../support/runs.ts";

const keys = Array.from({ length: 2000 }, (_, i) => `10.0.${i >> 8}.${i & 255}:161`);
const points = keys.map(pointOf);
const memberNames = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 12 });

const owners = (members: readonly string[]): readonly (string | undefined)[] => {
  const of = members.map(pointOf);
  return points.map((key) => members[ownerOf(key, of)]);
};

suite("rendezvous hashing", () => {
  test("each key has an owner, whatever the order of the members", () => {
    fc.assert(
      fc.property(memberNames, (members) => {
        assert.deepEqual(owners(members), owners(members.toReversed()));
        assert.ok(owners(members).every((owner) => owner !== undefined));
      }),
      runs(20),
    );
    assert.equal(ownerOf(pointOf("a"), []), -1);
  });

  test("when a member goes, only its keys change hands, and when one comes, it alone gets keys", () => {
    fc.assert(
      fc.property(memberNames, fc.nat(), (members, nth) => {
        const gone = members[nth % members.length] as string;
        const before = owners(members);
        const after = owners(members.filter((name) => name !== gone));
        for (const [i, owner] of before.entries()) if (owner !== gone) assert.equal(after[i], owner);
      }),
      runs(20),
    );
  });

  test("members have about the same number of keys", () => {
    fc.assert(
      fc.property(memberNames, (members) => {
        const counts = new Map<string | undefined, number>();
        for (const owner of owners(members)) counts.set(owner, (counts.get(owner) ?? 0) + 1);
        const fair = keys.length / members.length;
        // Six standard deviations of a binomial distribution.
        const most = 6 * Math.sqrt(fair * (1 - 1 / members.length));
        for (const name of members)
          assert.ok(Math.abs((counts.get(name) ?? 0) - fair) <= most, `${name}: ${counts.get(name)}`);
      }),
      runs(50),
    );
  });
});
