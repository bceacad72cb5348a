import { test } from "node:test";
import { allEnds } from "../support/all-ends.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { flowGoldens } from "../support/goldens.ts";
import { goldenCases, type GoldenCase } from "./golden-cases.ts";

const goldens = flowGoldens();

for (const [name, datagrams, options] of goldenCases) {
  test(`golden: ${name}`, async () => goldens.check(name, await outcome(datagrams, options)));
}

test("every golden record belongs to a case, and no name stands for two cases", () =>
  goldens.checkNames(goldenCases.map(([name]) => name)));

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
