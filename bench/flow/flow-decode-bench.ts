// From the bytes of a datagram to those of its lines, in one thread and without sockets: what compiled code and the
// interpreter take for a record, side by side.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createUdmEnricher } from "../../src/enrich/index.ts";
import { createFlowPipeline } from "../../src/flow/index.ts";
import { joinLineEnrichers, type Enricher } from "../../src/record/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import { createUdmFileStore, type UdmStore } from "../../src/udm/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { addIpv6Entries, writeMetadataFile } from "../support/metadata-file.ts";
import type { BenchProtocol } from "./packet-layout.ts";
import { packetLayout } from "./packet-layouts.ts";
import { addressPools, createPacketSource, ringSize } from "./packet-source.ts";

const recordsPerPacket = 25;
const entries = 100_000;
const rounds = 5;
const chosen = process.argv.slice(2);

const nothingKnown: Enricher = { enrich() {}, lines: joinLineEnrichers([]) };

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const path = join(directory, "ipaddrs.yml");
writeMetadataFile(path, entries);
addIpv6Entries(path);
const metadata = createUdmFileStore({
  path,
  owned: false,
  refreshMs: 0,
  log: silentLog,
  metrics: createMetrics(),
  clock: systemClock,
  health: createHealth(),
});
await metadata.start();
try {
  const protocols = [
    ["netflow9", "NetFlow v9"],
    ["netflow9-ipv6", "NetFlow v9, IPv6"],
    ["ipfix", "IPFIX"],
    ["netflow5", "NetFlow v5"],
  ] as const;
  for (const [protocol, name] of protocols) {
    for (const what of ["decoded", "enriched", "enriched, community id"] as const) {
      const label = `${name}, ${what}`;
      if (chosen.length > 0 && !chosen.includes(label)) continue;
      const options = { protocol, isEnriched: what !== "decoded", communityId: what.endsWith("id") };
      const compiled = await measure(metadata, { ...options, packets: 8000, compileAfter: 64 });
      const interpreted = await measure(metadata, {
        ...options,
        packets: 1000,
        compileAfter: Number.POSITIVE_INFINITY,
      });
      reportRow({
        what: label,
        value: compiled,
        unit: "ns/record",
        peer: { what: "the interpreter", value: interpreted },
        ...(what !== "decoded" && protocol === "netflow9" && { goal: "≤ 400" }),
      });
    }
  }
} finally {
  await metadata.stop();
  await rm(directory, { recursive: true });
}

interface Measured {
  readonly protocol: BenchProtocol;
  readonly isEnriched: boolean;
  readonly communityId: boolean;
  readonly packets: number;
  readonly compileAfter: number;
}

/** The median CPU time for a record of several rounds over the same datagrams, once all is warm. */
async function measure(store: UdmStore, options: Measured): Promise<number> {
  const { protocol, isEnriched, communityId, packets, compileAfter } = options;
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const udm = createUdmEnricher({
    ...common,
    watch: (listener) => store.watch(listener),
    ttlMs: 7_200_000,
    invalidate: true,
    maxCached: 131_072,
  });
  await udm.start();
  let records = 0;
  const pipeline = createFlowPipeline({
    ...common,
    enricher: isEnriched ? udm : nothingKnown,
    sink: { write: (_lines, count) => void (records += count) },
    communityId,
    compileAfter,
  });
  const source = createPacketSource(packetLayout(protocol, recordsPerPacket), 1, addressPools.traffic);
  const templates = source.templates();
  const process1 = (packet: Buffer): void => pipeline.process(packet, "127.0.0.1", 2055);
  if (templates !== undefined) process1(templates);
  const ring = Array.from({ length: ringSize }, () => source.next());
  const figures: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const start = process.cpuUsage();
    for (let i = 0; i < packets; i++) process1(ring[i % ringSize] as Buffer);
    const { user, system } = process.cpuUsage(start);
    // The first round is the engine's.
    if (round > 0) figures.push(((user + system) * 1000) / (packets * recordsPerPacket));
  }
  await udm.stop();
  if (records !== (rounds + 1) * packets * recordsPerPacket) throw new Error(`${records} records came out`);
  return figures.toSorted((a, b) => a - b)[rounds >> 1] as number;
}
