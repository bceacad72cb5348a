import { ApiServer, type ApiServerOptions } from "../../src/server/index.ts";
import { createHealth, createMetrics, systemClock, type Health, type Metrics } from "../../src/base/report/index.ts";
import { cleanUp, type Owner } from "../support/clean-up.ts";
import { createMemoryStore, type MemoryStore } from "../support/memory-store.ts";
import { createSelect } from "../../src/app/index.ts";
import { until as untilFound } from "../support/until.ts";

export interface ApiFixture {
  readonly server: ApiServer;
  readonly store: MemoryStore;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly lines: { level: string; fields: Readonly<Record<string, unknown>>; message: string }[];
  readonly port: number;
  /** `http://127.0.0.1:<port>`, or https. */
  readonly url: string;
}

export const contractPath = "/api/v1/enrich/ipaddr/udm.v1.UdmService";

/** A server on a free port of the loopback address, stopped when the test ends. */
export async function startApi(
  t: Owner,
  options: Partial<ApiServerOptions> & { store?: MemoryStore } = {},
): Promise<ApiFixture> {
  const store = options.store ?? createMemoryStore();
  const metrics = createMetrics();
  const health = createHealth();
  const lines: ApiFixture["lines"] = [];
  const write = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push({ level, fields, message });
  const server = new ApiServer({
    ip: "127.0.0.1",
    port: 0,
    authMetrics: false,
    maxBodyBytes: 1_048_576,
    maxBatchSize: 10_000,
    unknownFields: "reject",
    udm: store,
    health,
    metrics,
    log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
    clock: systemClock,
    version: "1.2.3",
    select: createSelect(),
    ...options,
    limits: { stopTimeout: 500, ...options.limits },
  });
  await server.start();
  cleanUp(t, () => server.stop());
  const { port } = server.address();
  return {
    server,
    store,
    metrics,
    health,
    lines,
    port,
    url: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
  };
}

export interface JsonAnswer {
  readonly status: number;
  readonly headers: Headers;
  // What a server says may be anything; tests compare it.
  readonly body: { readonly [name: string]: unknown };
}

/** Posts a JSON text, or a value as JSON. */
export async function postJson(url: string, body: unknown, headers: Record<string, string> = {}): Promise<JsonAnswer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as JsonAnswer["body"] };
}

/** Waits until the condition holds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  await untilFound(what, holds);
}
