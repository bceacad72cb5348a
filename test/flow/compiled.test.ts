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
import { createFlowTwins } from "../support/flow-twins.ts";
import { goldenCases } from "./golden-cases.ts";

/** Cases without anything rare: all their records are of compiled code, or written from the bytes of a sample. */
const isCompiled = new RegExp(
  [
    "everyday|softflowd|rate-by|netflow[15]-two|netflow[59]-icmp|netflow9-vendors|netflow9-(fire|forw|variable)|ipfix-(milli|micro|enterprise|mapped)",
    "sflow-(tcp-over|agent-of-ipv6|sampled-at|discarded-by|to-several|expanded|vlan|two-vlan|llc-snap|mpls-stack)",
    "sflow-(ipv4|icmp|igmp|sctp|ipv6|header-of-ip|gre|ip-in-ip|vxlan|geneve|gtp|router)",
  ].join("|"),
);

for (const [name, datagrams] of goldenCases) {
  for (const optionsRecords of [true, false]) {
    test(`compiled as interpreted: ${name}${optionsRecords ? ", with options" : ""}`, async () => {
      const twins = await createFlowTwins({ optionsRecords });
      for (const datagram of datagrams) {
        if ("bytes" in datagram) twins.send(datagram.bytes, datagram);
        else twins.send(datagram);
      }
      const { compiled, interpreted } = await twins.finish();
      if (isCompiled.test(name)) assert.deepEqual([compiled > 0, interpreted], [true, 0]);
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
  test(`compiled as interpreted, with every enricher: ${name}`, async () => {
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
    const { compiled } = await twins.finish();
    // Of a NetFlow v5 exporter all say system 0, which a database replaces.
    // The names of its interfaces come from options and from SNMP.
    const isNamedTwice = name === "softflowd-netflow9";
    if (isCompiled.test(name) && !name.includes("netflow5") && !isNamedTwice) assert.ok(compiled > 0);
  });
}
