import assert from "node:assert/strict";
import { test } from "node:test";
import { knownElements } from "../../src/flow/elements/registry/registry.ts";
import { joinLineEnrichers, type Enricher } from "../../src/record/index.ts";
import {
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  packetSet,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
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

/** An exporter for each 2000 templates: one may not have many more. */
const from = (number: number): { address: string } => ({ address: `192.0.2.${1 + Math.floor(number / 2000)}` });

const lengthOf = ({ fields }: PacketTemplate): number => fields.reduce((sum, { length }) => sum + Number(length), 0);

/** A datagram of as many records as asked for, all zeros but for the port of the first. */
function data(of: PacketTemplate, records: number): Buffer {
  const bytes = Buffer.alloc(records * lengthOf(of));
  bytes.writeUInt16BE(of.id, 0);
  return netflow9([packetSet(of.id, bytes, { pad: false })]);
}

function createRig(): FlowRig & { outcome(name: string): Promise<number> } {
  const rig = createFlowRig({ enricher: nothingKnown });
  return Object.assign(rig, {
    outcome: (outcome: string) => rig.value("netgloss_flow_compiled_templates_total", { outcome }),
  });
}

test("a template is compiled at its first record, and once for all exporters that have it", async () => {
  const rig = createRig();
  for (const address of ["192.0.2.1", "192.0.2.2"]) {
    rig.send(netflow9([netflow9Templates(template(0))]), { address });
    assert.equal(await rig.outcome("compiled"), address === "192.0.2.1" ? 0 : 1);
    for (let i = 0; i < 4; i++) assert.equal(rig.send(data(template(0), 30), { address }).length, 30);
  }
  assert.equal(await rig.outcome("compiled"), 1);
});

test("thousands of templates in turn: each is compiled once, none is forgotten", async () => {
  const rig = createRig();
  const count = 3000;
  for (let i = 0; i < count; i++) rig.send(netflow9([netflow9Templates(template(i))]), from(i));
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < count; i++) {
      const records = rig.send(data(template(i), 2), from(i));
      assert.deepEqual([records.length, records[0]?.["flow.src.l4.port.id"]], [2, 256 + (i % 2000)]);
    }
  }
  assert.equal(await rig.outcome("compiled"), count);
  assert.equal(await rig.outcome("evicted"), 0);
  assert.equal(await rig.value("netgloss_flow_compiled_templates"), count);
});

test("templates are bounded by their bytes: when there is no room for one more, all are compiled again", async () => {
  const rig = createRig();
  const elements = [...knownElements()]
    .filter(({ pen, type }) => pen === 0 && type.startsWith("unsigned"))
    .slice(0, 150)
    .map(({ id }) => ({ id, length: 2 }));
  const count = 1700;
  let records = 0;
  const send = (padding: number): void => {
    const long = { id: 256, fields: [...elements, { id: 210, length: padding }] };
    rig.pipeline.process(ipfix([ipfixTemplates(long)]), "192.0.2.1", 4739);
    records += rig.send(ipfix([packetSet(long.id, Buffer.alloc(lengthOf(long)), { pad: false })]), {
      address: "192.0.2.1",
      port: 4739,
    }).length;
  };
  for (let i = 1; i <= count; i++) send(i);
  assert.equal(records, count);
  assert.equal(await rig.outcome("compiled"), count);
  const evicted = await rig.outcome("evicted");
  assert.ok(evicted > 0 && evicted < count, `${evicted} of ${count}`);
  assert.equal(await rig.value("netgloss_flow_compiled_templates"), count - evicted);
  // One that was forgotten comes again.
  send(1);
  assert.equal(await rig.outcome("compiled"), count + 1);
});
