import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";
import { referenceData } from "../support/reference-data.ts";
import { sflowFields } from "./telegraf-sflow-fields.ts";
import { parseTelegrafLine, telegrafFields } from "./telegraf-fields.ts";

const vendors = referenceData("flow/vendors");
const telegraf = referenceData("flow/telegraf");

/** Broken on purpose: what has to be found in them. */
const broken: Readonly<Record<string, { readonly records: number; readonly reason: string | undefined }>> = {
  "netflow5_test_invalid01.dat": { records: 0, reason: "bad_count" },
  "netflow5_test_invalid02.dat": { records: 0, reason: "bad_count" },
  // Its header counts two records where there are three; that count is not relied on.
  "netflow9_test_invalid01.dat": { records: 3, reason: undefined },
};

/** Vendors' files that belong together: one exporter's templates, then its data. */
const families: readonly (readonly [files: RegExp, records: number])[] = [
  [/^ipfix_test_barracuda_(tpl|data)/, 8],
  [/^ipfix_test_barracuda_extended/, 2],
  [/^ipfix_test_ixia_tpldata256/, 1],
  [/^ipfix_test_ixia_tpldata271/, 2],
  [/^ipfix_test_mikrotik/, 46],
  [/^ipfix_test_netscaler/, 3],
  [/^ipfix_test_openbsd/, 26],
  [/^ipfix_test_yaf/, 3],
  [/^ipfix\.dat/, 13],
  [/^netflow5\.dat/, 30],
  [/^netflow5_test_juniper/, 29],
  [/^netflow5_test_microtik/, 30],
  [/^netflow9_cisco_asr1001x/, 25],
  [/^netflow9_test_0length/, 10],
  [/^netflow9_test_cisco_1941K9/, 29],
  [/^netflow9_test_cisco_aci/, 3],
  [/^netflow9_test_cisco_asa_1/, 14],
  [/^netflow9_test_cisco_asr9k/, 40],
  [/^netflow9_test_field_layer2segmentid/, 1],
  [/^netflow9_test_fortigate/, 2],
  [/^netflow9_test_iptnetflow/, 12],
  [/^netflow9_test_juniper_srx/, 1],
  [/^netflow9_test_macaddr/, 30],
  [/^netflow9_test_nprobe_(tpl|data)/, 2],
  [/^netflow9_test_nprobe_dpi/, 1],
  [/^netflow9_test_paloalto/, 1],
  [/^netflow9_test_softflowd/, 7],
  [/^netflow9_test_unknown/, 2],
  [/^netflow9_test_valid01/, 7],
];

function listVendors(): string[] {
  return readdirSync(vendors.path).filter((name) => name.endsWith(".dat"));
}

/** Some files are captures of several datagrams, one after the other; their headers say where each ends. */
function datagrams(path: string): Buffer[] {
  const all: Buffer[] = [];
  let rest = readFileSync(path);
  while (rest.length > 0) {
    const version = rest.readUInt16BE(0);
    const length =
      version === 5 && !(path in broken)
        ? 24 + rest.readUInt16BE(2) * 48
        : version === 10
          ? rest.readUInt16BE(2)
          : rest.length;
    const isWhole = length >= 16 && length <= rest.length && !isZero(rest.subarray(length));
    all.push(isWhole ? rest.subarray(0, length) : rest);
    rest = isWhole ? rest.subarray(length) : Buffer.alloc(0);
  }
  return all;
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

async function problems(rig: FlowRig): Promise<unknown> {
  const counts = Object.entries(await rig.counts()).filter(([name]) => name.startsWith("drops_total"));
  return [counts, rig.log.filter(({ level }) => level === "warn" || level === "error")];
}

for (const [pattern, expected] of families) {
  test(`vendors: ${pattern.source} decodes without an error`, { skip: vendors.skip }, async () => {
    const rig = createFlowRig();
    const files = listVendors().filter((name) => pattern.test(name));
    // Templates come before data, as they did on the wire.
    files.sort((a, b) => Number(b.includes("tpl")) - Number(a.includes("tpl")) || (a < b ? -1 : 1));
    assert.ok(files.length > 0);
    const records = files.flatMap((name) => datagrams(join(vendors.path, name)).flatMap((bytes) => rig.send(bytes)));
    assert.deepEqual(await problems(rig), [[], []]);
    assert.equal(records.length, expected);
  });
}

for (const [name, { records, reason }] of Object.entries(broken)) {
  test(`vendors: ${name} is broken`, { skip: vendors.skip }, async () => {
    const rig = createFlowRig();
    assert.equal(rig.send(readFileSync(join(vendors.path, name))).length, records);
    const drops = Object.keys(await rig.counts()).filter((count) => count.startsWith("drops_total"));
    const protocol = name.slice(0, 8);
    assert.deepEqual(drops, reason === undefined ? [] : [`drops_total{protocol=${protocol},reason=${reason}}`]);
  });
}

test("vendors: every file belongs to a test", { skip: vendors.skip }, () => {
  const left = listVendors().filter((name) => !(name in broken) && !families.some(([pattern]) => pattern.test(name)));
  assert.deepEqual(left, []);
});

const cases =
  telegraf.skip === false
    ? readdirSync(telegraf.path).filter((name) => /^(ipfix|netflow|issue|sflow)_/.test(name))
    : [];

test("telegraf: its cases are here", { skip: telegraf.skip }, () => assert.ok(cases.length >= 9));

for (const name of cases) {
  test(`telegraf: ${name} agrees field by field`, async () => {
    const folder = join(telegraf.path, name);
    const rig = createFlowRig();
    const files = readdirSync(folder).filter((file) => file.endsWith(".bin"));
    const records = files.toSorted().flatMap((file) => rig.send(readFileSync(join(folder, file))));
    assert.deepEqual(await problems(rig), [[], []]);
    const lines = readFileSync(join(folder, "expected.out"), "utf8")
      .split("\n")
      .filter((line) => line !== "");
    compare(
      lines.map(parseTelegrafLine).filter(({ isOptions }) => !isOptions),
      records.filter(isFlow),
    );
    compare(
      lines.map(parseTelegrafLine).filter(({ isOptions }) => isOptions),
      records.filter((record) => !isFlow(record)),
    );
  });
}

function isSflow(record: Json): boolean {
  return record["flow.export.type"] === "sflow";
}

function isFlow(record: Json): boolean {
  return record["flow.record.type"] !== "options";
}

function compare(lines: readonly ReturnType<typeof parseTelegrafLine>[], records: readonly Json[]): void {
  assert.equal(records.length, lines.length);
  lines.forEach(({ fields }, i) => {
    const record = records[i] as Json;
    for (const [field, expected] of Object.entries(fields)) {
      const ours = isSflow(record)
        ? sflowFields(field, record, expected)
        : telegrafFields(field, record, records.length);
      assert.equal(ours, expected, `${field} of record ${i}: ${JSON.stringify(record)}`);
    }
  });
}
