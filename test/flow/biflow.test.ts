import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow9,
  netflow9Templates,
  uint,
  uints,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type Json } from "../support/flow-rig.ts";
import { referenceData } from "../support/reference-data.ts";

const reverse = 29_305;
const biflow: PacketTemplate = {
  id: 256,
  fields: fields(
    [8, 4],
    [12, 4],
    [7, 2],
    [11, 2],
    [4, 1],
    [10, 4],
    [14, 4],
    [61, 1],
    [239, 1],
    [15, 4],
    [152, 8],
    [1, 4],
    [2, 4],
    [6, 1],
    [184, 4],
    [1, 4, reverse],
    [2, 4, reverse],
    [6, 1, reverse],
    [152, 8, reverse],
    [34, 4],
  ),
};
const values = (reverseBytes: number, reversePackets: number): Buffer[] => [
  ipv4("192.0.2.1"),
  ipv4("198.51.100.2"),
  uint(40_000, 2),
  uint(443, 2),
  uint(6, 1),
  uint(7, 4),
  uint(8, 4),
  uint(0, 1),
  uint(1, 1),
  ipv4("203.0.113.9"),
  uint(1_699_999_990_007, 8),
  uint(1500, 4),
  uint(10, 4),
  uint(2, 1),
  uint(77, 4),
  uint(reverseBytes, 4),
  uint(reversePackets, 4),
  uint(0x12, 1),
  uint(1_699_999_990_100, 8),
  uint(10, 4),
];
const datagram = (...counters: [number, number]): Buffer =>
  ipfix([ipfixTemplates(biflow), dataSet(biflow, values(...counters))]);

/** Without what all records of a datagram have in common. */
function own(record: Json | undefined): Json {
  return Object.fromEntries(Object.entries(record ?? {}).filter(([name]) => !/^(@|flow\.export\.)/.test(name)));
}

test("a biflow is one record unless the operator wants two", async () => {
  const rig = createFlowRig();
  const [record, ...rest] = rig.send(datagram(9000, 12));
  assert.equal(rest.length, 0);
  assert.equal(record?.["flow.reverse.raw.bytes"], 9000);
  assert.equal(record?.["flow.reverse.start.timestamp"], "2023-11-14T22:13:10.100Z");
});

test("a count since the last record wins over a total in each direction, also where it is zero", () => {
  const counters: PacketTemplate = {
    id: 256,
    fields: fields(
      [85, 4],
      [86, 4],
      [1, 4],
      [2, 4],
      [85, 4, reverse],
      [86, 4, reverse],
      [1, 4, reverse],
      [2, 4, reverse],
    ),
  };
  const sent = ipfix([
    ipfixTemplates(counters),
    dataSet(
      counters,
      [9000, 90, 7, 1, 8000, 80, 0, 0].map((n) => uint(n, 4)),
    ),
  ]);
  const [record] = createFlowRig().send(sent);
  assert.equal(record?.["flow.raw.bytes"], 7);
  assert.equal(record["flow.reverse.raw.bytes"], 0);
  assert.equal(record["flow.reverse.raw.packets"], 0);
  assert.equal(record["flow.reverse.ie.octetTotalCount"], 8000);
});

test("two records: each has its direction's values, the second the sides in each other's place", async () => {
  const rig = createFlowRig({ splitBiflows: true, communityId: true });
  const records = rig.send(datagram(9000, 12));
  assert.equal(records.length, 2);
  const [first, second] = records.map(own);
  assert.deepEqual(second, {
    "flow.src.ip.addr": "198.51.100.2",
    "flow.dst.ip.addr": "192.0.2.1",
    "flow.src.l4.port.id": 443,
    "flow.dst.l4.port.id": 40_000,
    "l4.proto.id": 6,
    "l4.proto.name": "TCP",
    "flow.in.netif.index": 8,
    "flow.out.netif.index": 7,
    "flow.direction.name": "egress",
    "flow.biflow.direction.id": 2,
    "flow.biflow.direction.name": "reverseInitiator",
    "flow.start.timestamp": "2023-11-14T22:13:10.100Z",
    "flow.raw.bytes": 9000,
    "flow.bytes_layer": "l3",
    "flow.raw.packets": 12,
    "tcp.flags.bits": 18,
    "tcp.flags.tags": ["SYN", "ACK"],
    "ip.version.ver": 4,
    "ip.version.name": "IPv4",
    "flow.ie.samplingInterval": 10,
    "flow.sample_rate": 10,
    "flow.bytes": 90_000,
    "flow.packets": 120,
    "flow.community.id": first?.["flow.community.id"],
  });
  assert.deepEqual(
    Object.keys(first ?? {}).filter((name) => name.startsWith("flow.reverse.")),
    [],
  );
  assert.equal(first?.["flow.raw.bytes"], 1500);
  assert.equal(first["flow.next_hop.ip.addr"], "203.0.113.9");
  assert.equal(first["flow.bytes"], 15_000);
  assert.equal(records[1]?.["flow.export.ip.addr"], "192.0.2.254");
  assert.equal(await rig.value("netgloss_flow_records_total", { protocol: "ipfix" }), 2);
});

