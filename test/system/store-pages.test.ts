// The examples of docs/outputs.md, as they are written, against real stores. Only hosts, users and paths are replaced.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { startHttpServer } from "../output/http/http-fixture.ts";
import { startLokiServer } from "../output/loki/loki-server.ts";
import { startVictoriaLogsServer } from "../output/victoria-logs/victoria-logs-server.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { startPartner } from "../support/partner.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const root = join(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/outputs.md"), "utf8");
const run = promisify(execFile);

/** What stands in the page, and what it is here. */
type Replacements = Readonly<Record<string, string>>;

/** The blocks of shell of a section, with what is replaced. Each replacement must be of use. */
function blocksOf(heading: string, replacements: Replacements): string[] {
  const section = page.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? "";
  const blocks = Array.from(section.matchAll(/^```sh\n([^]*?)^```$/gm), (match) => match[1] ?? "");
  assert.ok(blocks.length > 0, heading);
  for (const from of Object.keys(replacements)) {
    assert.ok(
      blocks.some((block) => block.includes(from)),
      `${heading} has ${from}`,
    );
  }
  return blocks.map((block) =>
    Object.entries(replacements).reduce((text, [from, to]) => text.replaceAll(from, to), block),
  );
}

/** Starts what the first block of a section starts, and sends it a flow of an address that the sample metadata name. */
async function serve(t: TestContext, block: string, more: Replacements = {}): Promise<void> {
  const lines = block.trim().split("\n");
  const [, args = ""] = /^netgloss serve (.*)$/.exec(lines.at(-1) ?? "") ?? [];
  const settings: Record<string, string> = { ...more };
  for (const line of lines.slice(0, -1)) {
    const [, name = "", value = ""] = /^(SVC_\w+)=(\S+) \\$/.exec(line) ?? assert.fail(line);
    settings[name] = value;
  }
  const collector = await startCollectorProcess({
    args: args.split(" ").map((arg) => (arg.startsWith("config/") ? join(root, arg) : arg)),
    cwd: tempDirectory(t),
    settings,
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  await sendDatagram(collector.flowPort, netflowV5Datagram([{ source: "10.10.10.7", destination: "203.0.113.9" }]));
}

/** Runs a query until it shows what it is to show. */
async function query(block: string, shows: RegExp, password = ""): Promise<void> {
  let last = "";
  await until("the query shows the name", async () => {
    const env = { ...process.env, PASSWORD: password };
    last = await run("sh", ["-euc", block], { env }).then(
      ({ stdout }) => stdout,
      (error: unknown) => String((error as { stderr?: string }).stderr),
    );
    if (shows.test(last)) return true;
    await sleep(500);
    return false;
  }).catch(() => assert.fail(`${block} said ${last}`));
}

function secretFile(t: TestContext, text: string): string {
  const path = join(tempDirectory(t), "secret");
  writeFileSync(path, `${text}\n`);
  return path;
}

const texts = (partner: Readonly<Record<string, string | number>>) => (name: string) => String(partner[name]);
const caPath = "/etc/netgloss/tls/ca.pem";

test("Elasticsearch", async (t) => {
  const of = texts(await startPartner(t, "elasticsearch", { ELASTIC_TLS: "1" }));
  const [example = "", search = ""] = blocksOf("Elasticsearch and OpenSearch", {
    "https://es-1.example.com:9200,https://es-2.example.com:9200": of("url"),
    "https://es-1.example.com:9200": of("url"),
    "USERNAME=netgloss": `USERNAME=${of("user")}`,
    "netgloss:$PASSWORD": `${of("user")}:$PASSWORD`,
    "/run/secrets/password": secretFile(t, of("password")),
    [caPath]: of("ca"),
  });
  await serve(t, example);
  await query(search, /"flow\.src\.ip\.subnet\.name":"hq-office"/, of("password"));

  // The same with the names of ECS, in an index of its own.
  await serve(t, example, {
    SVC_OUTPUT_ELASTICSEARCH_ECS_ENABLE: "true",
    SVC_OUTPUT_ELASTICSEARCH_INDEX_SUFFIX: "ecs",
  });
  const bySource = search
    .replace("netgloss-flow/", "netgloss-flow-ecs/")
    .replace('"flow.src.ip.subnet.name": "hq-office"', '"source.ip": "10.10.10.0/24"');
  await query(bySource, /"source\.ip":"10\.10\.10\.7".*"flow\.src\.ip\.subnet\.name":"hq-office"/, of("password"));
});

test("OpenSearch", async (t) => {
  const of = texts(await startPartner(t, "opensearch2"));
  const [, , example = "", search = ""] = blocksOf("Elasticsearch and OpenSearch", {
    "https://os-1.example.com:9200": of("url"),
    "USERNAME=netgloss": `USERNAME=${of("user")}`,
    "netgloss:$PASSWORD": `${of("user")}:$PASSWORD`,
    "/run/secrets/password": secretFile(t, of("password")),
    [caPath]: of("ca"),
  });
  await serve(t, example);
  await query(search, /"flow\.src\.ip\.subnet\.name":"hq-office"/, of("password"));
});

test("ClickHouse", async (t) => {
  const of = texts(await startPartner(t, "clickhouse"));
  const [example = "", select = "", view = "", flowed = ""] = blocksOf("ClickHouse", {
    "https://clickhouse.example.com:8443": of("url"),
    "/run/secrets/password": secretFile(t, of("password")),
  });
  await serve(t, example);
  await query(select, /hq-office/, of("password"));
  await query(view, /^$/, of("password"));
  await query(flowed, /bits_per_second/, of("password"));

  await serve(t, example, { SVC_OUTPUT_CLICKHOUSE_ECS_ENABLE: "true", SVC_OUTPUT_CLICKHOUSE_TABLE_PREFIX: "ecs_" });
  const byName = select.replace("flow_bytes", "network_bytes").replace("netgloss_flow", "ecs_flow");
  await query(byName, /hq-office/, of("password"));
});

test("Kafka", async (t) => {
  const of = texts(await startPartner(t, "kafka"));
  const [example = "", consume = ""] = blocksOf("Kafka", {
    "kafka-1.example.com:9093,kafka-2.example.com:9093": of("tlsSasl"),
    "kafka-1.example.com:9093": of("tlsSasl"),
    "/run/secrets/password": secretFile(t, of("password")),
    [caPath]: of("ca"),
  });
  await serve(t, example);
  await query(consume, /"flow\.src\.ip\.subnet\.name":"hq-office"/, of("password"));
});

test("NATS JetStream", async (t) => {
  const of = texts(await startPartner(t, "nats", { NATS_TLS: "1" }));
  const [example = ""] = blocksOf("NATS JetStream", {
    "tls://nats-1.example.com:4222,tls://nats-2.example.com:4222": of("url"),
    "/run/secrets/password": secretFile(t, of("password")),
    [caPath]: of("ca"),
  });
  await serve(t, example);
  // The command line of NATS is not in the registries that tests install from.
  const place = of("url").replace("tls://", "");
  const reader = await connect({ servers: place, user: of("user"), pass: of("password"), tls: { caFile: of("ca") } });
  cleanUp(t, () => reader.close());
  await until("the stream has the record", async () => {
    const consumer = await jetstream(reader)
      .consumers.get("NETGLOSS")
      .catch(() => undefined);
    const message = await consumer?.next({ expires: 1000 });
    return message?.string().includes('"flow.src.ip.subnet.name":"hq-office"');
  });
});

test("syslog, to rsyslog", async (t) => {
  const of = texts(await startPartner(t, "rsyslog"));
  const [example = "", grep = ""] = blocksOf("Syslog", {
    "syslog.example.com:6514": of("tls"),
    "/var/log/netgloss.log": of("file"),
    [caPath]: of("ca"),
  });
  await serve(t, example);
  await query(grep, /^<134>1 \S+Z \S+ netgloss - flow - \{"@timestamp":.*"hq-office"/);
});

test("OTLP, Splunk's HTTP Event Collector", async (t) => {
  const of = texts(await startPartner(t, "otelcol"));
  const [logs = "", count = ""] = blocksOf("OTLP", {
    "https://otel.example.com:4318": `${of("otlpHttp")}/v1/logs`,
    "logs.jsonl": of("otlpFile"),
  });
  await serve(t, logs);
  await query(count, /^[1-9]/);
  const [events = ""] = blocksOf("Splunk", {
    "splunk.example.com:8088": of("hecTls").replace("https://", ""),
    "/run/secrets/token": secretFile(t, "00000000-0000-0000-0000-000000000000"),
    [caPath]: of("ca"),
  });
  await serve(t, events);
  await query(`cat ${of("hecFile")}`, /"flow\.src\.ip\.subnet\.name","value":\{"stringValue":"hq-office"/);
});

test("Loki", async (t) => {
  const { port } = await startLokiServer(t);
  const [example = "", select = ""] = blocksOf("Loki", { "https://loki.example.com": `http://127.0.0.1:${port}` });
  await serve(t, example);
  await query(select, /"flow\.src\.ip\.subnet\.name\\":\\"hq-office/);
});

test("VictoriaLogs", async (t) => {
  const { port } = await startVictoriaLogsServer(t);
  const [example = "", select = ""] = blocksOf("VictoriaLogs", { "vlogs.example.com:9428": `127.0.0.1:${port}` });
  await serve(t, example);
  await query(select, /"_msg":"flow",.*"flow\.src\.ip\.subnet\.name":"hq-office"/);
});

test("HTTP", async (t) => {
  const server = await startHttpServer(t);
  const [example = ""] = blocksOf("HTTP", {
    "https://collector.example.com/flows": `http://127.0.0.1:${server.port}/flows`,
    "/run/secrets/token": secretFile(t, "secret"),
  });
  await serve(t, example);
  const call = await until("the records are posted", async () => server.calls.find(({ method }) => method === "POST"));
  assert.deepEqual([call.path, call.headers["authorization"]], ["/flows", "Bearer secret"]);
  assert.match(call.body, /"flow\.src\.ip\.subnet\.name":"hq-office"/);
});
