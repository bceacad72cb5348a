// A COMMIT that is cut off at a known place: the store finds out by its number what happened to it, and answers the client just that.
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import { UdmError, type UdmWrite } from "../../src/metadata/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCommitCutProxy, type CommitCut, type CommitCutProxy } from "../support/commit-cut-proxy.ts";
import { startDatabase, storeOnDatabase, type PostgresqlFixture, type TestDatabase } from "../support/postgresql.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { until } from "../support/until.ts";

interface Stage {
  readonly database: TestDatabase;
  readonly proxy: CommitCutProxy;
  /** Behind the proxy. */
  readonly far: PostgresqlFixture;
  /** On the server itself. */
  readonly near: PostgresqlFixture;
}

async function setUp(t: TestContext): Promise<Stage> {
  const database = await startDatabase(t);
  const proxy = await startCommitCutProxy(t, database.host, database.port);
  const far = storeOnDatabase(database.url.replace(`:${database.port}/`, `:${proxy.port}/`), { collector: "far" });
  const near = storeOnDatabase(database.url, { collector: "near" });
  for (const { store } of [far, near]) {
    await store.start();
    cleanUp(t, () => store.stop());
  }
  await far.store.commit([created("10.0.0.1")]);
  await until("the near one sees the first change", () => near.store.history.last() === 1);
  return { database, proxy, far, near };
}

const created = (key: string): UdmWrite => ({
  op: "create",
  key: parseKey(key),
  values: udmEntry("::", { name: key }),
});

const lostAnswers = async ({ metrics }: PostgresqlFixture): Promise<Record<string, number | undefined>> => {
  const value = (outcome: string): Promise<number | undefined> =>
    metrics.value("netgloss_udm_postgresql_lost_answers_total", { outcome });
  return {
    committed: await value("committed"),
    not_committed: await value("not_committed"),
    unknown: await value("unknown"),
  };
};

/** The next write of both stores goes on without a gap, and all are equal. */
async function assertGoesOn({ database, far, near }: Stage, last: number): Promise<void> {
  await until("the near one sees all", () => near.store.history.last() === last);
  assert.equal((await near.store.submit([created("10.0.0.8")])).change, last + 1);
  assert.equal((await far.store.submit([created("10.0.0.9")])).change, last + 2);
  await until("both see all", () => [far, near].every(({ store }) => store.history.last() === last + 2));
  const rows = await database.sql<{ key: string }[]>`select key from netgloss.udm_entry order by key`;
  for (const { store } of [far, near]) {
    assert.deepEqual(
      [...store.current().entries()].map(({ key }) => key.text),
      rows.map(({ key }) => key),
    );
  }
  const numbers = await database.sql<{ n: number }[]>`select number::int as n from netgloss.udm_change order by 1`;
  assert.deepEqual(
    numbers.map(({ n }) => n),
    numbers.map((_, i) => i + 1),
  );
}

suite("a COMMIT that is cut off", () => {
  test("before the server has it: the write is refused, and was not made", async (t) => {
    const stage = await setUp(t);
    const { proxy, far } = stage;
    const cut = proxy.cutNext("before");
    const error = await far.store.submit([created("10.0.0.2")]).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    await cut;
    assert.ok(error instanceof UdmError);
    assert.equal(error.code, "unavailable");
    assert.match(error.message, /takes no write, nothing has changed: /);
    assert.deepEqual(await lostAnswers(far), { committed: 0, not_committed: 1, unknown: 0 });
    assert.equal(far.store.current().get(parseKey("10.0.0.2")), undefined);
    await assertGoesOn(stage, 1);
  });

  for (const cut of ["during", "after"] satisfies CommitCut[]) {
    test(`${cut === "after" ? "when the server has made it" : "while the server makes it"}: the write is acknowledged with its number, and was made once`, async (t) => {
      const stage = await setUp(t);
      const { database, proxy, far, near } = stage;
      const notified: number[] = [];
      near.store.history.watch(({ number }) => void notified.push(number));
      // A commit that takes a while: whoever asks what happened to it has to wait for its end.
      await database.sql.unsafe(`create function wait() returns trigger language plpgsql as
        $$ begin perform pg_sleep(0.5); return null; end $$;
        create constraint trigger wait after insert on netgloss.udm_commit deferrable initially deferred
          for each row execute function wait()`);
      const isCut = proxy.cutNext(cut);
      const { change } = await far.store.submit([created("10.0.0.2")]);
      await isCut;
      await database.sql.unsafe("drop trigger wait on netgloss.udm_commit");
      assert.equal(change, 2);
      assert.deepEqual(await lostAnswers(far), { committed: 1, not_committed: 0, unknown: 0 });
      assert.equal(far.store.current().get(parseKey("10.0.0.2"))?.name, "10.0.0.2");
      await assertGoesOn(stage, 2);
      assert.deepEqual(notified, [2, 3, 4]);
    });
  }
});
