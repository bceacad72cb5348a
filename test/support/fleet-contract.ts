import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { FleetMember, MembershipTables, Standing } from "../../src/fleet/index.ts";

export interface TablesUnderTest {
  /** Those of another collector with each call, of a fleet that nobody is a member of yet. */
  readonly open: () => Promise<() => Promise<MembershipTables>>;
  /** Lets time pass for the database. */
  readonly pass: (ms: number) => Promise<void>;
}

const member = (name: string): FleetMember => ({ name, session: randomUUID() });
const names = (standing: Standing): readonly string[] | string =>
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
}
