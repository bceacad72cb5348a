import assert from "node:assert/strict";
import { test } from "node:test";
import { joinLineEnrichers, type Enricher } from "../../src/record/index.ts";
import {
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  packetSet,
  type PacketTemplate,
} from "../support/flow-packets.ts";
import { createFlowRig, type FlowRig } from "../support/flow-rig.ts";

const nothingKnown: Enricher = { enrich() {}, lines: joinLineEnrichers([]) };

/** One of many that have other fields each: source port, counters and an interface, and padding of many lengths. */
function template(number: number): PacketTemplate {
  return {
    id: 256 + (number % 2000),
    fields: [
      { id: 7, length: 2 },
      { id: 1, length: 1 + (number % 8) },
      { id: 2, length: 1 + ((number >>> 3) % 8) },
      { id: 10, length: 1 + ((number >>> 6) % 4) },
      { id: 210, length: 1 + (number >>> 8) },
    ],
  };
}

const lengthOf = ({ fields }: PacketTemplate): number => fields.reduce((sum, { length }) => sum + Number(length), 0);

const zeros = (of: PacketTemplate): Buffer => Buffer.alloc(lengthOf(of));

/** A datagram of as many records as asked for, all zeros but for the port of the first. */
function data(of: PacketTemplate, records: number): Buffer {
  const bytes = Buffer.alloc(records * lengthOf(of));
  bytes.writeUInt16BE(of.id, 0);
  return netflow9([packetSet(of.id, bytes, { pad: false })]);
}

function createRig(functionAfter: number, write?: () => void): FlowRig & { outcome(name: string): Promise<number> } {
  const rig = createFlowRig({
    enricher: nothingKnown,
    compileAfter: 0,
    functionAfter,
    ...(write !== undefined && { sink: { write } }),
  });
  return Object.assign(rig, {
    outcome: (outcome: string) => rig.value("netgloss_flow_compiled_templates_total", { outcome }),
  });
}

test("more templates in turn than functions are kept for: none is made anew, the others keep their programs", async () => {
  const rig = createRig(20);
  const count = 150;
  for (let i = 0; i < count; i++) rig.send(netflow9([netflow9Templates(template(i))]));
  const rounds = 8;
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < count; i++) {
      const records = rig.send(data(template(i), 10));
      assert.equal(records.length, 10);
      assert.equal(records[0]?.["flow.src.l4.port.id"], 256 + i);
    }
  }
  assert.equal(await rig.outcome("programs"), count);
  assert.equal(await rig.outcome("compiled"), 128);
  assert.equal(await rig.outcome("evicted"), 0);
  assert.equal(await rig.outcome("dropped"), 0);
  // Asked for again after 20 records more each time.
  assert.equal(await rig.outcome("postponed"), 2 * (count - 128));
  assert.equal(await rig.value("netgloss_flow_compiled_templates", { as: "function" }), 128);
  assert.equal(await rig.value("netgloss_flow_compiled_templates", { as: "program" }), count - 128);
  const compiled = await rig.value("netgloss_flow_records_by_path_total", { path: "compiled" });
  assert.equal(compiled, rounds * count * 10);
});

test("a function whose template is not used any more gives way; when that is used again it starts anew", async () => {
  const rig = createRig(10);
  const count = 129;
  for (let i = 0; i < count; i++) rig.send(netflow9([netflow9Templates(template(i))]));
  for (let i = 0; i < count; i++) rig.send(data(template(i), 11));
  assert.equal(await rig.outcome("compiled"), 128);
  assert.equal(await rig.outcome("postponed"), 1);
  // All but the first are used while a million records pass.
  // How many there are is told by the bytes: these seem to have one each.
  const long: PacketTemplate = { id: 3000, fields: [{ id: 371, length: "variable" }] };
  const record = Buffer.alloc(255, "x");
  record[0] = 254;
  const records = packetSet(long.id, Buffer.concat(Array.from({ length: 250 }, () => record)), { pad: false });
  rig.send(ipfix([ipfixTemplates(long)]));
  for (let i = 0; i < 16; i++) assert.equal(rig.send(ipfix([records])).length, 250);
  for (let i = 1; i < count; i++) rig.send(data(template(i), 11));
  assert.equal(await rig.outcome("compiled"), 129);
  assert.equal(await rig.outcome("evicted"), 1);
  assert.equal(await rig.value("netgloss_flow_compiled_templates", { as: "function" }), 128);
  assert.equal(rig.send(data(template(0), 1))[0]?.["flow.src.l4.port.id"], 256);
  assert.equal(await rig.outcome("compiled"), 129);
});

test("programs are bounded: those used longest ago are dropped, and their templates are decoded as before", async () => {
  const rig = createRig(Number.POSITIVE_INFINITY, () => {});
  const count = 8300;
  const send = (i: number, ...sets: Buffer[]): void =>
    rig.pipeline.process(netflow9(sets), `192.0.2.${1 + Math.floor(i / 2000)}`, 2055);
  // An exporter for each 2000: one may not have many more.
  for (let i = 0; i < count; i++)
    send(i, netflow9Templates(template(i)), packetSet(template(i).id, zeros(template(i))));
  assert.equal(await rig.outcome("programs"), count);
  assert.equal(await rig.outcome("dropped"), count - 8192);
  assert.equal(await rig.value("netgloss_flow_compiled_templates", { as: "program" }), 8192);
  send(0, packetSet(template(0).id, zeros(template(0))));
  assert.equal(await rig.outcome("programs"), count + 1);
  assert.equal(await rig.value("netgloss_flow_records_by_path_total", { path: "compiled" }), count + 1);
});

test("programs of long templates are bounded by their bytes", async () => {
  const rig = createRig(Number.POSITIVE_INFINITY, () => {});
  const elements = Array.from({ length: 199 }, (_, i) => ({ id: 20_000 + i, length: 1, pen: 64_999 }));
  const long = { id: 256, fields: [...elements, { id: 210, length: 1 }] };
  const defined = ipfix([ipfixTemplates(long)]);
  const count = 1700;
  for (let i = 0; i < count; i++) {
    // The length of the last field is what the datagram ends with.
    defined.writeUInt16BE(1 + i, defined.length - 2);
    rig.pipeline.process(defined, "192.0.2.1", 4739);
    rig.pipeline.process(ipfix([packetSet(256, Buffer.alloc(200 + i), { pad: false })]), "192.0.2.1", 4739);
  }
  assert.equal(await rig.outcome("programs"), count);
  const dropped = await rig.outcome("dropped");
  assert.ok(dropped > 0 && dropped < count / 2);
});
