import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where an exporter finds its traffic, and where it sends what it saw. */
export interface RealExporterOptions {
  /** For its own files. */
  readonly directory: string;
  readonly capture: string;
  readonly port: number;
}

/** Lets softflowd read a capture and send its flows. @returns what it printed. */
export function runSoftflowd(
  options: RealExporterOptions,
  version: "5" | "9" | "10",
  more: readonly string[] = [],
): Promise<string> {
  const { directory, capture, port } = options;
  const pid = join(directory, `softflowd-${version}.pid`);
  // Without `-c none` version 1.1.0 waits for a client on its control socket before it reads a file.
  const target = ["-v", version, "-n", `127.0.0.1:${port}`];
  return run("softflowd", ["-d", "-r", capture, ...target, "-p", pid, "-c", "none", ...more]);
}

/** Lets pmacctd read a capture and send its flows as NetFlow v9 or IPFIX, from 127.0.0.8. */
export function runNfprobe(options: RealExporterOptions, version: "9" | "10"): Promise<string> {
  return runPmacctd(options, `nfprobe-${version}`, [
    "plugins: nfprobe",
    `nfprobe_receiver: 127.0.0.1:${options.port}`,
    `nfprobe_version: ${version}`,
    "nfprobe_source_ip: 127.0.0.8",
    "aggregate: src_host, dst_host, src_port, dst_port, proto, tos",
  ]);
}

/** Lets pmacctd read a capture and send a sample of each packet by sFlow; it leaves some of the last ones unsent. */
export function runSfprobe(options: RealExporterOptions): Promise<string> {
  return runPmacctd(options, "sfprobe", [
    "plugins: sfprobe",
    `sfprobe_receiver: 127.0.0.1:${options.port}`,
    "sfprobe_agentip: 127.0.0.9",
    "sampling_rate: 1",
  ]);
}

function runPmacctd(options: RealExporterOptions, name: string, lines: readonly string[]): Promise<string> {
  const configuration = join(options.directory, `${name}.conf`);
  const all = ["daemonize: false", `pcap_savefile: ${options.capture}`, ...lines];
  writeFileSync(configuration, `${all.join("\n")}\n`);
  return run("pmacctd", ["-f", configuration]);
}

/** @throws Error when the program fails or takes longer than half a minute. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  }
  const deadline = setTimeout(() => child.kill("SIGKILL"), 30_000);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(deadline);
  // The parts of pmacctd end at once, and sometimes one finds that the other is gone first: then it is 1.
  if (code === 0 || (code === 1 && program === "pmacctd")) return text;
  throw new Error(`${program} ended with ${String(code)}:\n${text}`);
}
