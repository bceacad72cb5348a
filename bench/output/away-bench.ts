// A store that is away while flows go on, then comes back: how fast what waits on disk is delivered while more arrives, and what
// that takes of memory. A minute stands for an hour: what waits is on disk, whose reading does not depend on how much it is.
import { mkdtemp, rm } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startCollectorTarget, type CollectorTarget } from "../flow/collector-target.ts";
import type { GeneratorOrder, GeneratorResult } from "../flow/generator-process.ts";
import { recordsPerDatagram } from "../flow/packet-layout.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";

const entries = 100_000;
/** A busy host shows more at a lower rate. */
const rate = Number(process.env["NETGLOSS_BENCH_RATE"] ?? 50_000);
const awaySeconds = 60;
/** How long arrivals go on after the store is back. */
const backSeconds = 40;
const warmSeconds = 10;

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const metadataPath = join(directory, "ipaddrs.yml");
writeMetadataFile(metadataPath, entries);
const generator = startHelper("flow/generator-process.js");
const sink = startHelper("output/sink-process.js");
let target: CollectorTarget | undefined;
try {
  const port = await sink.ask<number>("listen");
  target = await startCollectorTarget({
    metadataPath,
    recordsPerDatagram: recordsPerDatagram.netflow9,
    settings: {
      SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
      SVC_OUTPUT_GENERIC_HTTP_ENABLE: "true",
      SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: `http://127.0.0.1:${port}`,
      SVC_OUTPUT_GENERIC_HTTP_SPOOL_MAX_SIZE: "8GiB",
      SVC_OUTPUT_GENERIC_HTTP_RETRY_BACKOFF_MAX: "1000",
    },
  });
  await measure(target);
} finally {
  await target?.process.end("SIGKILL");
  await generator.end();
  await sink.end();
  await rm(directory, { recursive: true });
}

async function measure(collector: CollectorTarget): Promise<void> {
  const pid = collector.process.child.pid ?? 0;
  const send = (seconds: number): Promise<GeneratorResult> => {
    const order: GeneratorOrder = {
      port: collector.port,
      protocol: "netflow9",
      recordsPerSecond: rate,
      seconds,
      exporters: 2,
      templates: 1,
    };
    return generator.ask<GeneratorResult>(order);
  };
  const delivered = async (): Promise<number> => (await collector.counts()).received;
  const waiting = async (): Promise<number> => (await collector.process.metric("netgloss_output_waiting_records")) ?? 0;

  const warm = await send(warmSeconds);
  const before = residentBytes(pid);
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, residentBytes(pid))), 200);

  await sink.ask("away");
  const away = await send(awaySeconds);
  const backlog = await waiting();
  const arriving = send(backSeconds);
  await sleep(1000);
  const deliveredBefore = await delivered();
  const begun = performance.now();
  await sink.ask("back");
  // Batches that are being filled and sent are not a backlog.
  while ((await waiting()) > rate) await sleep(100);
  const seconds = (performance.now() - begun) / 1000;
  const drained = (await delivered()) - deliveredBefore;
  const back = await arriving;
  const sent = warm.records + away.records + back.records;
  const all = async (): Promise<{ received: number; lost: Readonly<Record<string, number>>; dropped: number }> => {
    const { received, lost } = await collector.counts();
    return { received, lost, dropped: Object.values(lost).reduce((total, count) => total + count, 0) };
  };
  let counts = await all();
  // The last batch waits for its deadline.
  for (let i = 0; i < 100 && counts.received + counts.dropped < sent; i++) {
    await sleep(100);
    counts = await all();
  }
  clearInterval(watch);
  const { received, lost, dropped } = counts;
  reportRow({ what: `waiting after ${awaySeconds} s at ${rate} records/s`, value: backlog, unit: "records" });
  reportRow({
    what: `drained while arrivals go on, in ${seconds.toFixed(1)} s`,
    value: drained / seconds,
    unit: "records/s",
    peer: { what: "the rate of arrival", value: rate },
    goal: "≥ 3",
  });
  reportRow({ what: "lost by the output", value: lost["output"] ?? 0, unit: "records", goal: "0" });
  reportRow({ what: "lost before it, mostly by the kernel", value: dropped - (lost["output"] ?? 0), unit: "records" });
  if (sent !== received + dropped) throw new Error(`${sent} sent, ${received} delivered, ${dropped} lost`);
  reportRow({ what: "memory before", value: before / 1e6, unit: "MB" });
  reportRow({ what: "  the most while away and draining", value: (peak - before) / 1e6, unit: "MB more" });
  reportRow({ what: "  after", value: (residentBytes(pid) - before) / 1e6, unit: "MB more", goal: "≤ 100" });
}

function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+([0-9]+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return 1024 * Number(kilobytes ?? 0);
}
