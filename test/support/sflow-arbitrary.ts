import * as fc from "fast-check";
import {
  hex,
  uint,
  address,
  counterSample,
  discardSample,
  ethernet,
  expandedFlowSample,
  flowSample,
  ipv4Packet,
  ipv6Packet,
  opaque,
  sampledHeader,
  sflow,
  structure,
  tcp,
  udp,
  words,
} from "../../packages/testkit/index.ts";

const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 1, 2, 3, 4, 100, 443, 0x3fff_ffff, 0xffff_ffff) },
  { weight: 2, arbitrary: fc.nat(300) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xffff_ffff }) },
);
const bytes = (length: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((array) => Buffer.from(array));

const innerFrame = ethernet(0x0800, ipv4Packet(tcp(0x12)), "8100 0064");
const tunnel = fc.constantFrom(
  { protocol: 17, payload: udp(4789, Buffer.concat([Buffer.from("0800000000002a00", "hex"), innerFrame])) },
  { protocol: 17, payload: udp(4789, Buffer.from("0800000000002a00", "hex")) },
  { protocol: 47, payload: Buffer.concat([Buffer.from("2000080000000007", "hex"), ipv4Packet(tcp(2))]) },
  { protocol: 4, payload: ipv4Packet(udp(53), { protocol: 17 }) },
  { protocol: 137, payload: Buffer.concat([Buffer.from("0006444000c80b40", "hex"), ipv4Packet(tcp(16))]) },
  { protocol: 137, payload: Buffer.concat([hex("00064140 00000000"), innerFrame]) },
  { protocol: 17, payload: udp(3544, Buffer.concat([hex("0000 1234 c0000201"), ipv6Packet(17, udp(53))])) },
  { protocol: 17, payload: udp(6635, Buffer.concat([hex("00064140"), ipv4Packet(tcp(2))])) },
  {
    protocol: 17,
    payload: udp(4790, Buffer.concat([hex("0c000004 00002a00 0fc20203 0000ff05"), Buffer.alloc(0), innerFrame])),
  },
  { protocol: 17, payload: udp(1701, Buffer.concat([hex("0002 0001 0002 0021"), ipv4Packet(tcp(2))])) },
  { protocol: 47, payload: Buffer.concat([hex("3001880b 00280007 00000001 0021"), ipv4Packet(tcp(2))]) },
  { protocol: 17, payload: udp(5247, Buffer.concat([hex("00100000 00000000"), innerFrame])) },
  {
    protocol: 47,
    payload: Buffer.concat([
      hex("0000883e 00000000"),
      ipv4Packet(udp(4789, Buffer.concat([hex("0800000000002a00"), innerFrame])), { protocol: 17 }),
    ]),
  },
);

const transport = fc.oneof(
  { weight: 2, arbitrary: tunnel },
  { weight: 3, arbitrary: fc.nat(0x1ff).map((flags) => ({ protocol: 6, payload: tcp(flags) })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(53, 443, 4789, 2152, 6081), bytes(12))
      .map(([port, payload]) => ({ protocol: 17, payload: udp(port, payload) })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(1, 58), fc.constantFrom(0, 3, 8, 11, 128, 135), fc.nat(3))
      .map(([protocol, type, code]) => ({ protocol, payload: Buffer.from([type, code, 0, 0]) })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(255), bytes(24)).map(([protocol, payload]) => ({ protocol, payload })),
  },
);

const ipPacket = transport.chain(({ protocol, payload }) =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .record({
          trafficClass: fc.nat(255),
          fragment: fc.constantFrom(0x4000, 0x4000, 0x4000, 0, 0x2000, 0x2010, 0x8000),
          options: fc.constantFrom(Buffer.alloc(0), Buffer.alloc(0), Buffer.from("94040000", "hex")),
          source: fc.oneof(fc.constant(undefined), bytes(4)),
        })
        .map(({ source, ...options }) => {
          const packet = ipv4Packet(payload, { protocol, ...options });
          source?.copy(packet, 12);
          return { type: 0x0800, packet };
        }),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          fc.constantFrom("", "", "frag"),
          fc.oneof(fc.constant(undefined), bytes(16), fc.constant(Buffer.from(`${"0".repeat(20)}ffffc0000201`, "hex"))),
        )
        .map(([extension, source]) => {
          const inner =
            extension === "" ? payload : Buffer.concat([Buffer.from([protocol, 0, 0, 1]), uint(7, 4), payload]);
          const packet = ipv6Packet(extension === "" ? protocol : 44, inner);
          source?.copy(packet, 8);
          return { type: 0x86dd, packet };
        }),
    },
  ),
);

