import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { fieldNames, type Conversion } from "../../src/flow/mapping/field-names.ts";
import { createStateStore } from "../../src/flow/index.ts";
import { silentLog, systemClock } from "../../src/report/index.ts";
import { findElement } from "../../src/flow/registry/registry.ts";
import { counterLayouts } from "../../src/flow/sflow/counter-layouts.ts";
import { counterTables } from "../../src/flow/sflow/counter-tables.ts";
import { flowRecordLayouts } from "../../src/flow/sflow/flow-record-layouts.ts";
import type { XdrLayout } from "../../src/flow/sflow/xdr-layout.ts";
import { createFlowRig } from "../support/flow-rig.ts";

const page = resolve(import.meta.dirname, "../../../docs/records.md");
const tableHead = "| name | elements, best first |\n|---|---|\n";

const sflowHead = "| structure | names |\n|---|---|\n";
const elementsHead = "## Elements\n";

const notes: Readonly<Partial<Record<Conversion, string>>> = {
  dscp: "its upper six bits",
  ecn: "its lower two bits",
  protocolName: "IANA's keyword",
  tcpTags: "names of the set flags",
  directionName: "`ingress` or `egress`",
  forwardingStatusName: "by its upper two bits",
  forwardingReasonName: "IANA's text",
  natEventName: "IANA's text",
  natTypeName: "IANA's text",
  natQuotaEventName: "IANA's text",
  natThresholdEventName: "IANA's text",
  firewallEventName: "IANA's text",
  biflowDirectionName: "IANA's text",
  mplsLabelTypeName: "IANA's text",
  icmpType: "its upper byte",
  icmpCode: "its lower byte",
  applicationId: "engine, colon, selector (RFC 6759); engine 20 has an enterprise number and a colon between them",
};

/** The table of names, as the page has to show it. */
function table(): string {
  const rows = new Map<string, string[]>();
  for (const [id, name, conversion] of fieldNames) {
    const note = notes[conversion];
    const text = `${findElement(0, id)?.name ?? ""} (${id}${note === undefined ? "" : `: ${note}`})`;
    rows.set(name, [...(rows.get(name) ?? []), text]);
  }
  return [...rows].map(([name, elements]) => `| \`${name}\` | ${elements.join(", ")} |\n`).join("");
}

test("docs/records.md shows the table of names (UPDATE_DOCS=1 writes it)", () => {
  const text = readFileSync(page, "utf8");
  const [before] = text.split(tableHead);
  const expected = `${before}${tableHead}${table()}`;
  if (process.env["UPDATE_DOCS"] === "1") writeFileSync(page, expected);
  assert.equal(readFileSync(page, "utf8"), expected);
});

/** The tables of structures of sFlow, as the page has to show them. */
function sflowTable(): string {
  const rows = (kind: string, layouts: ReadonlyMap<number, XdrLayout>): string[] =>
    [...layouts].map(([format, layout]) => {
      const names = layout.filter(([name]) => name !== "").map(([name]) => `\`${name}\``);
      return `| ${kind} ${format} | ${names.join(", ")} |\n`;
    });
  const tables = [...counterTables].map(
    ([format, { once, columns }]) => [format, once.concat(columns.map((name) => [name, "list"]))] as const,
  );
  const counters = [...counterLayouts, ...tables].toSorted(([a], [b]) => a - b);
  return [...rows("flow", flowRecordLayouts), ...rows("counters", new Map(counters))].join("");
}

test("docs/records.md shows the structures of sFlow (UPDATE_DOCS=1 writes them)", () => {
  const text = readFileSync(page, "utf8");
  const [before, rest = ""] = text.split(sflowHead);
  const after = rest.slice(rest.indexOf(elementsHead));
  const expected = `${before}${sflowHead}${sflowTable()}\n${after}`;
  if (process.env["UPDATE_DOCS"] === "1") writeFileSync(page, expected);
  assert.equal(readFileSync(page, "utf8"), expected);
});

test("names of counters are given once, and none is the group of others", () => {
  const tables = [...counterTables.values()].flatMap(({ once, columns }) => once.map(([name]) => name).concat(columns));
  const names = [...counterLayouts.values()].flatMap((layout) => layout.map(([name]) => name)).concat(tables);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.ok(!names.some((other) => other.startsWith(`${name}.`)), name);
});

test("docs/life-of-a-flow.md names every metric of the room, and no other", async () => {
  const text = readFileSync(resolve(page, "../life-of-a-flow.md"), "utf8");
  const named = new Set(text.match(/netgloss_flow_[a-z_]+/g));
  const { metrics } = createFlowRig();
  const files = { open: async () => [], read: async () => undefined, replace: async () => {}, rename: async () => {} };
  createStateStore({ files, log: silentLog, metrics, clock: systemClock });
  const rendered = await metrics.render();
  const registered = new Set([...rendered.matchAll(/^# TYPE (netgloss_flow_[a-z_]+)/gm)].map(([, name]) => name));
  // Those of sockets and threads are registered where these are made.
  const elsewhere = [...named].filter((name) => /_(receive|kernel|socket|queue|lines|thread)_/.test(name));
  assert.equal(elsewhere.length, 8);
  assert.deepEqual(named, new Set([...elsewhere, ...registered]));
});