test("data records are counted as the exporter does, not as they are written", async () => {
  const rig = createFlowRig({ splitBiflows: true });
  rig.send(datagram(9000, 12));
  rig.send(ipfix([dataSet(biflow, values(1, 1))], { sequence: 1 }));
  assert.equal(await rig.value("netgloss_flow_missing_total", { protocol: "ipfix" }), 0);
  assert.equal(await rig.value("netgloss_flow_late_total", { protocol: "ipfix" }), 0);
});

test("no second record where nothing came back", () => {
  const rig = createFlowRig({ splitBiflows: true });
  assert.equal(rig.send(datagram(0, 0)).length, 1);
  assert.equal(rig.send(datagram(40, 0)).length, 2);
});

test("what a firewall says of initiator and responder is two directions, too", () => {
  const template: PacketTemplate = { id: 263, fields: fields([8, 4], [12, 4], [225, 4], [231, 4], [232, 4], [233, 1]) };
  const rig = createFlowRig({ splitBiflows: true });
  const record = [
    ...["192.0.2.1", "198.51.100.2", "203.0.113.7"].map(ipv4),
    uints([1500, 4]),
    uints([9000, 4]),
    uint(2, 1),
  ];
  const records = rig.send(netflow9([netflow9Templates(template), dataSet(template, record)])).map(own);
  assert.deepEqual(records[1], {
    "flow.src.ip.addr": "198.51.100.2",
    "flow.dst.ip.addr": "192.0.2.1",
    "flow.dst.nat.ip.addr": "203.0.113.7",
    "flow.firewall.event.id": 2,
    "flow.firewall.event.name": "Flow Deleted",
    "flow.raw.bytes": 9000,
    "flow.bytes_layer": "l4",
    "ip.version.ver": 4,
    "ip.version.name": "IPv4",
    "flow.sample_rate": 1,
    "flow.bytes": 9000,
    "flow.sampling.assumed": true,
  });
});

test("the outer header's ends change places with those of the flow", () => {
  const template: PacketTemplate = { id: 264, fields: fields([8, 4], [12, 4], [8, 4], [12, 4], [231, 4], [232, 4]) };
  const rig = createFlowRig({ splitBiflows: true });
  const ends = ["203.0.113.1", "203.0.113.2", "192.0.2.1", "198.51.100.2"].map(ipv4);
  const record = [...ends, uints([1500, 4]), uints([9000, 4])];
  const [, second] = rig.send(netflow9([netflow9Templates(template), dataSet(template, record)])).map(own);
  assert.equal(second?.["flow.src.ip.addr"], "198.51.100.2");
  assert.equal(second["flow.outer.src.ip.addr"], "203.0.113.2");
  assert.equal(second["flow.outer.dst.ip.addr"], "203.0.113.1");
});

const vendors = referenceData("flow/vendors");

test("YAF: a TCP connection becomes two flows", { skip: vendors.skip }, () => {
  const rig = createFlowRig({ splitBiflows: true });
  const read = (name: string): Json[] => rig.send(readFileSync(join(vendors.path, `ipfix_test_yaf_${name}.dat`)));
  read("tpls_option_tpl");
  const [first, second] = read("data45873");
  const pick = (record: Json | undefined): unknown[] =>
    ["flow.src.ip.addr", "flow.src.mac.addr", "flow.bytes", "flow.packets"].map((name) => record?.[name]);
  assert.deepEqual(pick(first), ["172.16.32.100", "00:0c:29:8d:af:c3", 172, 4]);
  assert.deepEqual(pick(second), ["172.16.32.215", "00:0c:29:a8:6e:2f", 92, 2]);
});

test("MAC addresses of the far side are those of the reverse direction's near side, ends exchanged", () => {
  const template: PacketTemplate = {
    id: 260,
    fields: fields([8, 4], [12, 4], [56, 6], [80, 6], [81, 6], [57, 6], [1, 4], [1, 4, reverse]),
  };
  const mac = (last: number): Buffer => uints([0, 5], [last, 1]);
  const record = [ipv4("192.0.2.1"), ipv4("192.0.2.2"), mac(1), mac(2), mac(3), mac(4), uint(10, 4), uint(20, 4)];
  const flows = createFlowRig({ splitBiflows: true }).send(
    ipfix([ipfixTemplates(template), dataSet(template, record)]),
  );
  const names = ["flow.in.src", "flow.in.dst", "flow.out.src", "flow.out.dst"];
  const last = (flow: Json): unknown[] => names.map((name) => Number(String(flow[`${name}.mac.addr`]).slice(-2)));
  assert.deepEqual(flows.map(last), [
    [1, 2, 3, 4],
    [4, 3, 2, 1],
  ]);
});
