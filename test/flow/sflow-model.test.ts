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
  ethernet,
  flowSample,
  ipv4Packet,
  opaque,
  sampledHeader,
  sflow,
  structure,
  tcp,
  words,
} from "../support/sflow-packets.ts";
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
