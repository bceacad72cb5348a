import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { createCollector, readSettings, type Collector } from "../../src/app/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { dataSet, fields, ipfix, ipfixTemplates, uint, type PacketTemplate } from "../../packages/testkit/index.ts";
import { parseLines, type Json } from "../support/flow-rig.ts";
import { selfSigned, selfSignedFiles } from "../support/self-signed.ts";
import { until } from "../support/until.ts";

const template: PacketTemplate = { id: 256, fields: fields([1, 4]) };
const templates = ipfix([ipfixTemplates(template)]);
const data = (value: number): Buffer => ipfix([dataSet(template, [uint(value, 4)])], { sequence: value });

async function start(
  t: TestContext,
  settings: Record<string, string>,
): Promise<{ collector: Collector; records: Json[] }> {
  const given = { SVC_API_PORT: "0", ...settings };
  const layer = Object.entries(given).map(([name, text]) => ({ name, text, origin: "test" }));
  const records: Json[] = [];
  const collector = createCollector({
    settings: readSettings([layer], () => "").settings,
    log: silentLog,
    clock: systemClock,
    version: "0.0.0",
    sinks: [{ write: (lines) => void records.push(...parseLines(lines)) }],
  });
  await collector.start();
  cleanUp(t, () => collector.stop());
  return { collector, records };
}

function open(t: TestContext, collector: Collector, options: ConnectionOptions): TLSSocket {
  const port = collector.flowStreamPorts().at(-1) ?? 0;
  const socket = connect({ host: "127.0.0.1", port, servername: "localhost", ...options });
  socket.on("error", () => {});
  cleanUp(t, () => socket.destroy());
  return socket;
}

test("IPFIX comes by TCP and by TLS from exporters with a certificate, through threads; SIGHUP reads certificates again", async (t) => {
  const { certPath, keyPath, cert, key } = selfSignedFiles(t);
  const { collector, records } = await start(t, {
    SVC_PROCESSOR_POOL_SIZE: "2",
    SVC_FLOW_SERVER_TCP_ENABLE: "true",
    SVC_FLOW_SERVER_TCP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_TCP_PORT: "0",
    SVC_FLOW_SERVER_TLS_ENABLE: "true",
    SVC_FLOW_SERVER_TLS_IP: "127.0.0.1",
    SVC_FLOW_SERVER_TLS_PORT: "0",
    SVC_FLOW_SERVER_TLS_CERT_FILEPATH: certPath,
    SVC_FLOW_SERVER_TLS_KEY_FILEPATH: keyPath,
    SVC_FLOW_SERVER_TLS_CA_CERT_FILEPATH: certPath,
  });
  assert.deepEqual(collector.flowPorts(), []);
  const plain = connectTcp(collector.flowStreamPorts()[0] ?? 0, "127.0.0.1");
  cleanUp(t, () => plain.destroy());
  plain.write(Buffer.concat([templates, data(1)]));
  await until("the record by TCP", () => records.length === 1 || undefined);

  const known = open(t, collector, { ca: cert, cert, key });
  const stream = Buffer.concat([templates, data(2), data(3)]);
  known.write(stream.subarray(0, 25));
  known.write(stream.subarray(25));
  await until("those by TLS", () => records.length === 3 || undefined);
  assert.deepEqual(
    records.map((record) => [record["flow.bytes"], record["flow.export.ip.addr"]]),
    [1, 2, 3].map((value) => [value, "127.0.0.1"]),
  );

  const stranger = open(t, collector, { ca: cert });
  stranger.write(stream);
  await new Promise((done) => stranger.once("close", done));
  const refused = { transport: "tls", reason: "handshake" };
  await until("its refusal", async () => {
    return (await collector.metrics.value("netgloss_flow_stream_closed_total", refused)) === 1 || undefined;
  });
  assert.equal(await collector.metrics.value("netgloss_flow_stream_messages_total", { transport: "tls" }), 3);

  const renewed = selfSigned();
  writeFileSync(certPath, renewed.cert);
  writeFileSync(keyPath, renewed.key);
  collector.reload();
  await until("the new certificate", async () => {
    const socket = open(t, collector, { ca: renewed.cert, cert: renewed.cert, key: renewed.key });
    const connected = once(socket, "secureConnect").then(() => true);
    const isNew = await Promise.race([connected, once(socket, "close").then(() => undefined)]).catch(() => undefined);
    return isNew === true && socket.authorized ? true : undefined;
  });
  known.write(data(4));
  await until("the open connection goes on", () => records.length === 4 || undefined);
});

