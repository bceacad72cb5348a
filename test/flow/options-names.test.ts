import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";

const text = (value: string, length: number): Buffer =>
  Buffer.concat([Buffer.from(value), Buffer.alloc(length)], length);

const flow: PacketTemplate = { id: 300, fields: fields([1, 4], [10, 4], [14, 4]) };
const netif: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([2, 4], [82, 16], [83, 16]) };
const values = (bytes: number, input: number, output: number): Buffer[] => [
  uint(bytes, 4),
  uint(input, 4),
  uint(output, 4),
];

function netflow9Rig(...domains: readonly number[]): FlowRig {
  const rig = createFlowRig();
  for (const domain of domains) rig.send(netflow9([netflow9Templates(flow), netflow9Templates(netif)], { domain }));
  return rig;
}
function announce(rig: FlowRig, index: number, name: string, descr: string, domain = 1): void {
  rig.send(netflow9([dataSet(netif, [uint(index, 4), text(name, 16), text(descr, 16)])], { domain }));
}
function names(record: Json | undefined): unknown {
  const all = ["flow.in.netif.name", "flow.in.netif.descr", "flow.out.netif.name", "flow.out.netif.descr"];
  return all.map((name) => record?.[name]);
}
const send = (rig: FlowRig, domain = 1): Json | undefined =>
  rig.send(netflow9([dataSet(flow, values(1, 7, 8))], { domain }))[0];

test("NetFlow v9: names by the scope interface; what changes shows in the next record, what is blank changes nothing", () => {
  const rig = netflow9Rig(1);
  assert.deepEqual(names(send(rig)), [undefined, undefined, undefined, undefined]);
  announce(rig, 7, "Gi0/7", "uplink");
  assert.deepEqual(names(send(rig)), ["Gi0/7", "uplink", undefined, undefined]);
  announce(rig, 8, "Gi0/8", "");
  assert.deepEqual(names(send(rig)), ["Gi0/7", "uplink", "Gi0/8", undefined]);
  announce(rig, 7, "", "  to berlin ");
  assert.deepEqual(names(send(rig)), ["Gi0/7", "to berlin", "Gi0/8", undefined]);
});

test("a name belongs to its domain; domain 0 speaks where the own is silent", () => {
  const rig = netflow9Rig(0, 1, 2);
  announce(rig, 7, "one", "", 1);
  assert.deepEqual(names(send(rig, 2)), [undefined, undefined, undefined, undefined]);
  announce(rig, 7, "whole", "", 0);
  announce(rig, 8, "whole 8", "", 0);
  assert.deepEqual(names(send(rig, 1)), ["one", undefined, "whole 8", undefined]);
  assert.deepEqual(names(send(rig, 2)), ["whole", undefined, "whole 8", undefined]);
});

test("a domain that sends options and no flows speaks for the others, unless there are two of its kind", () => {
  const rig = createFlowRig();
  const app: PacketTemplate = { id: 402, scopeCount: 1, fields: fields([1, 4], [95, 4], [96, 8]) };
  const sampler: PacketTemplate = { id: 403, scopeCount: 1, fields: fields([1, 4], [48, 4], [50, 4]) };
  const flows: PacketTemplate = { id: 301, fields: fields([95, 4], [10, 4], [48, 1]) };
  const flowOf = (domain: number): unknown => {
    const record = [uint(0x0d0001c5, 4), uint(7, 4), uint(1, 1)];
    const out = rig.send(netflow9([netflow9Templates(flows), dataSet(flows, record)], { domain }))[0];
    return ["app.name", "flow.in.netif.name", "flow.sample_rate"].map((name) => out?.[name]);
  };
  const tellAll = (domain: number, name: string): void => {
    const sets = [netflow9Templates(app), netflow9Templates(sampler), netflow9Templates(netif)];
    rig.send(netflow9(sets, { domain }));
    rig.send(netflow9([dataSet(app, [uint(0, 4), uint(0x0d0001c5, 4), text(name, 8)])], { domain }));
    rig.send(netflow9([dataSet(sampler, [uint(0, 4), uint(1, 4), uint(1000, 4)])], { domain }));
    announce(rig, 7, name, "", domain);
  };
  assert.deepEqual(flowOf(256), [undefined, undefined, undefined]);
  tellAll(6, "ssl");
  assert.deepEqual(flowOf(256), ["ssl", "ssl", 1000]);
  assert.deepEqual(flowOf(0), ["ssl", "ssl", 1000], "domain 0 counts, too, when it sends flows itself");
  tellAll(9, "other");
  assert.deepEqual(flowOf(256), [undefined, undefined, undefined], "two that might be meant");
  assert.deepEqual(flowOf(9), ["other", "other", 1000], "it has flows, so it speaks for itself");
  assert.deepEqual(flowOf(256), ["ssl", "ssl", 1000]);
  tellAll(0, "zero");
  assert.deepEqual(flowOf(256), ["zero", "zero", 1000]);
});

test("IPFIX: flows on another port keep a domain from speaking for others; the start of the exporter counts for all", () => {
  const rig = createFlowRig();
  const start: PacketTemplate = { id: 404, scopeCount: 1, fields: fields([149, 4], [160, 8]) };
  const uptimes: PacketTemplate = { id: 302, fields: fields([1, 4], [22, 4]) };
  const tellStart = [ipfixTemplates(start), dataSet(start, [uint(6, 4), uint(1_699_999_000_000, 8)])];
  const startOf = (domain: number, port: number): unknown => {
    const sets = [ipfixTemplates(uptimes), dataSet(uptimes, [uint(1, 4), uint(500_250, 4)])];
    return rig.send(ipfix(sets, { domain }), { port })[0]?.["flow.start.timestamp"];
  };
  rig.send(ipfix(tellStart, { domain: 6 }), { port: 1000 });
  assert.equal(startOf(7, 1001), "2023-11-14T22:05:00.250Z");
  assert.equal(startOf(6, 1002), "2023-11-14T22:05:00.250Z");
  assert.equal(startOf(7, 1001), undefined);
});

