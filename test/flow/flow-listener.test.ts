import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { FlowListener, FlowListenError, type FlowListenerOptions } from "../../src/flow/index.ts";
import {
  createHealth,
  createMetrics,
  silentLog,
  systemClock,
  type Health,
  type Log,
  type Metrics,
} from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow5,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { parseLines, type Json } from "../support/flow-rig.ts";
import type { LogLine } from "../support/recorded-log.ts";
import { until } from "../support/until.ts";
import { withoutIpv6 } from "../support/without-ipv6.ts";

interface Running {
  readonly listener: FlowListener;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly records: Json[];
  /** One entry for each call of the sink. */
  readonly writes: { readonly count: number }[];
  readonly log: LogLine[];
  readonly sendTo: (port: number | undefined, ...datagrams: Buffer[]) => Promise<void>;
}

async function listen(t: TestContext, options: Partial<FlowListenerOptions> = {}): Promise<Running> {
  const metrics = createMetrics();
  const health = createHealth();
  const records: Json[] = [];
  const writes: { count: number }[] = [];
  const log: LogLine[] = [];
  const listener = new FlowListener({
    ip: "127.0.0.1",
    ports: [0],
    receiveBufferBytes: 65_536,
    enricher: { enrich: (record) => void record.set("seen", true) },
    sink: {
      write(lines, count) {
        records.push(...parseLines(lines));
        writes.push({ count });
      },
    },
    communityId: false,
    log: recordingLog(log),
    metrics,
    clock: systemClock,
    health,
    ...options,
  });
  cleanUp(t, () => listener.stop());
  await listener.start();
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  return {
    listener,
    metrics,
    health,
    records,
    writes,
    log,
    sendTo: (port, ...datagrams) => send(socket, port, datagrams),
  };
}

