import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { FlowReceiver, type StreamOptions } from "../../src/flow/index.ts";
import { createMetrics, systemClock, type Log, type Metrics } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { dataSet, fields, ipfix, ipfixTemplates, uint, type PacketTemplate } from "../../packages/testkit/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import type { LogLine } from "../support/recorded-log.ts";
import { until } from "../support/until.ts";

const octets: PacketTemplate = { id: 256, fields: fields([1, 4]) };
const packets: PacketTemplate = { id: 256, fields: fields([2, 4]) };
const data = (value: number): Buffer => ipfix([dataSet(octets, [uint(value, 4)])]);

interface Received {
  readonly bytes: Buffer;
  readonly address: string;
  readonly port: number;
}

interface Running {
  readonly receiver: FlowReceiver;
  readonly metrics: Metrics;
  readonly received: Received[];
  readonly log: LogLine[];
  /** Whether there is room for messages. */
  room: boolean;
  readonly connect: (localAddress?: string) => Promise<Socket>;
  readonly value: (name: string, labels?: Record<string, string>) => Promise<number | undefined>;
}

async function run(t: TestContext, limits: Partial<StreamOptions> = {}): Promise<Running> {
  const metrics = createMetrics();
  const received: Received[] = [];
  const log: LogLine[] = [];
  const line =
    (level: keyof Log) =>
    (of: Readonly<Record<string, unknown>>, message: string): void =>
      void log.push({ level, message, fields: of });
  const state = { room: true };
  const receiver = new FlowReceiver({
    ip: "127.0.0.1",
    ports: [],
    receiveBufferBytes: 4096,
    take() {},
    streams: { ports: [{ ip: "127.0.0.1", port: 0 }], maxConnections: 10, maxPerHost: 10, idleMs: 60_000, ...limits },
    offer(bytes, address, port) {
      if (state.room) received.push({ bytes: Buffer.from(bytes), address, port });
      return state.room;
    },
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
    metrics,
    clock: systemClock,
  });
  await receiver.start();
  const sockets: Socket[] = [];
  cleanUp(t, async () => {
    for (const socket of sockets) socket.destroy();
    await receiver.stop();
  });
  return Object.assign(state, {
    receiver,
    metrics,
    received,
    log,
    async connect(localAddress = "127.0.0.1") {
      const socket = connect({ port: receiver.streamPorts()[0] ?? 0, host: "127.0.0.1", localAddress });
      socket.on("error", () => {});
      sockets.push(socket);
      await once(socket, "connect");
      return socket;
    },
    value: (name: string, labels: Record<string, string> = { transport: "tcp" }) =>
      metrics.value(`netgloss_flow_stream_${name}`, labels),
  });
}

/** Also after a reset. */
const closing = (socket: Socket): Promise<unknown> => new Promise((done) => socket.once("close", done));
const closedBy = (reason: string): Record<string, string> => ({ transport: "tcp", reason });

test("all metrics of connections are there from the start, at zero", async (t) => {
  const { metrics } = await run(t);
  const lines = (await metrics.render()).split("\n").filter((text) => text.startsWith("netgloss_flow_stream_"));
  assert.equal(lines.length, 2 * (5 + 12) + 1);
  assert.deepEqual(
    lines.filter((text) => !text.endsWith(" 0")),
    [],
  );
});

test("messages of a connection are handed over in order with the sender and a session of their own, then its end", async (t) => {
  const { received, connect: open, value } = await run(t);
  const [one, two] = [await open(), await open()];
  const { localPort } = one;
  const [first, second] = [data(1), data(2)];
  one.write(Buffer.concat([first, second.subarray(0, 7)]));
  await until("the first message", () => received.length === 1 || undefined);
  two.write(first);
  await until("the other's", () => received.length === 2 || undefined);
  assert.equal(await value("connections"), 2);
  assert.equal(await value("held_bytes", {}), 7);
  one.end(second.subarray(7));
  await until("the end", () => received.length === 4 || undefined);
  const [a, b, c, end] = received as [Received, Received, Received, Received];
  assert.deepEqual([a.bytes, b.bytes, c.bytes, end.bytes.length], [first, first, second, 0]);
  assert.equal(a.port % 65_536, localPort);
  assert.ok(a.port > 65_535);
  assert.deepEqual([c.port, end.port], [a.port, a.port]);
  assert.notEqual(Math.floor(a.port / 65_536), Math.floor(b.port / 65_536));
  assert.equal(a.address, "127.0.0.1");
  assert.equal(await value("messages_total"), 3);
  assert.equal(await value("closed_total", closedBy("peer")), 1);
  assert.equal(await value("connections"), 1);
  assert.equal(await value("lost_bytes_total"), 0);
});

