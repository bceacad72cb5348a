import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { diagnose, flowCounts } from "../../src/app/doctor/doctor.ts";
import { diagnosisIds } from "../../src/server/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { Goldens } from "../support/goldens.ts";
import type { Facts } from "../../src/app/doctor/facts.ts";
import { doctorCases } from "./doctor-cases.ts";

const root = resolve(import.meta.dirname, "../../..");
const goldens = new Goldens("app/golden", () => "doctor");

/** The facts of each case, gathered once: some send thousands of datagrams. */
const gathered = new Map<string, Facts>();
function factsOf(name: string): Facts {
  const facts = gathered.get(name) ?? doctorCases[name]?.facts();
  assert.ok(facts !== undefined, name);
  gathered.set(name, facts);
  return facts;
}

for (const [name, { address }] of Object.entries(doctorCases)) {
  test(`doctor: ${name}`, () => goldens.check(name, diagnose(factsOf(name), address)));
}

test("sentences call an exporter by its name in the metadata", () => {
  const named = Object.entries(doctorCases).flatMap(([of, { address }]) => {
    const all = factsOf(of);
    const addresses = [...all.exporters.flatMap((one) => [one.address, one.relay ?? ""]), address ?? ""];
    const names = new Map(addresses.filter((one) => one !== "").map((one) => [one, "edge-2"]));
    return diagnose({ ...all, names }, address).filter(({ exporter }) => exporter !== undefined);
  });
  assert.ok(named.length > 30);
  for (const { sentence, exporter = "" } of named) {
    assert.ok(sentence.includes(`edge-2 (${exporter})`), sentence);
    const bare = sentence.replaceAll(/edge-2 \([0-9a-f.:]+\)/g, "");
    assert.doesNotMatch(bare, /\d+\.\d+\.\d+\.\d+/);
  }
});

test("every diagnosis has a golden case, and a row in docs/doctor.md", () => {
  goldens.checkNames(Object.keys(doctorCases));
  const found = new Set(
    Object.entries(doctorCases).flatMap(([of, { address }]) => diagnose(factsOf(of), address).map(({ id }) => id)),
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
