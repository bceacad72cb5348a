// What exporters say, shared by the collectors of a fleet: the table in a real PostgreSQL, and exporters that move between processes.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { suite, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresqlExporterTable } from "../../src/fleet/index.ts";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { runExporterTableContract } from "../support/exporter-table-contract.ts";
import { openFleetConnection } from "../support/fleet-connection.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { parseLines, type Json } from "../support/flow-rig.ts";
import { killPartner } from "../support/partner.ts";
import { startDatabase, type TestDatabase } from "../support/postgresql.ts";
import { until } from "../support/until.ts";

const flow: PacketTemplate = { id: 300, fields: fields([1, 4], [10, 4]) };
const sampling: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([10, 4], [82, "variable"], [34, 4]) };
const data = (id: number): Buffer => dataSet(flow, [uint(id, 4), uint(7, 4)]);

suite("exporters of a fleet", async () => {
  const all = allTests();
  const database = await startDatabase(all);

  runExporterTableContract(async () => {
    const fleet = randomUUID();
    const connection = await openFleetConnection(database.url, "contract");
    cleanUp(all, () => connection.stop());
    return (member) => Promise.resolve(new PostgresqlExporterTable(connection, fleet, member));
  });

  for (const poolSize of ["main", "2"]) {
    test(`templates that come once: an exporter moves, its collector is killed, no record is lost (threads: ${poolSize})`, async (t) => {
      const collectors = await startCollectors(t, database, ["a", "b", "c"], { SVC_PROCESSOR_POOL_SIZE: poolSize });
      const [a, b, c] = collectors as [Collector, Collector, Collector];
      const exporter = await openSender(t);
      // It is said once, to a. NetFlow v9 and IPFIX from one address, as two exporters would.
      await exporter.send(netflow9([netflow9Templates(flow)]), a);
      await exporter.send(ipfix([ipfixTemplates(flow), ipfixTemplates(sampling)]), a);
      await exporter.send(ipfix([dataSet(sampling, [uint(7, 4), Buffer.from("eth7"), uint(10, 4)])]), a);
      await exporter.run(a, 1, 200);
      await until("all records of a", () => a.records.length >= 400);
      await until("the fleet knows what a has learnt", () => knows(database, a, "a"));
      await a.process.end("SIGKILL");

      // No more than may wait for their template, however long the database takes.
      await exporter.run(b, 1001, 100);
      await until("the first of b", () => b.records.length >= 200).catch((error: unknown) => lost(error, b));
      await exporter.run(b, 1101, 200);
      await until("all records of b", () => b.records.length >= 600).catch((error: unknown) => lost(error, b));
      check(t, b, 1001, 300, exporter);

      // From another port, and the database is away meanwhile: b has written what it learnt.
      await until("the fleet knows what b has learnt", () => knows(database, b, "b"));
      const moved = await openSender(t);
      await moved.run(c, 2001, 100);
      await until("the first of c", () => c.records.length >= 200).catch((error: unknown) => lost(error, c));
      await moved.run(c, 2101, 200);
      await until("all records of c", () => c.records.length >= 600).catch((error: unknown) => lost(error, c));
      check(t, c, 2001, 300, moved);

      // Who has asked before knows it while the database is away.
      killPartner(database.partner);
      await moved.run(c, 3001, 100);
      await until("more records of c", () => c.records.length >= 800).catch((error: unknown) => lost(error, c));
    });
  }

  test("an exporter that nobody knows, and one that the database says nonsense of, wait for their templates as ever", async (t) => {
    const [a] = (await startCollectors(t, database, ["x"])) as [Collector];
    const exporter = await openSender(t);
    await until("the fleet", async () => (await a.process.metric("netgloss_fleet_lease_held")) === 1);
    await database.sql`insert into netgloss.fleet_exporter (fleet, sender, exporter, member, written, seen, clock, state)
      values (${a.fleet}, '127.0.0.1', '127.0.0.1', 'evil', now(), now(), 1, ${'{"address":"127.0.0.1","templates":[{}]}'})`;
    await exporter.send(netflow9([data(1)]), a);
    await until("a question", async () => ((await a.process.metric("netgloss_flow_shared_ignored_total")) ?? 0) > 0);
    await exporter.send(netflow9([netflow9Templates(flow)]), a);
    await until("the record", () => a.records.length === 1);
  });
});

interface Collector {
  readonly process: CollectorProcess;
  readonly fleet: string;
  /** What came out, and when. */
  readonly records: { readonly at: number; readonly record: Json }[];
}

