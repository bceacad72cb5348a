import assert from "node:assert/strict";
import { test } from "node:test";
import { createRing, RingReader, RingWriter, type SenderReputation } from "../../src/flow/index.ts";

/** A ring, a clock that only decoding moves, and what became of each sender's datagrams. */
interface Rig {
  readonly writer: RingWriter;
  readonly read: (datagrams: number) => number;
  /** Puts a datagram as the receiving thread does. */
  readonly offer: (address: string, length?: number) => string;
  readonly taken: Map<string, number>;
}

const ringBytes = 1 << 20;
const hostile = (i: number): string => `198.51.100.${i}`;
const good = (i: number): string => `192.0.2.${i}`;
const isGood = (address: string): boolean => address.startsWith("192.0.2.");

interface RigOptions {
  readonly costMs?: (address: string) => number;
  readonly reputation?: (address: string) => SenderReputation;
}

function createRig({
  costMs = (address) => (isGood(address) ? 0.2 : 1),
  reputation = (address) => (isGood(address) ? "good" : "unknown"),
}: RigOptions = {}): Rig {
  const ring = createRing(ringBytes);
  const writer = new RingWriter(ring, () => {});
  let now = 0;
  const reader: RingReader = new RingReader(ring, { reputation, monotonic: () => now });
  const taken = new Map<string, number>();
  return {
    writer,
    taken,
    read: (datagrams) =>
      reader.read((_bytes, address) => {
        now += costMs(address);
        taken.set(address, (taken.get(address) ?? 0) + 1);
      }, datagrams),
    offer(address, length = 200) {
      const refused = writer.refuses(address);
      if (refused !== undefined) return refused;
      return writer.write(Buffer.alloc(length), address, 2055, 0) ? "" : "full";
    },
  };
}

/** Four times as many hostile datagrams as can be decoded, and a few good ones. @returns how many of the good ones were dropped. */
function flood({ offer, read }: Rig, hostileOf: (i: number) => string, goodSenders: number, rounds = 4000): number {
  let dropped = 0;
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < 16; i++) offer(hostileOf(16 * round + i));
    if (offer(good(round % goodSenders), 1000) !== "") dropped++;
    read(5);
  }
  return dropped;
}

/** Numbers below a limit, the same in every run. */
function createRandom(): (limit: number) => number {
  let state = 1;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % limit;
  };
}

test("under a flood of few senders those that send little lose nothing, and what can be decoded of the flood still is", () => {
  const random = createRandom();
  for (const senders of [1, 8, 64]) {
    const rig = createRig();
    assert.equal(
      flood(rig, () => hostile(random(senders)), 10),
      0,
      `${senders} senders`,
    );
    const fromHostile = [...rig.taken].filter(([address]) => !isGood(address));
    assert.equal(fromHostile.length, senders);
    assert.ok(fromHostile.reduce((sum, [, count]) => sum + count, 0) > 15_000);
    const counts = fromHostile.map(([, count]) => count);
    assert.ok(Math.max(...counts) < 2 * Math.min(...counts), `they have equal shares ${counts.join()}`);
  }
});

