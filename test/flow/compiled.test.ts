import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createNameEnricher,
  createNetifEnricher,
  knownPortNames,
  readNetifs,
  type AddressSource,
} from "../../src/enrich/index.ts";
import { createInterfaceDirectory, createInterfaceEnricher } from "../../src/snmp/index.ts";
import { findBy } from "../support/address-facts.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { fields, netflow9, netflow9Templates, packetSet } from "../support/flow-packets.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { goldenCases } from "./golden-cases.ts";

/** Cases without anything rare: the kernel does all of their records by itself. */
const isPlain = /everyday|softflowd|rate-by|netflow[1579]-(two|icmp)|netflow9-variable|ipfix-(milli|enterprise|mapped)/;

for (const [name, datagrams] of goldenCases) {
  for (const optionsRecords of [true, false]) {
    test(`as the model: ${name}${optionsRecords ? ", with options" : ""}`, async () => {
      const twins = await createFlowTwins({ optionsRecords });
      for (const datagram of datagrams) {
        if ("bytes" in datagram) twins.send(datagram.bytes, datagram);
        else twins.send(datagram);
      }
      const { slow } = await twins.finish();
      if (isPlain.test(name)) assert.deepEqual(slow, {});
    });
  }
}

const known = ["192.0.2.1", "198.51.100.9", "10.1.2.3", "2001:db8::1"];

/** Says something of every second address, by its last bit. */
const everySecond: AddressSource = {
  objects: new Set(["flow.src", "flow.dst"]),
  find: findBy(({ value }) =>
    value % 2n === 0n
      ? { fields: [] }
      : {
          fields: [[".geo.country.code", "NL"]],
          as: {
            number: Number(value % 4n) === 1 ? 65_001 : 3320,
            organisation: value % 8n < 4n ? "Example" : undefined,
          },
        },
  ),
  watch: () => () => {},
};

const netifs = readNetifs(
  Buffer.from("192.0.2.254: {1: {name: one, tags: [x]}, 2: {alias: two}}\n192.0.2.253: {1: {metadata: {site: y}}}"),
).value;
const interfaceNames = new Map(Array.from({ length: 20 }, (_, index) => [index, `snmp${index}`]));

for (const [name, datagrams] of goldenCases) {
  test(`as the model, with every enricher: ${name}`, async () => {
    const twins = await createFlowTwins({
      addresses: { sources: [everySecond], locality: true },
      more(metrics) {
        const directory = createInterfaceDirectory();
        directory.change({ deviceId: "a", known: { ip: "192.0.2.254", addresses: [], names: interfaceNames } });
        return [
          createNetifEnricher({ exporters: () => netifs, metrics }),
          createInterfaceEnricher(directory, metrics),
          createNameEnricher({ ports: () => knownPortNames, dscp: true, metrics }),
        ];
      },
    });
    twins.setMetadata(known.map((key) => udmEntry(key, { name: key, internal: true, vlan: 7n })));
    for (const datagram of datagrams) {
      const { bytes, ...from } = "bytes" in datagram ? datagram : { bytes: datagram };
      twins.send(bytes, from);
      twins.send(bytes, { ...from, address: "192.0.2.253" });
    }
    await twins.finish();
  });
}

test("numbers of every length, and their estimates by every rate", async () => {
  const values = Array.from({ length: 20 }, (_, zeros) => 10n ** BigInt(zeros))
    .flatMap((power) => [power - 1n, power, power + 1n, power + power / 3n])
    .filter((value) => value < 2n ** 64n);
  const template = { id: 300, fields: fields([1, 8], [2, 8], [21, 4], [34, 4]) };
  const twins = await createFlowTwins({});
  twins.send(netflow9([netflow9Templates(template)]));
  for (const rate of [0, 1, 2, 1000, 4_000_000_000]) {
    const records = values.map((value, i) => {
      const wide = Buffer.alloc(16);
      wide.writeBigUInt64BE(value);
      wide.writeBigUInt64BE(values.at(-i) ?? 0n, 8);
      const narrow = Buffer.alloc(8);
      narrow.writeUInt32BE(Number(value & 0xffff_ffffn));
      narrow.writeUInt32BE(rate, 4);
      return Buffer.concat([wide, narrow]);
    });
    twins.send(netflow9([packetSet(300, Buffer.concat(records), { pad: false })]));
  }
  const { slow } = await twins.finish();
  assert.deepEqual(Object.keys(slow), ["estimate"]);
});