/** Whether the database has all that a collector was said: templates of both protocols, those of options, and what options named. */
async function knows({ sql }: TestDatabase, { fleet }: Collector, member: string): Promise<boolean> {
  const rows = await sql<{ state: string }[]>`
    select state::text from netgloss.fleet_exporter where fleet = ${fleet} and member = ${member}`;
  return rows.some(({ state }) => {
    const { templates, options } = JSON.parse(state) as { templates: unknown[]; options: unknown[] };
    return templates.length === 3 && JSON.stringify(options).includes("eth7");
  });
}

/** Says what a collector counted, by which one sees where records have gone. */
async function lost(error: unknown, { process, records }: Collector): Promise<never> {
  const said = process
    .log()
    .map((line) => JSON.stringify(line))
    .join("\n");
  const counted = (await (await fetch(`${process.api}/metrics`)).text())
    .split("\n")
    .filter((line) => /^netgloss_(flow|output|fleet)_.* [1-9]/.test(line) && !line.includes("_bucket"));
  throw new Error(`${(error as Error).message}; ${records.length} records came:\n${counted.join("\n")}\n${said}`);
}

interface Sender {
  send(datagram: Buffer, to: Collector): Promise<void>;
  /** Sends this many records of each protocol, about 500 a second, with numbers from this one on. */
  run(to: Collector, first: number, count: number): Promise<void>;
  /** When each number was sent. */
  readonly sentAt: ReadonlyMap<number, number>;
}

async function startCollectors(
  t: TestContext,
  database: TestDatabase,
  members: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<readonly Collector[]> {
  const fleet = randomUUID();
  return Promise.all(
    members.map(async (member) => {
      const process = await startCollectorProcess({
        stdout: "pipe",
        settings: {
          SVC_FLEET_NAME: fleet,
          SVC_FLEET_MEMBER: member,
          SVC_FLEET_POSTGRESQL_URL: database.url,
          SVC_FLOW_SERVER_UDP_ENABLE: "true",
          SVC_OUTPUT_STDOUT_ENABLE: "true",
          ...settings,
        },
      });
      cleanUp(t, () => process.end("SIGKILL"));
      const records: Collector["records"] = [];
      let rest = "";
      process.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        const at = performance.now();
        const cut = (rest + text).lastIndexOf("\n") + 1;
        const lines = (rest + text).slice(0, cut);
        rest = (rest + text).slice(cut);
        records.push(...parseLines(Buffer.from(lines)).map((record) => ({ at, record })));
      });
      return { process, fleet, records };
    }),
  );
}

let sequence = 0;
/** Far more than anything takes but on a host that stands still. */
const patienceMs = 5000;

async function openSender(t: TestContext): Promise<Sender> {
  const socket: Socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  cleanUp(t, () => void socket.close());
  const sentAt = new Map<number, number>();
  const send = (datagram: Buffer, { process }: Collector): Promise<void> =>
    new Promise((resolve, reject) =>
      socket.send(datagram, process.flowPort, "127.0.0.1", (error) => (error === null ? resolve() : reject(error))),
    );
  return {
    send,
    sentAt,
    async run(to, first, count) {
      for (let id = first; id < first + count; id++) {
        sentAt.set(id, performance.now());
        await send(netflow9([data(id)], { sequence: sequence++ }), to);
        await send(ipfix([data(id)], { sequence: sequence++ }), to);
        if (id % 5 === 0) await sleep(10);
      }
    },
  };
}

/** Every record came once, with its rate and name. How long they waited is said; test/flow/shared-exporters.test.ts holds it below a second. */
function check(t: TestContext, collector: Collector, first: number, count: number, { sentAt }: Sender): void {
  const ids = Array.from({ length: count }, (_, i) => first + i);
  for (const type of ["netflow", "ipfix"]) {
    const mine = collector.records.filter(({ record }) => record["flow.export.type"] === type);
    assert.deepEqual(
      mine.map(({ record }) => Number(record["flow.raw.bytes"])).toSorted((x, y) => x - y),
      ids,
      type,
    );
    const waits = mine.map(({ at, record }) => at - (sentAt.get(Number(record["flow.raw.bytes"])) ?? 0));
    t.diagnostic(`${type}: a record waited ${Math.round(Math.max(...waits))} ms at most`);
    assert.ok(Math.max(...waits) < patienceMs, `${type}: ${Math.max(...waits)} ms`);
  }
  for (const { record } of collector.records) {
    if (record["flow.export.type"] !== "ipfix") continue;
    assert.equal(record["flow.bytes"], Number(record["flow.raw.bytes"]) * 10);
    assert.equal(record["flow.in.netif.name"], "eth7");
  }
}
