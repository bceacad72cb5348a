// What delivering a record costs, beside what the record cost before: from its datagram to its line. And what the spool
// writes, beside writing and syncing the same bytes.
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFlowPipeline } from "../../src/flow/index.ts";
import { createAdapter, createDelivery, type DeliveryConfig } from "../../src/output/index.ts";
import { createWorkspace, createWorkspaceMemory, joinLineEnrichers, spaceFor } from "../../src/record/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import { addressPools, createDatagramPool } from "../flow/datagram-pool.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";

const rounds = 5;
/** How often the lines are delivered in a round. */
const repeats = 8;
const spoolRepeats = 6;
const packets = 2000;

interface Lines {
  readonly bytes: Uint8Array;
  readonly count: number;
}

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
try {
  const { lines, nanoseconds } = decode();
  await measureSocket(lines, nanoseconds);
  await measureCpu(lines, nanoseconds, "none");
  await measureCpu(lines, nanoseconds, "gzip");
  await measureSpool(lines);
} finally {
  await rm(directory, { recursive: true });
}

/** Lines of NetFlow v9 without metadata, in pieces of some 100 KB in shared memory, and the CPU time of one. */
function decode(): { lines: readonly Lines[]; nanoseconds: number } {
  const pool = createDatagramPool({ protocol: "netflow9", addresses: addressPools.traffic, count: 2048 });
  let gathered: Lines[] = [];
  // As a decoding thread has it.
  const slabBytes = 2 << 20;
  const workspace = createWorkspace(createWorkspaceMemory(spaceFor(slabBytes) * 2));
  const slabAt = workspace.allocate(slabBytes);
  const slab = workspace.bytes.subarray(slabAt, slabAt + slabBytes);
  const pipeline = createFlowPipeline({
    enricher: { enrich() {}, lines: joinLineEnrichers([]) },
    sink: {
      write(bytes, count) {
        gathered.push({ bytes: isKept ? bytes.slice() : bytes, count });
      },
    },
    communityId: false,
    workspace,
    allocate: (bytes) => (bytes > slabBytes ? Buffer.alloc(bytes) : slab),
    metrics: createMetrics(),
    log: silentLog,
    clock: systemClock,
  });
  for (const datagram of pool.templates) pipeline.process(datagram, "127.0.0.1", 2055);
  const seconds = Math.floor(Date.now() / 1000);
  const figures: number[] = [];
  let sequence = 0;
  let isKept = false;
  for (let round = 0; round <= rounds + 1; round++) {
    gathered = [];
    isKept = round > rounds;
    const start = process.cpuUsage();
    for (let i = 0; i < packets; i++) {
      const datagram = pool.datagrams[i % pool.datagrams.length] as Buffer;
      pool.stamp(datagram, sequence, seconds);
      sequence += pool.step;
      pipeline.process(datagram, "127.0.0.1", 2055);
    }
    const { user, system } = process.cpuUsage(start);
    // The first round is the engine's, the last one keeps the lines.
    if (round > 0 && !isKept) figures.push(((user + system) * 1000) / (packets * pool.records));
  }
  return { lines: share(gathered), nanoseconds: median(figures) };
}

/** The lines as a decoding thread leaves them: together, in memory that other threads see. */
function share(gathered: readonly Lines[]): readonly Lines[] {
  const pieces: Lines[] = [];
  let part: Lines[] = [];
  let length = 0;
  const flush = (): void => {
    if (length === 0) return;
    const bytes = new Uint8Array(new SharedArrayBuffer(length));
    let at = 0;
    for (const one of part) {
      bytes.set(one.bytes, at);
      at += one.bytes.length;
    }
    pieces.push({ bytes, count: part.reduce((sum, { count }) => sum + count, 0) });
    part = [];
    length = 0;
  };
  for (const one of gathered) {
    part.push(one);
    length += one.bytes.length;
    if (length >= 1 << 20) flush();
  }
  flush();
  return pieces;
}

function configOf(given: Partial<DeliveryConfig>): DeliveryConfig {
  return {
    name: "bench",
    recordTypes: ["flow", "flow_option", "telemetry"],
    filter: "",
    dropFields: [],
    isEcs: false,
    batchBytes: 8 << 20,
    batchRecords: 50_000,
    batchDeadlineMs: 5,
    queueBytes: 1 << 30,
    spoolMode: "off",
    stateDirectory: "",
    spoolBytes: 4 * 2 ** 30,
    spoolWhenFull: "drop_oldest",
    deadLetterBytes: 1 << 20,
    maxInFlight: 4,
    timeoutMs: 30_000,
    retryMs: 1000,
    maxRetryMs: 30_000,
    ...given,
  };
}

