import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { SharedStore, StateStore } from "../../src/flow/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { findElement } from "../../src/flow/elements/registry/registry.ts";
import { counterLayouts } from "../../src/flow/wire/sflow/structures.gen.ts";
import { counterTables } from "../../src/flow/wire/sflow/sflow-decoder.ts";
import { fieldGroups } from "../../src/record/index.ts";
import { fieldsPage } from "../../scripts/records-page.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { createMemoryExporterTables } from "../support/memory-exporter-table.ts";

const docs = resolve(import.meta.dirname, "../../../docs");

test("docs/reference/records.md shows the table of record fields (`npm run generate` writes it)", () => {
  const text = readFileSync(resolve(docs, "reference/records.md"), "utf8");
  for (const group of [...Object.keys(fieldGroups), "patterns"]) assert.ok(text.includes(`<!-- fields: ${group} -->`));
  assert.equal(
    text,
    fieldsPage(text, (id) => findElement(0, id)?.name ?? ""),
  );
});

test("names of counters are given once, and none is the group of others", () => {
  const tables = [...counterTables.values()].flatMap(({ once, columns }) => once.map(([name]) => name).concat(columns));
  const names = [...counterLayouts.values()].flatMap((layout) => layout.map(([name]) => name)).concat(tables);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.ok(!names.some((other) => other.startsWith(`${name}.`)), name);
});

test("docs/life-of-a-flow.md names every metric of the room, and no other", async () => {
  const text = readFileSync(resolve(docs, "life-of-a-flow.md"), "utf8");
  const named = new Set(text.match(/netgloss_flow_[a-z_]+/g));
  const { metrics } = createFlowRig();
  const files = { open: async () => [], read: async () => undefined, replace: async () => {}, rename: async () => {} };
  void new StateStore(files, { log: silentLog, metrics, clock: systemClock });
  const table = createMemoryExporterTables(() => 0).table("a");
  void new SharedStore(table, { log: silentLog, metrics, clock: systemClock });
  const rendered = await metrics.render();
  const registered = new Set([...rendered.matchAll(/^# TYPE (netgloss_flow_[a-z_]+)/gm)].map(([, name]) => name));
  // Those of sockets and threads are registered where these are made.
  const elsewhere = [...named].filter((name) =>
    /_(receive|kernel|socket|stream|queue|lines|thinned|anonymized|thread)_/.test(name),
  );
  assert.equal(elsewhere.length, 20);
  assert.deepEqual(named, new Set([...elsewhere, ...registered]));
});
