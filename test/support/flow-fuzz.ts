import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { addressTableBytes, createAddressEnricher } from "../../src/enrich/index.ts";
import { createFlowPipeline, type FlowPipeline, type FlowPipelineOptions, type Limits } from "../../src/flow/index.ts";
import {
  createWorkspace,
  createWorkspaceMemory,
  joinLineEnrichers,
  spaceFor,
  type Enricher,
  type Workspace,
} from "../../src/record/index.ts";
import { createMetrics, silentLog, type Clock, type Log, type Metrics } from "../../src/report/index.ts";
import { createModelPipeline } from "../flow/model/model-pipeline.ts";
import { goldenCases } from "../flow/golden-cases.ts";
import { createLineChecker } from "./check-lines.ts";
import { createDatagramDamage } from "./damage-datagram.ts";
import { dataSet, fields, ipfix, ipfixTemplates, ipv4, netflow9, netflow9Templates, uint } from "./flow-packets.ts";
import { receivedAt } from "./flow-rig.ts";
import { createRandom } from "./mutate.ts";
import { isAboutTheWay } from "./flow-twins.ts";
import { referenceData } from "./reference-data.ts";
import { udmEntry } from "./udm-entry.ts";
import { manualWatch } from "./udm-watch.ts";

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
/** Datagrams after which everything starts over with other settings. */
const roundLength = 50_000;
/** No slab is larger: a line of the largest datagram fits. */
const maxSlab = 32 * 1024 * 1024;
/** What the process may hold outside the heap: tables of addresses and slabs that nobody has collected yet. */
const maxArrayBuffers = 512 * 1024 * 1024;

export interface FlowFuzzOutcome {
  readonly datagrams: number;
  readonly records: number;
  readonly bytesOut: number;
  /** Records of an exporter that does everything right, decoded between the others. */
  readonly good: number;
  /** Fields that took longer, and templates whose program was made. */
  readonly slow: number;
  readonly programs: number;
  /** Datagrams that the model decoded, too: every byte that came out was the same. */
  readonly compared: number;
}

/**
 * Sends damaged datagrams of many exporters through pipelines. It fails when a bug shows: an internal error, a line that
 * is no JSON or has a name twice, memory beyond its bounds, an exporter that keeps more than its share, one that does
 * everything right and is decoded otherwise than alone, a kernel that writes another line than the model.
 *
 * @param seed not 0; the same seed sends the same.
 */
export async function fuzzFlows(count: number, seed: number): Promise<FlowFuzzOutcome> {
  const damage = createDatagramDamage(realDatagrams(), createRandom(seed));
  const sums: Record<keyof FlowFuzzOutcome, number> = {
    datagrams: 0,
    records: 0,
    bytesOut: 0,
    good: 0,
    slow: 0,
    programs: 0,
    compared: 0,
  };
  for (let round = 0; sums.datagrams < count; round++) {
    const outcome = await fuzzRound({
      next: () => damage.next(),
      random: createRandom(seed + 7919 * (round + 1)),
      count: Math.min(roundLength, count - sums.datagrams),
      name: `round ${round} of seed ${seed}`,
      number: seed + round,
    });
    for (const key of Object.keys(sums) as (keyof FlowFuzzOutcome)[]) sums[key] += outcome[key];
  }
  assert.ok(sums.slow > 0 && sums.programs > 0, "programs ran, and left some fields to the other side");
  return sums;
}

interface Round {
  readonly next: () => Buffer;
  readonly random: () => number;
  readonly count: number;
  readonly name: string;
  /** Says which settings it has. */
  readonly number: number;
}