test("another exporter's names are its own", () => {
  const rig = netflow9Rig(1);
  announce(rig, 7, "mine", "");
  const [other] = rig.send(netflow9([netflow9Templates(flow), dataSet(flow, values(1, 7, 8))]), {
    address: "192.0.2.1",
  });
  assert.deepEqual(names(other), [undefined, undefined, undefined, undefined]);
});

test("IPFIX: interfaces by 10 or 14, applications by 95, VRFs by 234 or 235, the domain's own name, from any port", () => {
  const rig = createFlowRig();
  const byIngress: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([10, 4], [82, "variable"]) };
  const byEgress: PacketTemplate = { id: 401, scopeCount: 1, fields: fields([14, 4], [82, "variable"]) };
  const app: PacketTemplate = { id: 402, scopeCount: 1, fields: fields([95, 4], [96, 24], [94, 55]) };
  const vrf: PacketTemplate = { id: 403, scopeCount: 1, fields: fields([149, 4], [234, 4], [236, "variable"]) };
  const domain: PacketTemplate = { id: 404, scopeCount: 1, fields: fields([149, 4], [300, "variable"]) };
  const flows: PacketTemplate = { id: 300, fields: fields([10, 4], [14, 4], [95, 4], [234, 4], [235, 4]) };
  rig.send(ipfix([ipfixTemplates(byIngress, byEgress, app, vrf, domain)]), { port: 1000 });
  const sets = [
    dataSet(byIngress, [uint(1, 4), Buffer.from("eth1")]),
    dataSet(byEgress, [uint(2, 4), Buffer.from("eth2")]),
    // NBAR2: engine 13, selector 66.
    dataSet(app, [uint(0x0d000042, 4), text("ssl", 24), text("Secure Sockets", 55)]),
    dataSet(vrf, [uint(1, 4), uint(5, 4), Buffer.from("red")], [uint(1, 4), uint(6, 4), Buffer.from("blue")]),
    dataSet(domain, [uint(1, 4), Buffer.from("line card 1")]),
  ];
  rig.send(ipfix(sets), { port: 1000 });
  const record = [uint(1, 4), uint(2, 4), uint(0x0d000042, 4), uint(5, 4), uint(6, 4)];
  const [out] = rig.send(ipfix([ipfixTemplates(flows), dataSet(flows, record)]), { port: 2000 });
  assert.equal(out?.["flow.in.netif.name"], "eth1");
  assert.equal(out["flow.out.netif.name"], "eth2");
  assert.equal(out["app.id"], "13:66");
  assert.equal(out["app.name"], "ssl");
  assert.equal(out["flow.in.vrf.name"], "red");
  assert.equal(out["flow.out.vrf.name"], "blue");
  assert.equal(out["flow.export.domain.name"], "line card 1");
  assert.deepEqual(rig.pipeline.exporters()[0]?.domains[0]?.names, { interfaces: 2, applications: 1, vrfs: 2 });
});

test("a name that the record brings itself stands, and the enricher is asked with the exporter's name in place", () => {
  const seen: unknown[] = [];
  const rig = createFlowRig({ enricher: { enrich: (record) => void seen.push(record.get("flow.in.netif.name")) } });
  const app: PacketTemplate = { id: 402, scopeCount: 1, fields: fields([95, 4], [96, 8]) };
  const flows: PacketTemplate = { id: 301, fields: fields([95, 4], [96, 8], [10, 4]) };
  rig.send(netflow9([netflow9Templates(app), netflow9Templates(netif), netflow9Templates(flows)]));
  announce(rig, 3, "ge-0/0/3", "");
  rig.send(netflow9([dataSet(app, [uint(0x03000050, 4), text("http", 8)])]));
  const [out] = rig.send(netflow9([dataSet(flows, [uint(0x03000050, 4), text("own", 8), uint(3, 4)])]));
  assert.equal(out?.["app.name"], "own");
  assert.equal(seen.at(-1), "ge-0/0/3");
});

test("a long name is cut at 255 characters", () => {
  const rig = createFlowRig();
  const long: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([10, 4], [82, "variable"]) };
  rig.send(ipfix([ipfixTemplates(long), ipfixTemplates(flow)]));
  rig.send(ipfix([dataSet(long, [uint(7, 4), Buffer.alloc(5000, "x")])]));
  const [out] = rig.send(ipfix([dataSet(flow, values(1, 7, 8))]));
  assert.equal(out?.["flow.in.netif.name"], "x".repeat(255));
});

test("an exporter's options are bounded: the one announced longest ago gives way and is counted; one announced again is young", async () => {
  const rig = createFlowRig({ limits: { options: 3 } });
  rig.send(netflow9([netflow9Templates(flow), netflow9Templates(netif)]));
  for (const index of [7, 8, 9, 7, 10]) announce(rig, index, `if ${index}`, "");
  assert.deepEqual(names(send(rig)), ["if 7", undefined, undefined, undefined]);
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "option" }), 1);
  const vrf: PacketTemplate = { id: 403, scopeCount: 1, fields: fields([1, 4], [234, 4], [236, 8]) };
  rig.send(netflow9([netflow9Templates(vrf), dataSet(vrf, [uint(0, 4), uint(1, 4), text("red", 8)])]));
  assert.equal(
    await rig.value("netgloss_flow_evicted_total", { what: "option" }),
    2,
    "no room, nothing of its kind to go",
  );
});
