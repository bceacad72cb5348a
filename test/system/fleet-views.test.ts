// What people save, and reports, of a fleet on a real PostgreSQL, by processes of which one is killed with -9.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { startDatabase } from "../support/postgresql.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { startReceiver } from "../watch/watch-rig.ts";

interface Views {
  readonly problem?: string;
  readonly views: readonly { readonly name: string }[];
}

interface ReportStates {
  readonly reports: readonly { readonly runs: readonly { readonly id: string; readonly state: string }[] }[];
}

type Answered<T> = T & { readonly message?: string };

async function ask<T>({ api }: CollectorProcess, path: string, body?: object): Promise<Answered<T>> {
  const response = await fetch(`${api}/api/v1/${path}`, {
    ...(body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  return (await response.json()) as Answered<T>;
}

const namesOf = async (collector: CollectorProcess): Promise<readonly string[]> =>
  (await ask<Views>(collector, "views")).views.map(({ name }) => name);

suite("what people save in a fleet", async () => {
  const database = await startDatabase(allTests());

  test("all collectors have it, a report is sent once though its collector is killed, and a database that refuses changes is said", async (t) => {
    const receiver = await startReceiver(t);
    const folder = tempDirectory(t);
    const rules = join(folder, "watch.yml");
    writeFileSync(rules, `actions:\n  chat: {webhook: {url: "${receiver.url}"}}\nrules: []\n`);
    const fleet = randomUUID();
    const [a, b] = (await Promise.all(
      ["a", "b"].map(async (name) => {
        const collector = await startCollectorProcess({
          settings: {
            SVC_FLEET_NAME: fleet,
            SVC_FLEET_MEMBER: name,
            SVC_FLEET_LEASE_SECONDS: "5",
            SVC_FLEET_POSTGRESQL_URL: database.url,
            SVC_FLOW_SERVER_UDP_ENABLE: "true",
            SVC_PROCESSOR_POOL_SIZE: "main",
            SVC_EXPLORE_ENABLE: "true",
            SVC_EXPLORE_PATH: join(folder, name, "explore"),
            SVC_WATCH_RULES_PATH: rules,
            SVC_STATE_DIRECTORY_PATH: join(folder, name),
          },
        });
        cleanUp(t, () => collector.end("SIGKILL"));
        return collector;
      }),
    )) as [CollectorProcess, CollectorProcess];
    for (const each of [a, b])
      await until("a lease", async () => (await each.metric("netgloss_fleet_lease_held")) === 1);

    const wanted = Array.from({ length: 12 }, (_, at) => `view ${String(at).padStart(2, "0")}`);
    await Promise.all(wanted.map((name, at) => ask(at % 2 === 0 ? a : b, "views/save", { view: { name } })));
    for (const each of [a, b]) {
      await until("it has all", async () => (await namesOf(each)).length === wanted.length);
      assert.deepEqual(await namesOf(each), wanted);
    }

    await ask(a, "views/save", { board: { name: "Edge", views: ["view-00"] } });
    const report = { name: "Month", board: "edge", schedule: "monthly 1 00:00", actions: ["chat"] };
    await until("its actions are known", async () => {
      const { message } = await ask(a, "views/save", { report });
      return message === undefined;
    });
    receiver.status = 503;
    const { id } = await ask<{ id: string }>(a, "reports/send", { id: "month" });
    await until("a try", () => receiver.received.length > 0);
    await a.end("SIGKILL");
    receiver.status = 200;
    await until("the other one has sent it", async () => {
      const [found] = (await ask<ReportStates>(b, "reports")).reports;
      assert.equal(found?.runs[0]?.id, id);
      return found?.runs[0]?.state === "sent";
    });
    assert.equal(receiver.received.filter(({ answered }) => answered === 200).length, 1);
    assert.equal(new Set(receiver.received.map(({ headers }) => headers["idempotency-key"])).size, 1);

    // A missing grant looks like that.
    await database.sql`alter table netgloss.fleet_state rename to away`;
    const refused = await ask(b, "views/save", { view: { name: "more" } });
    assert.match(refused.message ?? "", /nothing has changed: .*fleet_state/);
    const shown = await ask<Views>(b, "views");
    assert.match(shown.problem ?? "", /fleet_state/);
    assert.deepEqual(await namesOf(b), wanted);
    assert.match(await (await fetch(`${b.api}/readyz`)).text(), /saved views of the fleet.{1,400}fleet_state/s);
    await database.sql`alter table netgloss.away rename to fleet_state`;
    await until("it is back", async () => (await ask<Views>(b, "views")).problem === undefined);
    assert.equal((await ask(b, "views/save", { view: { name: "more" } })).message, undefined);
  });
});