const tags = fc.oneof(
  { weight: 4, arbitrary: fc.constant("") },
  { weight: 3, arbitrary: fc.constantFrom("8100 0064", "8100 e000", "8100 6000") },
  { weight: 1, arbitrary: fc.constantFrom("88a8 2064 8100 e0c8", "8100 0001 8100 0002 8100 0003") },
);
const frame = fc.oneof(
  { weight: 10, arbitrary: fc.tuple(ipPacket, tags).map(([{ type, packet }, tag]) => ethernet(type, packet, tag)) },
  { weight: 1, arbitrary: fc.constant(ethernet(0x0806, Buffer.alloc(28))) },
  { weight: 1, arbitrary: fc.constant(ethernet(0x88e7, Buffer.concat([hex("0000abcd"), innerFrame]), "88a8 0007")) },
  {
    weight: 1,
    arbitrary: ipPacket.map(({ packet }) =>
      ethernet(0x8847, Buffer.concat([Buffer.from("0006444000c80b40", "hex"), packet])),
    ),
  },
  { weight: 1, arbitrary: fc.nat(80).chain(bytes) },
);

const header = fc
  .record({
    frame: fc.oneof(
      { weight: 12, arbitrary: frame.map((content) => ({ content, protocol: 1 })) },
      {
        weight: 2,
        arbitrary: ipPacket.map(({ type, packet }) => ({ content: packet, protocol: type === 0x0800 ? 11 : 12 })),
      },
      { weight: 1, arbitrary: bytes(20).map((content) => ({ content, protocol: 4 })) },
    ),
    length: word,
    cut: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(60) }),
  })
  .map(({ frame: { content, protocol }, length, cut }) =>
    sampledHeader(content.subarray(0, Math.max(0, content.length - cut)), length, protocol),
  );

const anAddress = fc.oneof(
  fc.constant(address(undefined)),
  fc.constant(address("192.0.2.9")),
  bytes(16).map((value) => address(value)),
);
const concat = (...parts: fc.Arbitrary<Buffer>[]): fc.Arbitrary<Buffer> =>
  fc.tuple(...parts).map((all) => Buffer.concat(all));
const numbers = (count: number): fc.Arbitrary<Buffer> =>
  fc.array(word, { minLength: count, maxLength: count }).map((all) => words(...all));
const list = fc.array(word, { maxLength: 4 }).map((all) => words(all.length, ...all));
const paths = fc
  .array(fc.tuple(fc.constantFrom(1, 2), list), { maxLength: 3 })
  .map((all) => Buffer.concat([words(all.length), ...all.map(([type, path]) => Buffer.concat([words(type), path]))]));

const protocolWord = fc.constantFrom(1, 6, 17, 58, 255, 256).map((value) => words(value));
const bytesOf = (length: number): Buffer => Buffer.alloc(length, 0x5a);

