// The tables of a fleet in a real PostgreSQL, and a fleet on it whose connection breaks.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { dataSet, fields, ipfix, ipfixTemplates, ipv4, uint } from "../../packages/testkit/index.ts";
import { Fleet, PostgresqlFleetNotes, PostgresqlFleetStates, PostgresqlFleetTables } from "../../src/fleet/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { fleetAccess, openFleetConnection } from "../support/fleet-connection.ts";
import { runFleetContract } from "../support/fleet-contract.ts";
import { runFleetNotesContract } from "../support/fleet-notes-contract.ts";
import { runFleetStatesContract } from "../support/fleet-states-contract.ts";
import { readRecords, untilRecords } from "../support/flow-records.ts";
import { startDatabase, type TestDatabase } from "../support/postgresql.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
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

  test("processes of a fleet name records by scopes that one of them was told of, and go on when that one is killed", async (t) => {
    const folder = tempDirectory(t);
    const fleet = randomUUID();
    const outputOf = (name: string): string => join(folder, `${name}.ndjson`);
    const [a, b] = await Promise.all(
      (["a", "b"] as const).map(async (name) => {
        const collector = await startCollectorProcess({
          settings: {
            SVC_FLEET_NAME: fleet,
            SVC_FLEET_MEMBER: name,
            SVC_FLEET_POSTGRESQL_URL: database.url,
            SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
            SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
            SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE: "postgresql",
            SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: database.url,
            SVC_FLOW_SERVER_UDP_ENABLE: "true",
            SVC_OUTPUT_FILE_ENABLE: "true",
            SVC_OUTPUT_FILE_PATH: outputOf(name),
            SVC_STATE_DIRECTORY_PATH: join(folder, name),
          },
        });
        cleanUp(t, () => collector.end("SIGKILL"));
        return collector;
      }),
    );
    assert.ok(a !== undefined && b !== undefined);
    const call = async (path: string, body: object): Promise<void> => {
      const response = await fetch(`${a.api}/api/v1/enrich/ipaddr/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      assert.equal(response.status, 200, await response.text());
    };
    await call("udm.v1.ScopeService/SetScope", { scope: { name: "red", match: [{ vrf: ["1"] }] } });
    await call("scopes/red/udm.v1.UdmService/CreateUdm", { udm: { key: "10.0.0.0/8", name: "red net" } });
    await call("udm.v1.UdmService/CreateUdm", { udm: { key: "10.0.0.0/8", name: "global net" } });
    const template = { id: 256, fields: fields([8, 4], [12, 4], [1, 4], [234, 4]) };
    const flows = [1, 2].map((vrf) => [ipv4("10.0.0.1"), ipv4("10.0.0.2"), uint(1000, 4), uint(vrf, 4)]);
    let sequence = 0;
    const named = async (name: "a" | "b", flowPort: number): Promise<unknown> => {
      const before = readRecords(outputOf(name)).length;
      await sendDatagram(flowPort, ipfix([ipfixTemplates(template), dataSet(template, ...flows)], { sequence }));
      sequence += flows.length;
      const records = (await untilRecords(outputOf(name), before + flows.length)).slice(before);
      return records.map((record) => [record["flow.src.scope"] ?? "", record["flow.src.ip.subnet.name"]]);
    };
    const expected = [
      ["red", "red net"],
      ["", "global net"],
    ];
    await until("b has what a was told", async () => isDeepStrictEqual(await named("b", b.flowPort), expected));
    assert.deepEqual(await named("a", a.flowPort), expected);
    await a.end("SIGKILL");
    assert.deepEqual(await named("b", b.flowPort), expected);
  });

  runFleetStatesContract(async () => {
    const fleet = randomUUID();
    const connections = await Promise.all([1, 2].map(() => openFleetConnection(database.url, randomUUID())));
    cleanUp(all, () => Promise.all(connections.map((each) => each.stop())));
    const [one, two] = connections;
    assert.ok(one !== undefined && two !== undefined);
    const sessions = [randomUUID(), randomUUID()] as const;
    const tables = new PostgresqlFleetTables(one, fleet);
    for (const session of sessions) await tables.join({ name: session, session }, 60_000, true);
    return { sessions, states: [new PostgresqlFleetStates(one, fleet), new PostgresqlFleetStates(two, fleet)] };
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
