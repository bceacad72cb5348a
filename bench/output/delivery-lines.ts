// Lines as decoding threads leave them, for benches of outputs.
import { FlowPipeline } from "../../src/flow/index.ts";
import { Delivery, type OutputAdapter } from "../../src/output/index.ts";
import { createWorkspace, createWorkspaceMemory, joinLineEnrichers, spaceFor } from "../../src/record/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { deliveryOptions, type GivenDelivery } from "../../test/output/delivery/delivery-fixture.ts";
import { addressPools, createDatagramPool } from "../flow/datagram-pool.ts";
import { median } from "../support/median.ts";

const rounds = 5;
const packets = 2000;

export interface Lines {
  readonly bytes: Uint8Array;
  readonly count: number;
}

/** Lines of NetFlow v9 without metadata, in pieces of some 100 KB in shared memory, and the CPU time of one. */
export function decodeLines(): { lines: readonly Lines[]; nanoseconds: number } {
  const pool = createDatagramPool({ protocol: "netflow9", addresses: addressPools.traffic, count: 2048 });
  let gathered: Lines[] = [];
  // As a decoding thread has it.
  const slabBytes = 2 << 20;
  const workspace = createWorkspace(createWorkspaceMemory(spaceFor(slabBytes) * 2));
  const slabAt = workspace.allocate(slabBytes);
  const slab = workspace.bytes.subarray(slabAt, slabAt + slabBytes);
  const pipeline = new FlowPipeline({
    enricher: { enrich() {}, lines: joinLineEnrichers([]) },
    sink: {
      write(bytes, count) {
        gathered.push({ bytes: isKept ? Uint8Array.from(bytes) : bytes, count });
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

/** A delivery that reports no faults. */
export function startDelivery(adapter: OutputAdapter, given: GivenDelivery = {}): Delivery {
  const delivery = new Delivery({
    ...deliveryOptions({
      name: "bench",
      BATCH_MAX_BYTES: 8 << 20,
      maxBatchRecords: 50_000,
      BATCH_DEADLINE: 5,
      QUEUE_SIZE: 1 << 30,
      SPOOL_MAX_SIZE: 4 * 2 ** 30,
      DEAD_LETTER_MAX_SIZE: 1 << 20,
      REQUESTS_IN_FLIGHT: 4,
      TIMEOUT: 30,
      RETRY_BACKOFF: 1000,
      RETRY_BACKOFF_MAX: 30_000,
      ...given,
    }),
    adapter,
    instance: "benchbenchbe",
  });
  delivery.start();
  return delivery;
}
