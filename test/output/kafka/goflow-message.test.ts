import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { goflowFields, GoflowEncoder } from "../../../src/output/index.ts";
import { messageMaker, messageReader } from "./decode-message.ts";

/** What this output writes of goflow2's message, by the numbers and types that its schema has. */
const types: Readonly<Record<string, string>> = {
  address: "bytes",
  numbers: "repeated uint32",
  communities: "repeated uint32",
  asPath: "repeated uint32",
};
const schema = [
  'syntax = "proto3";',
  "message FlowMessage {",
  ...goflowFields.map(({ name, number, conversion }) => `${types[conversion] ?? "uint64"} ${name} = ${number};`),
  "}",
].join("\n");
const decode = messageReader(schema, "FlowMessage");
const messagesOf = messageMaker(new GoflowEncoder());

function messageOf(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return decode(messagesOf([JSON.stringify(record)])[0] as Uint8Array);
}

const record = {
  "@timestamp": "2026-11-22T04:00:00.250Z",
  "flow.export.ip.addr": "192.0.2.254",
  "flow.export.version.name": "NetFlow v9",
  "flow.export.sequence": 4711,
  "flow.src.ip.addr": "192.0.2.1",
  "flow.dst.ip.addr": "2001:db8::1",
  "flow.bytes": 150_000,
  "flow.raw.bytes": 1500,
  "flow.packets": 100,
  "flow.start.timestamp": "2026-11-22T03:59:00.000000001Z",
  "flow.sample_rate": 99.6,
  "flow.src.mac.addr": "00:00:5e:00:53:01",
  "ip.version.ver": 6,
  "ip.dscp.id": 46,
  "ip.ecn.id": 1,
  "l4.proto.id": 6,
  "icmp.type.id": 0,
  "flow.bgp.as_path": "64500 4200000000 {64502,64503}",
  "flow.bgp.communities": ["64496:100", "65535:65281"],
  "mpls.label.id": [16, 1_048_575],
  "flow.src.site": "ams1",
};

test("goflow2: its numbers, in its units; counters as exported; zeros and what it has no field for are left out", () => {
  assert.deepEqual(messageOf(record), {
    type: "3",
    sampling_rate: "100",
    sequence_num: "4711",
    src_addr: [192, 0, 2, 1],
    dst_addr: [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    bytes: "1500",
    packets: "100",
    sampler_address: [192, 0, 2, 254],
    proto: "6",
    ip_tos: String(46 * 4 + 1),
    src_mac: String(0x00005e005301),
    etype: String(0x86dd),
    mpls_label: [16, 1_048_575],
    bgp_communities: [64_496 * 65_536 + 100, 65_535 * 65_536 + 65_281],
    as_path: [64_500, 4_200_000_000],
    time_received_ns: String(BigInt(Date.parse("2026-11-22T04:00:00.250Z")) * 1_000_000n),
    time_flow_start_ns: String(BigInt(Date.parse("2026-11-22T03:59:00Z")) * 1_000_000n + 1n),
  });
  assert.deepEqual(
    messageOf({ ...record, "flow.export.agent.ip.addr": "192.0.2.253" })["sampler_address"],
    [192, 0, 2, 253],
  );
  assert.deepEqual(messageOf({ "flow.src.ip.addr": "no address", "flow.bytes": "x", "flow.src.mac.addr": "y" }), {});
});

test("goflow2: each row takes the most preferred field that it has; numbers that a type does not hold are left out", () => {
  const lines = [
    '{"flow.raw.bytes":1099511627776,"flow.bytes":7,"flow.src.as.asn":4294967296,"flow.src.l4.port.id":-1}',
    '{"flow.bytes":7,"flow.packets":-7,"flow.src.as.asn":4294967295,"flow.bgp.as_path":"64500 4294967296 7"}',
    '{"flow.export.ip.addr":"192.0.2.1","flow.ie.ipTTL":64,"ip.dscp.id":46,"flow.start.timestamp":"1969-12-31T00:00:00Z"}',
  ];
  assert.deepEqual(messagesOf(lines).map(decode), [
    { bytes: "1099511627776" },
    { bytes: "7", src_as: "4294967295", as_path: [64_500] },
    { sampler_address: [192, 0, 2, 1], ip_ttl: "64", ip_tos: "184" },
  ]);
});

test("the docs name each of its fields with what it is made of", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../../docs/outputs.md"), "utf8");
  for (const { number, name, from } of goflowFields) {
    const row = `| ${number} | \`${name}\` | ${from.map((field) => `\`${field}\``).join(", else ")}`;
    assert.ok(page.includes(row), row);
  }
});
