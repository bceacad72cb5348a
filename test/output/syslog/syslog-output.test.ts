import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import type { OutputAdapter } from "../../../src/output/index.ts";
import { cleanUp } from "../../support/clean-up.ts";
import { selfSignedFiles } from "../../support/self-signed.ts";
import { until } from "../../support/until.ts";
import { batchOf } from "../delivery/batch-fixture.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../delivery/output-contract.ts";
import { adapterOf, tlsSettings } from "../adapter-fixture.ts";
import { syslogServer, type SyslogSettings } from "./syslog-fixture.ts";

const signal = new AbortController().signal;
const accepted = { refused: [], retry: [] };

interface Receiver {
  readonly port: number;
  /** Messages of all connections, without their lengths. */
  readonly messages: string[];
  connections: number;
  /** What happens to a connection; reads it as a rule. */
  take: (socket: Socket) => void;
}

/** Takes the messages of a stream apart by their lengths (RFC 6587, 3.4.1). */
function readFrames(socket: Socket, add: (message: string) => void): void {
  let rest = Buffer.alloc(0);
  socket.on("data", (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const [head = "", digits = ""] = /^([1-9][0-9]*) /.exec(rest.toString("latin1", 0, 12)) ?? [];
      const end = head.length + Number(digits);
      if (head === "" || rest.length < end) return;
      add(rest.toString("utf8", head.length, end));
      rest = rest.subarray(end);
    }
  });
}

async function startReceiver(t: TestContext, tls?: { readonly key: string; readonly cert: string }): Promise<Receiver> {
  const open = new Set<Socket>();
  const accept = (socket: Socket): void => {
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    receiver.connections++;
    receiver.take(socket);
  };
  const server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const messages: string[] = [];
  const receiver: Receiver = {
    port: (server.address() as AddressInfo).port,
    messages,
    connections: 0,
    take: (socket) => readFrames(socket, (message) => messages.push(message)),
  };
  return receiver;
}

function outputTo(t: TestContext, port: number, given: Partial<SyslogSettings> = {}): OutputAdapter {
  const adapter = adapterOf("SYSLOG", syslogServer(`127.0.0.1:${port}`, given));
  cleanUp(t, () => adapter.close());
  return adapter;
}

const numberIn = (message: string): number => (JSON.parse(message.slice(message.indexOf("{"))) as { n: number }).n;

test("messages have the head of RFC 5424, and their length in bytes before them", async (t) => {
  const receiver = await startReceiver(t);
  const adapter = outputTo(t, receiver.port, {
    FACILITY: "local7",
    SEVERITY: "emerg",
    APP_NAME: "flows",
    HOSTNAME: "a.example",
  });
  assert.deepEqual(await adapter.open(signal), []);
  const lines = [
    '{"@timestamp":"2026-01-02T03:04:05.678Z","flow.export.ip.addr":"192.0.2.1","name":"Büro","n":1}',
    '{"@timestamp":"2026-01-02T03:04:05.679Z","flow.export.ip.addr":"192.0.2.1","flow.record.type":"options","n":2}',
    '{"system.ip.addr":"192.0.2.1","n":3}',
  ];
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  assert.deepEqual(receiver.messages, [
    `<184>1 2026-01-02T03:04:05.678Z a.example flows - flow - ${lines[0]}`,
    `<184>1 2026-01-02T03:04:05.679Z a.example flows - flow_option - ${lines[1]}`,
    `<184>1 - a.example flows - telemetry - ${lines[2]}`,
  ]);
});

test("a batch is delivered when the receiver has closed after reading it, not before", async (t) => {
  const receiver = await startReceiver(t);
  const adapter = outputTo(t, receiver.port);
  const lines = Array.from({ length: 2000 }, (_, n) => numberedFlow(n));
  const { take } = receiver;
  receiver.take = (socket) => socket.once("data", () => socket.resetAndDestroy());
  await assert.rejects(adapter.send(batchOf(lines), signal), /closed the connection/);
  receiver.take = (socket) => socket.pause();
  await assert.rejects(adapter.send(batchOf(lines), AbortSignal.timeout(50)), /TimeoutError/);
  receiver.take = take;
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  assert.deepEqual(
    receiver.messages.map(numberIn),
    lines.map((_, n) => n),
  );
});

