// The tables of a fleet in a real PostgreSQL, and a fleet on it whose connection breaks.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Fleet, PostgresqlFleetNotes, PostgresqlFleetTables } from "../../src/fleet/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { fleetAccess, openFleetConnection } from "../support/fleet-connection.ts";
import { runFleetContract } from "../support/fleet-contract.ts";
import { runFleetNotesContract } from "../support/fleet-notes-contract.ts";
import { startDatabase, type TestDatabase } from "../support/postgresql.ts";
import { until } from "../support/until.ts";

suite("the tables of a fleet in PostgreSQL", async () => {
  const all = allTests();
  const database = await startDatabase(all);

  runFleetContract({
    open: () => {
      const fleet = randomUUID();
      return Promise.resolve(async () => {
        const connection = await openFleetConnection(database.url, randomUUID());
        cleanUp(all, () => connection.stop());
        return new PostgresqlFleetTables(connection, fleet);
      });
    },
    pass: (ms) => sleep(ms),
  });

  runFleetNotesContract(async () => {
    const fleet = randomUUID();
    const connection = await openFleetConnection(database.url, randomUUID());
    cleanUp(all, () => connection.stop());
    const tables = new PostgresqlFleetTables(connection, fleet);
    const members = [
      { name: "a", session: randomUUID() },
      { name: "b", session: randomUUID() },
    ] as const;
    for (const member of members) await tables.join(member, 60_000, true);
    const notes = new PostgresqlFleetNotes(connection, fleet);
    return { members, exchange: (member, round) => notes.exchange(member, round) };
  });

  test("a member that loses its connection is a member again, with the same session when that was quick", async (t) => {
    const fleet = randomUUID();
    const one = openFleet(database, fleet, "a");
    const two = openFleet(database, fleet, "b");
    await one.start();
    await two.start();
    await until("two members", () => one.membership.members().length === 2);
    const session = one.membership.session();
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on("warning", warned);
    cleanUp(t, () => process.off("warning", warned));
    // More often than Node takes for a leak of listeners.
    for (let cut = 0; cut < 12; cut++) {
      await database.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'netgloss fleet a'`;
      await until("the cut", () => !one.connection.isThere());
      await until("the lease", () => one.connection.isThere() && one.membership.session() !== undefined);
    }
    assert.equal(one.membership.session(), session);
    assert.deepEqual(warnings, []);
    await two.stop();
    await until("one member", () => one.membership.members().length === 1);
    await one.stop();
  });
});

function openFleet(database: TestDatabase, fleet: string, member: string): Fleet {
  const reporting = { log: silentLog, clock: systemClock, metrics: createMetrics(), health: createHealth() };
  return new Fleet(fleetAccess(database.url, member), fleet, member, 15_000, reporting);
}
