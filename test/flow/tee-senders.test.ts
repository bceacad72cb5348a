// What a tee does with its senders: a port for each, limits, silence, IPv6.
import assert from "node:assert/strict";
import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { Tee, type TeeOptions } from "../../src/flow/index.ts";
import { createMetrics, silentLog, type Metrics } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { until } from "../support/until.ts";
import { withoutIpv6 } from "../support/without-ipv6.ts";

interface Arrived {
  readonly bytes: Buffer;
  readonly from: RemoteInfo;
}

interface Stage {
  readonly metrics: Metrics;
  /** What the target got. */
  readonly arrived: readonly Arrived[];
  /** Sends, and waits until one datagram more has arrived. */
  send(from: Socket, bytes: Buffer): Promise<void>;
  passMinutes(minutes: number): void;
}

async function bound(t: TestContext, address: string): Promise<Socket> {
  const socket = createSocket(address.includes(":") ? "udp6" : "udp4");
  socket.bind(0, address);
  await once(socket, "listening");
  cleanUp(t, () => socket.close());
  return socket;
}

async function startStage(t: TestContext, ip: string, given: Partial<TeeOptions> = {}): Promise<Stage> {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const target = await bound(t, ip);
  const arrived: Arrived[] = [];
  target.on("message", (bytes, from) => void arrived.push({ bytes, from }));
  const metrics = createMetrics();
  let monotonic = 0;
  const tee = new Tee({
    ip,
    port: 0,
    targets: [{ name: "target", address: ip, port: target.address().port }],
    maxBytes: 1472,
    maxSenders: 1000,
    receiveBufferBytes: 0,
    log: silentLog,
    metrics,
    clock: { now: () => monotonic, monotonic: () => monotonic },
    ...given,
  });
  await tee.start();
  cleanUp(t, () => tee.stop());
  return {
    metrics,
    arrived,
    async send(from, bytes) {
      const expected = arrived.length + 1;
      from.send(bytes, tee.port(), ip);
      await until("the target has it", () => arrived.length === expected);
    },
    passMinutes(minutes) {
      monotonic += minutes * 60_000;
      // Whoever tidies up does so every minute, and sees what the clock says.
      t.mock.timers.tick(60_000);
    },
  };
}

const flow: PacketTemplate = { id: 256, fields: fields([8, 4], [1, 4]) };
const template = ipfix([ipfixTemplates(flow)]);
const data = ipfix([dataSet(flow, [ipv4("192.0.2.1"), uint(7, 4)])]);
const senders = ({ metrics }: Stage): Promise<number | undefined> => metrics.value("netgloss_tee_senders");
const portsOf = ({ arrived }: Stage): number[] => arrived.map(({ from }) => from.port);

test("each sender has a port of its own; after half an hour of silence it is closed, and templates go out by the next one", async (t) => {
  const stage = await startStage(t, "127.0.0.1");
  const [a, b] = [await bound(t, "127.0.0.2"), await bound(t, "127.0.0.3")];
  await stage.send(a, template);
  await stage.send(b, template);
  await stage.send(a, data);
  const [ofA, ofB, again] = portsOf(stage);
  assert.equal(again, ofA);
  assert.notEqual(ofB, ofA);
  assert.equal(await senders(stage), 2);

  stage.passMinutes(29);
  await stage.send(b, data);
  stage.passMinutes(2);
  assert.equal(await senders(stage), 1, "the silent one is gone");
  await stage.send(b, data);
  assert.equal(portsOf(stage).at(-1), ofB, "the other one keeps its port");

  await stage.send(a, data);
  assertHasBoth(stage);
  assert.equal(await senders(stage), 2);
});

/** The datagram that came last has the template, and behind it the record. */
function assertHasBoth({ arrived }: Stage): void {
  const bytes = arrived.at(-1)?.bytes ?? Buffer.alloc(0);
  assert.equal(bytes.readUInt16BE(16), 2, "a set of templates");
  assert.ok(bytes.indexOf(Buffer.from("c000020100000007", "hex")) > 16);
}

test("beyond the limit the sender that was silent for longest gives way, and nothing is lost", async (t) => {
  const stage = await startStage(t, "127.0.0.1", { maxSenders: 2 });
  const [a, b, c] = [await bound(t, "127.0.0.1"), await bound(t, "127.0.0.1"), await bound(t, "127.0.0.1")];
  for (const one of [a, b]) await stage.send(one, template);
  await stage.send(a, data);
  await stage.send(c, template);
  assert.equal(await senders(stage), 2);
  const [ofA] = portsOf(stage);
  await stage.send(a, data);
  assert.equal(portsOf(stage).at(-1), ofA, "it was not the one that gave way");
  await stage.send(b, data);
  assertHasBoth(stage);
  assert.equal(await senders(stage), 2);
  for (const reason of ["queue", "send"]) {
    assert.equal(await stage.metrics.value("netgloss_tee_send_drops_total", { target: "target", reason }), 0);
  }
});

test("a sender of IPv6 is named by element 131, on the way to a target of IPv6", { skip: withoutIpv6 }, async (t) => {
  const stage = await startStage(t, "::1");
  const a = await bound(t, "::1");
  await stage.send(a, template);
  await stage.send(a, data);
  const [templates, records] = stage.arrived;
  const text = templates?.bytes.toString("hex") ?? "";
  assert.ok(text.includes("000800040001000400830010"), text);
  assert.ok(records?.bytes.toString("hex").includes(`c000020100000007${"0".repeat(31)}1`));
});
