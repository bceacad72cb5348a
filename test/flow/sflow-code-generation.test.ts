import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const urlOf = (file: string): string => JSON.stringify(pathToFileURL(resolve(import.meta.dirname, file)).href);

/** Decodes samples in a process of its own. Returns how many the kernel did not write, and what was logged. */
function decodeElsewhere(communityId: boolean): { readonly slow: number; readonly log: readonly string[] } {
  const script = `
    import { createFlowRig } from ${urlOf("../support/flow-rig.js")};
    import { ethernet, flowSample, ipv4Packet, sampledHeader, sflow, tcp } from ${urlOf("../../packages/testkit/index.js")};
    const rig = createFlowRig({
      communityId: ${communityId},
      enricher: { enrich() {}, lines: { begin() {}, numbers: [], addresses: [] } },
    });
    const header = sampledHeader(ethernet(0x0800, ipv4Packet(tcp(2))));
    const records = rig.send(sflow([flowSample([header]), flowSample([header], { sequence: 2 })]));
    if (records.length !== 2) throw new Error("not two records");
    if (records.some((record) => ("flow.community.id" in record) !== ${communityId})) throw new Error("Community ID");
    const slow = await rig.value("netgloss_flow_slow_fields_total", { reason: "sample" });
    console.log(JSON.stringify({ slow, log: rig.log.map(({ message }) => message) }));
  `;
  const args = ["--disallow-code-generation-from-strings", "--input-type=module", "--eval", script];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as ReturnType<typeof decodeElsewhere>;
}

for (const communityId of [true, false]) {
  test(`where code may not be made from strings the kernel writes samples, Community ID ${communityId ? "on" : "off"}`, () => {
    assert.deepEqual(decodeElsewhere(communityId), { slow: 0, log: [] });
  });
}
