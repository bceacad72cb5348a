// From the bytes of a datagram to those of its lines, in one thread and without sockets: what the kernel and the model of the tests
// take for a record, side by side.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addressTableBytes, AddressEnricher } from "../../src/enrich/index.ts";
import { FlowPipeline, type FlowPipelineOptions } from "../../src/flow/index.ts";
import {
  createWorkspace,
  createWorkspaceMemory,
  joinLineEnrichers,
  spaceFor,
  type Enricher,
} from "../../src/record/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { UdmFileStore, type CollectorUdmStore, type UdmStore } from "../../src/metadata/index.ts";
import { type ComparedPipeline, createModelPipeline } from "../../test/flow/model/model-pipeline.ts";
import { allEnds } from "../../test/support/all-ends.ts";
import { reportRow } from "../support/bench-report.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { createRandom } from "../support/random.ts";
import { addressPools, createDatagramPool, type AddressPool } from "./datagram-pool.ts";
import type { BenchProtocol } from "./packet-layout.ts";

const entries = 100_000;
const rounds = 5;
/** Of each record, as the kernel reads them: two slots of addresses, and four cache lines of the text of each. */
const randomReads = 10;
/** About what the table of addresses and its texts take for the addresses of the bench. */
const tableBytes = 32 * 1024 * 1024;
/** How many datagrams are taken before their lines are handed over, as a decoding thread does. */
const takenTogether = 16;
/** How many datagrams get their numbers together, before the time is taken: a sample has one of its own, which an agent writes. */
const turnPackets = 200;
const chosen = process.argv.slice(2);

const nothingKnown: Enricher = { enrich() {}, lines: joinLineEnrichers([]) };
/** Of the lines that were measured last. */
let lineBytes = 0;
/** As a decoding thread has them for its lines. */
const slabBytes = 2 * 1024 * 1024;
const slabCount = 4;

const protocols = [
  { protocol: "netflow9", name: "NetFlow v9", goal: "≤ 400" },
  { protocol: "netflow9-ipv6", name: "NetFlow v9, IPv6", goal: "≤ 670" },
  { protocol: "ipfix", name: "IPFIX", goal: "≤ 670" },
  { protocol: "netflow5", name: "NetFlow v5", goal: "≤ 400" },
  { protocol: "sflow", name: "sFlow", goal: "≤ 1.5 × a NetFlow v9 record" },
  { protocol: "sflow-odd", name: "sFlow with texts and two headers", goal: "≤ 3 × a NetFlow v9 record" },
] as const;
/** With client and server, identifiers of conversations, joined fields. */
const allNames = "enriched, community id, all names";
const uncached = "enriched, addresses all over 10.0.0.0/8";

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
try {
  for (const family of [4, 6] as const) {
    const metadata = await openMetadata(family);
    /** What a record of NetFlow v9 takes, measured just before. */
    const ofNetflow9 = new Map<string, number>();
    for (const { protocol, name, goal } of protocols) {
      if ((protocol === "netflow9-ipv6") !== (family === 6)) continue;
      /** The same without client and server, identifiers and joined fields, measured just before. */
      let withoutEnds: number | undefined;
      for (const what of ["decoded", "enriched", "enriched, community id", allNames, uncached] as const) {
        const label = `${name}, ${what}`;
        if (chosen.length > 0 && !chosen.includes(label)) continue;
        if (what === uncached && protocol !== "netflow9") continue;
        const options = {
          protocol,
          isEnriched: what !== "decoded",
          communityId: what.endsWith("id") || what === allNames,
          ends: what === allNames ? allEnds : undefined,
          addresses: what === uncached ? addressPools.all : addressPools.traffic,
        };
        const packets = what === uncached ? 2000 : 8000;
        const kernel = await measure(metadata, { ...options, packets, create: (given) => new FlowPipeline(given) });
        if (protocol === "netflow9") ofNetflow9.set(what, kernel);
        if (protocol === "netflow9") {
          reportRow({
            what: `  a bare copy of ${lineBytes} bytes, ${randomReads} random reads`,
            value: floor(),
            unit: "ns/record",
          });
        }
        if (what === "enriched, community id") withoutEnds = kernel;
        const isSample = protocol === "sflow" || protocol === "sflow-odd";
        const record = isSample ? ofNetflow9.get(what) : undefined;
        const model =
          what === uncached || what === allNames || isSample
            ? undefined
            : await measure(metadata, { ...options, packets: 500, create: createModelPipeline });
        reportRow({
          what: label,
          value: kernel,
          unit: isSample ? "ns/sample" : "ns/record",
          ...(model !== undefined && { peer: { what: "the model", value: model } }),
          ...(what === allNames &&
            withoutEnds !== undefined && {
              peer: { what: "the same without these", value: withoutEnds },
              goal: "≤ 1.25 ×",
            }),
          ...(record !== undefined && { peer: { what: "a NetFlow v9 record", value: record } }),
          ...((what === "enriched" || (what === allNames && isSample)) && { goal }),
        });
      }
    }
    await metadata.stop();
  }
} finally {
  await rm(directory, { recursive: true });
}

