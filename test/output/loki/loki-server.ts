import type { TestContext } from "node:test";
import { startHttpServer } from "../http/http-fixture.ts";

interface Push {
  readonly streams: readonly {
    readonly stream: Readonly<Record<string, string>>;
    readonly values: readonly (readonly [string, string])[];
  }[];
}

export interface LokiServer {
  readonly port: number;
  /** The status of answers to a push, whose entries are kept all the same. */
  status: number;
  /** Every entry that is held. */
  lines(): Iterable<string>;
}

/** The labels of a stream as JSON, then its entries: `<time> <line>`. */
type Tenant = Map<string, Set<string>>;

/**
 * Stands in for Loki with the interface that it documents: `push`, `labels`, and of `query_range` stream selectors, `| json`
 * and filters of labels, all with `=`. As Loki's default has it, requests name a tenant. An entry of the same stream, time and
 * line is kept once.
 *
 * @param keep what is held of a line. Default: all of it.
 */
export async function startLokiServer(t: TestContext, keep = (line: string): string => line): Promise<LokiServer> {
  const http = await startHttpServer(t);
  const tenants = new Map<string, Tenant>();
  const push = (to: Tenant, { streams }: Push): void => {
    for (const { stream, values } of streams) {
      const labels = JSON.stringify(stream);
      const entries = to.get(labels) ?? new Set();
      to.set(labels, entries);
      for (const [time, line] of values) entries.add(`${time} ${keep(line)}`);
    }
  };
  http.answer = ({ path, headers, body }, response) => {
    // What was sent is held once, not twice.
    http.calls.length = 0;
    const name = headers["x-scope-orgid"];
    if (typeof name !== "string") {
      response.writeHead(401).end("no org id\n");
      return;
    }
    const tenant = tenants.get(name) ?? new Map<string, Set<string>>();
    tenants.set(name, tenant);
    const { pathname, searchParams } = new URL(path, "http://loki");
    if (pathname === "/loki/api/v1/push") {
      push(tenant, JSON.parse(body) as Push);
      response.writeHead(server.status).end();
    } else if (pathname === "/loki/api/v1/query_range") {
      const result = select(tenant, searchParams.get("query") ?? "");
      response.end(JSON.stringify({ status: "success", data: { resultType: "streams", result } }));
    } else if (pathname === "/loki/api/v1/labels") {
      response.end(JSON.stringify({ status: "success" }));
    } else response.writeHead(404).end();
  };
  const server: LokiServer = {
    port: http.port,
    status: 204,
    *lines() {
      for (const tenant of tenants.values()) {
        for (const entries of tenant.values()) for (const entry of entries) yield lineOf(entry);
      }
    },
  };
  return server;
}

const lineOf = (entry: string): string => entry.slice(entry.indexOf(" ") + 1);
const isTrueOf = (labels: Readonly<Record<string, unknown>>, [name = "", value]: readonly string[]): boolean =>
  String(labels[name]) === value;

function select(tenant: Tenant, query: string): object[] {
  const [, selector = "", stages = ""] = /^\{(.*?)\}(.*)$/.exec(query) ?? [];
  const [first, ...filters] = stages.split("|").slice(1);
  if (first?.trim() !== "json") throw new Error(`this query is not understood: ${query}`);
  const matchers = matchersOf(selector);
  const conditions = filters.flatMap(matchersOf);
  return [...tenant].flatMap(([labels, entries]) => {
    const stream = JSON.parse(labels) as Record<string, string>;
    if (!matchers.every((matcher) => isTrueOf(stream, matcher))) return [];
    const found = [...entries].filter((entry) => {
      const fields = { ...stream, ...extracted(lineOf(entry)) };
      return conditions.every((condition) => isTrueOf(fields, condition));
    });
    const values = found.map((entry) => [entry.slice(0, entry.indexOf(" ")), lineOf(entry)]);
    return values.length === 0 ? [] : [{ stream, values }];
  });
}

/** `name="value"`, with commas between them. */
const matchersOf = (text: string): string[][] =>
  Array.from(text.matchAll(/(\w+)="([^"]*)"/g), ([, name = "", value = ""]) => [name, value]);

/** What the stage `json` makes labels of. */
const extracted = (line: string): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(JSON.parse(line) as object).map(([name, value]) => [
      name.replaceAll(/[^\w]/g, "_"),
      value as unknown,
    ]),
  );
