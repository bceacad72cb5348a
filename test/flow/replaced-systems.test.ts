import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createPrivateSystems, type AddressSource } from "../../src/enrich/index.ts";
import { findBy } from "../support/address-facts.ts";
import {
  encodeRecord,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow5,
  netflow9,
  netflow9Templates,
  packetSet,
  uint,
  type PacketField,
  type PacketTemplate,
  address,
  ethernet,
  flowSample,
  ipv4Packet,
  sampledHeader,
  sflow,
  structure,
  tcp,
  words,
} from "../../packages/testkit/index.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { runs } from "../support/runs.ts";
import { udmEntry } from "../support/udm-entry.ts";

/** Of a database: the last bits of an address say in which it is. */
const systems = [
  { number: 7, organisation: "Seven" },
  { number: 64_500, organisation: undefined },
  { number: 2 ** 32 - 1, organisation: "Last" },
];
const database: AddressSource = {
  objects: new Set(["flow.src", "flow.dst"]),
  find: findBy(({ value }) => {
    const system = systems[Number(value % 4n)];
    return system === undefined ? { fields: [] } : { fields: [[".geo.country.code", "NL"]], as: system };
  }),
  watch: () => () => {},
};
const withDatabase = { addresses: { sources: [database], locality: true } };

const asFields = (line: string): unknown =>
  Object.fromEntries(
    Object.entries(JSON.parse(line) as object).filter(([name]) => /^flow\.(?:src|dst)\.as\./.test(name)),
  );

test("the system of a database stands where an exporter says 0, without a record made of the line", async () => {
  const template: PacketTemplate = { id: 300, fields: fields([16, 4], [8, 4], [17, 2], [12, 4], [1, 4]) };
  const record = (source: number, destination: number): Buffer =>
    encodeRecord(template, [
      uint(source, 4),
      ipv4("192.0.2.0"),
      uint(destination, 2),
      ipv4("192.0.2.2"),
      uint(1000, 4),
    ]);
  const twins = await createFlowTwins(withDatabase);
  const all = Buffer.concat([record(0, 0), record(7, 0), record(8, 9)]);
  const lines = twins
    .send(netflow9([netflow9Templates(template), packetSet(300, all)]))
    .trimEnd()
    .split("\n");
  const [seven, last] = [
    { "flow.src.as.asn": 7, "flow.src.as.org": "Seven", "flow.src.as.label": "Seven (7)" },
    { "flow.dst.as.asn": 2 ** 32 - 1, "flow.dst.as.org": "Last", "flow.dst.as.label": "Last (4294967295)" },
  ];
  assert.deepEqual(lines.map(asFields), [
    { ...seven, ...last },
    { ...seven, ...last },
    { "flow.src.as.asn": 8, "flow.dst.as.asn": 9, "flow.src.as.label": "AS8", "flow.dst.as.label": "AS9" },
  ]);
  const route = { as: [0, 0], prefixes: [24, 24], interfaces: [1, 2], nextHop: "192.0.2.9" } as const;
  const five = twins.send(netflow5([{ source: "192.0.2.0", destination: "192.0.2.2", route }]));
  assert.deepEqual(asFields(five), { ...seven, ...last });
  const gateway = structure(1003, Buffer.concat([address("192.0.2.9"), words(0, 0, 3, 0, 0, 100)]));
  const packet = sampledHeader(ethernet(0x0800, ipv4Packet(tcp(0x10))));
  twins.send(sflow([flowSample([gateway, packet])]));
  assert.deepEqual((await twins.finish()).slow, {});
});

test("private addresses are PRIVATE whatever the exporter says, without a record made of the line", async () => {
  const twins = await createFlowTwins({ addresses: { sources: [createPrivateSystems()], locality: true } });
  const send = (source: string, destination: string, ...as: readonly [number, number]): unknown => {
    const route = { as, prefixes: [24, 24], interfaces: [1, 2], nextHop: "192.0.2.9" } as const;
    return asFields(twins.send(netflow5([{ source, destination, route }])));
  };
  assert.deepEqual(send("10.0.0.1", "192.168.0.2", 0, 64_512), {
    "flow.src.as.asn": 0,
    "flow.src.as.org": "PRIVATE",
    "flow.src.as.label": "PRIVATE",
    "flow.dst.as.asn": 64_512,
    "flow.dst.as.org": "PRIVATE",
    "flow.dst.as.label": "AS64512",
  });
  assert.deepEqual(send("192.0.2.1", "10.0.0.1", 0, 0), {
    "flow.src.as.asn": 0,
    "flow.dst.as.asn": 0,
    "flow.dst.as.org": "PRIVATE",
    "flow.dst.as.label": "PRIVATE",
  });
  const template: PacketTemplate = { id: 300, fields: fields([8, 4], [12, 4]) };
  const record = encodeRecord(template, [ipv4("10.0.0.1"), ipv4("192.0.2.1")]);
  const without = twins.send(ipfix([ipfixTemplates(template), packetSet(300, record)]));
  assert.deepEqual(asFields(without), { "flow.src.as.org": "PRIVATE", "flow.src.as.label": "PRIVATE" });
  assert.deepEqual((await twins.finish()).slow, {});
});

test("whatever exporters say of systems, in whatever lengths: lines are what fields become", async () => {
  const system = fc.tuple(
    fc.constantFrom(16, 17, 128, 129, 0x8010),
    fc.constantFrom<number | "variable">(1, 2, 3, 4, 8, "variable", 9),
    fc.constantFrom(0, 0, 7, 200),
  );
  const other = fc.constantFrom<readonly [PacketField, Buffer]>(
    [{ id: 1, length: 4 }, uint(0, 4)],
    [{ id: 7, length: 2 }, uint(443, 2)],
    [{ id: 58, length: 2 }, uint(9, 2)],
    [{ id: 82, length: 4 }, Buffer.from('a"ü')],
    [{ id: 434, length: 4 }, uint(5, 4)],
    [{ id: 8, length: 4 }, ipv4("192.0.2.1")],
    [{ id: 12, length: 4 }, ipv4("192.0.2.2")],
    [{ id: 8, length: 4 }, ipv4("10.0.0.4")],
    [{ id: 12, length: 4 }, ipv4("10.0.0.3")],
  );
  const part = fc.oneof(
    { weight: 2, arbitrary: other },
    {
      weight: 1,
      arbitrary: system.map(([id, length, value]): readonly [PacketField, Buffer] => {
        const bytes = uint(value, 2);
        const size = length === "variable" ? 4 : length;
        const field = id === 0x8010 ? { id: 16, length, pen: 29_305 } : { id, length };
        return [field, Buffer.concat([Buffer.alloc(8), bytes]).subarray(-size)];
      }),
    },
  );
  const metadata = fc.constantFrom({}, { ".site": "x" }, { tenant: "t" }, { ".as.note": "x" });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(part, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 3 }),
      metadata,
      fc.boolean(),
      async (records, keys, splitBiflows) => {
        const twins = await createFlowTwins({ ...withDatabase, splitBiflows });
        twins.setMetadata([udmEntry("192.0.2.2/31", { name: "n", vlan: 3n, metadata: keys })]);
        records.forEach((parts, i) => {
          const template: PacketTemplate = { id: 300 + i, fields: parts.map(([field]) => field) };
          const record = encodeRecord(
            template,
            parts.map(([, value]) => value),
          );
          const set = packetSet(template.id, Buffer.concat([record, record]), { pad: false });
          twins.send(ipfix([ipfixTemplates(template), set]));
        });
        await twins.finish();
      },
    ),
    runs(80),
  );
});
