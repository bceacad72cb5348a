import {
  metadataSettings,
  startCollectorProcess,
  type CollectorProcess,
} from "../../test/support/collector-process.ts";
import { threadCpuTimes } from "../support/cpu-time.ts";
import type { Target } from "./trial.ts";

export interface CollectorTargetOptions {
  readonly metadataPath: string;
  /** The file that records go to; left out: none. */
  readonly output?: string;
  /** The folder of a collector that was built elsewhere; left out: this one. */
  readonly folder?: string | undefined;
  /** Further settings. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A lost datagram is counted as this many. */
  readonly recordsPerDatagram: number;
}

export interface CollectorTarget extends Target {
  readonly process: CollectorProcess;
}

const nameThreads = new URL("../support/name-threads.js", import.meta.url);

/** This collector as its users start it, with two look-ups for each record. */
export async function startCollectorTarget(options: CollectorTargetOptions): Promise<CollectorTarget> {
  const running = await startCollectorProcess({
    readyMs: 60_000,
    folder: options.folder,
    settings: {
      ...metadataSettings(options.metadataPath),
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      ...(options.output !== undefined && { SVC_OUTPUT_FILE_ENABLE: "true", SVC_OUTPUT_FILE_PATH: options.output }),
      ...options.settings,
      NODE_OPTIONS: `--import=${nameThreads.href}`,
    },
  });
  // What has no metadata costs less, and says nothing of those who have some.
  if ((await running.metric("netgloss_udm_entries")) === 0) {
    await running.end("SIGKILL");
    throw new Error(`the collector has no metadata: ${JSON.stringify(running.log())}`);
  }
  const pid = running.child.pid ?? 0;
  return {
    process: running,
    port: running.flowPort,
    cpu: () => threadCpuTimes(pid),
    async counts() {
      const [received, kernel, queue, died, lines, output] = (await running.metrics([
        "netgloss_output_records_total",
        "netgloss_flow_kernel_drops_total",
        "netgloss_flow_queue_drops_total",
        "netgloss_flow_thread_lost_datagrams_total",
        "netgloss_flow_lines_dropped_total",
        'netgloss_output_dropped_records_total{output="file"',
      ])) as [number, number, number, number, number, number];
      const each = options.recordsPerDatagram;
      return {
        received,
        lost: { kernel: kernel * each, queue: queue * each, thread: died * each, lines, output },
      };
    },
  };
}