async function fuzzRound({ next, random, count, name, number }: Round): Promise<FlowFuzzOutcome> {
  let time = receivedAt;
  const settings = {
    isEnriched: number % 8 < 4,
    communityId: number % 5 !== 0,
    splitBiflows: number % 3 === 0,
    clock: { now: () => time, monotonic: () => time },
  };
  const subject = await createSubject(settings, createFlowPipeline);
  const isCompared = number % 4 === 0;
  const model = isCompared ? await createSubject(settings, createModelPipeline) : undefined;
  const checker = createLineChecker();
  const goodOnes = goodDatagrams();
  const sendGood = (): string => {
    const lines = goodOnes.flatMap((datagram) => {
      const written = subject.send(datagram, "198.51.100.250", 4739);
      model?.send(datagram, "198.51.100.250", 4739);
      return written.toString().split("\n").slice(0, -1);
    });
    assert.equal(lines.length, 4);
    return lines.map((line) => line.replace(/^\{"@timestamp":"[^"]*",/, "{")).join("\n");
  };
  const expected = sendGood();

  let records = 0;
  let bytesOut = 0;
  let good = 0;
  for (let i = 0; i < count; i++) {
    const datagram = next();
    // Mostly few senders, so that templates meet the data of others; some of many, so that places run out.
    const host = random() % 50 === 0 ? random() % 60_000 : random() % 12;
    const address = `10.${host >> 8}.${host & 255}.1`;
    const port = 50_000 + (random() % 3);
    time += 10;
    try {
      const lines = subject.send(datagram, address, port);
      assert.equal(subject.errors.length, 0);
      bytesOut += lines.length;
      records += checker.check(lines);
      if (model !== undefined) assert.ok(model.send(datagram, address, port).equals(lines), "the interpreter differs");
    } catch (cause) {
      const hex = datagram.toString("hex");
      throw new Error(`datagram ${i} of ${name} from ${address}, ${port}: ${hex} ${String(subject.errors)}`, { cause });
    }
    if (i % 64 === 0) {
      assert.equal(sendGood(), expected, `after datagram ${i} of ${name}`);
      good += 4;
    }
    if (i % 4096 === 0) {
      subject.pipeline.tidy();
      model?.pipeline.tidy();
      checkShares(subject.pipeline.exporters());
      assert.ok((await subject.value("netgloss_flow_waiting_bytes")) <= 200_000);
      assert.ok(process.memoryUsage().arrayBuffers <= maxArrayBuffers, `memory after datagram ${i} of ${name}`);
    }
  }
  const text = await subject.metrics.render();
  assert.doesNotMatch(text, /drops_total\{[^}]*reason="internal"[^}]*\} [1-9]/);
  if (model !== undefined) {
    assert.equal(aboutTheOutcome(await model.metrics.render()), aboutTheOutcome(text), `counts of ${name}`);
  }
  return {
    datagrams: count,
    records,
    bytesOut,
    good,
    slow: await slowFields(subject.metrics),
    programs: await subject.value("netgloss_flow_compiled_templates_total", { outcome: "compiled" }),
    compared: isCompared ? count : 0,
  };
}

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

async function createSubject<Pipeline extends Pick<FlowPipeline, "process" | "tidy">>(
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
  const udm = createAddressEnricher({
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

async function slowFields(metrics: Metrics): Promise<number> {
  const counts = [...(await metrics.render()).matchAll(/^netgloss_flow_slow_fields_total\S* (\d+)/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Metrics without those about the way that led there. */
function aboutTheOutcome(text: string): string {
  return text
    .split("\n")
    .filter((line) => !line.startsWith("#") && !isAboutTheWay(line))
    .join("\n");
}

function checkShares(exporters: ReturnType<FlowPipeline["exporters"]>): void {
  assert.ok(exporters.length <= 200);
  for (const { domains } of exporters) {
    const templates = domains.flatMap((domain) => domain.templates);
    assert.ok(domains.length <= 6);
    assert.ok(templates.length <= 40);
    assert.ok(templates.reduce((sum, template) => sum + template.fields, 0) <= 800);
    assert.ok(domains.reduce((sum, domain) => sum + domain.waitingSets, 0) <= 16);
  }
}

/** What an exporter sends that does everything right: templates, options with a rate, a list, data. */
function goodDatagrams(): Buffer[] {
  const simple = { id: 256, fields: fields([8, 4], [12, 4], [1, 4]) };
  const list = { id: 257, fields: fields([8, 4], [292, "variable"]) };
  const record = [ipv4("192.0.2.1"), ipv4("198.51.100.2"), uint(1500, 4)];
  return [
    netflow9([netflow9Templates(simple), dataSet(simple, record, record)], { domain: 900 }),
    ipfix([ipfixTemplates(simple, list)], { domain: 901 }),
    ipfix(
      [
        dataSet(simple, record),
        dataSet(list, [ipv4("192.0.2.1"), Buffer.concat([uint(3, 1), uint(256, 2), ...record, ...record])]),
      ],
      { domain: 901 },
    ),
  ];
}

/** Those of the golden cases, and recordings where they are at hand. */
function realDatagrams(): Buffer[] {
  const golden = goldenCases.flatMap(([, sent]) => sent.map((each) => ("bytes" in each ? each.bytes : each)));
  const recordings = ["flow/vendors", "flow/telegraf"].flatMap((folder) => {
    const { path, skip } = referenceData(folder);
    if (skip !== false) return [];
    const names = readdirSync(path, { recursive: true, encoding: "utf8" });
    return names.filter((name) => /\.(dat|bin)$/.test(name)).map((name) => readFileSync(join(path, name)));
  });
  return [...golden, ...recordings].filter((bytes) => bytes.length > 0 && bytes.length <= maxReal);
}

const maxReal = 9000;