async function openMetadata(family: 4 | 6): Promise<CollectorUdmStore> {
  const path = join(directory, `ipaddrs${family}.yml`);
  writeMetadataFile(path, entries, family);
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

/** The CPU time that no writer of such lines gets below: the line copied once, and as many reads all over a table. */
function floor(): number {
  const table = new Uint32Array(tableBytes / 4);
  const source = Buffer.alloc(lineBytes, 0x61);
  const slabs = Buffer.alloc(slabBytes * slabCount);
  const random = createRandom(1);
  const places = Uint32Array.from({ length: 65_536 * randomReads }, () => random() % table.length);
  const records = 65_536;
  const times: number[] = [];
  let sum = 0;
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage();
    let at = 0;
    for (let i = 0; i < records; i++) {
      for (let j = 0; j < randomReads; j++) sum += table[places[i * randomReads + j] as number] as number;
      if (at + lineBytes > slabs.length) at = 0;
      slabs.set(source, at);
      at += lineBytes;
    }
    const { user, system } = process.cpuUsage(start);
    times.push(((user + system) * 1000) / records);
  }
  if (sum !== 0) throw new Error("the table is of zeros");
  return Math.min(...times);
}

interface Measured {
  readonly protocol: BenchProtocol;
  readonly isEnriched: boolean;
  readonly communityId: boolean;
  readonly ends: FlowPipelineOptions["ends"];
  readonly addresses: AddressPool;
  readonly packets: number;
  readonly create: (options: FlowPipelineOptions) => Pick<ComparedPipeline, "processor">;
}

/** The median CPU time for a record of several rounds over the same datagrams, once all is warm. */
async function measure(store: UdmStore, options: Measured): Promise<number> {
  const { protocol, isEnriched, communityId, ends, addresses, packets, create } = options;
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const maxCached = 131_072;
  const memory = createWorkspaceMemory(addressTableBytes(maxCached) + slabCount * spaceFor(slabBytes));
  const workspace = createWorkspace(memory);
  const slabs = Array.from({ length: slabCount }, () => {
    const at = workspace.allocate(slabBytes);
    return workspace.bytes.subarray(at, at + slabBytes);
  });
  let slab = 0;
  const udm = new AddressEnricher({
    ...common,
    workspace,
    watch: (listener) => store.watch(listener),
    ttlMs: 7_200_000,
    invalidate: true,
    maxCached,
  });
  await udm.start();
  let records = 0;
  let written = 0;
  const { processor } = create({
    ...common,
    enricher: isEnriched ? udm : nothingKnown,
    sink: {
      write(lines, count) {
        records += count;
        written += lines.length;
      },
    },
    communityId,
    ends,
    workspace,
    allocate: (bytes) => (bytes > slabBytes ? Buffer.alloc(bytes) : (slabs[slab++ % slabCount] as Buffer)),
  });
  // Where no address is to be met again, no datagram is either.
  const isFresh = addresses === addressPools.all;
  const warmRounds = isFresh ? 1 : 4;
  const pool = createDatagramPool({ protocol, addresses, count: isFresh ? packets * (rounds + warmRounds) : 2048 });
  const take = (some: readonly Buffer[]): void => {
    for (let i = 0; i < some.length; i++) {
      processor.take(some[i] as Buffer, "127.0.0.1", 2055);
      if ((i + 1) % takenTogether === 0) processor.flush();
    }
    processor.flush();
  };
  take(pool.templates);
  const seconds = Math.floor(Date.now() / 1000);
  let sequence = 0;
  let turn = 0;
  const figures: number[] = [];
  for (let round = 0; round < warmRounds + rounds; round++) {
    let spent = 0;
    for (let i = 0; i < packets; i += turnPackets) {
      const datagrams: Buffer[] = [];
      for (let j = i; j < Math.min(packets, i + turnPackets); j++) {
        const datagram = pool.datagrams[turn++ % pool.datagrams.length] as Buffer;
        pool.stamp(datagram, sequence, seconds);
        sequence += pool.step;
        datagrams.push(datagram);
      }
      const start = process.cpuUsage();
      take(datagrams);
      const { user, system } = process.cpuUsage(start);
      spent += user + system;
    }
    // The first rounds warm up the engine, whose compiler runs in other threads.
    if (round >= warmRounds) figures.push((spent * 1000) / (packets * pool.records));
  }
  await udm.stop();
  lineBytes = Math.round(written / records);
  if (records !== (rounds + warmRounds) * packets * pool.records) throw new Error(`${records} records came out`);
  return figures.toSorted((a, b) => a - b)[rounds >> 1] as number;
}
