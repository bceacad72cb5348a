// The tables of a fleet in a real PostgreSQL, and a fleet on it whose connection breaks.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runAfter } from "../../src/base/file/index.ts";
import { Fleet, PostgresqlMembershipTables, PostgresqlShareTables } from "../../src/fleet/index.ts";
import { parseServerAddress } from "../../src/base/postgresql/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { runFleetContract } from "../support/fleet-contract.ts";
import { startDatabase, type TestDatabase } from "../support/postgresql.ts";
import { until } from "../support/until.ts";

suite("the tables of a fleet in PostgreSQL", async () => {
  const all = allTests();
  const database = await startDatabase(all);

  runFleetContract({
    open: () => {
      const fleet = randomUUID();
      return Promise.resolve(async () => {
        const opened = openFleet(database, fleet, randomUUID());
        cleanUp(all, () => opened.connection.stop());
        const members = new PostgresqlMembershipTables(opened.connection, fleet);
        const shares = new PostgresqlShareTables(opened.connection, fleet);
        await opened.connection.start();
        await until("a connection", () => opened.connection.isThere());
        return { members, shares };
      });
    },
    pass: (ms) => sleep(ms),
  });

  test("a member that loses its connection is a member again, with the same session when that was quick", async () => {
    const fleet = randomUUID();
    const one = openFleet(database, fleet, "a");
    const two = openFleet(database, fleet, "b");
    await one.start();
    await two.start();
    await until("two members", () => one.membership.members().length === 2);
    const session = one.membership.session();
    await database.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'netgloss fleet a'`;
    await until("the cut", () => !one.connection.isThere());
    await until("the lease", () => one.connection.isThere() && one.membership.session() !== undefined);
    assert.equal(one.membership.session(), session);
    await two.stop();
    await until("one member", () => one.membership.members().length === 1);
    await one.stop();
  });
});

function openFleet(database: TestDatabase, fleet: string, member: string): Fleet {
  return new Fleet({
    access: {
      address: parseServerAddress(database.url),
      files: {},
      timeoutMs: 5000,
      lockTimeoutMs: 2000,
      applicationName: `netgloss fleet ${member}`,
    },
    fleet,
    member,
    leaseMs: 15_000,
    after: runAfter,
    random: Math.random,
    log: silentLog,
    clock: systemClock,
    metrics: createMetrics(),
    health: createHealth(),
  });
}
