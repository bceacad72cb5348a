import assert from "node:assert/strict";
import { test } from "node:test";
import { overlaps } from "../../src/app/doctor/twice-findings.ts";
import { FlowSketch } from "../../src/flow/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import type { ExporterView } from "../../src/flow/index.ts";

const [view] = (() => {
  const rig = createFlowRig();
  rig.send(netflow5([{}]));
  return rig.pipeline.exporters();
})();

/** Numbers that look like hashes. */
function hash(value: number): number {
  let x = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2_ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

function exporter(address: string, first: number, end: number): ExporterView {
  const sketch = new FlowSketch();
  for (let i = first; i < end; i++) sketch.note(hash(i), 0, 1_700_000_000_000);
  return { ...(view as ExporterView), address, sketch: sketch.windows() };
}

for (const [name, [smaller, larger], expected] of [
  ["half", [8000, 8000], 4000],
  ["all of a smaller exporter", [1000, 20_000], 1000],
  ["few", [60, 60], 40],
  ["a tenth", [20_000, 20_000], 2000],
] as const) {
  test(`the share of flows that two exporters have in common is about right: ${name}`, () => {
    const start = smaller - expected;
    const [found] = overlaps([exporter("a", 0, smaller), exporter("b", start, start + larger)]);
    assert.ok(found !== undefined);
    const share = expected / smaller;
    assert.ok(Math.abs(found.share - share) < 0.08 + share / 4, `${found.share} for ${share}`);
  });
}

test("exporters that have nothing in common, or say too little, are no pair", () => {
  assert.deepEqual(overlaps([exporter("a", 0, 9000), exporter("b", 9000, 30_000)]), []);
  assert.deepEqual(overlaps([exporter("a", 0, 20), exporter("b", 0, 20)]), []);
});

test("of three exporters on one path each pair is found, and those of one where it is asked for", () => {
  const all = ["a", "b", "c"].map((address) => exporter(address, 0, 5000));
  assert.equal(overlaps(all).length, 3);
  assert.deepEqual(
    overlaps(all, "c").map(({ fewer, more }) => [fewer.address, more.address].toSorted().join("")),
    ["ac", "bc"],
  );
});
