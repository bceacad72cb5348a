import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as zlib from "node:zlib";
import { Consumer } from "@platformatic/kafka";
import type { RecordBatch } from "../../src/output/index.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../output/delivery/output-contract.ts";
import { adapterOf, tlsSettings } from "../output/adapter-fixture.ts";
import { goldenLines, recordOfLine, recordOfMessage } from "../output/kafka/decode-message.ts";
import { flowsTo, kafkaSettings, type KafkaSettings } from "../output/kafka/kafka-fixture.ts";
import { killPartner, startPartner, type Partner } from "../support/partner.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const signal = new AbortController().signal;

interface Held {
  readonly key: string | undefined;
  readonly partition: number;
  readonly n: number;
}

interface Message {
  readonly key: string | undefined;
  readonly partition: number;
  readonly value: Buffer;
}

/** All records of a topic that are lines, read past the proxy. */
async function readTopic(partner: Partner, topic: string): Promise<Held[]> {
  const messages = await readMessages(partner, topic);
  return messages.map(({ key, partition, value }) => ({
    key,
    partition,
    n: (JSON.parse(value.toString()) as { n: number }).n,
  }));
}

/** All messages of a topic, read past the proxy. */
async function readMessages(partner: Partner, topic: string): Promise<Message[]> {
  const consumer = new Consumer({
    clientId: "reader",
    groupId: `reader-${topic}-${Date.now()}`,
    bootstrapBrokers: [String(partner["tls"])],
    tls: { rejectUnauthorized: false },
  });
  const ends = await consumer.listOffsets({ topics: [topic] });
  const total = (ends.get(topic) ?? []).reduce((sum, end) => sum + Number(end), 0);
  const held: Message[] = [];
  if (total > 0) {
    const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
    for await (const { key, value, partition } of stream) {
      held.push({ key: key?.toString(), partition, value });
      if (held.length === total) break;
    }
  }
  await new Promise<void>((resolve) => consumer.close(true, () => resolve()));
  return held;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function batchOf(lines: readonly string[], number = 0): RecordBatch {
  const chunk = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  return {
    id: { instance: "abc", number },
    chunks: [chunk],
    count: lines.length,
    byteLength: chunk.length,
    oldestAt: 0,
  };
}

/** A token (RFC 7519) without a signature, which brokers take by default. @param seconds until it expires. */
function unsignedToken(seconds: number): string {
  const now = Math.trunc(Date.now() / 1000);
  const parts = [{ alg: "none" }, { sub: "netgloss", iat: now - 3600, exp: now + seconds }];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.`;
}

test("kafka: records arrive once through all faults; every way to connect, and what is wrong with it", async (t) => {
  const port = await freePort();
  const partner = await startPartner(t, "kafka", { KAFKA_PLAIN_PORT: String(port) });
  const of = (name: string): string => String(partner[name]);
  const [host = "", brokerPort] = of("bootstrap").split(":");
  const proxy = await startFaultProxy(t, host, Number(brokerPort), port);
  const plain = `127.0.0.1:${port}`;
  const open = async (broker: string, given: Partial<KafkaSettings> = {}, lines: readonly string[] = []) => {
    const adapter = adapterOf("KAFKA", kafkaSettings(broker, { TIMEOUT: 4, ...given }));
    try {
      for (let tries = 0; ; tries++) {
        try {
          await adapter.open(signal);
          break;
        } catch (error) {
          // The broker makes a topic only after it has said that there is none.
          if (tries > 50 || !/there is no topic .* yet|no leader|is starting/.test(String(error))) throw error;
          await sleep(100);
        }
      }
      return lines.length === 0 ? undefined : await adapter.send(batchOf(lines), signal);
    } finally {
      await adapter.close();
    }
  };

  await t.test("a topic for each type, a partition for each key, each compression", async () => {
    const line = (exporter: number, n: number): string =>
      `{"@timestamp":"2026-01-01T00:00:00.000Z","flow.export.ip.addr":"192.0.2.${exporter}","n":${n}}`;
    const compressions = [
      "none",
      "gzip",
      "snappy",
      "lz4",
      ...("zstdCompress" in zlib ? ["zstd" as const] : []),
    ] as const;
    for (const [i, compression] of compressions.entries()) {
      const lines = Array.from({ length: 40 }, (_, n) => line(n % 8, i * 100 + n));
      lines.push(`{"@timestamp":"2026-01-02T00:00:00.000Z","system.ip.addr":"192.0.2.9","n":${i}}`);
      assert.deepEqual(
        await open(plain, { PRODUCER_COMPRESSION: compression }, lines),
        { refused: [], retry: [] },
        compression,
      );
    }
    const flows = await readTopic(partner, "flows");
    assert.equal(flows.length, 40 * compressions.length);
    const partitions = new Map(flows.map(({ key, partition }) => [key, partition]));
    for (const { key, partition } of flows) assert.equal(partition, partitions.get(key), key);
    assert.ok(new Set(partitions.values()).size > 1, "keys are spread");
    assert.deepEqual(
      (await readTopic(partner, "counters")).map(({ n }) => n).toSorted((a, b) => a - b),
      compressions.map((_, i) => i),
    );
  });

  await t.test("messages of Protocol Buffers say what their lines say, with the keys of these", async () => {
    const lines = goldenLines().filter((line) => line.includes('"flow.export.ip.addr"'));
    const outcome = await open(plain, { ...flowsTo("messages"), FORMAT: "protobuf" }, lines);
    assert.deepEqual(outcome, { refused: [], retry: [] });
    const inOrder = (texts: readonly string[]): string[] => texts.toSorted((x, y) => (x < y ? -1 : 1));
    const textOf = (record: ReadonlyMap<string, unknown>): string =>
      JSON.stringify([...record].toSorted(([x], [y]) => (x < y ? -1 : 1)));
    const messages = await readMessages(partner, "messages");
    for (const { key, value } of messages)
      assert.equal(key, recordOfMessage(value).get("flow.export.ip.addr"), "the exporter is the key");
    const read = messages.map(({ value }) => textOf(recordOfMessage(value)));
    const expected = lines.map((line) => textOf(recordOfLine(line)));
    assert.deepEqual(inOrder(read), inOrder(expected));
  });

  await t.test("TLS, client certificate, PLAIN, SCRAM", async () => {
    const ca = of("ca");
    const tls = tlsSettings({ ca });
    const mine = tlsSettings({ ca, cert: join(dirname(ca), "client.pem"), key: join(dirname(ca), "client.key") });
    const user = { SASL_ENABLE: true, SASL_USERNAME: of("user"), SASL_PASSWORD: of("password") };
    await open(of("tls"), tls);
    await open(of("mtls"), mine);
    for (const mechanism of ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] as const) {
      await open(of("sasl"), { SASL_MECHANISM: mechanism, ...user });
      await open(of("tlsSasl"), { SASL_MECHANISM: mechanism, ...user, ...tls });
      const wrong = { SASL_MECHANISM: mechanism, ...user, SASL_PASSWORD: "no" };
      await assert.rejects(open(of("sasl"), wrong), /127\.0\.0\.1:\d+ refuses the credentials/);
    }
    const token = join(tempDirectory(t), "token");
    const bearer = { SASL_ENABLE: true, SASL_MECHANISM: "OAUTHBEARER", SASL_TOKEN_FILEPATH: token } as const;
    await assert.rejects(open(of("sasl"), bearer), /token.* cannot be read/);
    writeFileSync(token, `${unsignedToken(-60)}\n`);
    await assert.rejects(open(of("sasl"), bearer), /127\.0\.0\.1:\d+ refuses the credentials \(a token/);
    writeFileSync(token, `${unsignedToken(3600)}\n`);
    const topics = flowsTo("by-token");
    for (const [broker, given] of [
      [of("sasl"), {}],
      [of("tlsSasl"), tls],
    ] as const) {
      const outcome = await open(broker, { ...bearer, ...topics, ...given }, [numberedFlow(7)]);
      assert.deepEqual(outcome, { refused: [], retry: [] });
    }
    assert.equal((await readTopic(partner, "by-token")).length, 2);
    await assert.rejects(open(of("tls"), tlsSettings()), /certificate of .* is not trusted/);
    await assert.rejects(open(of("mtls"), tls), /certificate|closed the connection/);
    await assert.rejects(open(of("tls")), /closed the connection|does not answer/);
    await assert.rejects(open(of("sasl")), /closed the connection/);
    await assert.rejects(open("127.0.0.1:1"), /127\.0\.0\.1:1 refuses connections/);
    await assert.rejects(open("no-such-host.invalid:9092"), /host name of no-such-host\.invalid:9092/);
    await assert.rejects(open(plain, { ...flowsTo("unknown"), TOPIC_AUTO_CREATE: false }), /there is no topic unknown/);
  });

  await t.test("a record that is too large does not block the others", async () => {
    const big = `{"flow.export.ip.addr":"192.0.2.1","pad":"${"x".repeat(1_100_000)}","n":1}`;
    const topics = flowsTo("large");
    const lines = [numberedFlow(7), big, numberedFlow(14)].map((one) => one.replace(/192\.0\.2\.\d/, "192.0.2.1"));
    const outcome = await open(plain, { ...topics, PRODUCER_MAX_MESSAGE_BYTES: 4_000_000 }, lines);
    assert.deepEqual(outcome?.retry, []);
    assert.deepEqual(outcome?.refused, [{ index: 1, reason: "the record is too large for the topic large" }]);
    assert.deepEqual(
      (await readTopic(partner, "large")).map(({ n }) => n),
      [7, 14],
    );
  });

  const isUp = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(Number(brokerPort), host, () => resolve(true)).on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
  let kills = 2;
  const restart = async (): Promise<void> => {
    if (kills-- <= 0) return;
    killPartner(partner);
    await sleep(1000);
    proxy.fault = "pass";
    while (!(await isUp())) await sleep(200);
    await sleep(1000);
  };

  for (const compression of ["none", "lz4"] as const) {
    await t.test(
      `the ledger, ${compression === "none" ? "faults of the network" : "and a broker that is killed"}`,
      async () => {
        const topic = `ledger-${compression}`;
        await open(plain, { ...flowsTo(topic) });
        const settings = kafkaSettings(plain, {
          ...flowsTo(topic),
          PRODUCER_COMPRESSION: compression,
          PRODUCER_MAX_MESSAGE_BYTES: 20_000,
          TIMEOUT: 1.5,
        });
        const adapter = adapterOf("KAFKA", settings);
        const numbers = async (): Promise<number[]> => (await readTopic(partner, topic)).map(({ n }) => n);
        const moods = compression === "lz4" ? [() => {}, restart] : [];
        const store = { adapter, proxy, isExactlyOnce: true, numbers, moods };
        const options = {
          records: 100_000,
          step: 200,
          faultMs: 150,
          config: { TIMEOUT: 1.5, BATCH_MAX_BYTES: 100_000 },
        };
        await keepLedger(t, store, options);
        await adapter.close();
      },
    );
  }
});
