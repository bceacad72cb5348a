// What an address costs that no cache knows, by what is asked about it, compared with a whole record whose addresses are cached.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  addressTableBytes,
  createAddressEnricher,
  createHostNameSource,
  createMmdbSource,
} from "../../src/enrich/index.ts";
import { createFlowPipeline } from "../../src/flow/index.ts";
import { createWorkspace, createWorkspaceMemory, spaceFor, type Workspace } from "../../src/record/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import { createUdmFileStore, type CollectorUdmStore } from "../../src/udm/index.ts";
import { mmdbFile, type MmdbValue } from "../../test/support/mmdb-file.ts";
import { createDatagramPool } from "../flow/datagram-pool.ts";
import { reportRow } from "../support/bench-report.ts";
import { median } from "../support/median.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { addressPlan, hostsOf, othersOf, type EntryShape } from "./address-plan.ts";

const rounds = 7;
const maxCached = 131_072;
const slabBytes = 2 * 1024 * 1024;
const chosen = process.argv.slice(2);

interface Case {
  readonly what: string;
  readonly shape?: EntryShape;
  readonly addresses?: "hosts" | "others";
  readonly locality?: boolean;
  readonly databases?: boolean;
  readonly names?: boolean;
}

const cases: readonly Case[] = [
  { what: "four entries, one of the host's own" },
  { what: "three entries, shared by a /24", addresses: "others" },
  { what: "four entries and localities", locality: true },
  { what: "four entries, MMDB", databases: true },
  { what: "four entries, MMDB and DNS", databases: true, names: true },
  { what: "three entries, MMDB and DNS", databases: true, names: true, addresses: "others" },
  { what: "no entries, MMDB and DNS", databases: true, names: true, shape: "none" },
  { what: "four entries, the widest a range", shape: "range" },
  { what: "four entries, the widest with contexts", shape: "contexts" },
  { what: "four entries, 2 000 different keys", shape: "keys" },
];

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const databases = { asn: join(directory, "asn.mmdb"), geoip: join(directory, "city.mmdb") };
try {
  await writeFile(databases.asn, mmdbFile(networks((n) => asSystem(n >> 3))));
  await writeFile(databases.geoip, mmdbFile(networks((n) => place(n >> 2))));
  const plain = await recordTime();
  reportRow({ what: "NetFlow v9 record, both addresses cached", value: plain, unit: "ns/record" });
  for (const one of cases) {
    if (chosen.length > 0 && !chosen.includes(one.what)) continue;
    const value = await firstSeenTime(one);
    reportRow({
      what: one.what,
      value,
      unit: "ns/address",
      peer: { what: "that record", value: plain },
      goal: "≤ 3 ×",
    });
  }
} finally {
  await rm(directory, { recursive: true });
}

/** The CPU time of an address at its first sight: the median of some rounds, each with a cache that is empty. */
async function firstSeenTime({ shape = "plain", addresses = "hosts", ...options }: Case): Promise<number> {
  const path = join(directory, `${shape}.yml`);
  await writeFile(path, addressPlan(shape));
  const store = await openMetadata(path);
  const asked = addresses === "hosts" ? hostsOf() : othersOf();
  const from = new DataView(asked.buffer);
  const into = new DataView(new ArrayBuffer(100_000));
  const figures: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
    const sources = [];
    if (options.databases === true) {
      sources.push(
        createMmdbSource({
          ...common,
          asn: { path: databases.asn },
          geoip: { path: databases.geoip, values: ["city", "country_code", "location"], language: "en" },
          pollMs: 3_600_000,
        }),
      );
    }
    if (options.names === true) {
      const never = new Promise<never>(() => {});
      sources.push(
        createHostNameSource({
          ...common,
          resolver: { reverse: () => never, cancel() {} },
          resolvePrivate: true,
          resolvePublic: true,
          concurrency: 64,
          maxQueued: 16_384,
          maxCached,
          ttlMs: 7_200_000,
          negativeTtlMs: 3_600_000,
        }),
      );
    }
    const enricher = createAddressEnricher({
      ...common,
      watch: (listener) => store.watch(listener),
      sources,
      locality: options.locality ?? false,
      ttlMs: 7_200_000,
      invalidate: true,
      maxCached,
    });
    for (const source of sources) await source.start();
    await enricher.start();
    const [additions] = enricher.lines?.addresses ?? [];
    if (additions === undefined) throw new Error("an enricher without lines");
    const start = process.cpuUsage();
    for (let at = 0; at < asked.byteLength; at += 4) {
      // As often as there are datagrams.
      if (at % 120 === 0) enricher.lines?.begin();
      additions.append((at >> 2) & 1, from, at, 4, false, into, 0);
    }
    const { user, system } = process.cpuUsage(start);
    if (round > 1) figures.push(((user + system) * 1000) / (asked.byteLength / 4));
    await enricher.stop();
    for (const source of sources) source.stop().catch(() => {});
  }
  await store.stop();
  return median(figures);
}

