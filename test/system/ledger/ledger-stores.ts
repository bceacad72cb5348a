import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { Consumer } from "@platformatic/kafka";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { startFaultProxy } from "../../output/delivery/fault-proxy.ts";
import { killPartner, startPartner, type Partner } from "../../support/partner.ts";
import type { LedgerStore } from "./ledger.ts";
import { startHttp, startLoki, startOtelcol, startSyslog, startVictoriaLogs } from "./log-stores.ts";
import { proxied, visitNumbers } from "./numbered-lines.ts";
import { startBucket } from "./numbered-files.ts";
import { flowSchema, messageReader } from "../../output/kafka/decode-message.ts";

/** Starts a store, with a proxy before it. */
type StartStore = (t: TestContext) => Promise<LedgerStore>;

/** Each kind of store, by the name of its output. */
export const ledgerStores: Readonly<Record<string, StartStore>> = {
  http: startHttp,
  elasticsearch: (t) => startSearch(t, "elasticsearch"),
  opensearch: (t) => startSearch(t, "opensearch"),
  kafka: (t) => startKafka(t, {}, (value, visit) => visitNumbers(value.toString("latin1"), visit)),
  kafkaProtobuf: (t) => startKafka(t, { FORMAT: "protobuf" }, visitMessage),
  clickhouse: startClickHouse,
  nats: startNats,
  otlp: (t) => startOtelcol(t, "otlp"),
  splunk: (t) => startOtelcol(t, "splunk"),
  loki: startLoki,
  victorialogs: startVictoriaLogs,
  syslog: startSyslog,
  parquet: startParquet,
};

async function startSearch(t: TestContext, product: "elasticsearch" | "opensearch"): Promise<LedgerStore> {
  const partner = await startPartner(t, product);
  const proxy = await proxied(t, partner["url"]);
  const ask = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${String(partner["url"])}${path}`, {
      method: "POST",
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return JSON.parse(text) as Record<string, unknown>;
  };
  return {
    word: product.toUpperCase(),
    output: product,
    settings: { ADDRESSES: `http://127.0.0.1:${proxy.port}`, TIMEOUT: "10" },
    proxy,
    isHttp: true,
    twice: "never",
    kill: () => killPartner(partner),
    async count() {
      return Number((await ask("/netgloss-flow/_count"))["count"]);
    },
    async read(visit) {
      await ask("/netgloss-flow/_refresh");
      for (let after: unknown[] | undefined; ;) {
        const { hits } = (await ask("/netgloss-flow/_search?filter_path=hits.hits.sort", {
          size: 10_000,
          _source: false,
          sort: [{ "flow.bytes": "asc" }],
          ...(after && { search_after: after }),
        })) as { hits?: { hits: readonly { sort: [number] }[] } };
        const found = hits?.hits ?? [];
        for (const { sort } of found) visit(sort[0]);
        if (found.length < 10_000) return;
        after = found.at(-1)?.sort;
      }
    },
  };
}

type VisitValue = (value: Buffer, visit: (n: number) => void) => void;

const readMessage = messageReader(flowSchema, "flow.v1.Flow");
const visitMessage: VisitValue = (value, visit) => visit(Number(readMessage(value)["flow_bytes"]));

async function startKafka(
  t: TestContext,
  settings: Readonly<Record<string, string>>,
  visitValue: VisitValue,
): Promise<LedgerStore> {
  // Clients are sent to the address that the broker knows as its own: the proxy's.
  const port = await freePort();
  const partner = await startPartner(t, "kafka", { KAFKA_PLAIN_PORT: String(port) });
  const [host = "", brokerPort] = String(partner["bootstrap"]).split(":");
  const proxy = await startFaultProxy(t, host, Number(brokerPort), port);
  return {
    word: "KAFKA",
    output: "kafka",
    settings: { BROKERS: `127.0.0.1:${port}`, TOPIC: "ledger", ...settings },
    proxy,
    isHttp: false,
    twice: "afterKills",
    kill: () => killPartner(partner),
    read: (visit) => readTopic(partner, "ledger", (value) => visitValue(value, visit)),
  };
}

async function readTopic(partner: Partner, topic: string, visit: (value: Buffer) => void): Promise<void> {
  const consumer = new Consumer({
    clientId: "ledger",
    groupId: `ledger-${Date.now()}`,
    bootstrapBrokers: [String(partner["tls"])],
    tls: { rejectUnauthorized: false },
  });
  const ends = await consumer.listOffsets({ topics: [topic] });
  const total = (ends.get(topic) ?? []).reduce((sum, end) => sum + Number(end), 0);
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
  let read = 0;
  for await (const { value } of stream) {
    visit(value);
    if (++read === total) break;
  }
  await new Promise<void>((resolve) => consumer.close(true, () => resolve()));
}

async function startClickHouse(t: TestContext): Promise<LedgerStore> {
  const partner = await startPartner(t, "clickhouse");
  const proxy = await proxied(t, partner["url"]);
  return {
    word: "CLICKHOUSE",
    output: "clickhouse",
    settings: {
      ADDRESSES: `http://127.0.0.1:${proxy.port}`,
      USERNAME: "netgloss",
      PASSWORD: "secret",
      TIMEOUT: "20",
      // Each insert is a part, and the engine merges them on the same two processors.
      BATCH_DEADLINE: "300",
      BATCH_MAX_BYTES: "8MiB",
      TABLE_TTL: "0",
    },
    proxy,
    isHttp: true,
    twice: "never",
    kill: () => killPartner(partner),
    async read(visit) {
      const answer = await fetch(`${String(partner["url"])}/?user=netgloss&password=secret`, {
        method: "POST",
        body: "SELECT flow_bytes FROM default.netgloss_flow FORMAT TSV",
      });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      for (const line of text.split("\n")) if (line !== "") visit(Number(line));
    },
  };
}

async function startParquet(t: TestContext): Promise<LedgerStore> {
  const bucket = await startBucket(t);
  return {
    word: "PARQUET",
    output: "parquet",
    settings: {
      ...bucket.settings,
      LOCATION: "s3://flows/ledger",
      // A file has some 900 columns, and so many heads, however few its rows are.
      BATCH_DEADLINE: "300",
      BATCH_MAX_BYTES: "8MiB",
      TIMEOUT: "10",
    },
    proxy: bucket.proxy,
    isHttp: true,
    twice: "never",
    async read(visit) {
      await bucket.visitNumbers("ledger", visit);
    },
  };
}

async function startNats(t: TestContext): Promise<LedgerStore> {
  const partner = await startPartner(t, "nats");
  const proxy = await proxied(t, partner["url"]);
  return {
    word: "NATS",
    output: "nats",
    settings: { ADDRESSES: `127.0.0.1:${proxy.port}`, STREAM_DUPLICATE_WINDOW: "3600" },
    proxy,
    isHttp: false,
    twice: "never",
    kill: () => killPartner(partner),
    async read(visit) {
      const connection = await connect({ servers: String(partner["url"]).replace("nats://", "") });
      const { messages } = (await (await jetstreamManager(connection)).streams.info("NETGLOSS")).state;
      const consumer = await jetstream(connection).consumers.get("NETGLOSS");
      let read = 0;
      for await (const message of await consumer.consume({ max_messages: 5000 })) {
        visitNumbers(message.string(), visit);
        if (++read === messages) break;
      }
      await connection.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
