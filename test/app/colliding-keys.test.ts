import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createCollidingKeysLog } from "../../src/app/enrichment/enrichment-files.ts";
import { createCollector, readSettings } from "../../src/app/index.ts";
import { silentLog, systemClock, type Log } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { tempDirectory } from "../support/temp-directory.ts";

function createLog(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const log: Log = {
    ...silentLog,
    warn({ place, more }, message) {
      const about = typeof place === "string" ? place : typeof more === "number" ? String(more) : "";
      lines.push(`${about} ${message}`);
    },
  };
  return { log, lines };
}

test("a start names file, line and column of metadata keys that get in the way of fields", async (t) => {
  const path = join(tempDirectory(t), "ipaddrs.yml");
  writeFileSync(path, "10.0.0.0/8:\n  metadata:\n    .site.name: Berlin\n    .ip.addr: x\n    flow.bytes: y\n");
  const { log, lines } = createLog();
  const layer = Object.entries({
    SVC_API_PORT: "0",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: path,
  }).map(([name, text]) => ({ name, text, origin: "test" }));
  const { settings } = readSettings([layer], () => "");
  const collector = createCollector({ settings, log, clock: systemClock, version: "0" });
  await collector.start();
  cleanUp(t, () => collector.stop());
  assert.deepEqual(
    lines.filter((line) => line.includes("metadata key")),
    [
      `${path}:4:5 metadata key ".ip.addr" replaces the field flow.src.ip.addr`,
      `${path}:5:5 metadata key "flow.bytes" replaces the field flow.bytes`,
    ],
  );
});

test("many are counted, and a file that cannot be judged in the time there is, is left alone", () => {
  const entry = (i: number): string => `10.0.0.${i}: {metadata: {flow.bytes: "1"}}\n`;
  const many = Array.from({ length: 20 }, (_, i) => entry(i)).join("");
  const { log, lines } = createLog();
  const note = createCollidingKeysLog("a.yml", log);
  note(Buffer.from(many));
  assert.equal(lines.length, 9);
  assert.equal(lines.at(-1), "12 more metadata keys collide: see `netgloss udm check`");
  note(Buffer.from(many + "#".repeat(2 * 1024 * 1024)));
  note(Buffer.from("10.0.0.0/8: {metadata: {site: x}}\n"));
  assert.equal(lines.length, 9);
});
