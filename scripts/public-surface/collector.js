// What a running collector answers by HTTP and gRPC, and what commands show of it.
import { once } from "node:events";
import { createSocket } from "node:dgram";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { filesBelow, tableRows } from "./files.js";
import { asText } from "./program.js";
import { shapeOf, metricsOf } from "./shapes.js";
import { describeReflection } from "./reflection.js";

const service = "/api/v1/enrich/ipaddr/udm.v1.UdmService/";
const tools = "/api/v1/enrich/ipaddr/udm.v1.UdmToolsService/";

/**
 * Requests whose answers are written as they are.
 *
 * @type {readonly (readonly [path: string, body: object])[]}
 */
const requests = [
  [
    `${service}CreateUdm`,
    { udm: { key: "172.20.0.0/24", name: "office", tags: ["wired"], vlan: 42, metadata: { ".site": "AMS" } } },
  ],
  [`${service}CreateUdm`, { udm: { key: "172.20.0.0/24" } }],
  [`${service}CreateUdm`, { udm: { key: "nothing" } }],
  [`${service}CreateUdm`, { udm: { key: "172.20.0.9", nmae: "x" } }],
  [
    `${service}BatchCreateUdms`,
    { requests: [{ udm: { key: "172.20.0.1", name: "gateway" } }, { udm: { key: "2001:db8::/32" } }] },
  ],
  [`${service}UpdateUdm`, { udm: { key: "172.20.0.1", internal: true }, update_mask: "internal" }],
  [`${service}BatchUpdateUdms`, { requests: [{ udm: { key: "172.20.0.1", vlan: 7 } }], update_mask: "vlan" }],
  [`${service}DeleteUdm`, { key: "172.20.0.77" }],
  [`${service}DeleteUdm`, { key: "2001:db8::/32" }],
  [`${service}ListUdms`, { key: "172.20.0.1" }],
  [`${service}ListUdmKeys`, {}],
  [`${service}CountUdms`, {}],
  [
    `${tools}BatchUpsertUdms`,
    { requests: [{ udm: { key: "10.0.0.0/8" }, addTags: ["pci"], setMetadata: { ".site": "AMS1" } }] },
  ],
  [`${tools}BatchDeleteUdms`, { keys: ["10.0.0.0/8", "10.9.9.9"] }],
  [
    `${tools}ReplaceUdms`,
    { udms: [{ key: "10.1.0.0/16", name: "lab" }], scope: { within: "10.1.0.0/16" }, dryRun: true },
  ],
  [`${tools}SearchUdms`, { filter: "tag = wired" }],
  [`${tools}ExplainAddress`, { ip: "172.20.0.1", port: 443 }],
  [`${tools}ImportUdms`, { text: "key,name\n10.2.0.0/16,branch\nx,y\n", format: "csv", map: "netgloss", dryRun: true }],
  [`${tools}ExportUdms`, { format: "yaml" }],
  [`${tools}ListChanges`, {}],
  [`${tools}UndoChange`, { id: 1, dryRun: true }],
  ["/api/v1/explore/query", { from: "-1h", dimensions: ["l4.proto.name"], granularity: "none" }],
  ["/api/v1/explore/query", { dimensions: ["no-such-field"] }],
  ["/api/v1/explore/flows", { limit: 1000 }],
  ["/api/v1/snmp/rediscover-device", { ip: "192.0.2.1" }],
];

/** Commands that ask the collector. */
const calls = [
  "health",
  "health --live",
  "udm list",
  "udm list --output json",
  "udm list --output yaml",
  "udm list --output csv",
  "udm get 172.20.0.77",
  "udm get 172.20.0.1",
  "udm search office",
  "udm explain 172.20.0.1",
  "udm export",
  "udm history",
  "udm set 172.20.0.1 --no-such-option",
  "udm sources",
  "source list",
  "snmp devices",
  "snmp devices no-such-device",
  "output resend no-such-output",
];

/**
 * @param {import("./program.js").Program} program
 * @param {string} tree
 * @param {Buffer[]} datagrams that are sent to it
 * @param {(path: string, text: string) => void} put
 */
