// Many collectors and exporters of a fleet on a real PostgreSQL, with failures: nothing is lost, nothing comes twice.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { createFleetSimulation } from "../support/fleet-simulation.ts";
import { killPartner } from "../support/partner.ts";
import { startDatabase } from "../support/postgresql.ts";

const members = 12;
const exporters = 120;

test(`${members} collectors, ${exporters} exporters that say their templates once: collectors die and come back, the database too`, async (t) => {
  const database = await startDatabase(t);
  const fleet = randomUUID();
  const simulation = await createFleetSimulation({
    url: database.url,
    fleet,
    members,
    exporters,
    everyMs: 100,
    moves: 0.05,
    random: seeded(7),
  });
  cleanUp(t, () => simulation.stop());
  await simulation.begin();
  for (let round = 0; round < 3; round++) {
    const victims = [round * 3, round * 3 + 1];
    await simulation.run(1000);
    for (const victim of victims) await simulation.kill(victim);
    await simulation.run(1000);
    if (round === 1) killPartner(database.partner);
    await simulation.run(1000);
    for (const victim of victims) await simulation.rejoin(victim);
  }
  await simulation.run(1000);
  await simulation.settle();
  const { sent, lost, twice, moves, waits, diedWithCollector } = simulation.result();
  t.diagnostic(
    `${sent} records, ${moves} moves; the first after a move waited ${Math.round(waits[waits.length >> 1] ?? 0)} ms (median), ` +
      `${Math.round(waits.at(-1) ?? 0)} ms at most; ${diedWithCollector} died with their collector`,
  );
  assert.deepEqual([lost, twice], [[], []]);
  assert.ok(moves > 200 && sent > 3000, `${moves} moves, ${sent} records`);
  const [{ rows } = { rows: 0 }] = await database.sql<{ rows: number }[]>`
    select count(*)::int as rows from netgloss.fleet_exporter where fleet = ${fleet}`;
  assert.ok(rows >= exporters && rows <= exporters * members, `${rows} rows`);
});

/** The same sequence for the same seed (a linear congruential generator). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
