import { spawn } from "node:child_process";
import { accessSync, constants, openSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { groupCpuTime } from "../support/cpu-time.ts";
import { kernelDrops } from "../support/kernel-drops.ts";
import { recordsPerDatagram, type BenchProtocol } from "./packet-layout.ts";
import type { Target } from "./trial.ts";

/** Another collector of flows, started for a bench. */
export interface Peer {
  readonly name: string;
  readonly program: string;
  /** What it writes, in words. */
  readonly output: string;
  readonly protocols: readonly BenchProtocol[];
  /** How it is called, and where it reports how many records it has received. */
  prepare(directory: string, port: number): Prepared;
}

interface Prepared {
  readonly args: readonly string[];
  /** Records so far, given the text that it has logged. */
  readonly received: (log: string) => number | Promise<number>;
  /** Records that may stay in its own buffers until more come; given for peers that report their counts from time to time. */
  readonly slack?: number;
}

/** All get what the kernel of an ordinary host grants, and queues for about 100 000 records behind it. */
const receiveBuffer = 4 * 1024 * 1024;
const metricsPort = 22_080;

export const peers: readonly Peer[] = [
  {
    name: "nfacctd",
    program: "nfacctd",
    output: "JSON, a line for each flow",
    protocols: ["netflow9"],
    prepare(directory, port) {
      const path = join(directory, "nfacctd.conf");
      const keys =
        "src_host, dst_host, src_port, dst_port, proto, tos, tcpflags, in_iface, out_iface, src_as, dst_as, src_mask, " +
        // With the number of the datagram no two records are one line.
        "dst_mask, peer_src_ip, peer_dst_ip, timestamp_start, timestamp_end, export_proto_seqno";
      const settings = {
        daemonize: "false",
        nfacctd_ip: "127.0.0.1",
        nfacctd_port: port,
        nfacctd_pipe_size: receiveBuffer,
        plugins: "print",
        plugin_pipe_size: 64 * 1024 * 1024,
        plugin_buffer_size: 256 * 1024,
        aggregate: keys,
        print_output: "json",
        print_refresh_time: 1,
        print_cache_entries: 300_007,
      };
      writeFileSync(
        path,
        Object.entries(settings)
          .map(([name, value]) => `${name}: ${value}\n`)
          .join(""),
      );
      return {
        args: ["-f", path],
        received: (log) => sumOf(log, /Purging cache - END \(PID: \d+, QN: (\d+)\//g),
        slack: 1000,
      };
    },
  },
  {
    name: "nfcapd",
    program: "nfcapd",
    output: "binary, as read from the datagram",
    protocols: ["netflow9"],
    prepare: (directory, port) => ({
      args: ["-w", directory, "-p", String(port), "-b", "127.0.0.1", "-B", String(receiveBuffer), "-t", "2"],
      slack: 0,
      received: (log) => sumOf(log, /^Ident: '\S*' Flows: (\d+)/gm),
    }),
  },
  {
    name: "goflow2",
    program: "goflow2",
    output: "JSON, a line for each flow",
    protocols: ["netflow9", "sflow"],
    prepare: (_directory, port) => ({
      args: (
        `-listen netflow://127.0.0.1:${port}?queue_size=4000,sflow://127.0.0.1:${port + 1}?queue_size=16000 ` +
        `-addr 127.0.0.1:${metricsPort} -format json -transport file -transport.file /dev/null`
      ).split(" "),
      async received() {
        const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
        return (
          sumOf(text, /^\S*flow_process_nf_flowset_records\S*type="DataFlowSet"\S* (\S+)$/gm) +
          sumOf(text, /^\S*flow_process_sf_samples_(?:total|sum)\S*type="FlowSample"\S* (\S+)$/gm)
        );
      },
    }),
  },
];

export interface RunningPeer extends Target {
  end(): void;
}

/** Starts a peer in a process group of its own, its standard output to /dev/null. */
export async function startPeer(
  peer: Peer,
  directory: string,
  port: number,
  protocol: BenchProtocol,
): Promise<RunningPeer> {
  const { args, received, slack } = peer.prepare(directory, port);
  const logPath = join(directory, `${peer.name}.log`);
  const log = openSync(logPath, "w");
  const child = spawn(peer.program, args, { detached: true, stdio: ["ignore", "ignore", log] });
  await sleep(1500);
  if (child.exitCode !== null) throw new Error(`${peer.name}: ${readFileSync(logPath, "utf8")}`);
  const group = child.pid ?? 0;
  const ownPort = protocol === "sflow" ? port + 1 : port;
  return {
    port: ownPort,
    cpu: () => new Map([["all", groupCpuTime(group) * 1e9]]),
    ...(slack !== undefined && { slack }),
    async counts() {
      return {
        received: await received(readFileSync(logPath, "utf8")),
        lost: { kernel: kernelDrops(ownPort) * recordsPerDatagram[protocol] },
      };
    },
    end() {
      // Some do not end when they are asked to.
      process.kill(-group, "SIGKILL");
    },
  };
}

/** Whether a program is on the PATH. */
export function isInstalled(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function sumOf(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].reduce((sum, [, number]) => sum + Number(number), 0);
}
