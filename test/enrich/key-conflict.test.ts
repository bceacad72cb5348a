import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createKeyConflicts, NameEnricher, knownPortNames, type AddressSource } from "../../src/enrich/index.ts";
import { checkMetadataFile } from "../../src/metadata/index.ts";
import { goldenCases } from "../flow/golden-cases.ts";
import { findBy } from "../support/address-facts.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { runs } from "../support/runs.ts";
import { udmEntry } from "../support/udm-entry.ts";

const portNames = knownPortNames();

test("a key that gets in the way of a field is named, with what happens to it", () => {
  const conflict = createKeyConflicts();
  for (const key of [
    ".site",
    ".site.id",
    "tenant",
    ".geo.city.name",
    ".as.org",
    ".host.name",
    ".ip.subnet.name",
    ".sec.threat.name",
  ]) {
    assert.equal(conflict(key), undefined, key);
  }
  assert.equal(conflict(".ip.addr"), 'metadata key ".ip.addr" replaces the field flow.src.ip.addr');
  assert.equal(conflict("flow.bytes"), 'metadata key "flow.bytes" replaces the field flow.bytes');
  assert.match(
    conflict(".ip") ?? "",
    /^metadata key "\.ip" goes out as "\.ip\.value": flow\.src\.ip\.\S+ lies below it$/,
  );
  assert.match(conflict("flow") ?? "", /^metadata key "flow" goes out as "flow\.value": \S+ lies below it$/);
  assert.equal(
    conflict(".ip.addr.rack"),
    'metadata key ".ip.addr.rack" goes out as ".ip.addr_rack" in records with flow.src.ip.addr: it lies below that value',
  );
});

test("in a scope a key takes the place of nothing that an exporter said, of no scope and of no other address", () => {
  const conflict = createKeyConflicts(true);
  for (const [key, as] of [
    [".ip.addr", "flow.src.ip.addr_"],
    [".scope", "flow.src.scope_"],
    ["flow.bytes", "flow_bytes_"],
    ["flow.dst.scope", "flow_dst_scope_"],
    ["flow", "flow_"],
    ["@timestamp", "@timestamp_"],
  ] as const) {
    assert.equal(conflict(key), `metadata key "${key}" goes out as "${as}": it is of a scope`);
  }
  for (const key of [".site", "tenant", ".geo.city.name", ".ip.subnet.name"])
    assert.equal(conflict(key), undefined, key);
  assert.match(conflict(".ip") ?? "", /goes out as "\.ip\.value"/);
});

test("the check of a file names the place of such a key, and of keys in each other's way", () => {
  const text = "10.0.0.1:\n  metadata:\n    .site: a\n    .site.id: b\n    .ip: c\n10.0.0.2:\n  metadata: {.site: a}\n";
  const { findings, entries } = checkMetadataFile(Buffer.from(text), createKeyConflicts());
  assert.equal(entries.length, 2);
  assert.deepEqual(
    findings.map(({ severity, line, column, message }) => [severity, line, column, message.slice(0, 60)]),
    [
      ["warning", 3, 5, 'metadata key ".site" goes out as ".site.value": ".site.id" l'],
      ["warning", 5, 5, 'metadata key ".ip" goes out as ".ip.value": flow.src.ip.addr'],
    ],
  );
});

const place: AddressSource = {
  objects: new Set(["flow.src", "flow.dst"]),
  find: findBy(() => ({
    fields: [
      [".geo.country.code", "NL"],
      [".host.name", "a.example"],
    ],
    as: { number: 65_001, organisation: "Example" },
  })),
  watch: () => () => {},
};

/** Of fields that decoders, facts, numbers and metadata give, and of groups that have them. */
const nastyKeys = `
  .ip .ip.addr .ip.addr.rack .ip.subnet .ip.subnet.name .isInternal .isInternal.x .site .site.id .site.id.x .as .as.asn
  .as.asn.x .as.label .geo .geo.country.code.x .host.name .l4.port.name .l4.port.id.x .vlan .vlan.tag.id .locality
  .locality.x .x.value .x .x_y flow flow.bytes flow.bytes.x flow.locality l4 l4.proto.name @timestamp ip.dscp.name.x
  site site.name flow.src.site flow.src.site.id flow.dst.ip.addr flow.client flow.client.ip.addr.x flow.client.site
  flow.server.as as as.label as.label.x geo ip.subnet.tags.x flow.community.id flow.conversation flow.export.ip
  flow.export.ip.addr.x`;
const nastyKey = fc.constantFrom(...nastyKeys.trim().split(/\s+/));
const metadata = fc.dictionary(nastyKey, fc.constantFrom("a", "b"), { maxKeys: 5 });

test("whatever the keys are, no name of a record is there twice or a value and a group, by kernel and model", async () => {
  const cases = goldenCases.filter(([name]) => /everyday|netflow5-two|ipfix-milli|ipfix-enterprise/.test(name));
  assert.ok(cases.length > 2);
  await fc.assert(
    fc.asyncProperty(metadata, metadata, metadata, async (wide, narrow, exporter) => {
      const twins = await createFlowTwins({
        addresses: { sources: [place], locality: true },
        more: (metrics) => [new NameEnricher(() => portNames, true, metrics)],
      });
      twins.setMetadata([
        udmEntry("0.0.0.0/0", { name: "all", vlan: 7n, internal: true, metadata: wide }),
        udmEntry("192.0.2.0/24", { metadata: narrow }),
        udmEntry("192.0.2.254", { metadata: exporter }),
      ]);
      for (const [, datagrams] of cases) {
        for (const datagram of datagrams) {
          const { bytes, ...from } = "bytes" in datagram ? datagram : { bytes: datagram };
          for (const line of twins.send(bytes, from).split("\n").slice(0, -1)) assertNames(line);
        }
      }
      await twins.finish();
    }),
    runs(12),
  );
});

function assertNames(line: string): void {
  // In a flat object a text with a colon behind it is a name.
  const names = [...line.matchAll(/"((?:[^"\\]|\\.)*)":/g)].map((match) => match[1] ?? "");
  const all = new Set(names);
  assert.equal(all.size, names.length, `twice: ${line}`);
  for (const name of names) {
    for (let dot = name.indexOf(".", 1); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      assert.ok(!all.has(name.slice(0, dot)), `${name} lies below a value: ${line}`);
    }
  }
}
