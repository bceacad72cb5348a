import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { createNameEnricher, knownPortNames, type AddressSource } from "../../src/enrich/index.ts";
import { createInterfaceDirectory, createInterfaceEnricher } from "../../src/snmp/index.ts";
import { findBy } from "../support/address-facts.ts";
import { uint } from "../support/flow-packets.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { referenceData } from "../support/reference-data.ts";
import {
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
} from "../support/sflow-packets.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { runs } from "../support/runs.ts";

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
  { weight: 1, arbitrary: numbers(8).map((content) => structure(3, content)) },
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
  .tuple(fc.array(otherRecord, { maxLength: 3 }), header, fc.array(otherRecord, { maxLength: 2 }))
  .map(([before, own, behind]) => before.concat(own, behind));
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

const datagram = fc
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

const metadata = fc
  .uniqueArray(
    fc.record({
      key: fc.constantFrom("192.0.2.1", "0.0.0.0/0", "::/0", "192.0.2.254", "198.51.100.0/24"),
      name: fc.constantFrom("", "net", 'a"ü'),
      vlan: fc.constantFrom(0n, 7n),
      metadata: fc.constantFrom({}, {}, { ".site": "x" }, { tenant: "t" }, { ".ip.addr": "no" }),
    }),
    { selector: ({ key }) => key, maxLength: 3 },
  )
  .map((entries) => entries.map(({ key, ...values }) => udmEntry(key, values)));

const systems: AddressSource = {
  objects: new Set(["flow.src", "flow.dst"]),
  find: findBy(({ value }) => ({
    fields: [[".geo.country.code", "NL"]],
    as: { number: Number(value % 4n) + 1, organisation: value % 2n === 0n ? "Example" : undefined },
  })),
  watch: () => () => {},
};
const interfaceNames = new Map([
  [3, "lan"],
  [4, "x".repeat(1100)],
  [9, "wan"],
]);

test("whatever the samples, packets and metadata: what is written from bytes is what fields become", async () => {
  const seen = { compiled: 0, interpreted: 0, careful: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 5, arbitrary: datagram }, { weight: 1, arbitrary: metadata }), {
        minLength: 1,
        maxLength: 5,
      }),
      fc.constantFrom(undefined, 7, 1.5),
      fc.boolean(),
      fc.boolean(),
      async (steps, manualRate, hasMore, communityId) => {
        const twins = await createFlowTwins({
          communityId,
          samplingRates: new Map(manualRate === undefined ? [] : [["192.0.2.254", manualRate]]),
          ...(hasMore && {
            addresses: { sources: [systems], locality: true },
            more(metrics) {
              const directory = createInterfaceDirectory();
              const device = { ip: "192.0.2.254", addresses: [], names: interfaceNames };
              directory.change({ deviceId: "a", known: device });
              return [
                createInterfaceEnricher(directory, metrics),
                createNameEnricher({ ports: () => knownPortNames, dscp: true, metrics }),
              ];
            },
          }),
        });
        for (const step of steps) {
          if (Buffer.isBuffer(step)) twins.send(step);
          else twins.setMetadata(step);
        }
        const counts = await twins.finish();
        seen.compiled += counts.compiled;
        seen.interpreted += counts.interpreted;
        seen.careful += counts.careful;
      },
    ),
    runs(60),
  );
  assert.ok(seen.compiled > seen.interpreted / 10 && seen.interpreted > 0 && seen.careful > 0, JSON.stringify(seen));
});

test("long structures: lines get the room that they need, and beyond some length samples become fields", async () => {
  const own = sampledHeader(ethernet(0x0800, ipv4Packet(tcp(0x10))));
  const gateway = (communities: number): Buffer => {
    const list1 = words(communities, ...Array.from({ length: communities }, () => 0xffff_ffff));
    return structure(1003, Buffer.concat([address("192.0.2.9"), words(1, 2, 3, 0), list1, words(100)]));
  };
  const twins = await createFlowTwins();
  for (const communities of [0, 900, 1010, 1100, 15_000]) {
    const line = twins.send(sflow([flowSample([gateway(communities), own])]));
    assert.equal(line.split('"65535:65535"').length - 1, communities);
  }
  assert.deepEqual(await twins.finish(), { compiled: 3, interpreted: 2, careful: 0 });
});

const telegraf = referenceData("flow/telegraf");

test("recordings of agents: what is written from bytes is what fields become", { skip: telegraf.skip }, async () => {
  const twins = await createFlowTwins();
  const folders = readdirSync(telegraf.path).filter((name) => name.startsWith("sflow_"));
  for (const folder of folders.map((name) => join(telegraf.path, name))) {
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".bin"))) {
      twins.send(readFileSync(join(folder, file)));
    }
  }
  const { compiled } = await twins.finish();
  assert.ok(compiled > 0);
});