test("under a flood with forged addresses the good lose nothing", () => {
  const rig = createRig();
  assert.equal(
    flood(rig, (i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 10, 10_000),
    0,
  );
});

test("a sender that decodes well has its share, and no more, when others that do need theirs", () => {
  const rig = createRig({ reputation: () => "proven", costMs: () => 0.02 });
  const refused = { busy: 0, other: 0 };
  for (let round = 0; round < 4000; round++) {
    for (let i = 0; i < 10; i++) if (rig.offer(good(0), 1000) !== "") refused.busy++;
    if (rig.offer(good(1 + (round % 8)), 1000) !== "") refused.other++;
    rig.read(5);
  }
  assert.equal(refused.other, 0);
  assert.ok(refused.busy > 10_000);
});

test("a sender that is alone loses nothing while there is room, whatever it is and becomes meanwhile", () => {
  for (const before of ["unknown", "good", "proven"] as const) {
    for (const after of ["unknown", "good", "proven"] as const) {
      let reputation: SenderReputation = before;
      // The first datagrams take long: nothing is compiled yet.
      let costMs = 40;
      const rig = createRig({ reputation: () => reputation, costMs: () => costMs });
      let waiting = 0;
      const fillTo = (bytes: number): void => {
        for (; (waiting + 1) * 1424 < bytes; waiting++)
          assert.equal(rig.offer(good(1), 1400), "", `${before} ${after}`);
      };
      fillTo(ringBytes / 2);
      waiting -= rig.read(100);
      reputation = after;
      costMs = 0.2;
      for (let round = 0; round < 200; round++) {
        fillTo(ringBytes * 0.99);
        waiting -= rig.read(10);
      }
      let refused = "";
      while (refused === "") refused = rig.offer(good(1), 1400);
      assert.equal(refused, "full");
      // From the first datagram of another one on there is room for it.
      rig.offer(good(2));
      for (let round = 0; round < 200; round++) {
        for (let i = 0; i < 20; i++) rig.offer(good(1), 1400);
        rig.read(10);
        if (round > 20) assert.equal(rig.offer(good(2)), "", `${before} ${after}, round ${round}`);
      }
    }
  }
});

test("one that sends beside others that have nothing waiting leaves them room", () => {
  const rig = createRig();
  rig.offer(good(2));
  rig.read(10);
  while (rig.offer(good(1), 1000) === "");
  assert.equal(rig.offer(good(2), 1000), "");
  assert.ok(rig.writer.used() > 0.75 * ringBytes);
});

test("a share is one of time: what takes long has fewer datagrams", () => {
  const slow = hostile(1);
  const quick = hostile(2);
  const rig = createRig({ costMs: (address) => (address === slow ? 0.4 : 0.1), reputation: () => "good" });
  for (let round = 0; round < 100_000; round++) {
    rig.offer(slow);
    rig.offer(quick);
    rig.read(1);
  }
  const ratio = (rig.taken.get(quick) ?? 0) / (rig.taken.get(slow) ?? 0);
  assert.ok(ratio > 2.5 && ratio < 6, `${ratio}`);
});

test("a ring that is not filling up refuses nobody, and after pressure it is as before", () => {
  const rig = createRig();
  const fill = (part: number): void => {
    while (rig.writer.used() < part * ringBytes) assert.equal(rig.offer(hostile(1)), "");
  };
  fill(0.24);
  flood(rig, () => hostile(1), 10, 500);
  assert.notEqual(rig.offer(hostile(1)), "");
  while (rig.read(1000) > 0) continue;
  fill(0.24);
});

test("connections have a share of a ring that datagrams keep full", () => {
  const rig = createRig();
  const { writer } = rig;
  let written = 0;
  for (let round = 0; round < 4000; round++) {
    for (let i = 0; i < 16; i++) writer.write(Buffer.alloc(200), hostile(i), 2055, 0);
    rig.read(5);
    if (round % 10 > 0 || !writer.hasRoomForStreams(good(1))) continue;
    assert.equal(writer.write(Buffer.alloc(1000), good(1), 0x1_0000 + 4739, 0), true);
    written++;
  }
  assert.ok(written > 0);
});

test("numbers are given again when there are too many addresses, those of good senders stay", () => {
  const rig = createRig();
  for (let i = 0; i < 200; i++) rig.offer(good(1), 1000);
  rig.read(1);
  assert.equal(rig.writer.isGood(good(1)), true);
  for (let i = 0; i < 150_000; i++) {
    rig.writer.write(Buffer.from([1]), `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 1, 0);
    rig.read(10);
  }
  assert.equal(rig.writer.isGood(good(1)), true);
  assert.equal(rig.writer.isGood("10.0.0.1"), false);
  assert.equal(rig.taken.get("10.2.0.0"), 1);
});
