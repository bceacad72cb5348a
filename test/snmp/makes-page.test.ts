import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "../../..");

test("docs/snmp-makes.md shows what the definitions have of each make (`npm run generate` writes it)", () => {
  const script = join(root, "scripts/generate-snmp-makes.js");
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});
