import { readdirSync, readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Component, Metrics } from "../../base/report/index.ts";

/** The interval of the timer, milliseconds. */
const resolutionMs = 20;
/** Names of lags, with their percentiles. */
const lags = [
  ["p50", 50],
  ["p99", 99],
  ["max", 100],
] as const;

/**
 * Creates metrics of the process, under the names shared by Prometheus clients: `process_*`, and `nodejs_*` for Node. The lag
 * of the event loop is the lateness of a timer since the metrics were last read.
 */
export function createProcessMetrics(metrics: Metrics, version: string, instance = ""): Component {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  const startTime = Date.now() / 1000 - process.uptime();
  const gauge = (name: string, help: string, read: () => number | undefined): void =>
    metrics.gaugeFrom(name, help, [], () => numbersOf(read()));
  const counter = (name: string, help: string, read: () => number): void => metrics.counterFrom(name, help, [], read);

  metrics.gaugeFrom("netgloss_build_info", "Versions, as labels; the value is 1.", ["version", "node"], () => [
    [{ version, node: process.versions.node }, 1],
  ]);
  metrics.gaugeFrom(
    "netgloss_instance_info",
    "The name of this collector, as a label; the value is 1.",
    ["instance"],
    () => (instance === "" ? [] : [[{ instance }, 1]]),
  );
  gauge("process_start_time_seconds", "When the process started, since the epoch.", () => startTime);
  counter("process_cpu_user_seconds_total", "CPU time in user mode.", () => process.cpuUsage().user / 1e6);
  counter("process_cpu_system_seconds_total", "CPU time in system mode.", () => process.cpuUsage().system / 1e6);
  counter("process_cpu_seconds_total", "CPU time in user and system mode.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.", () => process.memoryUsage.rss());
  gauge("process_open_fds", "Open file descriptors; Linux only.", openDescriptors);
  gauge("process_max_fds", "How many file descriptors may be open; Linux only.", maxDescriptors);
  gauge(
    "nodejs_heap_size_total_bytes",
    "The JavaScript heap of the main thread.",
    () => process.memoryUsage().heapTotal,
  );
  gauge(
    "nodejs_heap_size_used_bytes",
    "The part of the JavaScript heap of the main thread that is in use.",
    () => process.memoryUsage().heapUsed,
  );
  gauge(
    "nodejs_external_memory_bytes",
    "Memory of the main thread outside its heap.",
    () => process.memoryUsage().external,
  );
  metrics.gaugeFrom("nodejs_version_info", "The version of Node, as labels; the value is 1.", ["version"], () => [
    [{ version: process.version }, 1],
  ]);
  for (const [name, percentile] of lags) {
    gauge(`nodejs_eventloop_lag_${name}_seconds`, `Lag of the event loop since the last reading: ${name}.`, () => {
      const lag = lagSeconds(delay.percentile(percentile));
      // The last one of a reading starts the next period.
      if (percentile === 100) delay.reset();
      return lag;
    });
  }

  return {
    name: "process metrics",
    start: async () => void delay.enable(),
    stop: async () => void delay.disable(),
  };
}

function numbersOf(value: number | undefined): readonly (readonly [Record<string, never>, number])[] {
  return value === undefined ? [] : [[{}, value]];
}

function openDescriptors(): number | undefined {
  try {
    // Subtract the descriptor that the reading itself opens.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return undefined;
  }
}

function maxDescriptors(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** @param interval between two runs of the timer, nanoseconds. */
function lagSeconds(interval: number): number {
  return Number.isFinite(interval) ? Math.max(0, interval / 1e9 - resolutionMs / 1000) : 0;
}
