import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createParsedPacket, parsePacket } from "../../src/flow/wire/packet/parse-packet.ts";
import { tunnels, type PacketHeader } from "../../src/flow/wire/packet/packet-header.ts";
import type { PacketStart } from "../../src/flow/wire/packet/parse-headers.ts";
import { hex, uint, ethernet, ipv4Packet, ipv6Packet, tcp, udp } from "../../packages/testkit/index.ts";
import { modelPacket, type ModelPacket } from "./packet-model.ts";
import { runs } from "../support/runs.ts";

const parsed = createParsedPacket();

/** What the parser found, in the form of the model. */
function found(bytes: Buffer, header: PacketHeader): ModelPacket {
  const {
    sourceMac,
    destinationMac,
    source,
    destination,
    labels: _labels,
    labelCount: _count,
    topLabel: _topLabel,
    typeAt: _typeAt,
    portsAt: _portsAt,
    content: _content,
    tunnel: _tunnel,
    tunnelId: _id,
    servicePath: _path,
    ...numbers
  } = header;
  const text = (name: string, from: number, length: number) =>
    from < 0 ? [] : [[name, bytes.toString("hex", from, from + length)] as const];
  const addressLength = header.ipVersion === 4 ? 4 : 16;
  return Object.fromEntries([
    ...text("destinationMac", destinationMac, 6),
    ...text("sourceMac", sourceMac, 6),
    ...text("source", source, addressLength),
    ...text("destination", destination, addressLength),
    ...Object.entries(numbers).filter(([, value]) => value >= 0),
  ]);
}

const payload = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const extension = fc.tuple(
  fc.constantFrom(0, 43, 60, 135, 51, 44),
  fc.integer({ min: 0, max: 2 }),
  fc.uint8Array({ minLength: 32, maxLength: 32 }),
);

/** Extension headers, each with the number of the next, and the number of the first. */
function chain(
  headers: readonly (readonly [number, number, Uint8Array])[],
  last: number,
  content: Buffer,
): [number, Buffer] {
  return headers.reduceRight<[number, Buffer]>(
    ([next, rest], [kind, length, filling]) => {
      const size = kind === 44 ? 8 : kind === 51 ? (length + 2) * 4 : (length + 1) * 8;
      const header = Buffer.from(filling.subarray(0, Math.max(8, size)));
      header[0] = next;
      if (kind !== 44) header[1] = length;
      return [kind, Buffer.concat([header.subarray(0, size), rest])];
    },
    [last, content],
  );
}

const protocol = fc.constantFrom(1, 2, 6, 17, 33, 58, 59, 89, 132, 136);
const ipv4Frame = fc
  .record({
    protocol,
    trafficClass: fc.integer({ min: 0, max: 255 }),
    fragment: fc.constantFrom(0, 0x4000, 0x2000, 0x20b9, 0x00b9, 0x8000),
    options: fc.integer({ min: 0, max: 10 }).map((words) => Buffer.alloc(4 * words, 1)),
    content: fc.oneof(payload, fc.constant(tcp(0x112)), fc.constant(udp(53))),
    length: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
  })
  .map(({ content, length, ...options }) =>
    ipv4Packet(content, length === undefined ? options : { ...options, length }),
  );
const ipv6Frame = fc
  .tuple(fc.array(extension, { maxLength: 4 }), protocol, fc.oneof(payload, fc.constant(tcp(0x112))), fc.boolean())
  .map(([headers, last, content, isLong]) => {
    const [first, rest] = chain(headers, last, content);
    return ipv6Packet(first, rest, isLong ? 0 : rest.length);
  });
const frame = fc
  .tuple(
    fc.oneof(
      ipv4Frame.map((packet) => [0x0800, packet] as const),
      ipv6Frame.map((packet) => [0x86dd, packet] as const),
      payload.map((packet) => [0x0806, packet] as const),
    ),
    fc.constantFrom("", "8100e064", "88a80064 8100c0c8", "9100 0001 8100 0002 8100 0003"),
    fc.boolean(),
  )
  .map(([[type, packet], tags, isSnap]) =>
    isSnap
      ? ethernet(8 + packet.length, Buffer.concat([hex("aaaa03000000"), uint(type, 2), packet]), tags)
      : ethernet(type, packet, tags),
  );

const cutFrame = fc
  .tuple(
    frame,
    fc.oneof({ weight: 2, arbitrary: fc.constant(1000) }, fc.integer({ min: 0, max: 120 })),
    fc.array(fc.tuple(fc.nat(150), fc.nat(255)), { maxLength: 3 }),
  )
  .map(([whole, keep, changes]) => {
    const bytes = Buffer.from(whole.subarray(0, keep));
    for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
    return bytes;
  });

