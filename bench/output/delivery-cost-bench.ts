// What delivering a record costs the collector, next to all that it costs before: received, decoded, enriched, written as a
// line. Collectors take the same traffic in turns: one without an output, others that deliver. A bare socket that sends the same
// bytes at the same rate says what the system alone costs.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startCollectorTarget, type CollectorTarget } from "../flow/collector-target.ts";
import type { GeneratorOrder } from "../flow/generator-process.ts";
import { recordsPerDatagram } from "../flow/packet-layout.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";

const entries = 100_000;
const rounds = 5;
/**
 * A request is made some thirty times a second, so that the compiler takes a minute of traffic to be done with what makes it. A
 * collector runs for weeks.
 */
const warmSeconds = 60;
/** As large as batches of the collector are. */
const batchBytes = 8 << 20;
/** Longer than a batch waits for its records. */
const settleMs = 1000;
const traffic: Omit<GeneratorOrder, "port"> = {
  protocol: "netflow9",
  recordsPerSecond: 100_000,
  seconds: 4,
  exporters: 2,
  templates: 1,
};

type Cost = Readonly<Record<string, number>>;

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const generator = startHelper("flow/generator-process.js");
const sink = startHelper("output/sink-process.js");
const targets: CollectorTarget[] = [];
try {
  const port = await sink.ask<number>("listen");
  const without = await start({});
  const plain = await start(httpSettings(port, "none"));
  const gzip = await start(httpSettings(port, "gzip"));
  for (const target of targets) await measure(target, warmSeconds);
  const costs = targets.map((): Cost[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, target] of targets.entries()) costs[i]?.push(await measure(target));
  }
  const before = medians(costs[targets.indexOf(without)] ?? []);
  const [bytes, records] = await plain.process.metrics([
    "netgloss_output_bytes_total",
    "netgloss_output_records_total",
  ]);
  const bytesEach = (bytes ?? 0) / (records ?? 1);
  const bare: number[] = [];
  for (let round = 0; round < rounds; round++) bare.push(await bareSocket(port, bytesEach));
  reportRow({ what: "received, decoded, enriched", value: total(before), unit: "ns/record" });
  reportRow({ what: `  CPU: ${split(before)}`, value: total(before), unit: "ns/record" });
  reportRow({
    what: `the same bytes, ${Math.round(bytesEach)} a record, by a bare socket`,
    value: median(bare),
    unit: "ns/record",
    peer: { what: "what it costs before", value: total(before) },
  });
  for (const [target, name] of [
    [plain, "uncompressed"],
    [gzip, "gzip"],
  ] as const) {
    const all = medians(costs[targets.indexOf(target)] ?? []);
    reportRow({
      what: `delivered over HTTP, ${name}`,
      value: total(all) - total(before),
      unit: "ns/record",
      peer: { what: "what it costs before", value: total(before) },
      ...(target === plain && { goal: "≤ 0.15" }),
    });
    reportRow({ what: `  CPU: ${split(all)}`, value: total(all), unit: "ns/record" });
  }
} finally {
  for (const { process } of targets) await process.end("SIGKILL");
  await generator.end();
  await sink.end();
  await rm(directory, { recursive: true });
}

async function start(settings: Readonly<Record<string, string>>): Promise<CollectorTarget> {
  // A file has one owner.
  const metadataPath = join(directory, `ipaddrs-${targets.length}.yml`);
  writeMetadataFile(metadataPath, entries);
  const target = await startCollectorTarget({
    metadataPath,
    recordsPerDatagram: recordsPerDatagram.netflow9,
    settings,
  });
  targets.push(target);
  return target;
}

function httpSettings(port: number, compression: string): Readonly<Record<string, string>> {
  return {
    SVC_OUTPUT_GENERIC_HTTP_ENABLE: "true",
    SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: `http://127.0.0.1:${port}`,
    SVC_OUTPUT_GENERIC_HTTP_COMPRESSION: compression,
    SVC_OUTPUT_GENERIC_HTTP_BATCH_DEADLINE: "500",
  };
}

/**
 * CPU time by thread, nanoseconds for each record that was decoded: on a busy host the kernel drops some. Nothing is asked
 * of the collector meanwhile, as answering costs, too.
 */
async function measure(target: CollectorTarget, seconds = traffic.seconds): Promise<Cost> {
  const decoded = async (): Promise<number> => (await target.process.metric("netgloss_flow_records_total")) ?? 0;
  const recordsBefore = await decoded();
  await sleep(settleMs);
  const cpuBefore = target.cpu();
  await generator.ask({ ...traffic, seconds, port: target.port });
  await sleep(settleMs);
  const cpuAfter = target.cpu();
  const records = (await decoded()) - recordsBefore;
  if (records === 0) throw new Error("no record arrived");
  return Object.fromEntries(
    [...cpuAfter].map(([thread, time]) => [thread, (time - (cpuBefore.get(thread) ?? 0)) / records]),
  );
}

/** Sends requests as large as batches, as often as they come. @returns CPU time of this process, nanoseconds for each record. */
async function bareSocket(port: number, bytesEach: number): Promise<number> {
  const body = Buffer.from(new SharedArrayBuffer(batchBytes)).fill("x");
  const records = batchBytes / bytesEach;
  const everyMs = (1000 * records) / traffic.recordsPerSecond;
  const requests = Math.ceil((1000 * traffic.seconds) / everyMs);
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const cpu = process.cpuUsage();
  for (let i = 0; i < requests; i++) {
    const answered = once(socket, "data");
    socket.cork();
    socket.write(`POST / HTTP/1.1\r\nhost: sink\r\ncontent-length: ${body.length}\r\n\r\n`);
    socket.write(body);
    socket.uncork();
    await Promise.all([answered, sleep(everyMs)]);
  }
  const { user, system } = process.cpuUsage(cpu);
  socket.destroy();
  return ((user + system) * 1000) / (requests * records);
}

function medians(costs: readonly Cost[]): Cost {
  const threads = new Set(costs.flatMap((cost) => Object.keys(cost)));
  return Object.fromEntries([...threads].map((thread) => [thread, median(costs.map((cost) => cost[thread] ?? 0))]));
}

function total(cost: Cost): number {
  return Object.values(cost).reduce((sum, time) => sum + time, 0);
}

function split(cost: Cost): string {
  return Object.entries(cost)
    .toSorted(([, a], [, b]) => b - a)
    .map(([thread, time]) => `${thread} ${Math.round(time)}`)
    .join(", ");
}
