import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "../../..");

test("docs/reference/snmp-vendors.md shows what the definitions have of each vendor (`npm run generate` writes it)", () => {
  const script = join(root, "scripts/generate-snmp-vendors.js");
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});
