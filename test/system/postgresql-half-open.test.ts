// A collector whose connection falls silent in the middle of a statement: others end its session, and have its locks.
import assert from "node:assert/strict";
import { connect, createServer, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { Follower, openSession, parseServerAddress, type DatabaseAccess } from "../../src/base/postgresql/index.ts";
import { silentLog } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startDatabase } from "../support/postgresql.ts";
import { until } from "../support/until.ts";

test("a session of which only the beginning of a statement came is ended if it holds locks, and stays if it only reads", async (t) => {
  const database = await startDatabase(t);
  await database.sql`create table kept (value integer)`;
  const accessTo = (port: number, applicationName: string): DatabaseAccess => ({
    address: parseServerAddress(database.url.replace(`:${database.port}/`, `:${port}/`)),
    files: {},
    timeoutMs: 120_000,
    lockTimeoutMs: 1000,
    applicationName: `netgloss ${applicationName}`,
  });
  /** Begins a transaction and a statement, of which the server gets the beginning only. */
  const fallSilent = async (name: string, work: string): Promise<void> => {
    const proxy = await startHalfOpenProxy(t, database.port);
    const session = await openSession(accessTo(proxy.port, name), new AbortController().signal);
    cleanUp(t, () => session.close());
    await session.ask((sql) => sql.unsafe(`begin; ${work}`));
    proxy.fallSilent();
    // Asked for the first time, it is described first: the server waits for its values.
    session.ask((sql) => sql`select ${"value"}::text`).catch(() => {});
    await until("the server waits for the rest", async () => (await stateOf(name)) === "active");
  };
  const stateOf = async (name: string): Promise<string | undefined> => {
    const [row] = await database.sql<{ state: string }[]>`
      select state from pg_stat_activity where application_name = ${`netgloss ${name}`}`;
    return row?.state;
  };
  await Promise.all([
    fallSilent("locks", "select pg_advisory_xact_lock(1)"),
    fallSilent("writes", "insert into kept values (1)"),
    fallSilent("reads", "select * from kept"),
  ]);

  let ended = 0;
  const other = new Follower({
    access: accessTo(database.port, "other"),
    what: "the database",
    connected: () => Promise.resolve(),
    notified: () => {},
    beat: () => Promise.resolve(),
    lost: () => {},
    random: Math.random,
    log: { ...silentLog, warn: ({ sessions }) => void (ended += Number(sessions)) },
  });
  cleanUp(t, () => other.stop());
  await other.start();
  for (const name of ["locks", "writes"]) {
    await until(`the session that ${name} is over`, async () => (await stateOf(name)) === undefined);
  }
  assert.equal(ended, 2);
  assert.equal(await stateOf("reads"), "active");
});

/** Between a client and a server: after `fallSilent` one more piece passes to the server, then nothing in any direction. */
async function startHalfOpenProxy(t: TestContext, port: number): Promise<{ port: number; fallSilent(): void }> {
  let pieces = Number.POSITIVE_INFINITY;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    cleanUp(t, () => [client, upstream].forEach((socket) => socket.destroy()));
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.on("data", (bytes) => {
      if (pieces-- > 0) upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (pieces === Number.POSITIVE_INFINITY) client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => server.close());
  return { port: (server.address() as AddressInfo).port, fallSilent: () => void (pieces = 1) };
}
