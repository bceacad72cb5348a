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

/** Decodes NetFlow v5 in a process of its own; returns the lines, what was logged, and how records were decoded. */
function decodeElsewhere(...flags: readonly string[]): Decoded {
  const script = `
    import { createFlowRig } from ${JSON.stringify(pathToFileURL(resolve(support, "flow-rig.js")).href)};
    import { netflow5 } from ${JSON.stringify(pathToFileURL(resolve(support, "flow-packets.js")).href)};
    const lines = [];
    const rig = createFlowRig({
      compileAfter: 0,
      communityId: true,
      enricher: { enrich() {}, lines: { begin() {}, numbers: [], addresses: [] } },
      sink: { write: (bytes) => void lines.push(Buffer.from(bytes).toString()) },
    });
    for (let i = 0; i < 3; i++) rig.send(netflow5([{}, { bytes: i }]));
    const compiled = await rig.value("netgloss_flow_records_by_path_total", { path: "compiled" });
    console.log(JSON.stringify({ lines: lines.join(""), log: rig.log.map(({ message }) => message), compiled }));
  `;
  const args = [...flags, "--input-type=module", "--eval", script];
  const output = execFileSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return JSON.parse(output) as Decoded;
}

test("where there is no WebAssembly every record is interpreted, and the log says so once", () => {
  const fast = decodeElsewhere();
  const slow = decodeElsewhere("--jitless");
  assert.equal(fast.compiled, 6);
  assert.deepEqual(fast.log, []);
  assert.equal(slow.compiled, 0);
  assert.match(slow.log[0] ?? "", /WebAssembly/);
  assert.equal(slow.log.length, 1);
  assert.equal(slow.lines, fast.lines);
  assert.equal(fast.lines.split("\n").length, 7);
});

test("where code may not be made from text, nothing is missing", () => {
  const { compiled, log } = decodeElsewhere("--disallow-code-generation-from-strings");
  assert.equal(compiled, 6);
  assert.deepEqual(log, []);
});