test("headers of a packet are those that a slow reading finds, whatever is cut off or broken", () => {
  fc.assert(
    fc.property(cutFrame, fc.integer({ min: 0, max: 20 }), (bytes, before) => {
      const type = Number(modelPacket(bytes)["etherType"] ?? 0);
      // The model knows no labels, sessions, backbones, service paths and tags.
      fc.pre(type <= 1500 || [0x0800, 0x0806, 0x86dd].includes(type));
      const all = Buffer.concat([Buffer.alloc(before, 0xaa), bytes, Buffer.alloc(60, 0x45)]);
      parsePacket(all, before, before + bytes.length, "ethernet", parsed);
      assert.deepEqual(found(all, parsed.levels[0] as PacketHeader), modelPacket(bytes));
    }),
    runs(1000),
  );
});

/** Bytes that may be read from `start` to `end` and nowhere else. */
function guarded(bytes: Buffer, start: number, end: number): Uint8Array {
  return new Proxy(bytes, {
    get(target, key) {
      const index = typeof key === "string" ? Number(key) : Number.NaN;
      assert.ok(Number.isInteger(index) && index >= start && index < end, `read ${String(key)} of ${start} to ${end}`);
      return target[index];
    },
  });
}

const tunnelHeads = [
  ethernet(0x0800, ipv4Packet(hex("2000 0800 0000002a 4500"), { protocol: 47, length: 0 })),
  ethernet(0x0800, ipv4Packet(hex("1000 88be 00000001 1064 0005 00000000"), { protocol: 47, length: 0 })),
  ethernet(0x0800, ipv4Packet(hex("2000 22eb 00000001 1064 0005 00000000 00000001"), { protocol: 47, length: 0 })),
  ethernet(0x0800, ipv4Packet(udp(4789, hex("0800000000112200")), { protocol: 17, length: 0 })),
  ethernet(0x0800, ipv4Packet(udp(6081, hex("0f00655800112200")), { protocol: 17, length: 0 })),
  ethernet(0x0800, ipv4Packet(udp(2152, hex("34ff00300000abcd0000008501")), { protocol: 17, length: 0 })),
  ethernet(0x0800, ipv4Packet(hex("3000"), { protocol: 97, length: 0 })),
  ethernet(0x0800, ipv4Packet(hex("00064140"), { protocol: 137, length: 0 })),
  ethernet(0x0800, ipv4Packet(Buffer.alloc(0), { protocol: 143, length: 0 })),
  ...[
    [3544, "0001 0104 aa bbccddee 0011223344556677 00 0000 1234 c0000201"],
    [3544, "0000 1234 c0000201 60"],
    [6635, "00064140"],
    [4790, "0c000003 00112200"],
    [4790, "0c000004 00112200 0fc60103 0000ff05 00000000 00000000 00000000 00000000"],
    [5247, "00100000 00000000"],
    [5247, "00100300 00000000 0801 0000 00005e005301 00005e0053ff 00005e005302 0000 aaaa03000000 0800"],
    [5247, "00100300 00000000 8803 0000 00005e005301 00005e0053ff 00005e005302 0000 00005e005303 8000"],
  ].map(([port, head]) =>
    ethernet(0x0800, ipv4Packet(udp(Number(port), hex(String(head))), { protocol: 17, length: 0 })),
  ),
  ethernet(0x0800, ipv4Packet(hex("0000 883e 00010203"), { protocol: 47, length: 0 })),
  ethernet(0x88e7, hex("0000abcd")),
  ethernet(0x894f, hex("0fc20203 0000ff05")),
  ethernet(0x8847, hex("0006 4140 0000 0001")),
  ethernet(0x8847, hex("0006 4140")),
  ethernet(0x8847, hex("0006 4040 0006 4140")),
  ethernet(0x8864, hex("1100 0007 0030 0021")),
];
const starts: readonly PacketStart[] = ["ethernet", "wireless", "ppp", "ipv4", "ipv6", "mpls"];

test("whatever the bytes: nothing outside them is read, and what is found lies within", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        cutFrame,
        fc.tuple(fc.constantFrom(...tunnelHeads), payload).map(([head, rest]) => Buffer.concat([head, rest])),
        fc.tuple(fc.constantFrom(...tunnelHeads), cutFrame).map(([head, rest]) => Buffer.concat([head, rest])),
        fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
      ),
      fc.integer({ min: 0, max: 5 }),
      fc.nat(200),
      fc.constantFrom(...starts),
      (bytes, start, keep, kind) => {
        const end = Math.max(start, Math.min(bytes.length, keep));
        parsePacket(guarded(bytes, start, end), start, end, kind, parsed);
        for (const header of parsed.levels.slice(0, parsed.count)) {
          const length = header.ipVersion === 4 ? 4 : 16;
          for (const mac of [header.sourceMac, header.destinationMac]) {
            if (mac >= 0) assert.ok(mac >= start && mac + 6 <= end);
          }
          if (header.ipVersion >= 0) assert.ok(header.source >= start && header.destination + length <= end);
          if (header.labelCount > 0) assert.ok(header.labels + 4 * header.labelCount <= end);
        }
      },
    ),
    runs(2000),
  );
});