const known = fc.oneof(
  numbers(4).map((content) => structure(1001, content)),
  concat(anAddress, numbers(2)).map((content) => structure(1002, content)),
  concat(anAddress, numbers(3), paths, list, numbers(1)).map((content) => structure(1003, content)),
  concat(anAddress, anAddress).map((content) => structure(1007, content)),
  numbers(2).map((content) => structure(1020, content)),
  bytes(20).map((content) => structure(1021, content)),
  bytes(32).map((content) => structure(1023, content)),
  numbers(1).map((content) => structure(1029, content)),
  fc.constant(structure(1012, words(2, 0x8100_0064, 0x8100_0065))),
  fc.constant(structure(1038, opaque("drop_fn"))),
  fc
    .tuple(fc.constantFrom("alice", "", 'a"b', "tab\there", "z\u00fcrich", "nul\0\0"), word)
    .map(([text, charset]) =>
      structure(1004, Buffer.concat([words(charset), opaque(text), words(1), opaque(Buffer.from([0xff, 0x41]))])),
    ),
  concat(anAddress, list, list).map((content) => structure(1006, content)),
  bytes(32).map((content) => structure(1024, content)),
  bytes(56).map((content) => structure(1026, content)),
  fc.constant(structure(1014, Buffer.concat([opaque("guests"), bytesOf(8), words(4, 36, 0x20_0000, 5, 40, 90, 55)]))),
);
const sampledStructure = fc.oneof(
  concat(numbers(1), bytes(16), numbers(1)).map((content) => structure(2, content)),
  concat(numbers(1), protocolWord, bytes(8), numbers(4)).map((content) => structure(3, content)),
  concat(numbers(1), protocolWord, bytes(32), numbers(4)).map((content) => structure(4, content)),
);
/** One that is right but for a byte, or its length. */
const damaged = fc
  .tuple(known, fc.nat(40), fc.nat(255), fc.constantFrom(0, 4, 8))
  .map(([right, place, value, less]) => {
    const made = Buffer.from(right);
    if (8 + place < made.length) made[8 + place] = value;
    const content = made.subarray(8, Math.max(8, made.length - less));
    return structure(made.readUInt32BE(0), content);
  });
const otherRecord = fc.oneof(
  { weight: 24, arbitrary: known },
  { weight: 2, arbitrary: damaged },
  {
    weight: 1,
    arbitrary: fc
      .nat(12)
      .chain(bytes)
      .map((content) => structure(4000, content, 9)),
  },
  { weight: 3, arbitrary: sampledStructure },
  { weight: 1, arbitrary: header },
);

const sampleOptions = fc.record({
  sequence: word,
  source: fc.constantFrom(3, 4, 9),
  sourceType: fc.constantFrom(0, 0, 0, 1),
  rate: fc.constantFrom(0, 1, 512, 0xffff_ffff),
  pool: word,
  drops: word,
  input: fc.constantFrom(1, 3, 4, 0x3fff_ffff, 0x4000_0001),
  output: fc.constantFrom(2, 3, 4, 9, 0x3fff_ffff, 0x4000_0101, 0x4000_ffff, 0x8000_0000, 0x8000_0005, 0xc000_0001),
});
const records = fc
  .tuple(
    fc.array(otherRecord, { maxLength: 3 }),
    fc.oneof(
      { weight: 5, arbitrary: header.map((own) => [own]) },
      { weight: 1, arbitrary: fc.array(sampledStructure, { maxLength: 2 }) },
    ),
    fc.array(otherRecord, { maxLength: 2 }),
    fc.boolean(),
  )
  .map(([before, own, behind, isTwice]) => before.concat(own, behind, isTwice ? behind : []));
const sides = fc.tuple(fc.nat(3), word, fc.nat(3), word);

const sample = fc.oneof(
  { weight: 10, arbitrary: fc.tuple(records, sampleOptions).map(([all, options]) => flowSample(all, options)) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(records, sides, sampleOptions)
      .map(([all, interfaces, options]) => expandedFlowSample(all, interfaces, options)),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(records, sampleOptions, fc.nat(6)).map(([all, options, count]) =>
      // A count that does not match.
      flowSample(all, { ...options, count }),
    ),
  },
  { weight: 1, arbitrary: records.map((all) => discardSample(all, 258)) },
  { weight: 1, arbitrary: fc.constant(counterSample([])) },
);

/** Datagrams of samples, right and wrong ones. */
export const sflowDatagram = fc
  .record({
    samples: fc.oneof(
      { weight: 6, arbitrary: fc.array(sample, { maxLength: 5 }) },
      { weight: 1, arbitrary: sample.map((one) => Array.from({ length: 70 }, () => one)) },
    ),
    subAgent: word,
    sequence: word,
    uptime: word,
    withoutAgent: fc.boolean(),
    count: fc.constantFrom(undefined, undefined, undefined, 2),
    cut: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(200) }),
  })
  .map(({ samples, cut, count, ...header1 }) => {
    const whole = sflow(samples, { ...header1, ...(count !== undefined && { count }) });
    return whole.subarray(0, whole.length - cut);
  });