for (const [reason, bytes] of [
  ["bad_version", Buffer.concat([data(1), Buffer.from("GET / HTTP/1.1\r\n")])],
  ["bad_length", Buffer.concat([data(1), Buffer.from("000a000f", "hex")])],
] as const) {
  test(`${reason}: what came before is used, the connection is closed, counted and logged`, async (t) => {
    const { received, connect: open, value, log } = await run(t);
    const socket = await open();
    const { localPort } = socket;
    socket.write(bytes);
    await closing(socket);
    await until("the end", () => received.length === 2 || undefined);
    assert.deepEqual(received[0]?.bytes, data(1));
    assert.equal(await value("closed_total", closedBy(reason)), 1);
    assert.equal(await value("lost_bytes_total"), bytes.length - data(1).length);
    assert.ok(log.some(({ level, fields: of }) => level === "warn" && of["port"] === localPort));
  });
}

test("a connection that ends within a message is counted, with its bytes", async (t) => {
  const { connect: open, value } = await run(t);
  (await open()).end(data(1).subarray(0, 9));
  await until("the end", async () => (await value("closed_total", closedBy("cut_message"))) === 1 || undefined);
  assert.equal(await value("lost_bytes_total"), 9);
});

test("without room the socket is not read, and nothing is lost: not even of an exporter that has gone", async (t) => {
  const running = await run(t);
  const { received, connect: open, value } = running;
  running.room = false;
  const [many, gone] = [await open(), await open()];
  const big = Buffer.alloc(60_000, 7);
  big.writeUInt16BE(10, 0);
  big.writeUInt16BE(big.length, 2);
  const count = 400;
  let sent = 0;
  many.setMaxListeners(0);
  for (let i = 0; i < count; i++) many.write(big, () => sent++);
  gone.end(data(5));
  await until("both wait", async () => (await value("pauses_total")) === 2 || undefined);
  await pause(50);
  assert.ok(sent < count, "the exporter has to wait");
  assert.ok(((await value("held_bytes", {})) ?? 0) < 300_000);
  assert.equal(received.length, 0);
  running.room = true;
  many.end();
  await until("all", () => received.length === count + 1 + 2 || undefined);
  assert.equal(received.filter(({ bytes }) => bytes.equals(big)).length, count);
  assert.equal(received.filter(({ bytes }) => bytes.equals(data(5))).length, 1);
  assert.equal(await value("lost_bytes_total"), 0);
  assert.equal(await value("connections"), 0);
});

test("connections beyond the limit are refused", async (t) => {
  const { connect: open, value } = await run(t, { maxConnections: 1 });
  const kept = await open();
  const refused = await open();
  await closing(refused);
  assert.equal(await value("closed_total", closedBy("limit")), 1);
  assert.equal(kept.destroyed, false);
});

test("one host has no more than its share of the connections; others still get in, and it again once one has ended", async (t) => {
  const { connect: open, value, log } = await run(t, { maxConnections: 4, maxPerHost: 2 });
  const kept = [await open(), await open()];
  await closing(await open());
  assert.equal(await value("closed_total", closedBy("host_limit")), 1);
  assert.ok(log.some(({ fields: of }) => /_PER_HOST are open/.test(String(of["reason"]))));
  const other = await open("127.0.0.2");
  await until("the other", async () => (await value("connections")) === 3);
  assert.equal(other.destroyed, false);
  kept[0]?.end();
  await until("its end", async () => (await value("connections")) === 2);
  const again = await open();
  await until("it again", async () => (await value("connections")) === 3);
  assert.equal(again.destroyed, false);
  assert.equal(await value("closed_total", closedBy("host_limit")), 1);
});

test("connections of a host whose socket is closed and whose messages wait count for it, too", async (t) => {
  const running = await run(t, { maxPerHost: 1 });
  running.room = false;
  (await running.connect()).end(data(1));
  await until("it waits", async () => (await running.value("pauses_total")) === 1);
  await until("a refusal", async () => {
    await closing(await running.connect());
    return (await running.value("closed_total", closedBy("host_limit"))) === 1;
  });
  running.room = true;
  await until("all is taken", () => running.received.length === 2);
});

