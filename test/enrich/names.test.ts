import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { AddressEnricher } from "../../src/enrich/index.ts";
import { parseAddress, type Address } from "../../src/base/ip/index.ts";
import { LineBuffer, type RecordFields, type RenderedFields, type Value } from "../../src/record/index.ts";
import { createMetrics, silentLog, type Metrics } from "../../src/base/report/index.ts";
import type { UdmEntry } from "../../src/metadata/index.ts";
import { buildIndex } from "../support/shared-index.ts";
import { nestedNames } from "../support/record-names.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { manualWatch } from "../support/udm-watch.ts";
import { runs } from "../support/runs.ts";
import { mergeEntries } from "./merge-entries.ts";

/** A record of names that the decoders give. */
const decoded: Readonly<Record<string, Value>> = {
  "@timestamp": "2024-01-01T00:00:00.000Z",
  "flow.export.ip.addr": "10.0.0.3",
  "flow.export.type": "netflow",
  "flow.export.version.ver": 9,
  "flow.src.ip.addr": "10.0.0.1",
  "flow.src.l4.port.id": 443,
  "flow.src.vlan.tag.id": 7,
  "flow.dst.ip.addr": "10.0.0.2",
  "flow.dst.l4.port.id": 51234,
  "ip.version.ver": 4,
  "flow.bytes": 1000,
};

/** Metadata of the source, and the names at which its values come out, where these are others. */
const cases: readonly (readonly [Record<string, string>, Record<string, string>])[] = [
  [
    { ".site": "1", ".site.name": "2" },
    { "flow.src.site.value": "1", "flow.src.site.name": "2" },
  ],
  [
    { site: "1", "site.name": "2" },
    { "site.value": "1", "site.name": "2" },
  ],
  [
    { site: "1", "site.name": "2", "site.value": "3" },
    { "site.value_": "1", "site.name": "2", "site.value": "3" },
  ],
  [
    { site: "1", "site.value.x": "2" },
    { "site.value.value": "1", "site.value.x": "2" },
  ],
  [{ ".ip": "1" }, { "flow.src.ip.value": "1" }],
  [{ ".ip.subnet": "1" }, { "flow.src.ip.subnet.value": "1" }],
  [{ ".ip.addr.rack": "1" }, { "flow.src.ip.addr_rack": "1" }],
  [{ ".ip.addr.rack.unit": "1" }, { "flow.src.ip.addr_rack.unit": "1" }],
  [
    { ".ip.addr.rack": "1", ".ip.addr_rack": "2" },
    { "flow.src.ip.addr_rack_": "1", "flow.src.ip.addr_rack": "2" },
  ],
  [{ ".ip.subnet.name.long": "1" }, { "flow.src.ip.subnet.name_long": "1" }],
  [{ ".isInternal.why": "1" }, { "flow.src.isInternal_why": "1" }],
  [
    { ".vlan": "1", ".vlan.tag": "2" },
    { "flow.src.vlan.value": "1", "flow.src.vlan.tag.value": "2" },
  ],
  [
    { flow: "1", "flow.src": "2", ip: "3" },
    { "flow.value": "1", "flow.src.value": "2", "ip.value": "3" },
  ],
  [{ "flow.bytes.unit": "1" }, { "flow.bytes_unit": "1" }],
  [
    { "flow.ip": "1", "flow.ip.x": "2" },
    { "flow.ip.value": "1", "flow.ip.x": "2" },
  ],
  // Names that only look alike.
  [
    { ".site": "1", ".site-name": "2", ".sites.x": "3" },
    { "flow.src.site": "1", "flow.src.site-name": "2" },
  ],
];

for (const [metadata, names] of cases) {
  test(`${Object.keys(metadata).join(", ")}: no value gets in the way of another`, async () => {
    const values = { name: "subnet", internal: true, metadata };
    const { record, metrics } = await enrich([udmEntry("10.0.0.1", values)], decoded);
    for (const [name, value] of Object.entries(names)) assert.equal(record.get(name), value, name);
    for (const [name, value] of Object.entries(decoded)) assert.equal(record.get(name), value, name);
    assert.equal(record.get("flow.src.ip.subnet.name"), "subnet");
    assert.equal(record.get("flow.src.isInternal"), true);
    assert.deepEqual(nestedNames(record), []);
    const asAsked = new Set(Object.keys(metadata).map((key) => (key.startsWith(".") ? `flow.src${key}` : key)));
    const renamed = Object.keys(names).filter((name) => !asAsked.has(name));
    assert.equal(await metrics.value("netgloss_enrich_udm_renamed_total"), renamed.length);
  });
}

test("fields of an entry yield to what the names of a device's own tables are", async () => {
  const own = { "system.ip.addr": "10.0.0.1", "system.vlan": 4, "system.isInternal.x": 1, "system.site.x": 1 };
  const values = { vlan: 5n, internal: true, metadata: { ".site": "s" } };
  const { record } = await enrich([udmEntry("10.0.0.1", values)], own);
  assert.deepEqual(Object.fromEntries(record), {
    ...own,
    "system.vlan_tag.id": 5,
    "system.isInternal.value": true,
    "system.site.value": "s",
  });
});

const segment = fc.constantFrom(
  "ip",
  "addr",
  "subnet",
  "name",
  "vlan",
  "tag",
  "id",
  "site",
  "value",
  "isInternal",
  "x",
);
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("."));
const metadataKey = fc.oneof(
  { weight: 4, arbitrary: path.map((text) => `.${text}`) },
  { weight: 2, arbitrary: path },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom("flow", "flow.src", "flow.dst", "system"), fc.option(path))
      .map(([object, text]) => (text === null ? object : `${object}.${text}`)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "@timestamp",
      "flow.src.site_x",
      ".site.value_",
      ".ip.addr_x",
      ".l4.port",
      ".l4.port.id.x",
    ),
  },
);

