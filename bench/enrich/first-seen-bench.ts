// What records cost whose two addresses no cache knows, by what is asked about them, compared with a record whose addresses are cached
// and with what such addresses wait for memory at least. The addresses come in turn, more than the cache holds: each is as new as the first.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  addressTableBytes,
  AddressEnricher,
  HostNameSource,
  MmdbSource,
  type AddressSource,
} from "../../src/enrich/index.ts";
import { FlowPipeline } from "../../src/flow/index.ts";
import { createWorkspace, createWorkspaceMemory, spaceFor, type Workspace } from "../../src/record/index.ts";
import { createHealth, createMetrics, silentLog, systemClock, type Component } from "../../src/base/report/index.ts";
import { UdmFileStore, type CollectorUdmStore } from "../../src/metadata/index.ts";
import { createDatagramPool, type DatagramPool } from "../flow/datagram-pool.ts";
import { reportRow } from "../support/bench-report.ts";
import { median } from "../support/median.ts";
import { createRandom } from "../support/random.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { writeAddressDatabases } from "./address-databases.ts";
import { addressPlan, hostsOf, othersOf, type EntryShape } from "./address-plan.ts";

const rounds = 5;
const maxCached = 131_072;
const slabBytes = 2 * 1024 * 1024;
/** A datagram of NetFlow v9 has this many. */
const addressesOfDatagram = 50;
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
const databases = await writeAddressDatabases(directory);
try {
  const cached = await cachedTime();
  reportRow({ what: "NetFlow v9 record, both addresses cached", value: cached, unit: "ns/record" });
  const wait = memoryWait(1);
  const together = memoryWait(addressesOfDatagram);
  reportRow({ what: "reads of memory alone that a look-up waits for", value: wait, unit: "ns/address" });
  reportRow({
    what: `the same for ${addressesOfDatagram} addresses side by side`,
    value: together,
    unit: "ns/address",
    peer: { what: "one by one", value: wait },
  });
  reportRow({
    what: "  a record that waits for no more than that",
    value: cached + 2 * together,
    unit: "ns/record",
    peer: { what: "the record", value: cached },
  });
  for (const one of cases) {
    if (chosen.length > 0 && !chosen.includes(one.what)) continue;
    const value = await firstSeenTime(one);
    const address = (value - cached) / 2;
    reportRow({
      what: `${one.what}: a record with two such addresses`,
      value,
      unit: "ns/record",
      peer: { what: "that record", value: cached },
      goal: "≤ 3 ×",
    });
    reportRow({
      what: "  each of these addresses",
      value: address,
      unit: "ns/address",
      peer: { what: "that record", value: cached },
      goal: "≤ 3 ×",
    });
    reportRow({ what: "  the same", value: address, unit: "ns/address", peer: { what: "those reads", value: wait } });
  }
} finally {
  await rm(directory, { recursive: true });
}

/** The CPU time of a record whose addresses are both new. */
async function firstSeenTime({ shape = "plain", addresses = "hosts", ...options }: Case): Promise<number> {
  const path = join(directory, `${shape}.yml`);
  await writeFile(path, addressPlan(shape));
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const sources: (AddressSource & Component)[] = [];
  if (options.databases === true) {
    sources.push(
      new MmdbSource({
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
      new HostNameSource({
        ...common,
        resolver: { resolvePtr: () => never, cancel() {} },
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
  const asked = addresses === "hosts" ? hostsOf() : othersOf();
  let next = 0;
  const nextAddress = (): number => asked[next++ % asked.length] as number;
  const { records } = createDatagramPool({ protocol: "netflow9", count: 1 });
  const count = Math.floor(asked.length / 2 / records);
  const pool = createDatagramPool({ protocol: "netflow9", nextAddress, count });
  const locality = options.locality ?? false;
  return recordTime({ path, sources, locality, pool, packets: pool.datagrams.length });
}

/** The CPU time of a record of which all is cached. */
async function cachedTime(): Promise<number> {
  const path = join(directory, "records.yml");
  writeMetadataFile(path, 100_000);
  const pool = createDatagramPool({ protocol: "netflow9" });
  return recordTime({ path, sources: [], locality: false, pool, packets: 8000 });
}

interface RecordCase {
  readonly path: string;
  readonly sources: readonly (AddressSource & Component)[];
  readonly locality: boolean;
  readonly pool: DatagramPool;
  /** How many make a round. */
  readonly packets: number;
}

/** The median CPU time of a record over some rounds; in the first the code gets warm. */
async function recordTime({ path, sources, locality, pool, packets }: RecordCase): Promise<number> {
  const store = await openMetadata(path);
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const workspace = createWorkspace(createWorkspaceMemory(addressTableBytes(maxCached) + 2 * spaceFor(slabBytes)));
  const enricher = new AddressEnricher({
    ...common,
    workspace,
    watch: (listener) => store.watch(listener),
    sources,
    locality,
    ttlMs: 7_200_000,
    invalidate: true,
    maxCached,
  });
  for (const source of sources) await source.start();
  await enricher.start();
  const slabs = [slabOf(workspace), slabOf(workspace)];
  let slab = 0;
  const pipeline = new FlowPipeline({
    ...common,
    enricher,
    sink: { write() {} },
    communityId: false,
    workspace,
    allocate: (bytes) => (bytes > slabBytes ? Buffer.alloc(bytes) : (slabs[slab++ % slabs.length] as Buffer)),
  });
  for (const datagram of pool.templates) pipeline.process(datagram, "127.0.0.1", 2055);
  const figures: number[] = [];
  let sequence = 0;
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage();
    for (let i = 0; i < packets; i++) {
      const datagram = pool.datagrams[i % pool.datagrams.length] as Buffer;
      pool.stamp(datagram, sequence, 1_700_000_000);
      sequence += pool.step;
      pipeline.process(datagram, "127.0.0.1", 2055);
    }
    const { user, system } = process.cpuUsage(start);
    if (round > 0) figures.push(((user + system) * 1000) / (packets * pool.records));
  }
  await enricher.stop();
  // What waits for a name server ends never.
  for (const source of sources) source.stop().catch(() => {});
  await store.stop();
  return median(figures);
}

/**
 * The CPU time, of one address, of the reads of memory that no look-up can do without, each of which waits for the one before: a slot, a leaf
 * of the index, the entry that it names; of memory as large as theirs.
 *
 * @param together this many addresses are read side by side.
 */
function memoryWait(together: number): number {
  const random = createRandom(1);
  const areas = [8, 8, 128].map((megabytes) => new Int32Array(megabytes * 262_144).map(random));
  const looks = Math.ceil(500_000 / together);
  const last = new Int32Array(together);
  const start = process.cpuUsage();
  for (let i = 0; i < looks; i++) {
    for (const words of areas) {
      for (let j = 0; j < together; j++) {
        const asked = (last[j] as number) ^ (i * together + j);
        last[j] = words[(Math.imul(asked, 0x9e37_79b1) >>> 0) % words.length] as number;
      }
    }
  }
  const { user, system } = process.cpuUsage(start);
  // What nothing follows from, the engine does not read.
  (areas[0] as Int32Array)[0] = last[0] as number;
  return ((user + system) * 1000) / (looks * together);
}

function slabOf(workspace: Workspace): Buffer {
  const at = workspace.allocate(slabBytes);
  return workspace.bytes.subarray(at, at + slabBytes);
}

async function openMetadata(path: string): Promise<CollectorUdmStore> {
  const store = new UdmFileStore({
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
