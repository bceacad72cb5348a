import assert from "node:assert/strict";
import { createReadStream, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { DatagramReader, readCapture } from "../../src/flow/index.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";

// Captures of what real exporters do and the standards do not say. Each has the values that are right.

const folder = resolve(import.meta.dirname, "../../../test/flow/fixtures/cases");
const seen = new Set<string>();

interface Outcome {
  /** The flows, in order. */
  readonly flows: readonly Json[];
  readonly rig: FlowRig;
}

async function replay(name: string): Promise<Outcome> {
  const rig = createFlowRig({ optionsRecords: false });
  const reader = new DatagramReader();
  const flows: Json[] = [];
  seen.add(`${name}.pcap`);
  for await (const frame of readCapture(createReadStream(join(folder, `${name}.pcap`)))) {
    rig.time = frame.time ?? rig.time;
    reader.read(frame, ({ address, port, payload }) => void flows.push(...rig.send(payload, { address, port })));
  }
  return { flows, rig };
}

/** The values of some fields in each flow. */
const pick = (flows: readonly Json[], ...names: string[]): unknown[][] =>
  flows.map((flow) => names.map((name) => flow[name]));

const rates = ["flow.sample_rate", "flow.bytes", "flow.sampling.assumed"];

test("uptimes in the first four of eight bytes are times", async () => {
  const { flows } = await replay("01b-nxos-8byte-switched-trailing");
  assert.deepEqual(pick(flows, "flow.start.timestamp", "flow.end.timestamp"), [
    ["2025-11-26T09:39:50.000Z", "2025-11-26T09:39:59.000Z"],
  ]);
});

test("updates and the end of a firewall's flow add up to what passed, and the totals are there", async () => {
  const { flows } = await replay("07-asa-update-and-teardown");
  const sum = (name: string): number => flows.reduce((all, flow) => all + Number(flow[name]), 0);
  const names = ["flow.bytes", "flow.packets", "flow.reverse.bytes", "flow.reverse.packets"];
  assert.deepEqual(names.map(sum), [2588, 13, 1117, 10]);
  const totals = ["initiatorOctets", "initiatorPackets", "responderOctets", "responderPackets"];
  assert.deepEqual(pick(flows, "flow.firewall.event.id", ...totals.map((name) => `flow.ie.${name}`)), [
    [1, undefined, undefined, undefined, undefined],
    [5, undefined, undefined, undefined, undefined],
    [5, undefined, undefined, undefined, undefined],
    [2, 2588, 13, 1117, 10],
  ]);
});

test("a rate in the wrong byte order is turned, counted and said once", async () => {
  const { flows, rig } = await replay("08-mikrotik-le-rate");
  assert.deepEqual(pick(flows, ...rates), [[100, 150_000, undefined]]);
  assert.equal(await rig.value("netgloss_flow_doubted_rates_total", { protocol: "netflow9" }), 1);
  assert.deepEqual(
    rig.log.map(({ fields }) => [fields["said"], fields["taken"]]),
    [[1_677_721_600, 100]],
  );
});

test("rates of sFlow that cannot be are not known, and so is a rate of 0", async () => {
  const { flows, rig } = await replay("27-sflow-rate-0-huge");
  assert.deepEqual(new Set(pick(flows, "flow.sample_rate", "flow.packets").map(String)), new Set(["1,1"]));
  assert.equal(flows.filter((flow) => flow["flow.sampling.assumed"] === true).length, 2);
  assert.equal(await rig.value("netgloss_flow_doubted_rates_total", { protocol: "sflow" }), 1);
});

test("zeros at the end of a set are no record although they are as long as one", async () => {
  const { flows } = await replay("14b-nxos-pad36");
  assert.deepEqual(pick(flows, "flow.src.ip.addr", "flow.bytes"), [["10.0.0.1", 1500]]);
});

for (const [name, expected] of [
  [
    "18-template-scope-sampling",
    [
      [1000, 1_500_000, undefined],
      [2000, 3_000_000, undefined],
    ],
  ],
  [
    "35-v9-scope-template",
    [
      [100, 150_000, undefined],
      [4000, 6_000_000, undefined],
    ],
  ],
  [
    "33-sampled-and-unsampled-templates",
    [
      [100, 150_000, undefined],
      [1, 1500, true],
    ],
  ],
] as const) {
  test(`each template has its own rate: ${name}`, async () => {
    const { flows } = await replay(name);
    assert.deepEqual(pick(flows, ...rates), expected);
  });
}

test("names of the interfaces of both sides, where a template has them for both", async () => {
  const { flows } = await replay("20-ovs-repeated-interfaces");
  const names = [
    "in.netif.index",
    "in.netif.name",
    "in.netif.descr",
    "out.netif.index",
    "out.netif.name",
    "out.netif.descr",
  ];
  assert.deepEqual(pick(flows, ...names.map((name) => `flow.${name}`), "flow.ie.interfaceName"), [
    [3, "eth3", "in iface", 7, "eth7", "out iface", undefined],
  ]);
});

test("MAC addresses of six bytes and of eight in sampled Ethernet", async () => {
  const { flows } = await replay("24-sflow-ethernet-record");
  const addresses = ["b6:63:f5:8a:90:ca", "94:d2:bc:26:26:c6", 0x0800];
  assert.deepEqual(pick(flows, "flow.src.mac.addr", "flow.dst.mac.addr", "flow.ie.ethernetType"), [
    addresses,
    addresses,
  ]);
});

test("a NAT record without an event has none: which one it is of is not derived from its fields", async () => {
  const { flows } = await replay("32-nokia-nat");
  assert.deepEqual(
    pick(flows, "flow.nat.event.id", "flow.src.nat.ip.addr", "flow.start.timestamp", "flow.end.timestamp"),
    [[undefined, "203.0.113.9", "2025-11-26T09:40:00.000Z", undefined]],
  );
});

test("start and duration give the end", async () => {
  const { flows } = await replay("37-start-duration");
  assert.deepEqual(pick(flows, "flow.start.timestamp", "flow.end.timestamp"), [
    ["2025-11-26T09:39:51.000Z", "2025-11-26T09:39:59.500Z"],
  ]);
});

test("an options template whose length is not one of whole fields gives the names of applications", async () => {
  const { flows, rig } = await replay("47-option-length-9");
  assert.deepEqual(pick(flows, "app.id", "app.name"), [["22:5", "DNS"]]);
  assert.deepEqual(rig.log, []);
});

test("a template that cannot be read takes the one before away: data wait", async () => {
  const { flows, rig } = await replay("87-invalid-redefinition");
  assert.deepEqual(pick(flows, "flow.src.ip.addr"), [["10.0.0.1"]]);
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "ipfix", reason: "bad_template" }), 1);
  assert.equal(await rig.value("netgloss_flow_waiting_sets"), 1);
});

