// Alerts of a fleet on a real PostgreSQL: members that are killed at an exchange, and processes that are killed with -9.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresqlFleetNotes, PostgresqlFleetTables } from "../../src/fleet/index.ts";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { openFleetConnection } from "../support/fleet-connection.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { startDatabase } from "../support/postgresql.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { watchFleetByKills } from "../support/watch-fleet-kills.ts";
import { startReceiver } from "../watch/watch-rig.ts";

suite("alerts of a fleet", async () => {
  const all = allTests();
  const database = await startDatabase(all);

  test("each alert is told of once, whichever exchange with PostgreSQL a collector dies at", async (t) => {
    const connection = await openFleetConnection(database.url, "simulated");
    cleanUp(t, () => connection.stop());
    const open = () => {
      const fleet = randomUUID();
      const tables = new PostgresqlFleetTables(connection, fleet);
      const notes = new PostgresqlFleetNotes(connection, fleet);
      return {
        join: async (member: { name: string; session: string }) => void (await tables.join(member, 600_000, true)),
        end: (member: { name: string; session: string }) => tables.leave(member),
        exchange: notes.exchange.bind(notes),
      };
    };
    await watchFleetByKills(t, open, [7, 13]);
  });

  test("three collectors, one killed: each alert is sent once", async (t) => {
    const receiver = await startReceiver(t);
    const folder = tempDirectory(t);
    const rules = join(folder, "watch.yml");
    writeFileSync(
      rules,
      `actions:
  noc: {webhook: {url: "${receiver.url}"}}
rules:
  - {name: flood, by: [dst], measure: bits_per_second, over: 5s, when: '> 10k', clear: '< 5k for 2s', act: [noc]}
`,
    );
    const fleet = randomUUID();
    const members = await Promise.all(
      ["a", "b", "c"].map(async (name) => {
        const collector = await startCollectorProcess({
          settings: {
            SVC_FLEET_NAME: fleet,
            SVC_FLEET_MEMBER: name,
            SVC_FLEET_LEASE_SECONDS: "8",
            SVC_FLEET_POSTGRESQL_URL: database.url,
            SVC_FLOW_SERVER_UDP_ENABLE: "true",
            SVC_PROCESSOR_POOL_SIZE: "main",
            SVC_WATCH_RULES_PATH: rules,
            SVC_STATE_DIRECTORY_PATH: join(folder, name),
          },
        });
        cleanUp(t, () => collector.end("SIGKILL"));
        return collector;
      }),
    );
    for (const each of members)
      await until("a lease", async () => (await each.metric("netgloss_fleet_lease_held")) === 1);
    const notices = () =>
      receiver.received.flatMap(
        ({ body }) =>
          (JSON.parse(body) as { notices: { id: string; kind: string; alert: { key: Record<string, string> } }[] })
            .notices,
      );
    // What a collector sent just before it died may come again, with its id.
    const told = (): readonly string[] =>
      [...new Map(notices().map((notice) => [notice.id, notice])).values()].map(
        ({ kind, alert: { key } }) => `${kind} ${key["flow.dst.ip.addr"]}`,
      );
    const hosts = ["192.0.2.1", "192.0.2.2"];
    const datagram = (): Buffer =>
      netflowV5Datagram(
        hosts.map((destination) => ({ source: "198.51.100.1", destination, bytes: 100_000 })),
        0,
        Math.floor(Date.now() / 1000),
      );
    const flows = async (...to: readonly { readonly flowPort: number }[]): Promise<void> => {
      for (const { flowPort } of to) await sendDatagram(flowPort, datagram());
    };
    // All three see both.
    await until("two alerts", async () => {
      await flows(...members);
      await sleep(500);
      return told().length >= 2;
    });
    const holder = await until("one that tells of them", async () => {
      for (const each of members)
        if (((await each.metric('netgloss_watch_fleet_alerts{where="here"')) ?? 0) > 0) return each;
      return undefined;
    });
    await sleep(2000);
    await holder.end("SIGKILL");
    const [b, c] = members.filter((each) => each !== holder);
    assert.ok(b !== undefined && c !== undefined);
    let more = 4;
    await until("the end of its lease, and two seconds", async () => {
      await flows(b, c);
      await sleep(500);
      return (await b.metric("netgloss_fleet_members")) === 2 && --more === 0;
    });
    assert.deepEqual(
      told().toSorted((x, y) => x.localeCompare(y)),
      hosts.map((host) => `firing ${host}`),
    );
    await until("both have ended", () => told().length >= 4);
    await sleep(1000);
    assert.deepEqual(
      told()
        .slice(2)
        .toSorted((x, y) => x.localeCompare(y)),
      hosts.map((host) => `cleared ${host}`),
    );
    assert.equal(new Set(notices().map(({ id }) => id)).size, 4);
    // The database renews leases, and refuses notes: a missing grant looks like that.
    const { sql } = database;
    const check = async (): Promise<string | undefined> =>
      /not shared with the fleet.{1,400}/.exec(await (await fetch(`${c.api}/readyz`)).text())?.[0];
    await sql`alter table netgloss.fleet_note rename to away`;
    const fault = await until("a fault", async () => check());
    assert.match(fault, /fleet_note/);
    assert.equal(await c.metric("netgloss_fleet_lease_held"), 1);
    hosts.splice(0, 2, "192.0.2.3");
    await until("it tells alone", async () => {
      await flows(c);
      await sleep(500);
      return told().at(-1) === "firing 192.0.2.3";
    });
    await sql`alter table netgloss.away rename to fleet_note`;
    await until("no fault", async () => (await check()) === undefined);
  });
});
