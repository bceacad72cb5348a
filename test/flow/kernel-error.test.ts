import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const urlOf = (file: string): string => JSON.stringify(pathToFileURL(resolve(import.meta.dirname, file)).href);

/** Decodes NetFlow v5 in a process of its own. Returns how many lines came out, or the message of the error. */
function decodeElsewhere(...flags: readonly string[]): string | number {
  const script = `
    import { createFlowRig } from ${urlOf("../support/flow-rig.js")};
    import { netflow5 } from ${urlOf("../../packages/testkit/index.js")};
    let outcome;
    try {
      outcome = createFlowRig({ communityId: true }).send(netflow5([{}, { bytes: 1 }])).length;
    } catch (error) {
      outcome = error.name + " " + error.code + ": " + error.message;
    }
    console.log(JSON.stringify(outcome));
  `;
  const args = [...flags, "--input-type=module", "--eval", script];
  const output = execFileSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return JSON.parse(output) as string | number;
}

test("without WebAssembly flows cannot be decoded, and the error says what to do", () => {
  const outcome = decodeElsewhere("--jitless");
  assert.match(String(outcome), /^KernelError no_webassembly: flows cannot be decoded: .*without --jitless/);
});

test("where code may not be made from text nothing is missing", () => {
  assert.equal(decodeElsewhere("--disallow-code-generation-from-strings"), 2);
});

test("`config check` says it, too", () => {
  const program = resolve(import.meta.dirname, "../../../bin/netgloss.js");
  const { status, stderr } = spawnSync(process.execPath, ["--jitless", program, "config", "check", "--running"], {
    encoding: "utf8",
    env: { ...process.env, SVC_FLOW_SERVER_UDP_ENABLE: "true" },
  });
  assert.notEqual(status, 0);
  assert.match(stderr, /error: flows cannot be decoded: .*--jitless/);
});