/** The CPU time of a record of which all is cached. */
async function recordTime(): Promise<number> {
  const path = join(directory, "records.yml");
  writeMetadataFile(path, 100_000);
  const store = await openMetadata(path);
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const workspace = createWorkspace(createWorkspaceMemory(addressTableBytes(maxCached) + 2 * spaceFor(slabBytes)));
  const enricher = createAddressEnricher({
    ...common,
    workspace,
    watch: (listener) => store.watch(listener),
    ttlMs: 7_200_000,
    invalidate: true,
    maxCached,
  });
  await enricher.start();
  const slabs = [slabOf(workspace), slabOf(workspace)];
  let slab = 0;
  const pipeline = createFlowPipeline({
    ...common,
    enricher,
    sink: { write() {} },
    communityId: false,
    workspace,
    allocate: (bytes) => (bytes > slabBytes ? Buffer.alloc(bytes) : (slabs[slab++ % slabs.length] as Buffer)),
  });
  const pool = createDatagramPool({ protocol: "netflow9" });
  for (const datagram of pool.templates) pipeline.process(datagram, "127.0.0.1", 2055);
  const figures: number[] = [];
  let sequence = 0;
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage();
    for (let i = 0; i < 8000; i++) {
      const datagram = pool.datagrams[i % pool.datagrams.length] as Buffer;
      pool.stamp(datagram, sequence, 1_700_000_000);
      sequence += pool.step;
      pipeline.process(datagram, "127.0.0.1", 2055);
    }
    const { user, system } = process.cpuUsage(start);
    if (round > 1) figures.push(((user + system) * 1000) / (8000 * pool.records));
  }
  await enricher.stop();
  await store.stop();
  return median(figures);
}

function slabOf(workspace: Workspace): Buffer {
  const at = workspace.allocate(slabBytes);
  return workspace.bytes.subarray(at, at + slabBytes);
}

async function openMetadata(path: string): Promise<CollectorUdmStore> {
  const store = createUdmFileStore({
    path,
    owned: false,
    refreshMs: 0,
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
    health: createHealth(),
  });
  await store.start();
  return store;
}

/** Each /24 of the plan's /8, in its order. */
function networks(value: (n: number) => MmdbValue): Record<string, MmdbValue> {
  const known = new Map<string, MmdbValue>();
  return Object.fromEntries(
    Array.from({ length: 65_536 }, (_, n) => {
      const made = value(n);
      const text = JSON.stringify(made);
      if (!known.has(text)) known.set(text, made);
      return [`20.${n >> 8}.${n & 255}.0/24`, known.get(text) as MmdbValue];
    }),
  );
}

function asSystem(n: number): MmdbValue {
  return { autonomous_system_number: 64_512 + n, autonomous_system_organization: `Organisation ${n}` };
}

function place(n: number): MmdbValue {
  return {
    city: { names: { en: `City ${n}` } },
    country: { iso_code: "NL", names: { en: "Netherlands" } },
    location: { latitude: (n % 180) - 90, longitude: n % 180, time_zone: "Europe/Amsterdam" },
  };
}
