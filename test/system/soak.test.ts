// A host of its own: it watches memory under a stream that takes a core.
// Real exporters at once, restarts and kills in between, and a steady stream during which memory must not grow.
// NETGLOSS_SOAK_ROUNDS and NETGLOSS_SOAK_SECONDS make it as long as wanted.
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import {
  dataSet,
  fields,
  ipv4,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { readRecords, totalsOf, type FlowRecord } from "../support/flow-records.ts";
import { encodePcap, udpFrame, type PcapPacket } from "../support/pcap.ts";
import { runNfprobe, runSfprobe, runSoftflowd } from "../support/real-exporters.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const rounds = Number(process.env["NETGLOSS_SOAK_ROUNDS"] ?? 3);
const steadySeconds = Number(process.env["NETGLOSS_SOAK_SECONDS"] ?? 12);

const flowCount = 200;
const packetsOf = (i: number): number => 1 + (i % 5);
const lengthOf = (i: number): number => 20 + 8 + 10 + i;
const expected = {
  flows: flowCount,
  packets: sum((i) => packetsOf(i)),
  bytes: sum((i) => packetsOf(i) * lengthOf(i)),
};
/** When pmacctd 1.7.7 ends, it leaves some of the last samples unsent. */
const samplesAtLeast = expected.packets - 40;

function sum(value: (i: number) => number): number {
  return Array.from({ length: flowCount }, (_, i) => value(i)).reduce((total, each) => total + each, 0);
}

function writeCapture(path: string): void {
  const begin = Date.now() - 60_000;
  const packets: PcapPacket[] = [];
  for (let i = 0; i < flowCount; i++) {
    const frame = udpFrame({
      source: Buffer.from([10, 0, i >> 4, i + 1]),
      destination: Buffer.from([192, 0, 2, 53]),
      sourcePort: 1000 + i,
      destinationPort: 53,
      payloadLength: 10 + i,
    });
    for (let k = 0; k < packetsOf(i); k++) packets.push({ time: begin + 10 * i + k, frame });
  }
  writeFileSync(path, encodePcap(packets.toSorted((a, b) => a.time - b.time)));
}

function start(t: TestContext, directory: string, settings: Record<string, string> = {}): Promise<CollectorProcess> {
  const starting = startCollectorProcess({
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: join(directory, "flows.ndjson"),
      SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
      ...settings,
    },
  });
  cleanUp(t, async () => void (await (await starting).end("SIGKILL")));
  return starting;
}

test("real exporters at once, over restarts and kills: flows, packets and bytes are those of the traffic", async (t) => {
  if (requireProgram(t, "softflowd", "apt-get install softflowd") === undefined) return;
  if (requireProgram(t, "pmacctd", "apt-get install pmacct") === undefined) return;
  const directory = tempDirectory(t);
  const capture = join(directory, "capture.pcap");
  writeCapture(capture);
  const output = join(directory, "flows.ndjson");

  let seen = 0;
  for (let round = 0; round < rounds; round++) {
    const collector = await start(t, directory);
    const options = { directory, capture, port: collector.flowPort };
    await Promise.all([
      runSoftflowd(options, "5"),
      runSoftflowd(options, "9"),
      runSoftflowd(options, "10"),
      runNfprobe(options, "9"),
      runNfprobe(options, "10"),
      runSfprobe(options),
    ]);
    const atLeast = 5 * flowCount + samplesAtLeast;
    await until(`the records of round ${round}`, () => readRecords(output).length - seen >= atLeast);
    // What pmacctd leaves out differs; whatever it sent has come when nothing more does.
    await settled(collector);
    await collector.end(round % 2 === 0 ? "SIGKILL" : "SIGTERM");

    const records = readRecords(output).slice(seen);
    seen += records.length;
    const of = (exporter: string, type: string, version: number): FlowRecord[] =>
      records.filter(
        (record) =>
          record["flow.export.ip.addr"] === exporter &&
          record["flow.export.type"] === type &&
          record["flow.export.version.ver"] === version,
      );
    for (const [type, version] of [
      ["netflow", 9],
      ["ipfix", 10],
    ] as const) {
      assert.deepEqual(totalsOf(of("127.0.0.8", type, version)), expected, `pmacctd, version ${version}`);
      assert.deepEqual(totalsOf(of("127.0.0.1", type, version)), expected, `softflowd, version ${version}`);
    }
    assert.deepEqual(totalsOf(of("127.0.0.1", "netflow", 5)), expected, "softflowd, version 5");
    const ofSflow = records.filter((record) => record["flow.export.type"] === "sflow");
    // What pmacctd reports of its interface now and then has no addresses.
    const samples = ofSflow.filter((record) => record["flow.src.ip.addr"] !== undefined);
    const numbers = samples.map((record) => record["flow.sample.sequence"]);
    assert.ok(samples.length >= samplesAtLeast && samples.length <= expected.packets, `${samples.length} samples`);
    assert.deepEqual(
      numbers,
      samples.map((_, i) => i + 1),
    );
    assert.equal(records.length, 5 * flowCount + ofSflow.length, "and nothing else");
  }
});