/** The same bytes, written to a socket whose reader throws them away: what no output by TCP can do without. */
async function measureSocket(lines: readonly Lines[], before: number): Promise<void> {
  const sink = startHelper("output/sink-process.js");
  const port = await sink.ask<number>("listen");
  const count = repeats * lines.reduce((sum, one) => sum + one.count, 0);
  const length = repeats * lines.reduce((sum, one) => sum + one.bytes.length, 0);
  const figures: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const socket = connect(port, "127.0.0.1");
    const start = process.cpuUsage();
    socket.write(`POST / HTTP/1.1\r\nhost: sink\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n`);
    for (let i = 0; i < repeats; i++) for (const one of lines) socket.write(one.bytes);
    socket.resume();
    await once(socket, "close");
    const { user, system } = process.cpuUsage(start);
    if (round > 0) figures.push(((user + system) * 1000) / count);
  }
  await sink.end();
  reportRow({
    what: "the same bytes written to a socket",
    value: median(figures),
    unit: "ns/record",
    peer: { what: "decoding it, NetFlow v9 without metadata", value: before },
  });
}

async function measureCpu(lines: readonly Lines[], before: number, compression: "none" | "gzip"): Promise<void> {
  const sink = startHelper("output/sink-process.js");
  const port = await sink.ask<number>("listen");
  const delivery = createDelivery({
    config: configOf({}),
    adapter: createAdapter(
      {
        kind: "http",
        urls: [`http://127.0.0.1:${port}`],
        format: "ndjson",
        compression,
        headers: {},
        tls: { caPath: "", certPath: "", keyPath: "", skipVerification: false },
        maxConnections: 4,
      },
      { clock: systemClock },
    ),
    instance: "benchbenchbe",
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    metrics: createMetrics(),
    onFault() {},
  });
  delivery.start();
  const count = repeats * lines.reduce((sum, one) => sum + one.count, 0);
  const figures: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const target = delivery.state().deliveredRecords + count;
    const start = process.cpuUsage();
    for (let i = 0; i < repeats; i++) for (const one of lines) delivery.add(one.bytes, one.count, () => {});
    await waitUntil(() => delivery.state().deliveredRecords >= target);
    const { user, system } = process.cpuUsage(start);
    if (round > 0) figures.push(((user + system) * 1000) / count);
  }
  await delivery.stop(1000);
  await sink.end();
  reportRow({
    what: `delivery over HTTP, ${compression === "none" ? "uncompressed" : compression}`,
    value: median(figures),
    unit: "ns/record",
    peer: { what: "decoding it, NetFlow v9 without metadata", value: before },
    ...(compression === "none" && { goal: "≤ 0.15" }),
  });
}

/** Into a store that hangs, so that nothing but the spool works; and the same bytes written and synced by hand. */
async function measureSpool(lines: readonly Lines[]): Promise<void> {
  const bytes = spoolRepeats * lines.reduce((sum, one) => sum + one.bytes.length, 0);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const delivery = createDelivery({
      config: configOf({ spoolMode: "always", stateDirectory: join(directory, String(round)) }),
      adapter: { open: () => new Promise(() => {}), send: () => new Promise(() => {}), close: async () => {} },
      instance: "benchbenchbe",
      clock: systemClock,
      random: Math.random,
      log: silentLog,
      metrics: createMetrics(),
      onFault() {},
    });
    delivery.start();
    let left = spoolRepeats * lines.length;
    const start = performance.now();
    const spooled = new Promise<void>((resolve) => {
      for (let i = 0; i < spoolRepeats; i++) {
        for (const one of lines) {
          delivery.add(one.bytes, one.count, () => {
            if (--left === 0) resolve();
          });
        }
      }
    });
    await spooled;
    const ms = performance.now() - start;
    await delivery.stop(0);
    const byHand = await writeByHand(
      join(directory, `by-hand-${round}`),
      Array.from({ length: spoolRepeats }, () => lines).flat(),
    );
    for (const name of [String(round), `by-hand-${round}`]) await rm(join(directory, name), { recursive: true });
    if (round > 0) {
      ours.push(bytes / 1e3 / ms);
      theirs.push(bytes / 1e3 / byHand);
    }
  }
  reportRow({
    what: "spool always, written and synced",
    value: median(ours),
    unit: "MB/s",
    peer: { what: "writing and syncing the same bytes", value: median(theirs) },
    goal: "≥ 0.7",
  });
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** @returns milliseconds for writing the lines with a sync after as many bytes as a batch has. */
async function writeByHand(path: string, lines: readonly Lines[]): Promise<number> {
  const start = performance.now();
  const file = await open(path, "w");
  let unsynced = 0;
  for (const { bytes } of lines) {
    await file.write(bytes);
    unsynced += bytes.length;
    if (unsynced < 8 << 20) continue;
    await file.datasync();
    unsynced = 0;
  }
  await file.datasync();
  const ms = performance.now() - start;
  await file.close();
  return ms;
}
