import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as hold, asyncProperty, integer, uint8Array } from "fast-check";
import {
  CaptureError,
  DatagramReader,
  readCapture,
  type CapturedDatagram,
  type Frame,
} from "../../../src/flow/index.ts";
import { framings, ipPacketWith, pcapFile, pcapngFile } from "../../support/capture-file.ts";

async function* inPieces(bytes: Buffer, size = bytes.length): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function frames(bytes: Buffer, size?: number): Promise<Frame[]> {
  const found: Frame[] = [];
  for await (const frame of readCapture(inPieces(bytes, size))) found.push(frame);
  return found;
}

const time = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const payload = Buffer.from("the datagram");
const packets = [1, 2, 3].map((n) => ({ time: time + n, bytes: Buffer.alloc(n, n), wireLength: n + 10 }));
const seen = packets.map(({ time: at, bytes, wireLength }) => ({ linkType: 101, time: at, bytes, wireLength }));

test("pcap in both byte orders, with micro- and nanoseconds, in pieces of any size", async () => {
  for (const isBig of [false, true]) {
    for (const isNano of [false, true]) {
      const file = pcapFile(packets, { linkType: 101, isBig, isNano });
      for (const size of [1, 7, file.length]) assert.deepEqual(await frames(file, size), seen);
    }
  }
});

test("pcapng in both byte orders, with any resolution and offset of times, and older blocks", async () => {
  for (const isBig of [false, true]) {
    for (const format of [
      {},
      { resolution: 9 },
      { resolution: 3 },
      { resolution: 128 + 20 },
      { offset: 3600 },
      { kind: "old" as const },
    ]) {
      const file = pcapngFile(packets, { linkType: 101, isBig, ...format });
      const found = await frames(file, 5);
      // A unit of a power of two seconds is no whole number of milliseconds.
      const times = found.map(({ time: at }, i) => Math.abs((at ?? 0) - (seen[i]?.time ?? 0)) <= 1);
      assert.deepEqual(times, [true, true, true], JSON.stringify(format));
      assert.deepEqual(
        found.map(({ linkType, bytes, wireLength }) => [linkType, bytes, wireLength]),
        seen.map(({ linkType, bytes, wireLength }) => [linkType, bytes, wireLength]),
      );
    }
    const simple = await frames(
      pcapngFile(
        packets.map(({ time: at, bytes }) => ({ time: at, bytes })),
        { linkType: 101, isBig, kind: "simple" },
      ),
    );
    assert.deepEqual(
      simple.map(({ time: at, bytes }) => [at, bytes]),
      packets.map(({ bytes }) => [undefined, bytes]),
    );
  }
});

function datagrams(found: readonly Pick<Frame, "linkType" | "bytes">[]): {
  kinds: string[];
  taken: CapturedDatagram[];
} {
  const reader = new DatagramReader();
  const taken: CapturedDatagram[] = [];
  const kinds = found.map((frame) =>
    reader.read({ time: 0, wireLength: 0, ...frame }, (datagram) => void taken.push(datagram)),
  );
  return { kinds, taken };
}

const v4 = [192, 0, 2, 7];
const v6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];

for (const [name, linkType, frame] of framings) {
  test(`a datagram in a frame of ${name}, IPv4 and IPv6`, () => {
    for (const [source, address] of [
      [v4, "192.0.2.7"],
      [v6, "2001:db8::7"],
    ] as const) {
      // What pads a short frame is no part of the datagram.
      const bytes = Buffer.concat([frame(ipPacketWith(payload, source, [1234, 2055])), Buffer.alloc(6, 0xee)]);
      const { taken } = datagrams([{ linkType, bytes }]);
      assert.deepEqual(taken, [{ address, port: 1234, destinationPort: 2055, payload }]);
    }
  });
}

test("what is no UDP, is cut, or is of a link type that is not known is said", () => {
  const packet = ipPacketWith(payload, v4, [1, 2]);
  const tcp = Buffer.from(packet);
  tcp[9] = 6;
  const { kinds, taken } = datagrams([
    { linkType: 101, bytes: tcp },
    { linkType: 101, bytes: packet.subarray(0, packet.length - 1) },
    { linkType: 147, bytes: packet },
    { linkType: 1, bytes: Buffer.alloc(60) },
    { linkType: 101, bytes: Buffer.alloc(0) },
  ]);
  assert.deepEqual(kinds, ["other", "cut", "unknown_link", "other", "other"]);
  assert.deepEqual(taken, []);
});

test("fragments are put together in any order; a packet that lacks one is counted", () => {
  const long = Buffer.from(Array.from({ length: 100 }, (_, i) => i));
  const whole = ipPacketWith(long, v4, [9, 2055]);
  const piece = (from: number, to: number): { linkType: number; bytes: Buffer } => {
    const body = whole.subarray(20 + from, 20 + to);
    const bytes = Buffer.concat([whole.subarray(0, 20), body]);
    bytes.writeUInt16BE(bytes.length, 2);
    bytes.writeUInt16BE((to < whole.length - 20 ? 0x2000 : 0) | (from / 8), 6);
    return { linkType: 101, bytes };
  };
  const pieces = [piece(0, 40), piece(40, 80), piece(80, 108)] as const;
  const { kinds, taken } = datagrams([pieces[2], pieces[0], pieces[1], pieces[1]]);
  assert.deepEqual(kinds, ["fragment", "fragment", "datagram", "fragment"]);
  assert.deepEqual(
    taken.map(({ payload: bytes }) => Buffer.from(bytes)),
    [long],
  );
  const reader = new DatagramReader();
  reader.read({ time: 0, wireLength: 0, ...pieces[1] }, () => assert.fail());
  assert.equal(reader.incomplete(), 1);
});

test("a damaged capture gives the packets before the fault, and says where it is", async () => {
  const file = pcapFile(packets, { linkType: 1 });
  for (const [bytes, message, count] of [
    [Buffer.alloc(0), /the capture is empty/, 0],
    [Buffer.from("no capture at all"), /it is no capture/, 0],
    [Buffer.from([0x1f, 0x8b, 8, 0]), /gunzip/, 0],
    [file.subarray(0, 10), /ends within/, 0],
    [file.subarray(0, file.length - 1), /ends within a packet, at byte \d+/, 2],
    [file.subarray(0, file.length - 10), /ends within a packet, at byte \d+/, 2],
    [pcapngFile(packets, { linkType: 1 }).subarray(0, 60), /ends within/, 0],
  ] as const) {
    const found: Frame[] = [];
    await assert.rejects(
      async () => {
        for await (const frame of readCapture(inPieces(bytes))) found.push(frame);
      },
      (error) => error instanceof CaptureError && message.test(error.message),
    );
    assert.equal(found.length, count, String(message));
  }
});

test("hostile bytes give packets or a CaptureError, nothing else", async () => {
  const good = [pcapFile(packets, { linkType: 1 }), pcapngFile(packets, { linkType: 1 })];
  await hold(
    asyncProperty(
      integer({ min: 0, max: 1 }),
      array(integer({ min: 0, max: 400 }), { maxLength: 6 }),
      uint8Array({ minLength: 6, maxLength: 6 }),
      async (which, places, values) => {
        const bytes = Buffer.from(good[which] as Buffer);
        places.forEach((place, i) => (bytes[place % bytes.length] = values[i] as number));
        const reader = new DatagramReader();
        try {
          for await (const frame of readCapture(inPieces(bytes, 9))) reader.read(frame, () => {});
        } catch (error) {
          assert.ok(error instanceof CaptureError, String(error));
        }
      },
    ),
    { seed: 1, numRuns: 300 },
  );
});