test("data of a layout whose template comes later wait for it", async () => {
  const { flows, rig } = await replay("88-data-before-new-template");
  assert.deepEqual(pick(flows, "flow.src.ip.addr", "flow.bytes", "flow.in.netif.index"), [
    ["10.0.0.1", 100, undefined],
    ["10.0.0.1", 100, 5],
    ["10.0.0.1", 100, 5],
  ]);
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "ipfix", reason: "wrong_template" }), 1);
});

test("a frame that is shorter than its packet, or longer than any, is as long as the packet and its headers", async () => {
  const { flows } = await replay("92-sflow-frame-length");
  assert.deepEqual(
    pick(flows, "flow.bytes_layer", "flow.raw.bytes"),
    Array.from({ length: 4 }, () => ["l2", 1514]),
  );
});

test("tenants have names, and a segment's type is apart from its number", async () => {
  const { flows } = await replay("93-vmware-tenant");
  const names = ["tenantProtocol", "tenantSourceIPv4", "tenantDestIPv4", "tenantSourcePort", "tenantDestPort"];
  assert.deepEqual(
    pick(flows, "flow.tunnel.type.name", "flow.tunnel.id", ...names.map((name) => `flow.ie.vmware.${name}`)),
    [["vxlan", 5001, 6, "10.10.0.1", "10.10.0.2", 40_000, 443]],
  );
});

test("every capture has its test", () => {
  assert.deepEqual(readdirSync(folder).toSorted(), [...seen].toSorted());
});
