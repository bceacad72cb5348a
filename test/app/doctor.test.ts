import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { diagnose } from "../../src/app/doctor/diagnose.ts";
import { diagnosisIds } from "../../src/app/doctor/diagnosis.ts";
import { flowCounts } from "../../src/app/doctor/doctor.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { doctorCases } from "./doctor-cases.ts";

const root = resolve(import.meta.dirname, "../../..");
const folder = join(root, "test/app/golden/doctor");
const fileOf = (name: string): string => `${name.replaceAll(/[^a-z_]+/g, "-")}.json`;

for (const [name, { facts, address }] of Object.entries(doctorCases)) {
  test(`doctor: ${name}`, () => {
    const actual = `${JSON.stringify(diagnose(facts(), address), null, 2)}\n`;
    const path = join(folder, fileOf(name));
    if (process.env["UPDATE_GOLDEN"] === "1") {
      mkdirSync(folder, { recursive: true });
      writeFileSync(path, actual);
    }
    assert.ok(existsSync(path), `${path} is missing`);
    assert.equal(actual, readFileSync(path, "utf8"));
  });
}

test("every diagnosis has a golden case, and a row in docs/doctor.md", () => {
  assert.deepEqual(readdirSync(folder).toSorted(), Object.keys(doctorCases).map(fileOf).toSorted());
  const found = new Set(
    Object.values(doctorCases).flatMap(({ facts, address }) => diagnose(facts(), address).map(({ id }) => id)),
  );
  assert.deepEqual([...found].toSorted(), diagnosisIds.toSorted());
  const page = readFileSync(join(root, "docs/doctor.md"), "utf8");
  const rows = Array.from(page.matchAll(/^\| `([a-z-]+)` \|/gm), ([, id = ""]) => id);
  assert.deepEqual(rows.toSorted(), diagnosisIds.toSorted());
});

test("the counts of flows come from the metrics that the collector has", async () => {
  const rig = createFlowRig({ protocolsOff: ["sflow"] });
  rig.send(Buffer.from("hello"));
  rig.send(Buffer.from([0, 5]));
  rig.send(Buffer.from([0, 0, 0, 5, 0, 0, 0, 1]));
  assert.deepEqual(flowCounts(await rig.metrics.everything()), {
    datagrams: 3,
    queueDrops: 0,
    lineDrops: 0,
    refused: { unknown_protocol: 1, unsupported: 0, disabled: 1 },
  });
});