function recordingLog(lines: LogLine[]): Log {
  const line =
    (level: keyof Log): Log["info"] =>
    (fields_, message) =>
      void lines.push({ level, message, fields: fields_ });
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

async function send(socket: Socket, port: number | undefined, datagrams: readonly Buffer[]): Promise<void> {
  for (const datagram of datagrams) {
    await new Promise<void>((resolve, reject) => {
      socket.send(datagram, port, "127.0.0.1", (error) => (error === null ? resolve() : reject(error)));
    });
  }
}

const template: PacketTemplate = { id: 256, fields: fields([1, 4]) };

test("any port takes any protocol; a datagram's records leave together, enriched, with all that was counted", async (t) => {
  const { listener, metrics, health, records, writes, sendTo } = await listen(t, { ports: [0, 0] });
  assert.ok(health.isReady());
  const [first, second] = listener.ports();
  assert.notEqual(first, second);
  await sendTo(first, netflow5([{}, {}, {}]), ipfix([ipfixTemplates(template), dataSet(template, [uint(1, 4)])]));
  await sendTo(second, netflow9([netflow9Templates(template), dataSet(template, [uint(2, 4)], [uint(3, 4)])]));
  await until("six records", () => records.length === 6);

  assert.deepEqual(
    writes.map(({ count }) => count).toSorted((a, b) => a - b),
    [1, 2, 3],
  );
  assert.ok(records.every((record) => record["seen"] === true && record["flow.export.ip.addr"] === "127.0.0.1"));
  assert.deepEqual(new Set(records.map((record) => record["flow.export.version.ver"])), new Set([5, 9, 10]));
  for (const [protocol, count] of [
    ["netflow5", 3],
    ["netflow9", 2],
    ["ipfix", 1],
  ] as const) {
    assert.equal(await metrics.value("netgloss_flow_records_total", { protocol }), count);
    assert.equal(await metrics.value("netgloss_flow_datagrams_total", { protocol }), 1);
  }
  assert.equal(await metrics.value("netgloss_flow_bytes_total", { protocol: "netflow5" }), 24 + 3 * 48);
  assert.equal(await metrics.value("netgloss_flow_exporters"), 1);
  assert.equal((await listener.exporters())[0]?.records, 6);
});

test("hostile datagrams do not stop it", async (t) => {
  const { listener, metrics, records, sendTo } = await listen(t);
  const [port] = listener.ports();
  await sendTo(port, Buffer.alloc(0), Buffer.alloc(1), Buffer.alloc(1400, 0xff), netflow9([]).subarray(0, 5));
  await sendTo(port, netflow5([{}]));
  await until("the record behind them", () => records.length === 1);
  assert.equal(
    await metrics.value("netgloss_flow_drops_total", { protocol: "unknown", reason: "unknown_protocol" }),
    3,
  );
  assert.equal(await metrics.value("netgloss_flow_drops_total", { protocol: "netflow9", reason: "short_header" }), 1);
});

test("an enricher that throws costs a datagram and no more", async (t) => {
  let calls = 0;
  const enricher = {
    enrich() {
      if (calls++ === 1) throw new TypeError("a bug");
    },
  };
  const { listener, metrics, records, log, sendTo } = await listen(t, { enricher });
  await sendTo(listener.ports()[0], netflow5([{}, {}, {}]), netflow5([{}], { sequence: 3 }));
  await until("the records before and behind it", () => records.length === 2);
  assert.equal(await metrics.value("netgloss_flow_drops_total", { protocol: "netflow5", reason: "internal" }), 1);
  assert.ok(log.some(({ level, fields: { exporter } }) => level === "error" && exporter === "127.0.0.1"));
});

test("an IPv4 exporter on a dual-stack socket goes by its IPv4 address", async (t) => {
  const { listener, records, sendTo } = await listen(t, { ip: "" });
  await sendTo(listener.ports()[0], netflow5([{}]));
  await until("a record", () => records.length === 1);
  assert.equal(records[0]?.["flow.export.ip.addr"], "127.0.0.1");
});

test("an IPv6 exporter", { skip: withoutIpv6 }, async (t) => {
  const { listener, records } = await listen(t, { ip: "" });
  const socket = createSocket("udp6");
  cleanUp(t, () => socket.close());
  socket.send(netflow5([{}]), listener.ports()[0], "::1");
  await until("a record", () => records.length === 1);
  assert.equal(records[0]?.["flow.export.ip.addr"], "::1");
});

test("a port that is taken stops the start, names itself, and leaves nothing open", async (t) => {
  const taken = createSocket("udp4");
  cleanUp(t, () => taken.close());
  taken.bind(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address();
  const health = createHealth();
  const listener = new FlowListener({
    ip: "127.0.0.1",
    ports: [0, port],
    receiveBufferBytes: 65_536,
    enricher: { enrich() {} },
    sink: { write() {} },
    communityId: false,
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
    health,
  });
  await assert.rejects(listener.start(), (error: unknown) => {
    assert.ok(error instanceof FlowListenError);
    assert.equal(error.code, "flow_listen_failed");
    assert.match(
      error.message,
      new RegExp(`^cannot receive flows on UDP port ${port} of 127\\.0\\.0\\.1: another program .*EADDRINUSE`),
    );
    return true;
  });
  assert.deepEqual(listener.ports(), []);
  assert.equal(health.isReady(), false);
});

test("an address that is not this host's stops the start", async () => {
  const listener = new FlowListener({
    ip: "192.0.2.1",
    ports: [0],
    receiveBufferBytes: 65_536,
    enricher: { enrich() {} },
    sink: { write() {} },
    communityId: false,
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
    health: createHealth(),
  });
  await assert.rejects(listener.start(), /no interface of this host has the address \(EADDRNOTAVAIL\)/);
  await listener.stop();
});

test("the receive buffer is read back, and a clamped one is warned of with the line to raise the limit", async (t) => {
  const asked = 2 ** 30;
  const { listener, metrics, log } = await listen(t, { receiveBufferBytes: asked });
  const [port = 0] = listener.ports();
  const granted = (await metrics.value("netgloss_flow_receive_buffer_bytes", { port })) ?? 0;
  assert.ok(granted > 0);
  const warning = log.find(({ level }) => level === "warn");
  if (granted >= asked) assert.equal(warning, undefined);
  else assert.deepEqual(warning?.fields, { port, asked, granted, hint: `sysctl -w net.core.rmem_max=${asked}` });
});

test("what the kernel drops is counted", { skip: process.platform === "linux" ? false : "Linux only" }, async (t) => {
  const { listener, metrics, sendTo } = await listen(t, { receiveBufferBytes: 4096 });
  const [port = 0] = listener.ports();
  assert.equal(await metrics.value("netgloss_flow_kernel_drops_total", { port }), 0);
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  // Sent in one go: the listener, in the same thread, cannot read in between.
  const sent = Array.from({ length: 200 }, () => Buffer.alloc(1000));
  await new Promise<void>((resolve) => {
    let left = sent.length;
    for (const datagram of sent) socket.send(datagram, port, "127.0.0.1", () => --left === 0 && resolve());
  });
  await sendTo(port, netflow5([{}]));
  await until(
    "drops of the kernel",
    async () => ((await metrics.value("netgloss_flow_kernel_drops_total", { port })) ?? 0) > 0,
  );
  assert.ok(((await metrics.value("netgloss_flow_receive_queue_bytes", { port })) ?? -1) >= 0);
});

test("after a stop nothing is open, and stopping twice does no harm", async (t) => {
  const { listener, health } = await listen(t);
  const [port = 0] = listener.ports();
  await listener.stop();
  await listener.stop();
  assert.deepEqual(listener.ports(), []);
  assert.equal(health.isReady(), false);
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  socket.bind(port, "127.0.0.1");
  await once(socket, "listening");
});