test("with write, batches share a connection while the receiver keeps it", async (t) => {
  const receiver = await startReceiver(t);
  let last: Socket | undefined;
  const { take } = receiver;
  receiver.take = (socket) => {
    last = socket;
    take(socket);
  };
  const adapter = outputTo(t, receiver.port, { CONFIRM: "write" });
  for (let n = 0; n < 3; n++) await adapter.send(batchOf([numberedFlow(n)]), signal);
  await until("all arrive", () => receiver.messages.length === 3);
  assert.equal(receiver.connections, 1);
  last?.end();
  await until("a new connection is made", async () => {
    await adapter.send(batchOf([numberedFlow(3)]), signal);
    return receiver.connections === 2;
  });
});

test("TLS: only to a receiver whose certificate is trusted", async (t) => {
  const { key, cert, certPath } = selfSignedFiles(t);
  const receiver = await startReceiver(t, { key, cert });
  const trusting = outputTo(t, receiver.port, tlsSettings({ ca: certPath }));
  assert.deepEqual(await trusting.open(signal), []);
  assert.deepEqual(await trusting.send(batchOf([numberedFlow(1), numberedFlow(2)]), signal), accepted);
  assert.deepEqual(receiver.messages.map(numberIn), [1, 2]);
  await assert.rejects(outputTo(t, receiver.port, tlsSettings()).open(signal), /is not trusted .*: name its CA/);
  const plain = await startReceiver(t);
  plain.take = (socket) => socket.end("what?\n");
  await assert.rejects(outputTo(t, plain.port, tlsSettings()).open(signal), /does not speak TLS/);
});

test("UDP: a datagram for each record; what is too long for one is refused", async (t) => {
  const receiver = createSocket("udp4");
  const messages: string[] = [];
  receiver.on("message", (message) => messages.push(message.toString()));
  await new Promise<void>((resolve) => receiver.bind(0, "127.0.0.1", resolve));
  cleanUp(t, () => receiver.close());
  const adapter = outputTo(t, receiver.address().port, { PROTOCOL: "udp" });
  assert.match((await adapter.open(signal)).join(), /is not noticed/);
  const long = `{"flow.export.ip.addr":"192.0.2.1","pad":"${"x".repeat(65_500)}","n":1}`;
  const lines = [numberedFlow(0), long, ...Array.from({ length: 98 }, (_, i) => numberedFlow(i + 2))];
  assert.deepEqual(await adapter.send(batchOf(lines), signal), {
    refused: [{ index: 1, reason: "the record is longer than a datagram may be" }],
    retry: [],
  });
  await until("all arrive", () => messages.length === 99);
  assert.equal(
    messages.find((message) => numberIn(message) === 0)?.split("{")[0],
    "<134>1 2026-01-01T00:00:00.000Z collector netgloss - flow - ",
  );
});

test("what cannot be reached is named, the next receiver is used", async (t) => {
  const receiver = await startReceiver(t);
  const adapter = outputTo(t, 0, { ADDRESSES: ["127.0.0.1:1", `127.0.0.1:${receiver.port}`] });
  await assert.rejects(adapter.open(signal), /127\.0\.0\.1:1 refuses connections/);
  assert.deepEqual(await adapter.open(signal), []);
  assert.deepEqual(await adapter.send(batchOf([numberedFlow(1)]), signal), accepted);
  const unknown = outputTo(t, 0, { PROTOCOL: "udp", ADDRESSES: ["no-such-host.invalid:514"] });
  await assert.rejects(unknown.open(signal), /host name of no-such-host\.invalid:514/);
});

test("the ledger: nothing is missing", async (t) => {
  const receiver = await startReceiver(t);
  const proxy = await startFaultProxy(t, "127.0.0.1", receiver.port);
  const adapter = outputTo(t, proxy.port);
  const store = { adapter, proxy, isExactlyOnce: false, numbers: async () => receiver.messages.map(numberIn) };
  await keepLedger(t, store, { records: 2000, step: 20, faultMs: 20, config: { TIMEOUT: 0.2 } });
});

test("plain syslog to a port of TLS is not delivered, whatever the server does with it", async (t) => {
  const { key, cert } = selfSignedFiles(t);
  const receiver = await startReceiver(t, { key, cert });
  for (const confirm of ["close", "write"] as const) {
    const adapter = outputTo(t, receiver.port, { CONFIRM: confirm });
    await adapter.open(signal);
    const sent = adapter.send(batchOf([numberedFlow(1), numberedFlow(2)]), signal);
    await assert.rejects(sent, { blame: "operator", message: /does it speak TLS, which is off here/ }, confirm);
  }
  const plain = await startReceiver(t);
  // An alert of TLS, and then nothing.
  plain.take = (socket) => void socket.write(Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46]));
  const adapter = outputTo(t, plain.port);
  await adapter.open(signal);
  await assert.rejects(adapter.send(batchOf([numberedFlow(1)]), signal), { blame: "operator" });
});
