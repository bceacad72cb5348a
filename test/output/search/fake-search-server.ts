import type { ServerResponse } from "node:http";
import type { TestContext } from "node:test";
import { startHttpServer, type HttpCall, type HttpServerFake } from "../http/http-fixture.ts";

export interface FakeSearchServer {
  readonly port: number;
  readonly server: HttpServerFake;
  /** Documents by index and identity. */
  readonly documents: Map<string, Record<string, unknown>>;
  /** What was put, by path. */
  readonly puts: Map<string, Record<string, unknown>>;
  version: { number: string; distribution?: string };
  /** A status for a record in place of taking it; undefined: it is taken. */
  judge: (record: Record<string, unknown>) => { status: number; type: string; reason: string } | undefined;
  /** Why what is put is refused with 400; undefined: it is not. */
  judgePut: (body: string) => string | undefined;
  /** Statuses of requests by their beginning, such as `PUT /_ilm`. */
  readonly refusals: Map<string, number>;
  /** Keeps the records and cuts the connection before it answers. */
  isLying: boolean;
}

/** As much of Elasticsearch as the output uses. */
export async function startFakeSearchServer(t: TestContext): Promise<FakeSearchServer> {
  const server = await startHttpServer(t);
  const documents = new Map<string, Record<string, unknown>>();
  const puts = new Map<string, Record<string, unknown>>();

  const bulk = (call: HttpCall, response: ServerResponse): void => {
    const lines = call.body.split("\n").slice(0, -1);
    const items: object[] = [];
    for (let i = 0; i < lines.length; i += 2) {
      const { create } = JSON.parse(lines[i] ?? "") as { create: Record<"_index" | "_id", string> };
      const record = JSON.parse(lines[i + 1] ?? "") as Record<string, unknown>;
      const id = `${create["_index"]}/${create["_id"]}`;
      const judged = fake.judge(record);
      if (judged !== undefined) items.push({ create: { status: judged.status, error: judged } });
      else if (documents.has(id)) {
        const error = { type: "version_conflict_engine_exception", reason: "document already exists" };
        items.push({ create: { status: 409, error } });
      } else {
        documents.set(id, record);
        items.push({ create: { status: 201 } });
      }
    }
    if (fake.isLying) {
      response.socket?.resetAndDestroy();
      return;
    }
    const errors = items.some((item) => JSON.stringify(item).includes('"error"'));
    send(response, 200, { errors, items });
  };

  server.answer = (call, response) => {
    const what = `${call.method} ${call.path}`;
    for (const [beginning, status] of fake.refusals) {
      if (what.startsWith(beginning)) return send(response, status, { error: { reason: "by the test" } });
    }
    if (call.method === "POST" && call.path.startsWith("/_bulk?")) return bulk(call, response);
    if (what === "GET /") return send(response, 200, { version: fake.version });
    if (call.method === "PUT") {
      const reason = fake.judgePut(call.body);
      const error = { reason: "invalid", caused_by: { reason: "still", caused_by: { reason } } };
      if (reason !== undefined) return send(response, 400, { error });
      puts.set(call.path, JSON.parse(call.body) as Record<string, unknown>);
      return send(response, 200, { acknowledged: true });
    }
    const found = puts.get(call.path);
    if (found === undefined) return send(response, 404, {});
    return send(response, 200, { index_templates: [{ index_template: found }] });
  };

  const fake: FakeSearchServer = {
    port: server.port,
    server,
    documents,
    puts,
    version: { number: "8.19.0" },
    judge: () => undefined,
    judgePut: () => undefined,
    refusals: new Map(),
    isLying: false,
  };
  return fake;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
