import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Component, Metrics } from "../report/index.ts";

/** How often the timer is to run. */
const resolutionMs = 20;
const quantiles = [0.5, 0.99, 1] as const;

/**
 * Metrics of the process itself. The lag is that of the event loop since the metrics were last read: how much later
 * than due a timer ran.
 */
export function createProcessMetrics(metrics: Metrics, version: string): Component {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  const startTime = Date.now() / 1000 - process.uptime();

  metrics.gaugeFrom("netgloss_build_info", "Versions, as labels; the value is 1.", ["version", "node"], () => [
    [{ version, node: process.versions.node }, 1],
  ]);
  metrics.gaugeFrom(
    "netgloss_process_start_time_seconds",
    "When the process started, since the epoch.",
    [],
    () => startTime,
  );
  metrics.gaugeFrom("netgloss_process_memory_bytes", "Memory of the process by kind.", ["kind"], () => {
    const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage();
    return Object.entries({ rss, heapTotal, heapUsed, external, arrayBuffers }).map(
      ([kind, bytes]) => [{ kind }, bytes] as const,
    );
  });
  metrics.counterFrom("netgloss_process_cpu_seconds_total", "CPU time of the process.", ["mode"], () => {
    const { user, system } = process.cpuUsage();
    return [
      [{ mode: "user" }, user / 1e6],
      [{ mode: "system" }, system / 1e6],
    ];
  });
  metrics.gaugeFrom(
    "netgloss_event_loop_lag_seconds",
    "Lag of the event loop since the last reading.",
    ["quantile"],
    () => {
      const reading = quantiles.map(
        (quantile) => [{ quantile }, lagSeconds(delay.percentile(quantile * 100))] as const,
      );
      delay.reset();
      return reading;
    },
  );

  return {
    name: "process metrics",
    start: async () => void delay.enable(),
    stop: async () => void delay.disable(),
  };
}

/** @param interval between two runs of the timer, nanoseconds. */
function lagSeconds(interval: number): number {
  return Number.isFinite(interval) ? Math.max(0, interval / 1e9 - resolutionMs / 1000) : 0;
}
