// What it costs a fleet to share exporters: their first writing, exporters that move, collectors that die; and what the database has to do for it.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { PostgresqlExporterTable } from "../../src/fleet/index.ts";
import { openFleetConnection } from "../../test/support/fleet-connection.ts";
import { createFleetSimulation, type FleetSimulation } from "../../test/support/fleet-simulation.ts";
import { startPartner } from "../../test/support/partner.ts";
import { reportRow } from "../support/bench-report.ts";
import { createRandom } from "../support/random.ts";

const [members = 50, exporters = 1000] = process.argv.slice(2).map(Number);
const ends: (() => unknown)[] = [];
const partner = await startPartner({ after: (end) => void ends.push(end) }, "postgres", {
  POSTGRES_EXTRA: "max_connections = 200",
});
const url = String(partner["url"]);
const sql = postgres(url, { max: 1, onnotice: () => {} });
const random = createRandom(7);
const fleet = randomUUID();
const base = { url, fleet, members, exporters, random: () => random() / 2 ** 32 };
const said = `${members} collectors, ${exporters} exporters`;
try {
  await measure();
} finally {
  await sql.end();
  for (const end of ends) await end();
}

async function measure(): Promise<void> {
  const simulation = await createFleetSimulation({ ...base, everyMs: 1000, moves: 0.02 });
  const began = performance.now();
  await simulation.begin();
  reportRow({ what: `${said}: all written after a start`, value: performance.now() - began, unit: "ms" });
  const bare = await bareFinds();

  const before = await transactions();
  await simulation.run(10_000);
  await simulation.settle();
  const after = await transactions();
  reportWaits(`an exporter moves, one of ${exporters} after another`, simulation, 0, bare);
  reportRow({ what: `${said}, 2 % move a second: transactions`, value: (after - before) / 10, unit: "a second" });

  let seen = simulation.result().waits.length;
  for (let i = 0; i < members / 2; i++) await simulation.kill(i);
  await simulation.run(3000);
  await simulation.settle();
  reportWaits(`half of ${members} collectors die at once`, simulation, seen, bare);
  const { lost, twice } = simulation.result();
  reportRow({ what: "records lost, or twice", value: lost.length + twice.length, unit: "records", goal: "0" });
  seen = await transactions();
  await sleep(10_000);
  reportRow({
    what: `${members / 2} collectors at rest: transactions`,
    value: ((await transactions()) - seen) / 10,
    unit: "a second",
  });
  await simulation.stop();
}

function reportWaits(what: string, simulation: FleetSimulation, from: number, bare: number): void {
  const waits = simulation
    .result()
    .waitsInOrder.slice(from)
    .toSorted((a, b) => a - b);
  const at = (share: number): number => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0;
  const peer = { what: "a bare look-up of one exporter", value: bare };
  reportRow({ what: `${what}: the first record waits, p50 of ${waits.length}`, value: at(0.5), unit: "ms", peer });
  reportRow({ what: `${what}: p99`, value: at(0.99), unit: "ms", peer, goal: "< 1 s" });
}

/** The median of look-ups of one exporter, one after the other. */
async function bareFinds(): Promise<number> {
  const connection = await openFleetConnection(url, "bare");
  const table = new PostgresqlExporterTable(connection, fleet, "bare");
  const times: number[] = [];
  for (let i = 0; i < 200; i++) {
    const start = performance.now();
    await table.find([`10.0.0.${i}`], 60_000);
    times.push(performance.now() - start);
  }
  await connection.stop();
  return times.toSorted((a, b) => a - b)[100] ?? 0;
}

/** Committed so far. */
async function transactions(): Promise<number> {
  await sleep(1100);
  const [row] = await sql<{ done: string }[]>`
    select xact_commit::text as done from pg_stat_database where datname = current_database()`;
  return Number(row?.done ?? 0);
}
