import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { joinLineEnrichers, type RecordFields, type Value } from "../../src/record/index.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";
import { referenceData } from "../support/reference-data.ts";
import { runs } from "../support/runs.ts";
import { sflowDatagram } from "../support/sflow-arbitrary.ts";
import {
  address,
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
import { modelSamples } from "./model/sflow-model.ts";

/** Every sample is written by the kernel. */
const createRig = (): FlowRig => createFlowRig({ enricher: { enrich() {}, lines: joinLineEnrichers([]) } });

/** Fields that the header of a datagram gives. */
const ofHeader = /^(@timestamp|flow\.export\.(?!as\.).*|flow\.(start|end)\.timestamp)$/;

function expected(record: RecordFields): Json {
  return Object.fromEntries([...record].map(([name, value]) => [name, isLong(value) ? `${value}n` : value]));
}

/** Whether the rig gives a number as text, because a double may not have all its digits. */
function isLong(value: Value): value is number | bigint {
  return (typeof value === "bigint" || typeof value === "number") && String(value).length >= 16;
}

function check(rig: FlowRig, datagram: Buffer): number {
  const records = rig
    .send(datagram)
    .filter(({ "flow.record.type": type }) => type === undefined || type === "discard")
    .map((record) => Object.fromEntries(Object.entries(record).filter(([name]) => !ofHeader.test(name))));
  assert.deepEqual(records, modelSamples(datagram).map(expected));
  return records.length;
}

test("whatever the samples: they are those that a slow reading finds", async () => {
  const rig = createRig();
  fc.assert(
    fc.property(sflowDatagram, (datagram) => void check(rig, datagram)),
    runs(400),
  );
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "sflow", reason: "internal" }), 0);
  assert.equal(await rig.value("netgloss_flow_slow_fields_total", { reason: "sample" }), 0);
});

const payload = fc.oneof(
  fc.integer({ min: 0, max: 511 }).map((flags) => [6, tcp(flags)] as const),
  // The last ones are ports of tunnels.
  fc
    .constantFrom(53, 443, 1701, 2152, 3544, 4789, 4790, 5247, 6081, 6635, 8472)
    .map((port) => [17, udp(port)] as const),
  fc.constantFrom(1, 58, 50).map((protocol) => [protocol, Buffer.from("0300000000000000", "hex")] as const),
);
const packet = fc
  .tuple(payload, fc.boolean(), fc.constantFrom(undefined, 0, 21, 45, 60), fc.constantFrom(0, 4, 40))
  .map(([[protocol, content], isIpv6, length, extra]): [type: number, packet: Buffer] => {
    if (isIpv6) return [0x86dd, ipv6Packet(protocol, content, length)];
    const more = length === undefined ? {} : { length };
    return [0x0800, ipv4Packet(content, { protocol, options: Buffer.alloc(extra), ...more })];
  });
const tags = fc.constantFrom("", "81002064", "81000000", "88a8e065 81000064", "8100000181000002 81000003");
const commonHeader = fc
  .tuple(packet, tags, fc.constantFrom(1, 1, 1, 11, 12, 7))
  .map(([[type, content], tag, protocol]) =>
    sampledHeader(protocol === 1 ? ethernet(type, content, tag.replaceAll(" ", "")) : content, 1400, protocol),
  );
const vlan = fc.constantFrom(0, 100, 0xffff_ffff);
const common = fc.oneof(
  { weight: 4, arbitrary: commonHeader },
  { weight: 2, arbitrary: fc.tuple(vlan, vlan, vlan, vlan).map((values) => structure(1001, words(...values))) },
  fc
    .constantFrom("192.0.2.7", "2001:db8::7", undefined)
    .map((hop) => structure(1002, Buffer.concat([address(hop), words(24, 0xffff_ffff)]))),
  fc.constant(structure(1011, words(24))),
);
const interfaces = fc.constantFrom(3, 4, 0x3fff_ffff, 0x8000_0000, 0x8000_0002, 0x4000_0100);
const commonSample = fc
  .tuple(fc.array(common, { minLength: 1, maxLength: 4 }), interfaces, interfaces, fc.boolean())
  .map(([records, input, output, isExpanded]) =>
    isExpanded
      ? expandedFlowSample(records, [input >>> 30, input & 0x3fff_ffff, output >>> 30, output & 0x3fff_ffff])
      : flowSample(records, { input, output }),
  );

test("samples of the kinds that the kernel lists, and damaged ones: they are those that a slow reading finds", async () => {
  const rig = createRig();
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 });
  fc.assert(
    fc.property(fc.array(commonSample, { minLength: 1, maxLength: 5 }), damage, fc.nat(9), (samples, bytes, cut) => {
      const datagram = Buffer.from(sflow(samples));
      for (const [at, value] of bytes) datagram[28 + (at % (datagram.length - 28))] = value;
      check(rig, cut > 4 ? datagram : datagram.subarray(0, datagram.length - cut));
    }),
    runs(300),
  );
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "sflow", reason: "internal" }), 0);
});

test("samples as long and as odd as a datagram can have them", async () => {
  const rig = createRig();
  const strange = (count: number, bytes: number): Buffer[] =>
    Array.from({ length: count }, (_, i) => structure(i % 4096, Buffer.alloc(bytes, 7), 1 + Math.floor(i / 4096)));
  const control = (bytes: number): Buffer => structure(1004, Buffer.concat([words(1), opaque(Buffer.alloc(bytes, 1))]));
  const header = sampledHeader(ethernet(0x0800, ipv4Packet(tcp(2))));
  const datagrams = [
    [flowSample(strange(8000, 0))],
    [flowSample(strange(3000, 12))],
    [flowSample([control(65_000)])],
    Array.from({ length: 60 }, () => flowSample([header, ...strange(80, 0)])),
    Array.from({ length: 40 }, () => flowSample([header, control(1000)])),
    Array.from({ length: 400 }, () => flowSample([header])),
  ];
  for (const samples of datagrams) assert.equal(check(rig, sflow(samples)), samples.length);
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "sflow", reason: "internal" }), 0);
});

const telegraf = referenceData("flow/telegraf");

test("recordings of agents: samples are those that a slow reading finds", { skip: telegraf.skip }, () => {
  const rig = createRig();
  let samples = 0;
  const folders = readdirSync(telegraf.path).filter((name) => name.startsWith("sflow_"));
  for (const folder of folders.map((name) => join(telegraf.path, name))) {
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".bin"))) {
      samples += check(rig, readFileSync(join(folder, file)));
    }
  }
  assert.ok(samples > 0);
});
