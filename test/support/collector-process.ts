import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { until } from "./until.ts";

const root = join(import.meta.dirname, "../../..");

export interface CollectorProcess {
  readonly child: ChildProcess;
  /** `http://127.0.0.1:<port>` */
  readonly api: string;
  /** The first port on which flows are received. */
  readonly flowPort: number;
  /** What was logged so far, parsed. */
  readonly log: () => readonly Readonly<Record<string, unknown>>[];
  /** Calls a method of the metadata API by JSON. */
  call(method: string, request: unknown): Promise<{ status: number; body: Record<string, unknown> }>;
  /** The sum of all time series of a metric; undefined when there is none. */
  metric(name: string): Promise<number | undefined>;
  /** The same for several, read at once; those without a series are 0. */
  metrics(names: readonly string[]): Promise<readonly number[]>;
  /** Sends a signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface CollectorProcessOptions {
  /** Settings by name. Ports are chosen by the system unless given. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Where the standard output goes. Default: nowhere. */
  readonly stdout?: "pipe" | "ignore" | number;
  readonly cwd?: string;
  /** The folder of the program; left out: that of the tests. */
  readonly folder?: string | undefined;
  /** Further arguments of `serve`. */
  readonly args?: readonly string[];
  /** How long it may take until it is ready. Default: three minutes, for a host that does much else. */
  readonly readyMs?: number;
}

/** Starts `netgloss serve` as a process of its own and waits until it says that it runs. */
export async function startCollectorProcess(options: CollectorProcessOptions = {}): Promise<CollectorProcess> {
  const { settings = {}, stdout = "ignore", folder = root, cwd = folder, args = [] } = options;
  const child = spawn(process.execPath, [join(folder, "bin/netgloss.js"), "serve", ...args], {
    cwd,
    env: {
      PATH: process.env["PATH"],
      SVC_API_PORT: "0",
      SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
      SVC_FLOW_SERVER_UDP_PORT: "0",
      SVC_LOG_FORMAT: "json",
      ...settings,
    },
    stdio: ["ignore", stdout, "pipe"],
  });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const exited = once(child, "exit");
  const log = (): Record<string, unknown>[] =>
    stderr
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));

  const isReady = (): Record<string, unknown> | undefined => {
    const { exitCode, signalCode } = child;
    if (exitCode !== null || signalCode !== null)
      throw new Error(`the collector ended with exit code ${exitCode ?? signalCode}`);
    return log().find((line) => "api" in line && "flowPorts" in line);
  };
  const ready = await until("the collector is ready", isReady, options.readyMs ?? 180_000).catch((error: unknown) => {
    // Nobody else knows of it: its process would keep that of the test.
    child.kill("SIGKILL");
    throw new Error(`${(error as Error).message}; it said at last:\n${stderr.slice(-4000)}`, { cause: error });
  });
  const api = String(ready["api"]);
  const [flowPort = 0] = ready["flowPorts"] as number[];

  const readMetrics = async (): Promise<string[]> => (await (await fetch(`${api}/metrics`)).text()).split("\n");

  return {
    child,
    api,
    flowPort,
    log,
    async call(method, request) {
      const response = await fetch(`${api}/api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    async metric(name) {
      return sumOf(await readMetrics(), name);
    },
    async metrics(names) {
      const lines = await readMetrics();
      return names.map((name) => sumOf(lines, name) ?? 0);
    },
    async end(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await exited;
      }
      return { code: child.exitCode, signal: child.signalCode };
    },
  };
}

/** The sum of all time series of a metric, or of those whose first labels it names: `name{label="value"`. */
function sumOf(lines: readonly string[], name: string): number | undefined {
  const values = lines
    .filter((line) => line.startsWith(name) && (name.includes("{") || " {".includes(line.charAt(name.length))))
    .map((line) => Number(line.slice(line.lastIndexOf(" ") + 1)));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

/** The three settings of the metadata API for a file. */
export function metadataSettings(path: string): Record<string, string> {
  return {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: path,
  };
}
