import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import { createInterfaceCounters, type InterfaceCounters } from "../../packages/testkit/index.ts";
import { createDemoExporter, createRandom } from "../../packages/testkit/index.ts";
import { until } from "../support/until.ts";

/** The first `count` datagrams of an exporter with this seed at a fixed time, by protocol version. */
async function datagrams(
  seed: number,
  count: number,
  counters: InterfaceCounters = createInterfaceCounters(),
): Promise<Map<number, Buffer[]>> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const received = new Map<number, Buffer[]>([5, 9, 10].map((version) => [version, []]));
  let total = 0;
  socket.on("message", (datagram) => {
    if (total++ < count) received.get(datagram.readUInt16BE(0))?.push(datagram);
  });
  const clock = { now: () => 1_700_000_000_123, monotonic: () => 0 };
  const { port } = socket.address();
  const exporter = createDemoExporter({ port, random: createRandom(seed), clock, intervalMs: 1, counters });
  await exporter.start();
  await until(`${count} datagrams`, () => total >= count);
  await exporter.stop();
  socket.close();
  return received;
}

test("the same seed gives the same datagrams, another seed others", async () => {
  const [first, again, other] = [await datagrams(1, 30), await datagrams(1, 30), await datagrams(2, 30)];
  assert.deepEqual(first, again);
  assert.notDeepEqual(first, other);
});

test("headers give lengths, counts and sequence in the unit of their protocol; templates come again and again", async () => {
  const received = await datagrams(1, 3 * 45);
  for (const [i, datagram] of (received.get(5) ?? []).entries()) {
    const count = datagram.readUInt16BE(2);
    assert.equal(datagram.length, 24 + 48 * count);
    assert.equal(datagram.readUInt32BE(16), i * count, "counts records");
  }
  for (const [i, datagram] of (received.get(9) ?? []).entries()) {
    assert.equal(datagram.readUInt32BE(12), i, "counts datagrams");
    assert.equal(datagram.readUInt16BE(20) === 0, i % 20 === 0, "templates in every twentieth");
    assert.equal(datagram.readUInt16BE(2), i % 20 === 0 ? 6 : 4);
  }
  for (const [i, datagram] of (received.get(10) ?? []).entries()) {
    assert.equal(datagram.readUInt16BE(2), datagram.length);
    assert.equal(datagram.readUInt32BE(8), i * 4, "counts records");
    assert.equal(datagram.readUInt16BE(16) === 2, i % 20 === 0, "templates in every twentieth");
  }
  assert.deepEqual(
    [...received.values()].map((list) => list.length),
    [45, 45, 45],
  );
});

test("the counters of the interfaces are what the flows account for", async () => {
  const counters = createInterfaceCounters();
  // The exporter may send more than what is received here.
  let rounds = 0;
  const watched: InterfaceCounters = {
    add(exporter, flows) {
      if (exporter === "127.0.1.5" && rounds++ < 10) counters.add(exporter, flows);
    },
    bytes: (exporter, index) => counters.bytes(exporter, index),
  };
  const received = (await datagrams(1, 30, watched)).get(5) ?? [];
  assert.equal(received.length, 10);
  for (const index of [1, 2]) {
    let [into, outOf] = [0, 0];
    for (const datagram of received) {
      for (let at = 24; at < datagram.length; at += 48) {
        if (datagram.readUInt16BE(at + 12) === index) into += datagram.readUInt32BE(at + 20);
        if (datagram.readUInt16BE(at + 14) === index) outOf += datagram.readUInt32BE(at + 20);
      }
    }
    assert.ok(into > 0 && outOf > 0);
    assert.deepEqual(counters.bytes("127.0.1.5", index), { into, outOf });
  }
});
