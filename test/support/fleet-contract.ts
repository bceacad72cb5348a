import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { FleetMember, FleetTables, LeaseState } from "../../src/fleet/index.ts";

export interface TablesUnderTest {
  /** Those of another collector with each call, of a fleet that nobody is a member of yet. */
  readonly open: () => Promise<() => Promise<FleetTables>>;
  /** Lets time pass for the database. */
  readonly pass: (ms: number) => Promise<void>;
}

const member = (name: string): FleetMember => ({ name, session: randomUUID() });
const names = (standing: LeaseState): readonly string[] | string =>
  standing.state === "held" ? standing.members.map(({ name }) => name) : standing.state;

/** What holds for the tables of every fleet, in memory or in a database. Leases are of 300 ms. */
export function runFleetContract({ open, pass }: TablesUnderTest): void {
  const leaseMs = 300;

  test("members see one another until they leave", async () => {
    const tables = await open();
    const [a, b] = [await tables(), await tables()];
    const [one, two] = [member("a"), member("b")];
    assert.deepEqual(names(await a.join(one, leaseMs * 100, true)), ["a"]);
    assert.deepEqual(names(await b.join(two, leaseMs * 100, true)), ["a", "b"]);
    assert.deepEqual(names(await a.renew(one, leaseMs * 100)), ["a", "b"]);
    await b.leave(two);
    assert.deepEqual(names(await a.renew(one, leaseMs * 100)), ["a"]);
    assert.deepEqual(names(await b.renew(two, leaseMs * 100)), "expired");
  });

  test("a lease that was not renewed is over for good, and others see it", async () => {
    const tables = await open();
    const [a, b] = [await tables(), await tables()];
    const [one, two] = [member("a"), member("b")];
    await a.join(one, leaseMs * 100, true);
    await b.join(two, leaseMs, true);
    assert.deepEqual(names(await a.renew(one, leaseMs * 100)), ["a", "b"]);
    await pass(leaseMs + 50);
    assert.deepEqual(names(await b.renew(two, leaseMs * 100)), "expired");
    assert.deepEqual(names(await a.renew(one, leaseMs * 100)), ["a"]);
  });

  test("a second session of a name ends the first, or waits for its end", async () => {
    const tables = await open();
    const [a, b] = [await tables(), await tables()];
    const [one, two] = [member("a"), member("a")];
    await a.join(one, leaseMs * 100, true);
    assert.deepEqual(names(await b.join(two, leaseMs * 100, false)), "replaced");
    assert.deepEqual(names(await b.join(two, leaseMs * 100, true)), ["a"]);
    assert.deepEqual(names(await a.renew(one, leaseMs)), "replaced");
    await a.leave(one);
    assert.deepEqual(names(await b.renew(two, leaseMs * 100)), ["a"]);
  });

  test("who watches is called when somebody joins and leaves", async () => {
    const tables = await open();
    const [a, b] = [await tables(), await tables()];
    let calls = 0;
    const end = a.watch(() => void calls++);
    const two = member("b");
    await b.join(two, leaseMs * 100, true);
    await pass(200);
    assert.ok(calls > 0);
    calls = 0;
    await b.leave(two);
    await pass(200);
    assert.ok(calls > 0);
    end();
  });

  const keysOf = (shares: readonly { readonly key: string }[]): readonly string[] =>
    shares.map(({ key }) => key).sort();

  test("a key has one holder, until it gives it up or lives no more; what is kept goes with it", async () => {
    const tables = await open();
    const [first, second] = [await tables(), await tables()];
    const [one, two] = [member("a"), member("b")];
    await first.join(one, leaseMs, true);
    await second.join(two, leaseMs * 100, true);
    assert.deepEqual(keysOf(await first.take(one, ["x", "y", "z"])), ["x", "y", "z"]);
    assert.deepEqual(await second.take(two, ["x", "y", "z"]), []);
    assert.deepEqual(keysOf(await first.take(one, ["x"])), ["x"]);
    await first.keep(one, "y", '{"plan":1}');
    await second.keep(two, "y", '{"plan":2}');
    await second.release(two, new Map([["z", undefined]]));
    await first.release(one, new Map([["x", '{"plan":3}']]));
    const [x] = await second.take(two, ["x", "y", "z"]);
    assert.deepEqual([x?.key, x?.from, JSON.parse(x?.kept ?? "")], ["x", "released", { plan: 3 }]);
    await pass(leaseMs + 50);
    await second.renew(two, leaseMs * 100);
    const rest = await second.take(two, ["y", "z", "new"]);
    const found = rest.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    assert.deepEqual(
      found.map(({ key, from, kept }) => [key, from, kept && JSON.parse(kept)]),
      [
        ["new", "nobody", undefined],
        ["y", "dead", { plan: 1 }],
        ["z", "dead", undefined],
      ],
    );
    assert.deepEqual(await first.take(one, ["free"]), []);
  });

  test("a collector that comes back under its name takes what it had at once", async () => {
    const tables = await open();
    const a = await tables();
    const [before, after] = [member("a"), member("a")];
    await a.join(before, leaseMs * 100, true);
    await a.take(before, ["x"]);
    await a.join(after, leaseMs * 100, true);
    assert.deepEqual(keysOf(await a.take(after, ["x"])), ["x"]);
    assert.deepEqual(await a.take(before, ["x"]), []);
  });

  test("members see which keys each could take, until it takes that back", async () => {
    const tables = await open();
    const [first, second] = [await tables(), await tables()];
    const [one, two] = [member("a"), member("b")];
    await first.join(one, leaseMs * 100, true);
    await second.join(two, leaseMs * 100, true);
    await first.offer(one, "digest", ["x", "y"]);
    const standing = await second.renew(two, leaseMs * 100);
    assert.deepEqual(standing.state === "held" && standing.members.map(({ devices }) => devices), [
      "digest",
      undefined,
    ]);
    assert.deepEqual(await second.list("digest"), ["x", "y"]);
    await first.withdraw(one);
    const later = await second.renew(two, leaseMs * 100);
    assert.deepEqual(later.state === "held" && later.members.map(({ devices }) => devices), [undefined, undefined]);
  });
}
