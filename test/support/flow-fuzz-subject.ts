import type { Limits, FlowPipeline, FlowPipelineOptions } from "../../src/flow/index.ts";
import { type Metrics, type Clock, createMetrics, type Log, silentLog } from "../../src/base/report/index.ts";
import {
  createWorkspace,
  createWorkspaceMemory,
  spaceFor,
  type Enricher,
  joinLineEnrichers,
  type Workspace,
} from "../../src/record/index.ts";
import { addressTableBytes, AddressEnricher } from "../../src/enrich/index.ts";
import assert from "node:assert/strict";
import { manualWatch } from "./udm-watch.ts";
import { udmEntry } from "./udm-entry.ts";

/** Small, so that exporters meet them all the time. */
const limits: Partial<Limits> = {
  exporters: 200,
  domains: 6,
  templates: 40,
  fields: 800,
  fieldsInAll: 40_000,
  options: 100,
  waitingBytes: 16_384,
  waitingSets: 16,
  waitingBytesInAll: 200_000,
};

/** No slab is larger: a line of the largest datagram fits. */
const maxSlab = 32 * 1024 * 1024;

/** A pipeline and what came out of it. */
interface Subject<Pipeline> {
  readonly pipeline: Pipeline;
  readonly metrics: Metrics;
  readonly errors: readonly unknown[];
  /** Returns the lines of the datagram. */
  send(datagram: Buffer, address: string, port: number): Buffer;
  value(name: string, labels?: Record<string, string>): Promise<number>;
}

interface SubjectOptions {
  readonly isEnriched: boolean;
  readonly communityId: boolean;
  readonly splitBiflows: boolean;
  readonly clock: Clock;
}

export async function createSubject<Pipeline extends Pick<FlowPipeline, "process" | "tidy">>(
  { isEnriched, ...options }: SubjectOptions,
  create: (options: FlowPipelineOptions) => Pipeline,
): Promise<Subject<Pipeline>> {
  const metrics = createMetrics();
  const errors: unknown[] = [];
  const pieces: Uint8Array[] = [];
  const log: Log = {
    debug() {},
    info() {},
    warn() {},
    error: (detail, message) => void errors.push(message, JSON.stringify(detail)),
  };
  const workspace = createWorkspace(createWorkspaceMemory(addressTableBytes(maxCached) + spaceFor(slabBytes)));
  const slabAt = workspace.allocate(slabBytes);
  const slab = workspace.bytes.subarray(slabAt, slabAt + slabBytes);
  const pipeline = create({
    ...options,
    enricher: isEnriched ? await enricherOfEntries(metrics, options.clock, workspace) : nothingKnown,
    // The slab is used again.
    sink: { write: (lines) => void pieces.push(Buffer.from(lines)) },
    optionsRecords: true,
    limits,
    workspace,
    allocate(bytes) {
      assert.ok(bytes <= maxSlab, `a slab of ${bytes} bytes`);
      return bytes <= slabBytes ? slab : Buffer.allocUnsafeSlow(bytes);
    },
    log,
    metrics,
  });
  return {
    pipeline,
    metrics,
    errors,
    send(datagram, address, port) {
      pieces.length = 0;
      pipeline.process(datagram, address, port);
      const [first] = pieces;
      if (first === undefined) return noBytes;
      if (pieces.length > 1) return Buffer.concat(pieces);
      return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
    },
    value: async (name, labels = {}) => (await metrics.value(name, labels)) ?? 0,
  };
}

const noBytes = Buffer.alloc(0);

const maxCached = 1000;

/** As a decoding thread has it. */
const slabBytes = 2 * 1024 * 1024;

const nothingKnown: Enricher = { enrich() {}, lines: joinLineEnrichers([]) };

async function enricherOfEntries(metrics: Metrics, clock: Clock, workspace: Workspace): Promise<Enricher> {
  const watch = manualWatch([
    udmEntry("192.0.2.0/24", { name: "office", tags: ["one", "two"], metadata: { ".site": "A", tenant: "t1" } }),
    udmEntry("198.51.100.0/24", { name: "abroad", vlan: 7n, internal: true, metadata: { tenant: "t2" } }),
    udmEntry("10.0.0.0/8", { name: "inside", internal: true }),
    udmEntry("2001:db8::/32", { name: "sechs – six", metadata: { "l4.proto.name": "mine" } }),
    udmEntry("0.0.0.0-9.255.255.255", { tags: ["low"] }),
  ]);
  const udm = new AddressEnricher({
    watch: watch.watch,
    ttlMs: 1_000_000,
    invalidate: true,
    maxCached,
    workspace,
    clock,
    metrics,
    log: silentLog,
  });
  await udm.start();
  return udm;
}
