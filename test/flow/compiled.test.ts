import assert from "node:assert/strict";
import { test } from "node:test";
import { NameEnricher, NetifEnricher, knownPortNames, readNetifs, type AddressSource } from "../../src/enrich/index.ts";
import { InterfaceDirectory, InterfaceEnricher } from "../../src/snmp/index.ts";
import { findBy } from "../support/address-facts.ts";
import { udmEntry } from "../support/udm-entry.ts";
import {
  encodeRecord,
  fields,
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  packetSet,
  uints,
} from "../../packages/testkit/index.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { goldenCases } from "./golden-cases.ts";

const portNames = knownPortNames();

/** Cases without anything rare: the kernel does all of their records by itself. */
const isPlain = /everyday|softflowd|rate-by|netflow[1579]-(two|icmp)|netflow9-variable|ipfix-(milli|enterprise|mapped)/;

for (const [name, datagrams, options = {}] of goldenCases) {
  // Without options records, only datagrams with options can come out in another way.
  for (const optionsRecords of /option|sampl|rate|name|scope/.test(name) ? [true, false] : [true]) {
    test(`as the model: ${name}${optionsRecords ? ", with options" : ""}`, async () => {
      const twins = await createFlowTwins({ optionsRecords, ...options });
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
const interfaceFacts = new Map(
  Array.from({ length: 20 }, (_, index) => [
    index,
    {
      ...(index % 3 > 0 && { name: `snmp${index}` }),
      ...(index % 2 > 0 && { alias: `to "${index}"`, type: "ethernetCsmacd" }),
      ...(index % 5 > 0 && { bitsPerSecond: 1e9 * index, admin: "up" }),
    },
  ]),
);

/** Cases that go through one pipeline: each from ports of its own, so that its templates and sequence numbers are its own. */
const casesPerPipeline = 14;
const allCases = [...goldenCases];

for (let first = 0; first < allCases.length; first += casesPerPipeline) {
  const cases = allCases.slice(first, first + casesPerPipeline);
  test(`as the model, with every enricher: ${cases.map(([name]) => name).join(", ")}`, async () => {
    const twins = await createFlowTwins({
      scaleCounters: false,
      addresses: { sources: [everySecond], locality: true },
      more(metrics) {
        const directory = new InterfaceDirectory();
        directory.change({ deviceId: "a", known: { ip: "192.0.2.254", addresses: [], interfaces: interfaceFacts } });
        return [
          new NetifEnricher(() => netifs, metrics),
          new InterfaceEnricher(directory, metrics),
          new NameEnricher(() => portNames, true, metrics),
        ];
      },
    });
    twins.setMetadata(known.map((key) => udmEntry(key, { name: key, internal: true, vlan: 7n })));
    for (const [i, [, datagrams]] of cases.entries()) {
      for (const datagram of datagrams) {
        const {
          bytes,
          port = 50_000,
          ...rest
        } = "bytes" in datagram ? { port: 50_000, ...datagram } : { bytes: datagram };
        const from = { ...rest, port: port + 100 * i };
        twins.send(bytes, from);
        twins.send(bytes, { ...from, address: "192.0.2.253" });
      }
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

test("signed numbers and ids of applications of every length", async () => {
  const twins = await createFlowTwins({});
  const everyOther = (length: number, byte: number): Buffer =>
    Buffer.from(Array.from({ length }, (_, i) => (i % 2 === 0 ? byte : 255 - byte)));
  const send = (ids: readonly number[]): void => {
    for (const length of [1, 2, 3, 4, 5, 6, 7, 8, "variable"] as const) {
      const template = { id: 300, fields: fields([434, length], [95, "variable"]) };
      const records = [0, 1, 0x7f, 0x80, 0xff].flatMap((byte, i) =>
        ids.flatMap((bytes) =>
          [3, 13, 20].map((engine) => {
            const id = everyOther(bytes, byte);
            if (bytes > 0) id[0] = engine;
            return encodeRecord(template, [everyOther(length === "variable" ? 2 * i : length, byte), id]);
          }),
        ),
      );
      twins.send(ipfix([ipfixTemplates(template)]));
      for (const record of records) twins.send(ipfix([packetSet(300, record, { pad: false })]));
    }
  };
  send([2, 3, 4, 5, 6, 7, 8, 9]);
  send([0, 1, 10, 11, 12, 13, 14]);
  const { slow } = await twins.finish();
  // Of ids that are longer than others: four lengths of the engine whose selectors begin with a vendor's number.
  assert.deepEqual(slow, { value: 9 * 5 * 4 });
});

test("texts and NTP timestamps of every kind", async () => {
  const texts = [
    ["", "a", "Düsseldorf 1", "日本語のインターフェース名", "🙂 four bytes", "\ufeffmark", "\ufffd is a character"],
    ['"quoted" and \\', "\b\t\n\f\r\u0001\u001f\u007f", "a\0b", "sixteen bytes ok", "sixteen bytes ok, and ü behind"],
    "ü".repeat(20).match(/.{1,3}/gu) ?? [],
  ].flatMap((some) => some.map((text) => Buffer.from(text)));
  const bytes = [
    ["ff", "61c3", "c3", "c080", "c1bf", "e08080", "e0a080", "eda080", "ed9fbf", "f08080ff", "f0908080", "f48fbfbf"],
    ["f4908080", "f5808080", "e282", "e28261", "80", "7fc3bc80", "c3bc0000", "fc".repeat(24), `${"61".repeat(17)}fc`],
  ].flatMap((some) => some.map((hex) => Buffer.from(hex, "hex")));
  const seconds = [0, 1, 0x7fff_ffff, 0x8000_0000, 2_208_988_799, 2_208_988_800, 3_900_000_000, 0xffff_ffff];
  const fractions = [0, 1, 4294, 0x7fff_ffff, 0x8000_0000, 0xffff_f000, 0xffff_fffe, 0xffff_ffff];
  const times = seconds.flatMap((second) => fractions.map((fraction) => [second, fraction] as const));
  const twins = await createFlowTwins({});
  const template = { id: 300, fields: fields([83, 64], [154, 8], [156, 8], [155, 8], [157, 8], [82, "variable"]) };
  twins.send(ipfix([ipfixTemplates(template)]));
  for (const text of [...texts, ...bytes]) {
    const records = times.map(([second, fraction]) => {
      const time = uints([second, 4], [fraction, 4]);
      const padded = Buffer.concat([text, Buffer.alloc(64)]).subarray(0, 64);
      return encodeRecord(template, [padded, time, time, time, time, text]);
    });
    for (let i = 0; i < records.length; i += 8) {
      twins.send(ipfix([packetSet(300, Buffer.concat(records.slice(i, i + 8)), { pad: false })]));
    }
  }
  const { slow } = await twins.finish();
  assert.deepEqual(slow, {});
});

test("a template with more labels than a stack has leaves what others need as it is", async () => {
  const twins = await createFlowTwins({});
  const labels = { id: 300, fields: fields(...Array.from({ length: 1000 }, () => [70, 3] as const)) };
  const icmp = { id: 301, fields: fields([27, 16], [28, 16], [4, 1], [7, 2], [11, 2]) };
  twins.send(netflow9([netflow9Templates(labels, icmp)]));
  const swapped = Buffer.concat([Buffer.alloc(32, 1), Buffer.from([58, 0, 0, 0, 134])]);
  twins.send(netflow9([packetSet(301, swapped, { pad: false })]));
  twins.send(netflow9([packetSet(300, Buffer.alloc(3000, 1), { pad: false })]));
  twins.send(netflow9([packetSet(301, swapped, { pad: false })]));
  await twins.finish();
});