test("handshakes count among the connections of a host: one that says nothing keeps no others out", async (t) => {
  const { certPath, keyPath, cert } = selfSignedFiles(t);
  const { collector } = await start(t, {
    SVC_PROCESSOR_POOL_SIZE: "main",
    SVC_FLOW_SERVER_TLS_ENABLE: "true",
    SVC_FLOW_SERVER_TLS_IP: "127.0.0.1",
    SVC_FLOW_SERVER_TLS_PORT: "0",
    SVC_FLOW_SERVER_TLS_CERT_FILEPATH: certPath,
    SVC_FLOW_SERVER_TLS_KEY_FILEPATH: keyPath,
    SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS: "3",
    SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS_PER_HOST: "2",
  });
  const silent = (): Socket => {
    const socket = connectTcp(collector.flowStreamPorts()[0] ?? 0, "127.0.0.1");
    socket.on("error", () => {});
    cleanUp(t, () => socket.destroy());
    return socket;
  };
  const waiting = [silent(), silent()];
  await Promise.all(waiting.map((socket) => once(socket, "connect")));
  const refused = silent();
  await new Promise((done) => refused.once("close", done));
  const closed = (reason: string): Promise<number | undefined> =>
    collector.metrics.value("netgloss_flow_stream_closed_total", { transport: "tls", reason });
  assert.equal(await closed("host_limit"), 1);
  assert.equal(await closed("handshake"), 0);
  const other = open(t, collector, { ca: cert, localAddress: "127.0.0.2" } as ConnectionOptions);
  await once(other, "secureConnect");
  other.write(Buffer.concat([templates, data(1)]));
  await until("its message", async () => {
    return (await collector.metrics.value("netgloss_flow_stream_messages_total", { transport: "tls" })) === 2;
  });
});

test("what does not fit together is said", async (t) => {
  const judge = (given: Record<string, string>): string => {
    const layer = Object.entries(given).map(([name, text]) => ({ name, text, origin: "test" }));
    try {
      readSettings([layer], () => "");
      return "";
    } catch (error) {
      return String((error as { problems?: readonly string[] }).problems ?? error);
    }
  };
  assert.match(judge({ SVC_FLOW_SERVER_TLS_ENABLE: "true" }), /SVC_FLOW_SERVER_TLS_CERT_FILEPATH must be set/);
  assert.match(
    judge({
      SVC_FLOW_SERVER_TCP_ENABLE: "true",
      SVC_FLOW_SERVER_TLS_ENABLE: "true",
      SVC_FLOW_SERVER_TLS_CERT_FILEPATH: "c",
      SVC_FLOW_SERVER_TLS_KEY_FILEPATH: "k",
      SVC_FLOW_SERVER_TLS_PORT: "4739",
    }),
    /SVC_FLOW_SERVER_TLS_PORT must not be/,
  );
  const { certPath } = selfSignedFiles(t);
  const settings = {
    SVC_FLOW_SERVER_TLS_ENABLE: "true",
    SVC_FLOW_SERVER_TLS_CERT_FILEPATH: certPath,
    SVC_FLOW_SERVER_TLS_KEY_FILEPATH: `${certPath}.no`,
  };
  await assert.rejects(start(t, settings), /cannot read .*\.no/);
});
