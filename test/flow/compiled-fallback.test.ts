import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";
import { test } from "node:test";

const support = resolve(import.meta.dirname, "../support");

/** Decodes NetFlow v5 in a process of its own; returns the lines, what was logged, and how records were decoded. */
function decodeElsewhere(...flags: readonly string[]): { lines: string; log: string[]; compiled: number } {
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
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as ReturnType<typeof decodeElsewhere>;
}

test("where code may not be made from text every record is interpreted, and the log says so once", () => {
  const free = decodeElsewhere();
  const bound = decodeElsewhere("--disallow-code-generation-from-strings");
  assert.equal(free.compiled, 6);
  assert.deepEqual(free.log, []);
  assert.equal(bound.compiled, 0);
  assert.equal(bound.log.length, 1);
  assert.match(bound.log[0] ?? "", /templates are interpreted/);
  assert.equal(bound.lines, free.lines);
  assert.equal(free.lines.split("\n").length, 7);
});