const keys = "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.0/31 10.0.0.2/31 10.0.0.2-10.0.0.3 10.0.0.0/8 0.0.0.0/0".split(" ");

const table = fc
  .uniqueArray(
    fc.record({
      key: fc.constantFrom(...keys),
      name: fc.constantFrom("", "subnet"),
      internal: fc.boolean(),
      vlan: fc.constantFrom(0n, 5n),
      tags: fc.constantFrom([], ["t"]),
      metadataKeys: fc.array(metadataKey, { maxLength: 5 }),
    }),
    { selector: ({ key }) => key, minLength: 1, maxLength: 5 },
  )
  .map((rows) =>
    rows.map(({ key, metadataKeys, ...values }) =>
      // Each value says where it is from, so that a lost one is seen.
      udmEntry(key, { ...values, metadata: Object.fromEntries(metadataKeys.map((name) => [name, `${key} ${name}`])) }),
    ),
  );

const optional = [
  "flow.src.vlan.tag.id",
  "flow.dst.l4.port.id",
  "flow.src.l4.port.id",
  "ip.version.ver",
  "flow.export.ip.addr",
  "flow.dst.ip.addr",
];

/** Names of SNMP definition files may be anything that keeps the law. */
const snmpRecord = fc
  .uniqueArray(path, { maxLength: 12 })
  .map((paths) => new Map<string, Value>(paths.map((text) => [`system.${text}`, `decoded ${text}`])))
  .map((fields) => Object.fromEntries(fields.set("system.ip.addr", "10.0.0.3")))
  .filter((fields) => nestedNames(new Map(Object.entries(fields))).length === 0);

const anyRecord: fc.Arbitrary<Readonly<Record<string, Value>>> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .subarray(optional)
      .map((dropped) => Object.fromEntries(Object.entries(decoded).filter(([name]) => !dropped.includes(name)))),
  },
  { weight: 1, arbitrary: snmpRecord },
);

test("whatever the metadata, no name is another's beginning, nothing decoded is lost and no value of metadata is", async () => {
  await fc.assert(
    fc.asyncProperty(table, anyRecord, async (entries, fields) => {
      const { record } = await enrich(entries, fields);
      assert.deepEqual(nestedNames(record), []);
      const objects = ["flow.src", "flow.dst", "flow.export", "system"];
      const merged = objects.flatMap((object) => {
        const address = fields[`${object}.ip.addr`];
        return typeof address === "string" ? [{ object, ...mergeEntries(covering(entries, address)) }] : [];
      });
      const asked = new Set(
        merged.flatMap(({ object, metadata }) => [
          // What an entry's own fields are called, which only a device's tables could also have.
          ...["ip.subnet.name", "ip.subnet.tags", "isInternal"].map((name) => `${object}.${name}`),
          ...[...metadata.keys()].map((key) => (key.startsWith(".") ? object + key : key)),
        ]),
      );
      for (const [name, value] of Object.entries(fields)) {
        if (!asked.has(name)) assert.deepEqual(record.get(name), value, name);
      }
      const values = new Set([...record.values()].flat());
      for (const { metadata } of merged) for (const value of metadata.values()) assert.ok(values.has(value), value);
    }),
    runs(100),
  );
});

test("the outcome does not depend on the order in which entries and keys were made", async () => {
  await fc.assert(
    fc.asyncProperty(table, async (entries) => {
      const reversed = entries.toReversed().map((entry) => {
        const metadata = Object.fromEntries([...entry.metadata].toReversed());
        return udmEntry(entry.key.text, { ...entry, metadata });
      });
      const one = await enrich(entries, decoded);
      const other = await enrich(reversed, decoded);
      assert.deepEqual([...one.record], [...other.record]);
    }),
    runs(60),
  );
});

test("what is handed over as bytes is what the record would have got", async () => {
  let handedOver = 0;
  await fc.assert(
    fc.asyncProperty(table, fc.boolean(), async (entries, hasVlan) => {
      const { "flow.src.vlan.tag.id": _, ...withoutVlan } = decoded;
      const fields = hasVlan ? decoded : withoutVlan;
      const plain = await enrich(entries, fields);
      const rendered: RenderedFields[] = [];
      const { record } = await enrich(entries, fields, rendered);
      handedOver += rendered.length;
      assert.deepEqual(parseLine(record, rendered), parseLine(plain.record, []));
    }),
    runs(100),
  );
  assert.ok(handedOver > 0, "none was");
});

function parseLine(record: RecordFields, rendered: readonly RenderedFields[]): unknown {
  const lines = new LineBuffer();
  lines.append(record, rendered);
  return JSON.parse(Buffer.from(lines.take()).toString());
}

async function enrich(
  entries: readonly UdmEntry[],
  fields: Readonly<Record<string, Value>>,
  rendered?: RenderedFields[],
): Promise<{ record: RecordFields; metrics: Metrics }> {
  const metrics = createMetrics();
  const clock = { now: () => 0, monotonic: () => 0 };
  const { watch } = manualWatch(entries);
  const options = { watch, ttlMs: 1000, invalidate: true, maxCached: 10, clock, metrics, log: silentLog };
  const enricher = new AddressEnricher(options);
  await enricher.start();
  const record: RecordFields = new Map(Object.entries(fields));
  enricher.enrich(record, rendered);
  await enricher.stop();
  return { record, metrics };
}

function covering(entries: readonly UdmEntry[], address: string): UdmEntry[] {
  return buildIndex(entries).covering(parseAddress(address) as Address);
}
