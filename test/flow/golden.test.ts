import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { allEnds } from "../support/all-ends.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { goldenCases, type GoldenCase } from "./golden-cases.ts";

const folder = resolve(import.meta.dirname, "../../../test/flow/golden");
/** Set it to write what comes out instead of comparing with it; then read every line of the difference. */
const isUpdate = process.env["UPDATE_GOLDEN"] === "1";

for (const [name, datagrams, options] of goldenCases) {
  test(`golden: ${name}`, async () => {
    const actual = `${JSON.stringify(await outcome(datagrams, options), null, 2)}\n`;
    const path = join(folder, `${name}.json`);
    if (isUpdate) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(path, actual);
    }
    assert.ok(existsSync(path), `${path} is missing`);
    assert.equal(actual, readFileSync(path, "utf8"));
  });
}

test("every golden file belongs to a case, and no name stands for two cases", () => {
  const names = goldenCases.map(([name]) => `${name}.json`).toSorted();
  assert.deepEqual(readdirSync(folder).toSorted(), names);
});

/** The records by datagram, without what all have in common, and everything that was counted. */
async function outcome(datagrams: GoldenCase[1], options: GoldenCase[2] = {}): Promise<unknown> {
  const rig = createFlowRig({ communityId: true, ends: allEnds, relays: ["198.51.100.9"], ...options });
  const records = datagrams.map((datagram) =>
    "bytes" in datagram ? rig.send(datagram.bytes, datagram) : rig.send(datagram),
  );
  const counts = await rig.counts();
  const problems = rig.log.map(({ message, fields }) => ({ message, fields }));
  return { records, problems, counts };
}
