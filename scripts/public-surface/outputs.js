// What outputs send to their stores: tables, index templates, records. Stand-ins take the place of stores that are spoken to by HTTP or syslog.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { asText } from "./program.js";

/** @typedef {{ method: string, url: URL, body: string, headers: import("node:http").IncomingHttpHeaders }} Call */

/** The outputs by the middle of their settings' names, with what else they are set to and what their store answers. */
const createStores = () => ({
  ELASTICSEARCH: { answer: answerOfElasticsearch },
  ELASTICSEARCH__ECS_: { settings: { ECS_ENABLE: "true" }, answer: answerOfElasticsearch },
  OPENSEARCH: { answer: answerOfOpenSearch },
  GENERIC_HTTP: { answer: () => "{}" },
  CRIBL: { answer: () => "{}" },
  CLICKHOUSE: { answer: answerOfClickHouse() },
  SPLUNK_HEC: { settings: { TOKEN: "secret", TLS_ENABLE: "false" }, answer: () => '{"text":"Success","code":0}' },
  LOKI: { answer: () => "" },
  VICTORIALOGS: { answer: () => "" },
  OTLP: { answer: () => "{}" },
});

/**
 * @param {import("./program.js").Program} program
 * @param {string[]} captures
 * @param {(path: string, text: string) => void} put
 */
export async function describeOutputs(program, captures, put) {
  const file = join(program.scratch, "records.ndjson");
  /** @type {Record<string, string>} */
  const settings = {
    SVC_OUTPUT_FILE_ENABLE: "true",
    SVC_OUTPUT_FILE_PATH: file,
    SVC_FLOW_DECODER_OPTIONS_RECORDS_ENABLE: "true",
  };
  /** @type {import("node:net").Server[]} */
  const servers = [];
  const open = async (/** @type {string} */ name, /** @type {import("node:net").Server} */ server) => {
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    settings[`SVC_OUTPUT_${name}_ENABLE`] = "true";
    settings[`SVC_OUTPUT_${name}_ADDRESSES`] = `127.0.0.1:${port}`;
  };
  /** @type {Map<string, string[]>} */
  const sent = new Map();
  for (const [name, { settings: more = {}, answer }] of Object.entries(createStores())) {
    const texts = [];
    sent.set(name, texts);
    await open(name, createStandIn(texts, answer));
    for (const [setting, value] of Object.entries(more)) settings[`SVC_OUTPUT_${name}_${setting}`] = value;
  }
  /** @type {string[]} */
  const messages = [];
  sent.set("SYSLOG", messages);
  settings.SVC_OUTPUT_SYSLOG_HOSTNAME = "collector-1";
  await open(
    "SYSLOG",
    createTcpServer((socket) => {
      let text = "";
      socket.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      socket.on("end", () => void messages.push(text)).on("error", () => {});
    }),
  );
  try {
    // The captures with the most kinds of fields.
    const replayed = captures.filter((path) => /softflowd-netflow9|openvswitch-sflow|93-vmware/.test(path));
    const replay = ["replay", "--outputs", ...replayed];
    put("outputs/replay.txt", asText(replay, await program.run(replay, settings)));
    for (const [name, texts] of sent) put(`outputs/${name.toLowerCase()}.txt`, texts.sort().join("\n\n"));
    put("outputs/file.txt", readFileSync(file, "utf8"));
  } finally {
    for (const server of servers) server.close();
  }
}

/**
 * A server that writes down each request that is not as one before, and answers it.
 *
 * @param {string[]} texts where it writes requests
 * @param {(call: Call) => string | undefined} answer undefined: there is no such thing
 */
function createStandIn(texts, answer) {
  const answerTo = async (
    /** @type {import("node:http").IncomingMessage} */ request,
    /** @type {import("node:http").ServerResponse} */ response,
  ) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = "", headers } = request;
    const url = new URL(request.url ?? "", "http://store");
    // Names of batches are random.
    if (url.searchParams.has("insert_deduplication_token")) url.searchParams.set("insert_deduplication_token", "TOKEN");
    const steadyBody = body.replace(/"_id":"[^"]+"/g, '"_id":"ID"');
    const kept = ["content-type", "authorization", "content-encoding"].map(
      (name) => `${name}: ${String(headers[name] ?? "")}`,
    );
    const text = [`${method} ${decodeURIComponent(url.pathname + url.search)}`, ...kept, steadyBody].join("\n");
    if (!texts.includes(text)) texts.push(text);
    const answered = answer({ method, url, body, headers });
    response.writeHead(answered === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(answered ?? "{}");
  };
  return createServer((request, response) => void answerTo(request, response));
}

function answerOfElasticsearch(/** @type {Call} */ call) {
  return answerOfSearch(call, { number: "8.19.0" });
}

function answerOfOpenSearch(/** @type {Call} */ call) {
  return answerOfSearch(call, { number: "2.19.0", distribution: "opensearch" });
}

function answerOfSearch(/** @type {Call} */ { method, url, body }, /** @type {object} */ version) {
  if (method === "GET" && url.pathname === "/") return JSON.stringify({ version });
  if (method === "GET") return undefined;
  if (url.pathname !== "/_bulk") return JSON.stringify({ acknowledged: true });
  const items = body.split("\n").filter((line) => line.startsWith('{"create"'));
  return JSON.stringify({ errors: false, items: items.map(() => ({ create: { status: 201 } })) });
}

/** A server that knows the tables that were created on it. */
function answerOfClickHouse() {
  /** @type {Map<string, string>} */
  const tables = new Map();
  return (/** @type {Call} */ { url, body }) => {
    const statement = url.searchParams.get("query") ?? body;
    const created = /^CREATE TABLE IF NOT EXISTS `\w+`\.`(\w+)`/.exec(statement)?.[1];
    if (created !== undefined) tables.set(created, statement);
    if (statement.includes("system.databases")) return '{"name":"default"}\n';
    if (!statement.includes("system.columns")) return "";
    const table = tables.get(/table = '(\w+)'/.exec(statement)?.[1] ?? "") ?? "";
    const columns = [...table.matchAll(/^ {2}`(\w+)` (.*?),?$/gm)];
    return columns.map(([, name, type]) => `${JSON.stringify({ name, type })}\n`).join("");
  };
}
