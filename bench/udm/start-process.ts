// One start of a store in a process of its own: asked with the path of a file, answers what the start took.
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { startUdmFileThread } from "../../src/app/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { UdmFileStore } from "../../src/metadata/index.ts";

/** What a start took. */
export interface StartCost {
  readonly entries: number;
  /** Until the store was ready, in milliseconds. */
  readonly ms: number;
  /** Processor time of all threads, in milliseconds. */
  readonly cpuMs: number;
  /** Of the main thread alone: what it did not do it cannot have blocked for. */
  readonly mainCpuMs: number;
  /** The longest time for which the event loop stood still, in milliseconds. */
  readonly longestBlockMs: number;
  /** Resident afterwards, in megabytes. */
  readonly residentMb: number;
  /** What the index says of its memory, tree and entries, in megabytes. */
  readonly indexMb: number;
}

process.once("message", (path: string) => {
  void start(path).then((cost) => process.send?.(cost));
});

async function start(path: string): Promise<StartCost> {
  const metrics = createMetrics();
  const store = new UdmFileStore({
    path,
    owned: true,
    refreshMs: 0,
    startThread: startUdmFileThread,
    log: silentLog,
    metrics,
    clock: systemClock,
    health: createHealth(),
  });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const cpu = process.cpuUsage();
  const mainCpu = mainThreadCpuMs();
  const begin = performance.now();
  await store.start();
  const ms = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpu);
  const mainCpuMs = mainThreadCpuMs() - mainCpu;
  const entries = store.current().size;
  const longestBlockMs = delay.max / 1e6;
  delay.disable();
  const residentMb = process.memoryUsage.rss() / 1e6;
  const indexMb = indexBytes(await metrics.render()) / 1e6;
  await store.stop();
  return { entries, ms, cpuMs: (user + system) / 1000, mainCpuMs, longestBlockMs, residentMb, indexMb };
}

/** Linux only. */
function mainThreadCpuMs(): number {
  const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}

/** Of trees and entries, as the metrics report it. */
function indexBytes(text: string): number {
  const used = text.matchAll(/^netgloss_udm_index_bytes\{part="(?:tree|entries)"\} (\S+)$/gm);
  return [...used].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}
