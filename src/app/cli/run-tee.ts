import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import { Tee } from "../../flow/index.ts";
import { parseAddress } from "../../base/ip/index.ts";
import {
  createLog,
  createMetrics,
  startComponents,
  stopComponents,
  systemClock,
  type Component,
  type Metrics,
} from "../../base/report/index.ts";
import { runComponent } from "../service/service.ts";
import { CommandError, exitCodes, type Terminal } from "./terminal.ts";
import type { HostPort, TeeCommandOptions } from "./tee-command.ts";

const maxSenders = 1000;
const receiveBufferBytes = 32 * 2 ** 20;

/** Runs until SIGTERM or SIGINT. @returns the exit code. */
export async function runTee(options: TeeCommandOptions, terminal: Terminal): Promise<number> {
  const { listen, to, mtu, logLevel, logFormat } = options;
  const targets = await Promise.all(to.map(resolveTarget));
  const log = createLog({ level: logLevel, format: logFormat, destination: { write: (line) => terminal.err(line) } });
  const metrics = createMetrics();
  const tee = new Tee({
    ip: listen.host,
    port: listen.port,
    targets,
    maxBytes: mtu,
    maxSenders,
    receiveBufferBytes,
    log,
    metrics,
    clock: systemClock,
  });
  const parts: Component[] = [tee];
  if (options.metrics !== undefined) parts.push(createMetricsPage(options.metrics, metrics));
  const code = await runComponent(
    { name: "tee", start: () => startComponents(parts, log), stop: () => stopComponents(parts, log) },
    { log, clock: systemClock, signals: terminal.signals, exit: (now) => terminal.exit(now) },
  );
  if (code === exitCodes.ok) log.info(await totalsOf(metrics), "in all");
  return code;
}

/** Returns the counts that are not zero. */
async function totalsOf(metrics: Metrics): Promise<Record<string, number>> {
  const totals: Record<string, number> = {};
  for (const { name, samples } of await metrics.families()) {
    for (const [labels, value] of samples) {
      const key = [name.replace(/^netgloss_tee_|_total$/g, ""), ...Object.values(labels)].join("_");
      if (value > 0) totals[key] = value;
    }
  }
  return totals;
}

async function resolveTarget({ text, host, port }: HostPort): Promise<{ name: string; address: string; port: number }> {
  if (parseAddress(host) !== undefined) return { name: text, address: host, port };
  try {
    const { address } = await lookup(host);
    return { name: text, address, port };
  } catch (error) {
    throw new CommandError("failed", `${text}: ${(error as Error).message}`);
  }
}

/** Answers GET /metrics. */
function createMetricsPage({ host, port, text }: HostPort, metrics: Metrics): Component {
  const server = createServer((request, response) => {
    if (request.url !== "/metrics" || (request.method !== "GET" && request.method !== "HEAD")) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
      return;
    }
    metrics.render().then(
      (body) => response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(body),
      () => response.writeHead(500).end(),
    );
  });
  return {
    name: "metrics page",
    async start() {
      server.listen(port, host === "" ? "127.0.0.1" : host);
      try {
        await once(server, "listening");
      } catch (error) {
        throw new CommandError("failed", `metrics cannot be answered on ${text}: ${(error as Error).message}`);
      }
    },
    async stop() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
