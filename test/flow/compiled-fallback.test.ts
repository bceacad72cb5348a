import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";
import { test } from "node:test";

const support = resolve(import.meta.dirname, "../support");

interface Decoded {
  readonly lines: string;
  readonly log: readonly string[];
  readonly compiled: number;
}

/** Decodes NetFlow v5 and sFlow in a process of its own; returns the lines, what was logged, and how records were decoded. */
function decodeElsewhere(flags: readonly string[], communityId = true): Decoded {
  const script = `
    import { createFlowRig } from ${JSON.stringify(pathToFileURL(resolve(support, "flow-rig.js")).href)};
    import { netflow5 } from ${JSON.stringify(pathToFileURL(resolve(support, "flow-packets.js")).href)};
    import * as packets from ${JSON.stringify(pathToFileURL(resolve(support, "sflow-packets.js")).href)};
    const { ethernet, flowSample, ipv4Packet, sampledHeader, sflow, tcp } = packets;
    const lines = [];
    const rig = createFlowRig({
      compileAfter: 0,
      communityId: ${communityId},
      enricher: { enrich() {}, lines: { begin() {}, numbers: [], addresses: [] } },
      sink: { write: (bytes) => void lines.push(Buffer.from(bytes).toString()) },
    });
    for (let i = 0; i < 3; i++) rig.send(netflow5([{}, { bytes: i }]));
    const header = sampledHeader(ethernet(0x0800, ipv4Packet(tcp(2))));
    for (let i = 0; i < 2; i++) rig.send(sflow([flowSample([header], { sequence: 1 + i })], { sequence: 1 + i }));
    const compiled = await rig.value("netgloss_flow_records_by_path_total", { path: "compiled" });
    console.log(JSON.stringify({ lines: lines.join(""), log: rig.log.map(({ message }) => message), compiled }));
  `;
  const args = [...flags, "--input-type=module", "--eval", script];
  const output = execFileSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return JSON.parse(output) as Decoded;
}

test("where there is no WebAssembly every record is interpreted, and the log says so once", () => {
  const fast = decodeElsewhere([]);
  const slow = decodeElsewhere(["--jitless"]);
  assert.equal(fast.compiled, 8);
  assert.deepEqual(fast.log, []);
  assert.equal(slow.compiled, 0);
  assert.match(slow.log[0] ?? "", /WebAssembly/);
  assert.equal(slow.log.length, 1);
  assert.equal(slow.lines, fast.lines);
  assert.equal(fast.lines.split("\n").length, 9);
});

for (const communityId of [true, false]) {
  test(`where code may not be made from text, nothing is missing, Community ID ${communityId ? "on" : "off"}`, () => {
    const { compiled, log } = decodeElsewhere(["--disallow-code-generation-from-strings"], communityId);
    assert.equal(compiled, 8);
    assert.deepEqual(log, []);
  });
}
