import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import * as fc from "fast-check";
import { createRing, RingReader, RingWriter } from "../../src/flow/index.ts";
import { runs } from "../support/runs.ts";

interface Taken {
  readonly bytes: string;
  readonly address: string;
  readonly port: number;
  readonly receivedAt: number;
}

function readAll(reader: RingReader, limit = Infinity): Taken[] {
  const taken: Taken[] = [];
  reader.read((bytes, address, port, receivedAt) => {
    taken.push({ bytes: bytes.toString("hex"), address, port, receivedAt });
  }, limit);
  return taken;
}

const ringBytes = 65_536;
const addresses = ["192.0.2.1", "2001:db8::1", "::ffff:198.51.100.7", "fe80::1%eth0"];

test("what is written is read in its order, however the two take turns", () => {
  const datagram = fc.record({
    length: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 20_000 })),
    address: fc.constantFrom(...addresses),
    port: fc.integer({ min: 0, max: 65_535 }),
    receivedAt: fc.double({ min: 0, max: 4e12, noNaN: true }),
  });
  const turns = fc.array(
    fc.record({ write: fc.array(datagram, { maxLength: 8 }), read: fc.integer({ max: 10, min: 0 }) }),
  );
  fc.assert(
    fc.property(turns, (all) => {
      const ring = createRing(ringBytes);
      const writer = new RingWriter(ring, () => {});
      const reader = new RingReader(ring);
      const model: Taken[] = [];
      let fill = 0;
      for (const { write, read } of all) {
        for (const { length, address, port, receivedAt } of write) {
          const bytes = Buffer.alloc(length, (fill = (fill + 1) % 251));
          if (writer.write(bytes, address, port, receivedAt)) {
            model.push({ bytes: bytes.toString("hex"), address, port, receivedAt });
          } else assert.ok(writer.used() + length + 1024 > ringBytes / 2, "refused though there is room");
        }
        assert.deepEqual(readAll(reader, read), model.splice(0, read));
      }
      assert.deepEqual(readAll(reader), model);
      assert.equal(writer.used(), 0);
    }),
    runs(60),
  );
});

test("a full ring refuses and goes on when there is room again", () => {
  const ring = createRing(ringBytes);
  const writer = new RingWriter(ring, () => {});
  const reader = new RingReader(ring);
  const bytes = Buffer.alloc(1400, 7);
  let count = 0;
  while (writer.write(bytes, "192.0.2.1", 2055, count)) count++;
  assert.ok(count >= 44, `only ${count} datagrams of 1400 bytes fit into 64 KiB`);
  assert.equal(readAll(reader, 1).length, 1);
  assert.equal(writer.write(bytes, "192.0.2.1", 2055, count), true);
  assert.equal(readAll(reader).length, count);
});

test("a datagram longer than the ring is refused", () => {
  const writer = new RingWriter(createRing(ringBytes), () => {});
  assert.equal(writer.write(Buffer.alloc(ringBytes), "192.0.2.1", 1, 0), false);
});

