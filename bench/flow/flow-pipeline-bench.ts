// The whole way of flow records, from the socket to the output: the highest rate without loss, and what it costs.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import { createUdmFileStore } from "../../src/udm/index.ts";
import { metadataSettings, startCollectorProcess } from "../../test/support/collector-process.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { cpuTime } from "../support/cpu-time.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { findRate, trialSeconds, type FoundRate, type Trial } from "./find-rate.ts";
import type { GeneratorOrder, GeneratorResult } from "./generator-process.ts";
import { measureInProcess, measureStringify } from "./in-process.ts";
import { addressPools } from "./packet-source.ts";

const entries = 100_000;
const recordsPerPacket = 25;
const dueRate = 100_000;

/** What receives, in records. */
interface Target {
  readonly pid: number;
  readonly port: number;
  readonly received: () => Promise<number>;
}

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const metadataPath = join(directory, "ipaddrs.yml");
writeMetadataFile(metadataPath, entries);
const generator = startHelper("flow/generator-process.js");
try {
  await inProcess();
  await endToEnd();
} finally {
  await rm(directory, { recursive: true });
}

async function inProcess(): Promise<void> {
  const metadata = createUdmFileStore({
    path: metadataPath,
    owned: false,
    refreshMs: 0,
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
    health: createHealth(),
  });
  await metadata.start();
  const cases = [
    { what: "in process", pool: addressPools.traffic, communityId: false },
    { what: "in process, with flow.community.id", pool: addressPools.traffic, communityId: true },
    { what: "in process, addresses that no cache holds", pool: addressPools.all, communityId: false },
  ];
  for (const { what, ...options } of cases) {
    const { nanoseconds, line } = await measureInProcess({ metadata, recordsPerPacket, ...options });
    reportRow({
      what,
      value: nanoseconds,
      unit: "ns/record",
      peer: { what: "JSON.stringify of a record alone", value: measureStringify(line) },
      goal: "≤ 400 later",
    });
  }
  await metadata.stop();
}

async function endToEnd(): Promise<void> {
  const bare = await bareReceiver();
  const peer = { what: "a bare socket that only counts", value: bare.best.rate };
  const cases = [
    {
      what: "NetFlow v9 to /dev/null",
      output: "/dev/null",
      protocol: "netflow9",
      goal: "100 000 now, 1 000 000 later",
    },
    {
      what: "NetFlow v9 to a file",
      output: join(directory, "flows.ndjson"),
      protocol: "netflow9",
      goal: "400 000 later",
    },
    { what: "v5, v9 and IPFIX mixed to /dev/null", output: "/dev/null", protocol: "mix", goal: "100 000 now" },
  ] as const;
  for (const { what, output, protocol, goal } of cases) {
    const { best, first } = await collector(output, protocol);
    reportRow({ what: `${what}, none lost`, value: best.rate, unit: "records/s", peer, goal });
    reportRow({ what: "  CPU of the collector", value: (best.cpu / best.rate) * 1e9, unit: "ns/record" });
    const lost = first.sent - first.received;
    reportRow({ what: `  lost at ${first.rate} records/s`, value: (100 * lost) / first.sent, unit: "%" });
  }
  await generator.end();
}

async function bareReceiver(): Promise<FoundRate> {
  const helper = startHelper("flow/receiver-process.js");
  const port = await helper.ask<number>("port");
  const received = async (): Promise<number> => (await helper.ask<number>("count")) * recordsPerPacket;
  const found = await findRate(4 * dueRate, (rate) => trial({ pid: helper.pid, port, received }, "netflow9", rate));
  await helper.end();
  return found;
}

async function collector(output: string, protocol: GeneratorOrder["protocol"]): Promise<FoundRate> {
  const running = await startCollectorProcess({
    settings: {
      ...metadataSettings(metadataPath),
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: output,
    },
  });
  const target: Target = {
    pid: running.child.pid ?? 0,
    port: running.flowPort,
    received: async () => (await running.metric("netgloss_output_records_total")) ?? 0,
  };
  try {
    // The first seconds are the compiler's.
    await trial(target, protocol, dueRate / 2);
    const found = await findRate(dueRate, (rate) => trial(target, protocol, rate));
    const written = await target.received();
    await running.end();
    if (output !== "/dev/null") await checkFile(output, written);
    return found;
  } finally {
    await running.end("SIGKILL");
  }
}

async function trial(target: Target, protocol: GeneratorOrder["protocol"], rate: number): Promise<Trial> {
  const before = await target.received();
  const cpu = cpuTime(target.pid);
  const order: GeneratorOrder = {
    port: target.port,
    protocol,
    recordsPerPacket,
    recordsPerSecond: rate,
    seconds: trialSeconds,
    exporters: protocol === "mix" ? 6 : 2,
  };
  const { records, seconds } = await generator.ask<GeneratorResult>(order);
  const received = await settled(target, before + records);
  return {
    rate,
    sent: records,
    received: received - before,
    cpu: (cpuTime(target.pid) - cpu) / seconds,
  };
}

/** Waits until so many have come, or nothing more comes. */
async function settled(target: Target, expected: number): Promise<number> {
  let last = -1;
  for (let quiet = 0; quiet < 5;) {
    const received = await target.received();
    if (received >= expected) return received;
    quiet = received === last ? quiet + 1 : 0;
    last = received;
    await sleep(200);
  }
  return last;
}

/** The file must hold what the collector says it has written. */
async function checkFile(path: string, records: number): Promise<void> {
  const bytes = await readFile(path);
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) lines++;
  if (lines !== records) throw new Error(`${path} has ${lines} lines where ${records} records were written`);
}
