// What metadata in PostgreSQL costs: a first load, a start from the copy on disk, a big batch, and how soon a write is seen everywhere.
import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { parseKey } from "../../src/base/ip/index.ts";
import { startUdmFileThread } from "../../src/app/threads/start-udm-file-thread.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { parseServerAddress } from "../../src/base/postgresql/index.ts";
import {
  UdmPostgresqlStore,
  type CollectorUdmStore,
  type UdmPostgresqlStoreOptions,
  type UdmWrite,
} from "../../src/metadata/index.ts";
import { startPartner } from "../../test/support/partner.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";

import type { CopyStartCost } from "./postgresql-start-process.ts";

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1000, 100_000, 1_000_000];
const ends: (() => unknown)[] = [];
const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const partner = await startPartner({ after: (end) => void ends.push(end) }, "postgres", {
  POSTGRES_EXTRA: "max_connections = 200",
});
const url = String(partner["url"]);
const sql = postgres(url, { max: 1, onnotice: () => {} });
try {
  for (const entries of sizes) await measureSize(entries);
  await measureSeen(3, 200);
  await measureSeen(10, 300);
  await measureSeen(50, 100);
} finally {
  await sql.end();
  for (const end of ends) await end();
  await rm(directory, { recursive: true });
}

function openStore(options: Partial<UdmPostgresqlStoreOptions> = {}): CollectorUdmStore {
  return new UdmPostgresqlStore({
    address: parseServerAddress(url),
    tls: {},
    timeoutMs: 30_000,
    owned: true,
    collector: "bench",
    stateDirectory: "",
    exportPath: "",
    historyBytes: 2 ** 30,
    maxEntries: 2_000_000,
    startThread: startUdmFileThread,
    log: silentLog,
    metrics: createMetrics(),
    health: createHealth(),
    clock: systemClock,
    ...options,
  });
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

function count(entries: number): string {
  return `${entries.toLocaleString("en").replaceAll(",", " ")} entries`;
}

async function fill(entries: number): Promise<void> {
  await sql`drop schema if exists netgloss cascade`;
  const maker = openStore({ maxEntries: 40_000 });
  await maker.start();
  await maker.stop();
  await sql`insert into netgloss.udm_entry (key, entry)
    select key, json_build_object('key', key, 'name', 'host-' || i || '.example.com', 'tags', json_build_array('server', 'rack-' || i % 100),
      'vlan', (i % 4094 + 1)::text, 'metadata', json_build_object('.site.id', 'site-' || i % 500, '.owner', 'team-' || i % 50))::text::json
    from (select i, '10.' || (i >> 16) || '.' || (i >> 8 & 255) || '.' || (i & 255) as key from generate_series(0, ${entries - 1}) i) keys`;
  await sql`vacuum analyze netgloss.udm_entry`;
}

async function measureSize(entries: number): Promise<void> {
  mkdirSync(join(directory, String(entries)));
  await fill(entries);
  const bare = await timed(async () => {
    const rows = sql`select key, entry::text, file_only::text from netgloss.udm_entry order by key`.cursor(500);
    for await (const _ of rows);
  });
  const store = openStore({ stateDirectory: join(directory, String(entries)) });
  const load = await timed(() => store.start());
  if (store.current().size !== entries) throw new Error(`${store.current().size} entries were read of ${entries}`);
  reportRow({
    what: `first load of ${count(entries)}`,
    value: load,
    unit: "ms",
    peer: { what: "the rows read by a cursor alone", value: bare },
    ...(entries === 1_000_000 && { goal: "≤ 10 s" }),
  });
  const batches: number[] = [];
  const batchCpus: number[] = [];
  const bareBatches: number[] = [];
  await sql`create table if not exists public.bare (key text primary key, entry json)`;
  for (let round = 0; round < 5; round++) {
    const writes = batchOf(round);
    const cpu = process.cpuUsage();
    batches.push(await timed(() => store.commit(writes)));
    const { user, system } = process.cpuUsage(cpu);
    batchCpus.push((user + system) / 1000);
    const keys = writes.map(({ key }) => key.text);
    const texts = keys.map((key) => JSON.stringify({ key, name: "x".repeat(120) }));
    bareBatches.push(
      await timed(
        () =>
          sql`insert into public.bare select * from unnest(${sql.array(keys)}::text[], ${sql.array(texts)}::text[]::json[])`,
      ),
    );
    await store.commit(writes.map(({ key }) => ({ op: "delete", key })));
    await sql`truncate public.bare`;
  }
  reportRow({
    what: `atomic batch of 10 000 at ${count(entries)}`,
    value: median(batches),
    unit: "ms",
    peer: { what: "an insert of the rows alone", value: median(bareBatches) },
    goal: "≤ 300 ms",
  });
  reportRow({
    what: `atomic batch of 10 000 at ${count(entries)}, processor time of the collector`,
    value: median(batchCpus),
    unit: "ms",
  });
  reportRow({
    what: `copy of ${count(entries)} written to disk, at a stop`,
    value: await timed(() => store.stop()),
    unit: "ms",
  });
  const starts: CopyStartCost[] = [];
  for (let round = 0; round < 3; round++) {
    const helper = startHelper("udm/postgresql-start-process.js");
    starts.push(await helper.ask<CopyStartCost>(join(directory, String(entries))));
    await helper.end();
  }
  if (starts.some((start) => start.entries !== entries)) throw new Error("the copy has not all entries");
  const what = `start from the copy on disk, ${count(entries)}, without the database`;
  reportRow({
    what,
    value: median(starts.map(({ ms }) => ms)),
    unit: "ms",
    ...(entries === 1_000_000 && { goal: "≤ 3.5 s" }),
  });
  reportRow({ what: `${what}, processor time`, value: median(starts.map(({ cpuMs }) => cpuMs)), unit: "ms" });
}

function batchOf(round: number): UdmWrite[] {
  return Array.from({ length: 10_000 }, (_, i) => ({
    op: "create" as const,
    key: parseKey(`172.${16 + round}.${i >> 8}.${i & 255}`),
    values: {
      name: `new-${i}.example.com`,
      tags: ["server", `rack-${i % 100}`],
      vlan: BigInt((i % 4094) + 1),
      internal: true,
      metadata: new Map([
        [".site.id", `site-${i % 500}`],
        [".owner", `team-${i % 50}`],
      ]),
    },
  }));
}

/** All collectors are in this one process, which is the worst case for its event loop. */
async function measureSeen(collectors: number, writes: number): Promise<void> {
  await fill(1000);
  const stores = Array.from({ length: collectors }, (_, i) => openStore({ maxEntries: 40_000, collector: `${i}` }));
  await Promise.all(stores.map((store) => store.start()));
  const answered: number[] = [];
  const seen: number[] = [];
  const bare: number[] = [];
  await sql`create table if not exists public.bare_update (n int)`;
  for (let i = 0; i < writes; i++) {
    const key = parseKey(`10.0.0.${i % 250}`);
    const writer = stores[i % collectors] as CollectorUdmStore;
    const before = writer.history.last();
    const start = performance.now();
    const everywhere = Promise.all(
      stores.map(
        (store) =>
          new Promise<void>((resolve) => {
            const end = store.history.watch(({ number }) => {
              if (number <= before) return;
              end();
              resolve();
            });
          }),
      ),
    );
    await writer.commit([
      { op: "update", key, values: { name: `n-${i}`, tags: [], vlan: 0n, internal: false, metadata: new Map() } },
    ]);
    answered.push(performance.now() - start);
    await everywhere;
    seen.push(performance.now() - start);
    bare.push(await timed(() => sql`insert into public.bare_update values (${i})`));
  }
  const of = (values: readonly number[], part: number): number =>
    values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;
  const peer = { what: "an insert alone", value: of(bare, 0.5) };
  reportRow({ what: `a write answered, ${collectors} collectors, p50`, value: of(answered, 0.5), unit: "ms", peer });
  reportRow({ what: `seen everywhere, ${collectors} collectors, p50`, value: of(seen, 0.5), unit: "ms", peer });
  reportRow({
    what: `seen everywhere, ${collectors} collectors, p99`,
    value: of(seen, 0.99),
    unit: "ms",
    peer: { what: "an insert alone", value: of(bare, 0.99) },
    ...(collectors <= 10 && { goal: "< 100 ms with ten" }),
  });
  await Promise.all(stores.map((store) => store.stop()));
}