const template: PacketTemplate = { id: 256, fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [1, 4], [2, 4]) };
const recordsPerDatagram = 20;

function datagram(sequence: number): Buffer {
  const records = Array.from({ length: recordsPerDatagram }, (_, i) => {
    const address = Buffer.concat([uint(10, 1), uint((sequence * recordsPerDatagram + i) & 0xffffff, 3)]);
    return [address, ipv4("192.0.2.1"), uint(1000 + i, 2), uint(443, 2), uint(6, 1), uint(1500, 4), uint(1, 4)];
  });
  return netflow9([dataSet(template, ...records)], { sequence, domain: 7, count: recordsPerDatagram });
}

test("a template sent once is enough after a kill, none of a steady stream is lost, and memory does not grow", async (t) => {
  const directory = tempDirectory(t);
  const settings = { SVC_OUTPUT_FILE_MAX_SIZE: "16777216", SVC_OUTPUT_FILE_MAX_BACKUPS: "1" };
  const socket = createSocket("udp4").bind(0, "127.0.0.7");
  cleanUp(t, () => socket.close());
  await once(socket, "listening");
  let sequence = 0;

  const first = await start(t, directory, settings);
  const announced = netflow9([netflow9Templates(template)], { sequence: sequence++, domain: 7, count: 1 });
  socket.send(announced, first.flowPort, "127.0.0.1");
  await until("the template is kept", async () => ((await first.metric("netgloss_flow_state_writes_total")) ?? 0) > 0);
  await first.end("SIGKILL");

  const second = await start(t, directory, settings);
  assert.equal(await second.metric("netgloss_flow_templates_restored_total"), 1);
  const port = second.flowPort;
  const pid = second.child.pid ?? 0;
  const memory: number[] = [];
  const from = performance.now();
  let sent = 0;
  for (let lastSample = 0; performance.now() - from < steadySeconds * 1000;) {
    const due = ((performance.now() - from) / 1000) * 250;
    // No burst longer than the kernel's buffer holds, however late this process is.
    for (let burst = 0; sent < due && burst < 50; burst++, sent++) {
      socket.send(datagram(sequence++), port, "127.0.0.1");
    }
    if (performance.now() - lastSample > 500) {
      memory.push(residentMegabytes(pid));
      lastSample = performance.now();
    }
    await pause(5);
  }
  await settled(second);
  const [written, inKernel, inQueue, inOutput] = (await second.metrics([
    "netgloss_output_records_total",
    "netgloss_flow_kernel_drops_total",
    "netgloss_flow_queue_drops_total",
    "netgloss_output_dropped_records_total",
  ])) as [number, number, number, number];
  assert.deepEqual({ inKernel, inQueue, inOutput }, { inKernel: 0, inQueue: 0, inOutput: 0 });
  assert.equal(written, sent * recordsPerDatagram);

  // The first third fills caches and the young generation; from there on it is level.
  const third = Math.floor(memory.length / 3);
  const middle = Math.max(...memory.slice(third, 2 * third));
  const last = Math.max(...memory.slice(2 * third));
  t.diagnostic(`resident: ${memory.map((value) => Math.round(value)).join(" ")} MB`);
  assert.ok(last < 1.25 * middle + 32, `${middle} MB in the middle, ${last} MB at the end`);
  assert.deepEqual(await second.end(), { code: 0, signal: null });
});

/** Waits until no more records have been written for half a second. */
async function settled(collector: CollectorProcess): Promise<void> {
  let last = -1;
  await until("nothing more is written", async () => {
    const before = last;
    last = (await collector.metric("netgloss_output_records_total")) ?? 0;
    await pause(500);
    return last === before;
  });
}

function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) / 1024;
}