test("an idle connection is closed", async (t) => {
  const { connect: open, value } = await run(t, { idleMs: 150 });
  await closing(await open());
  await until("the count", async () => (await value("closed_total", closedBy("idle"))) === 1 || undefined);
});

test("a connection whose message does not end is closed", async (t) => {
  // The bound of idle connections is far away: on a host that stalls it would otherwise fall before the first byte.
  const { connect: open, value } = await run(t, { messageMs: 80 });
  const slow = await open();
  const message = data(1).subarray(0, -1);
  let sent = 0;
  // A byte at a time, and never the last one.
  const timer = setInterval(() => slow.write(message.subarray(sent, ++sent)), 10);
  cleanUp(t, () => clearInterval(timer));
  await closing(slow);
  await until("the count", async () => (await value("closed_total", closedBy("slow_message"))) === 1 || undefined);
});

test("connections of exporters whose templates were lost are closed", async (t) => {
  const { receiver, received, connect: open, value } = await run(t);
  const socket = await open();
  socket.write(data(1));
  await until("the message", () => received.length === 1 || undefined);
  receiver.closeSessions((address) => address === "192.0.2.1");
  receiver.closeSessions((address) => address === "127.0.0.1");
  await closing(socket);
  const reason = closedBy("thread_restart");
  await until("the count", async () => (await value("closed_total", reason)) === 1 || undefined);
});

const session = (number: number, port = 50_000): number => number * 65_536 + port;

test("a template is known in its session alone, and ends with it", async () => {
  const rig = createFlowRig({ templateTtlMs: 60_000 });
  const templates = ipfix([ipfixTemplates(octets)]);
  const other = ipfix([ipfixTemplates(packets)]);
  rig.send(templates, { port: session(1) });
  // The same address and port: another connection, and datagrams.
  assert.deepEqual(rig.send(data(1), { port: session(2) }), []);
  assert.deepEqual(rig.send(data(2), { port: 50_000 }), []);
  rig.send(other, { port: 50_000 });
  assert.equal(rig.send(data(3), { port: session(1) })[0]?.["flow.bytes"], 3);
  assert.equal(rig.send(data(3), { port: 50_000 })[0]?.["flow.packets"], 3);
  assert.deepEqual(rig.send(data(4), { port: session(2) }), [], "not those of datagrams either");
  // By TCP a template is sent once: it does not expire.
  rig.time += 3_600_000;
  rig.pipeline.tidy();
  assert.equal(rig.send(data(5), { port: session(1) })[0]?.["flow.bytes"], 5);
  assert.deepEqual(
    rig.pipeline.exporters()[0]?.domains.map(({ port }) => port),
    [50_000, 50_000, 50_000],
  );
  const before = await rig.value("netgloss_flow_memory_bytes");
  rig.send(Buffer.alloc(0), { port: session(1) });
  assert.ok((await rig.value("netgloss_flow_memory_bytes")) < before);
  assert.deepEqual(rig.send(data(6), { port: session(1) }), []);
  rig.send(Buffer.alloc(0), { port: session(1) });
  rig.send(Buffer.alloc(0), { port: session(2) });
  assert.equal(rig.pipeline.exporters()[0]?.domains.length, 1);
  // The end of a session is no datagram.
  assert.equal(await rig.value("netgloss_flow_datagrams_total", { protocol: "unknown" }), 0);
});

test("a session may withdraw its template; what it says is not kept over a restart", async () => {
  const rig = createFlowRig();
  rig.send(ipfix([ipfixTemplates(octets)]), { port: session(1) });
  assert.deepEqual(rig.pipeline.exportState("all").changed, []);
  const withdrawal = Buffer.concat([uint(2, 2), uint(8, 2), uint(256, 2), uint(0, 2)]);
  rig.send(ipfix([withdrawal]), { port: session(1) });
  assert.equal(await rig.value("netgloss_flow_templates_total", { protocol: "ipfix", change: "withdrawn" }), 1);
  assert.deepEqual(rig.send(data(1), { port: session(1) }), []);
  rig.send(ipfix([ipfixTemplates(packets)]), { port: session(1) });
  assert.equal(rig.send(data(2), { port: session(1) })[0]?.["flow.packets"], 2);
});
