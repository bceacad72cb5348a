import assert from "node:assert/strict";
import { test } from "node:test";
import { addressTableBytes, AddressEnricher } from "../../src/enrich/index.ts";
import { FlowPipeline } from "../../src/flow/index.ts";
import { createWorkspace, createWorkspaceMemory } from "../../src/record/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { parseLines } from "../support/flow-rig.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { manualWatch } from "../support/udm-watch.ts";

const flow: PacketTemplate = { id: 300, fields: fields([8, 4], [12, 4], [4, 1]) };
const maxCached = 40;

test("lines are right while the generations of the address table change", async () => {
  const entries = [
    udmEntry("10.0.0.0/8", { name: "wide" }),
    ...Array.from({ length: 200 }, (_, n) => udmEntry(`10.1.${n}.9`, { name: `host-${n}` })),
  ];
  const workspace = createWorkspace(createWorkspaceMemory(addressTableBytes(maxCached)));
  const common = { clock: systemClock, metrics: createMetrics(), log: silentLog, workspace };
  const { watch } = manualWatch(entries);
  const enricher = new AddressEnricher({ ...common, watch, ttlMs: 100_000, invalidate: true, maxCached });
  await enricher.start();
  const written: Uint8Array[] = [];
  const sink = { write: (bytes: Uint8Array) => void written.push(Buffer.from(bytes)) };
  const pipeline = new FlowPipeline({ ...common, enricher, sink, communityId: false });
  for (let round = 0; round < 40; round++) {
    const hosts = Array.from({ length: 12 }, (_, i) => (round * 5 + i * 7) % 200);
    const records = hosts.map((n) => [ipv4(`10.1.${n}.9`), ipv4(`10.1.${n}.10`), uint(6, 1)]);
    pipeline.process(ipfix([ipfixTemplates(flow), dataSet(flow, ...records)]), "192.0.2.200", 2055);
    assert.deepEqual(
      parseLines(Buffer.concat(written.splice(0))).map((line) => [
        line["flow.src.ip.subnet.name"],
        line["flow.dst.ip.subnet.name"],
      ]),
      hosts.map((n) => [`host-${n}`, "wide"]),
    );
  }
});