export async function describeCollector(program, tree, datagrams, put) {
  const { scratch } = program;
  const port = await freePort();
  const flowPort = await freePort();
  const trapPort = await freePort();
  for (const one of [port, flowPort, trapPort]) program.replace(`"${one}"`, '"PORT"');
  const url = `http://127.0.0.1:${port}`;
  const users = ["--users-file", join(scratch, "users.yml")];
  /** @type {Record<string, string>} */
  const tokens = {};
  for (const role of ["viewer", "editor", "operator", "admin"]) {
    const { out } = await program.run(["token", "create", role, "--role", role, ...users]);
    tokens[role] = /ngt_\S+/.exec(out)?.[0] ?? "";
    program.replace(tokens[role], "API-TOKEN");
  }
  const environment = { NETGLOSS_URL: url, NETGLOSS_TOKEN: tokens.admin ?? "" };
  const collector = program.start(["serve"], settingsOf(scratch, port, flowPort, trapPort));
  let log = "";
  collector.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  collector.stdout.resume();
  const ended = once(collector, "exit");
  const ask = (
    /** @type {string} */ path,
    /** @type {{ body?: unknown, role?: string, accept?: string }} */ { body, role = "admin", accept } = {},
  ) =>
    fetch(url + path, {
      headers: {
        ...(role !== "" && { authorization: `Bearer ${tokens[role]}` }),
        ...(accept !== undefined && { accept }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      redirect: "manual",
      signal: AbortSignal.timeout(20_000),
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
  /** Waits until something of the collector is so. */
  const until = async (/** @type {string} */ what, /** @type {() => Promise<boolean>} */ isSo) => {
    for (const deadline = Date.now() + 30_000; !(await isSo().catch(() => false)); await pause(100)) {
      if (Date.now() > deadline || collector.exitCode !== null) throw new Error(`${what} is not so:\n${log}`);
    }
  };
  try {
    await until("the collector is ready", async () => (await ask("/livez")).ok && (await ask("/readyz")).status < 300);
    await sendDatagrams(datagrams, flowPort);
    await until("all datagrams are read", async () => {
      const received = (await (await ask("/metrics")).text()).matchAll(/^netgloss_flow_datagrams_total\{.*\} (\d+)$/gm);
      return [...received].reduce((sum, [, count]) => sum + Number(count), 0) >= datagrams.length;
    });
    // Records are on their way to Explore and to the counts of the last second for a moment.
    await pause(5000);

    const openapi = await (await ask("/openapi.json")).json();
    put("api/openapi.json", JSON.stringify(openapi, null, 2));
    const operations = Object.entries(openapi.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method, path: path.replace("{id}", "127.0.0.1") })),
    );
    for (const { path } of operations.filter(({ method }) => method === "get")) {
      const answer = await ask(path);
      put(`api/get${path.replaceAll("/", "-")}.txt`, `${headOf(answer)}\n\n${await contentOf(path, answer)}`);
    }
    await describeReflection(port, `Bearer ${tokens.admin}`, put);

    const answers = [];
    for (const [path, body] of requests) {
      const answer = await ask(path, { body });
      answers.push(`POST ${path} ${JSON.stringify(body)}\n${answer.status}\n${await steadyAnswer(path, answer)}\n`);
    }
    put("api/requests.txt", answers.join("\n"));
    const texts = [];
    for (const call of calls) texts.push(asText([call], await program.run(call.split(" "), environment)));
    put("api/calls.txt", texts.join("\n"));
    // Streams that were given up are counted a moment later.
    await pause(1000);
    put("api/metrics.txt", metricsOf(await (await ask("/metrics")).text()).join("\n"));

    // Who may do what: by the role of who asks, or by nobody. An empty request changes nothing.
    const statuses = [];
    for (const { method, path } of operations) {
      const row = [];
      for (const role of ["", "viewer", "editor", "operator", "admin"]) {
        const answer = await ask(path, { role, ...(method === "post" && { body: {} }) });
        row.push(`${role === "" ? "nobody" : role} ${answer.status}`);
        await answer.body?.cancel();
      }
      statuses.push(`${method} ${path}: ${row.join(", ")}`);
    }
    put("api/roles.txt", statuses.join("\n"));

    const pages = tableRows(join(tree, "docs/pages.md")).flatMap(
      (row) => /^\| \w+ \| `(\/[a-z]*)` \|/.exec(row)?.[1] ?? [],
    );
    const heads = [];
    for (const page of [...pages, "/no-such-page"]) {
      const answer = await ask(page, { role: "", accept: "text/html" });
      heads.push(`${page}\n${headOf(answer)}\n`);
      await answer.body?.cancel();
    }
    put("api/pages.txt", heads.join("\n"));
  } finally {
    collector.kill("SIGTERM");
    await ended;
  }
  put("api/exit-code.txt", `after SIGTERM: ${collector.exitCode}`);
  put("files/ipaddrs.yml", readFileSync(join(scratch, "served.yml"), "utf8"));
  put(
    "files/state.txt",
    filesBelow(join(scratch, "state"))
      .map((path) => path.replace(/\d{8}T[\d-]+|[0-9a-f]{32}/g, "X"))
      .join("\n"),
  );
}

/** Everything is on that needs no partner. */
function settingsOf(
  /** @type {string} */ scratch,
  /** @type {number} */ port,
  /** @type {number} */ flowPort,
  /** @type {number} */ trapPort,
) {
  mkdirSync(join(scratch, "devices"));
  writeFileSync(join(scratch, "served.yml"), "192.0.2.0/24:\n  name: documentation\n");
  writeFileSync(join(scratch, "plan.csv"), "key,name\n198.51.100.0/24,plan\n");
  writeFileSync(
    join(scratch, "sources.yml"),
    "sources:\n  - {name: plan, kind: csv, path: SCRATCH/plan.csv, map: {ready: sheet}}\n".replace("SCRATCH", scratch),
  );
  return {
    SVC_API_PORT: `${port}`,
    SVC_API_USERS_PATH: join(scratch, "users.yml"),
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(scratch, "state/explore"),
    SVC_FLOW_DECODER_OPTIONS_RECORDS_ENABLE: "true",
    SVC_FLOW_SERVER_TCP_ENABLE: "true",
    SVC_FLOW_SERVER_TCP_PORT: "0",
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_PORT: `${flowPort}`,
    SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: join(scratch, "devices"),
    SVC_INPUT_SNMP_ENABLE: "true",
    SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH: join(scratch, "state/snmp"),
    SVC_INPUT_SNMP_PROMETHEUS_ENABLE: "true",
    SVC_INPUT_TRAP_ENABLE: "true",
    SVC_INPUT_TRAP_LISTENER_PORT: `${trapPort}`,
    SVC_OUTPUT_FILE_ENABLE: "true",
    SVC_OUTPUT_FILE_PATH: join(scratch, "served.ndjson"),
    SVC_OUTPUT_LOKI_ADDRESSES: "127.0.0.1:1",
    SVC_OUTPUT_LOKI_ENABLE: "true",
    SVC_OUTPUT_MONITOR_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(scratch, "served.yml"),
    SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH: join(scratch, "sources.yml"),
    SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE: "true",
    SVC_PROCESSOR_POOL_SIZE: "1",
    SVC_STATE_DIRECTORY_PATH: join(scratch, "state"),
  };
}

/** A port that is free by TCP just now; hardly ever is it taken by UDP. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}

async function sendDatagrams(/** @type {Buffer[]} */ datagrams, /** @type {number} */ port) {
  const socket = createSocket("udp4");
  for (const datagram of datagrams) {
    await new Promise((resolve) => socket.send(datagram, port, "127.0.0.1", resolve));
  }
  socket.close();
}