test("addresses are numbered again when there are too many", () => {
  const ring = createRing(1 << 20);
  const writer = new RingWriter(ring, () => {});
  const reader = new RingReader(ring);
  for (let i = 0; i < 70_000; i++) {
    const address = `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
    assert.equal(writer.write(Buffer.from([1]), address, 1, 0), true);
    assert.deepEqual(
      readAll(reader).map((taken) => taken.address),
      [address],
    );
  }
});

test("a sleeping reader is woken once, at the next write", () => {
  const ring = createRing(ringBytes);
  let woken = 0;
  const writer = new RingWriter(ring, () => woken++);
  const reader = new RingReader(ring);
  assert.equal(reader.sleep(), true);
  writer.write(Buffer.from([1]), "192.0.2.1", 1, 0);
  writer.write(Buffer.from([2]), "192.0.2.1", 1, 0);
  assert.equal(woken, 1);
  assert.equal(reader.sleep(), false, "there is something to read");
  assert.equal(readAll(reader).length, 2);
  writer.write(Buffer.from([3]), "192.0.2.1", 1, 0);
  assert.equal(woken, 1, "it did not sleep");
});

test("either side may be followed by another: only what the old reader alone could understand is lost, and counted", () => {
  const ring = createRing(ringBytes);
  const first = new RingWriter(ring, () => {});
  const write = (writer: RingWriter, ...numbers: number[]): void => {
    for (const number of numbers) {
      assert.equal(writer.write(Buffer.from([number]), addresses[number % 2] ?? "", number, 0), true);
    }
  };
  const portsOf = (reader: RingReader): number[] => readAll(reader).map(({ port }) => port);
  const dead = new RingReader(ring);
  write(first, 1, 2);
  assert.deepEqual(portsOf(dead), [1, 2]);
  write(first, 3, 4);
  const reader = new RingReader(ring);
  write(first, 5, 6);
  assert.deepEqual(portsOf(reader), [5, 6]);
  assert.equal(reader.lost, 2);
  write(new RingWriter(ring, () => {}), 8, 7);
  assert.deepEqual(
    readAll(reader).map(({ port, address }) => [port, address]),
    [
      [8, addresses[0]],
      [7, addresses[1]],
    ],
  );
  assert.equal(reader.lost, 2);
});

test("another thread reads what this one writes, bytes and order intact", async () => {
  const ring = createRing(ringBytes);
  const door = new URL("../../src/flow/index.js", import.meta.url).href;
  const worker = new Worker(
    `import { workerData, parentPort } from "node:worker_threads";
     import { createHash } from "node:crypto";
     const { RingReader } = await import(${JSON.stringify(door)});
     const reader = new RingReader(workerData.ring);
     const hash = createHash("sha256");
     let count = 0;
     while (count < workerData.count) {
       reader.read((bytes, address, port) => { hash.update(bytes).update(address + port); count++; }, 16);
     }
     parentPort.postMessage(hash.digest("hex"));`,
    { eval: true, workerData: { ring, count: 20_000 } },
  );
  const digest = new Promise<string>((resolve, reject) => worker.once("message", resolve).once("error", reject));
  const { createHash } = await import("node:crypto");
  const hash = createHash("sha256");
  const writer = new RingWriter(ring, () => {});
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.alloc(1 + ((i * 7919) % 1500), i);
    const address = addresses[i % addresses.length] as string;
    hash.update(bytes).update(`${address}${i % 65_536}`);
    while (!writer.write(bytes, address, i % 65_536, i)) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(await digest, hash.digest("hex"));
  await worker.terminate();
});

test("connections leave half of a ring to datagrams", () => {
  const ring = createRing(ringBytes);
  const writer = new RingWriter(ring, () => {});
  const reader = new RingReader(ring);
  const bytes = Buffer.alloc(1000);
  let ofStreams = 0;
  while (writer.hasRoomForStreams("192.0.2.1")) {
    assert.ok(writer.write(bytes, "192.0.2.1", 65_536 + 2055, 0));
    ofStreams++;
  }
  assert.equal(ofStreams, 32);
  let ofDatagrams = 0;
  while (writer.write(bytes, "192.0.2.1", 2055, 0)) ofDatagrams++;
  assert.ok(ofDatagrams > 28);
  readAll(reader, ofDatagrams + 1);
  assert.ok(writer.hasRoomForStreams("192.0.2.1"));
});

test("a read ends after so many bytes, and goes on there", () => {
  const ring = createRing(ringBytes);
  const writer = new RingWriter(ring, () => {});
  const reader = new RingReader(ring);
  for (const length of [900, 200, 5000, 10]) writer.write(Buffer.alloc(length), "192.0.2.1", 2055, 0);
  const counts = Array.from({ length: 4 }, () => reader.read(() => {}, 16, 1000));
  assert.deepEqual(counts, [2, 1, 1, 0]);
});