/** A packet of IPv4 whose checksum is right, with the ports 1000 and 80. */
const behindTag = hex("4500002a 00010000 400666cb 0a000001 0a000002 03e80050 00000001 00000002 50100064 00000000 7878");
const macs = hex("020000000002020000000001");

/** The packet behind a tag: what precedes it is a frame up to the type of IP. */
function parseTagged(tag: string, packet = behindTag): ReturnType<typeof createParsedPacket> {
  const into = createParsedPacket();
  const tagged = Buffer.concat([macs, hex(tag), packet]);
  parsePacket(tagged, 0, tagged.length, "ethernet", into);
  return into;
}

for (const [name, tag] of [
  ["VN-Tag", "8926 80010002 0800"],
  ["VN-Tag before a VLAN", "8926 80010002 8100 0064 0800"],
  ["E-Tag", "893f 1000 0064 0000 0800"],
  ["security group", "8909 0101 0001 0064 0800"],
  ["time of 64 bits", "d28b 0001 0010 0000000000000001 0800"],
  ["time of 48 bits", "d28b 0001 0020 000000000001 0800"],
  ["tag that nobody knows", "abcd 0001 0002 0800"],
  ["tag that nobody knows behind a VLAN", "8100 0064 abcd 00010002 00030004 0800"],
] as const) {
  test(`a packet is found behind a tag: ${name}`, () => {
    const { levels, count } = parseTagged(tag);
    const { ipVersion, etherType, sourcePort, destinationPort } = levels[0] as PacketHeader;
    assert.deepEqual([count, ipVersion, etherType, sourcePort, destinationPort], [1, 4, 0x0800, 1000, 80]);
  });
}

test("nothing is found behind a tag that is not known where the header of IPv4 is not whole or its checksum is wrong", () => {
  const broken = Buffer.from(behindTag);
  broken[10] = 0;
  for (const packet of [broken, behindTag.subarray(0, 19), hex("45")]) {
    const { levels } = parseTagged("abcd 0001 0002 0800", packet);
    assert.deepEqual([levels[0]?.ipVersion, levels[0]?.etherType], [-1, 0xabcd]);
  }
});

test("FabricPath and GRE in UDP carry packets of their own", () => {
  const inner = Buffer.concat([macs, hex("0800"), behindTag]);
  const fabric = parseTagged("8903 0060", inner);
  assert.deepEqual(
    [fabric.count, tunnels[fabric.levels[0]?.tunnel ?? -1], fabric.levels[0]?.tunnelId, fabric.levels[1]?.sourcePort],
    [2, "fabricpath", 1, 1000],
  );
  const outer = Buffer.concat([
    hex("45000000 00010000 40110000 0a000001 0a000002"),
    hex("c0001292 00000000"),
    hex("20000800 00000007"),
    behindTag,
  ]);
  const gre = parseTagged("0800", outer);
  assert.deepEqual(
    [gre.count, tunnels[gre.levels[0]?.tunnel ?? -1], gre.levels[0]?.tunnelId, gre.levels[1]?.sourcePort],
    [2, "gre-in-udp", 7, 1000],
  );
  const tagged = Buffer.concat([
    hex("45000000 00010000 402f0000 0a000001 0a000002"),
    hex("00008909 01010001 00640800"),
    behindTag,
  ]);
  const { levels, count } = parseTagged("0800", tagged);
  assert.deepEqual([count, levels[1]?.sourcePort], [2, 1000], "a security group within GRE");
});

for (const [name, head, isPlain] of [
  ["reserved flags", "ff000000 00112200", true],
  ["reserved bytes", "08abcdef 00112255", true],
  ["a next protocol that is none", "0c0000ff 00112200", true],
  ["a group policy and a next protocol", "8c000003 00112200", true],
  ["no valid VNI", "f7000000 00112200", false],
] as const) {
  test(`VXLAN with ${name} is ${isPlain ? "" : "not "}unwrapped`, () => {
    const inner = Buffer.concat([macs, hex("0800"), behindTag]);
    const outer = Buffer.concat([
      hex("45000000 00010000 40110000 0a000001 0a000002"),
      hex("c00012b5 00000000"),
      hex(head),
      inner,
    ]);
    const { levels, count } = parseTagged("0800", outer);
    if (isPlain) assert.deepEqual([count, levels[0]?.tunnelId, levels[1]?.sourcePort], [2, 0x1122, 1000]);
    else assert.equal(count, 1);
  });
}