/** The status and the headers that do not belong to one connection alone. */
function headOf(/** @type {Response} */ { status, headers }) {
  const kept = [...headers].filter(
    ([name]) => !["connection", "date", "keep-alive", "content-length", "etag", "transfer-encoding"].includes(name),
  );
  return [`${status}`, ...kept.map(([name, value]) => `${name}: ${value}`).sort()].join("\n");
}

/** The text of an answer; of records that were kept, which have times as numbers, the shape. */
async function steadyAnswer(/** @type {string} */ path, /** @type {Response} */ answer) {
  const text = await answer.text();
  return path.startsWith("/api/v1/explore/") && answer.ok ? shapeOf(JSON.parse(text)).join("\n") : text;
}

/** What an answer holds: all of what is the same each time, else the shape. Streams are not read. */
async function contentOf(/** @type {string} */ path, /** @type {Response} */ answer) {
  const type = answer.headers.get("content-type") ?? "";
  if (/event-stream|ndjson/.test(type)) {
    await answer.body?.cancel();
    return "";
  }
  const text = await answer.text();
  if (!type.startsWith("application/json") || path === "/openapi.json") return "";
  const value = JSON.parse(text);
  const fixed = { "/api/v1/fields": value, "/api/v1/settings": { settings: value.settings }, "/": value }[path];
  return [...shapeOf(value), ...(fixed === undefined ? [] : ["", JSON.stringify(fixed, null, 2)])].join("\n");
}
