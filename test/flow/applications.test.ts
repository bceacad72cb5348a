import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { AppEnds, readAppEnds, readAppIds } from "../../src/enrich/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import {
  dataSet,
  fields,
  hex,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
  ethernet,
  flowSample,
  ipv4Packet,
  sampledHeader,
  sflow,
  tcp,
} from "../../packages/testkit/index.ts";
import { parseLines, type Json } from "../support/flow-rig.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { allRuns } from "../support/runs.ts";
import { udmEntry } from "../support/udm-entry.ts";

const flow: PacketTemplate = { id: 300, fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [1, 4]) };
const withId: PacketTemplate = { id: 301, fields: fields([95, 4], [1, 4]) };
const withName: PacketTemplate = { id: 302, fields: fields([95, 4], [96, 8], [1, 4]) };
const options: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([95, 4], [96, 8]) };
const text = (value: string): Buffer => Buffer.concat([Buffer.from(value), Buffer.alloc(8)], 8);
const zoom = hex("0d0001ef");
const other = hex("0d0001f0");

const record = (source: string, from: number, destination: string, to: number): Buffer[] => [
  ipv4(source),
  ipv4(destination),
  uint(from, 2),
  uint(to, 2),
  uint(6, 1),
  uint(1000, 4),
];

test("by address and port: kernel and model write the same, and records become fields for metadata alone", async () => {
  const apps = new AppEnds({ private: true, public: true }, createMetrics());
  const twins = await createFlowTwins({ more: () => [apps] });
  const send = (): (string | undefined)[] =>
    parseLines(
      Buffer.from(
        twins.send(
          ipfix([
            ipfixTemplates(flow),
            dataSet(
              flow,
              record("10.0.0.1", 50_000, "192.168.1.5", 8090),
              record("192.168.1.5", 8090, "10.0.0.1", 50_000),
              record("10.0.0.1", 50_000, "192.168.1.5", 22),
              record("10.0.0.1", 50_000, "192.0.2.5", 8090),
              record("10.0.0.1", 50_000, "192.0.2.6", 8090),
            ),
          ]),
        ),
      ),
    ).map((each: Json) => each["app.name"] as string | undefined);
  const use = (to: string): void => apps.use(readAppEnds(Buffer.from(to)).value);
  assert.deepEqual(send(), Array.from({ length: 5 }));
  use("192.168.1.0/24: {8090: {name: erp, category: books, metadata: {.owner: me}}}");
  assert.deepEqual(send(), ["erp", "erp", undefined, undefined, undefined]);
  use("192.168.1.0/24: {8090: {name: hr}}\n192.0.2.6: {8000-8099: {name: web}}");
  assert.deepEqual(send(), ["hr", "hr", undefined, undefined, "web"]);
  // So far none; from here on the two of the application, then three by their addresses, then two again.
  use("192.168.1.0/24: {8090: {name: erp, metadata: {cost: x}}}");
  assert.deepEqual(send(), ["erp", "erp", undefined, undefined, undefined]);
  twins.setMetadata([udmEntry("192.168.0.0/16", { name: "lan", metadata: { cost: "y", ".app": "z" } })]);
  assert.deepEqual(send(), ["erp", "erp", undefined, undefined, undefined]);
  twins.setMetadata([]);
  assert.deepEqual(send(), ["erp", "erp", undefined, undefined, undefined]);
  apps.use([]);
  assert.deepEqual(send(), Array.from({ length: 5 }));
  const { records, slow } = await twins.finish();
  assert.equal(records, 35);
  assert.equal(slow["enrichment"], 7);
});

test("fields below app that the record has already are not written twice", async () => {
  const apps = new AppEnds({ private: true, public: true }, createMetrics());
  let applications: ReadonlyMap<string, readonly (readonly [string, string])[]> | undefined;
  const twins = await createFlowTwins({
    elements: [{ pen: 99_999, id: 1, name: "app.owner", type: "string" }],
    applications: () => applications,
    more: () => [apps],
  });
  const withOwner: PacketTemplate = { id: 301, fields: [...flow.fields, ...fields([1, 8, 99_999])] };
  const byId: PacketTemplate = { id: 302, fields: [...flow.fields, ...fields([95, 4])] };
  const ends = record("10.0.0.1", 50_000, "10.0.0.2", 443);
  const send = (): unknown[] =>
    twins
      .send(
        ipfix([
          ipfixTemplates(withOwner),
          ipfixTemplates(byId),
          dataSet(withOwner, [...ends, text("them")]),
          dataSet(byId, [...ends, zoom]),
        ]),
      )
      .trimEnd()
      .split("\n")
      .map((line) => line.match(/"app\.(?:name|owner)":"\w+"/g));
  apps.use(readAppEnds(Buffer.from("10.0.0.2: {443: {name: erp, metadata: {.owner: us}}}")).value);
  const added = ['"app.name":"erp"', '"app.owner":"us"'];
  assert.deepEqual(send(), [added.toReversed(), added]);
  applications = new Map([["13:495", [["app.owner", "id"]]]]);
  assert.deepEqual(send(), [added.toReversed(), added.toReversed()]);
  const { slow } = await twins.finish();
  assert.equal(slow["enrichment"], 3);
});

test("whatever the file, the records and what else is known: kernel and model write the same", async () => {
  const elements = [{ pen: 99_999, id: 1, name: "app.owner", type: "string" }] as const;
  const plain = fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [1, 4]);
  const templates: readonly PacketTemplate[] = [
    { id: 300, fields: plain },
    { id: 301, fields: [...plain, ...fields([95, 4])] },
    { id: 302, fields: [...plain, ...fields([95, 4], [96, 8])] },
    { id: 303, fields: [...plain, ...fields([1, 8, 99_999])] },
    { id: 304, fields: fields([27, 16], [28, 16], [7, 2], [11, 2], [4, 1], [1, 4]) },
    { id: 305, fields: fields([8, 4], [12, 4], [4, 1], [1, 4]) },
  ];
  const addresses = ["10.0.0.1", "10.0.0.2", "10.0.1.1", "192.0.2.1", "198.51.100.2"] as const;
  const ports = [443, 8090, 8091, 40_000] as const;
  const mapped = (address: string): Buffer => Buffer.concat([hex("00000000000000000000ffff"), ipv4(address)]);
  const address6 = fc.oneof(fc.constantFrom(...addresses).map(mapped), fc.constant(hex(`20010db8${"0".repeat(23)}1`)));
  const random = fc.record({
    template: fc.constantFrom(...templates),
    ends: fc.tuple(fc.constantFrom(...addresses), fc.constantFrom(...addresses)),
    ends6: fc.tuple(address6, address6),
    ports: fc.tuple(fc.constantFrom(...ports), fc.constantFrom(...ports)),
    id: fc.constantFrom(zoom, other),
    name: fc.constantFrom("", "own"),
    owner: fc.constantFrom("", "them"),
  });
  const bytesOf = ({ template, ends, ends6, ports: [from, to], id, name, owner }: RandomRecord): Buffer[] => {
    const addressesOf = template.id === 304 ? ends6 : ends.map(ipv4);
    const numbers = [uint(from, 2), uint(to, 2), uint(6, 1), uint(1000, 4)];
    const more = { 301: [id], 302: [id, text(name)], 303: [text(owner)] }[template.id] ?? [];
    return [...addressesOf, ...(template.id === 305 ? numbers.slice(2) : numbers), ...more];
  };
  type RandomRecord = typeof random extends fc.Arbitrary<infer One> ? One : never;
  const app = fc.constantFrom(
    "{name: erp}",
    "{name: portal, category: web, metadata: {.owner: me}}",
    "{category: books}",
    "{name: hr, metadata: {site: x, .risk: low}}",
    "{}",
  );
  const file = fc
    .uniqueArray(
      fc.tuple(
        fc.constantFrom("10.0.0.1", "10.0.0.0/24", "10.0.0.0/8", "192.0.2.1-198.51.100.9", "2001:db8::/32"),
        fc.dictionary(fc.constantFrom("443", "8090", "8000-8099", "40000"), app, { minKeys: 1 }),
      ),
      { selector: ([key]) => key, maxLength: 4 },
    )
    .map((hosts) =>
      hosts
        .map(
          ([key, of]) =>
            `${key}: {${Object.entries(of)
              .map(([port, one]) => `${port}: ${one}`)
              .join()}}`,
        )
        .join("\n"),
    );
  const event = fc.oneof(
    { weight: 4, arbitrary: fc.array(random, { minLength: 1, maxLength: 6 }) },
    { weight: 2, arbitrary: file.map((to) => ({ file: to })) },
    { weight: 1, arbitrary: fc.constantFrom("{}", "{metadata: {.owner: id}}", "{name: byId}").map((ids) => ({ ids })) },
    { weight: 1, arbitrary: fc.constantFrom({}, { ".site": "s" }, { site: "y" }).map((metadata) => ({ metadata })) },
    { weight: 1, arbitrary: fc.constant("sflow" as const) },
  );
  const seen = { records: 0, slow: 0 };
  await fc.assert(
    fc.asyncProperty(file, fc.array(event, { minLength: 10, maxLength: 30 }), async (first, events) => {
      let applications: ReadonlyMap<string, readonly (readonly [string, string])[]> | undefined;
      const twins: AppEnds[] = [];
      const use = (to: string): void => twins.forEach((apps) => apps.use(readAppEnds(Buffer.from(to)).value));
      const pipelines = await createFlowTwins({
        elements,
        applications: () => applications,
        more(metrics) {
          const apps = new AppEnds({ private: true, public: true }, metrics);
          twins.push(apps);
          return [apps];
        },
      });
      use(first);
      pipelines.send(ipfix(templates.map((template) => ipfixTemplates(template))));
      for (const one of events) {
        if (one === "sflow") {
          const packet = ethernet(0x0800, ipv4Packet(tcp(0x10)));
          pipelines.send(sflow([flowSample([sampledHeader(packet)]), flowSample([sampledHeader(packet)])]));
        } else if (Array.isArray(one)) pipelines.send(ipfix(one.map((each) => dataSet(each.template, bytesOf(each)))));
        else if ("file" in one) use(one.file);
        else if ("metadata" in one) pipelines.setMetadata([udmEntry("10.0.0.0/25", { metadata: one.metadata })]);
        else {
          const { value } = readAppIds(Buffer.from(`13:495: ${one.ids}`));
          applications = new Map(Array.from(value, ([id, { fields: of }]) => [id, of]));
        }
      }
      const { records, slow } = await pipelines.finish();
      seen.records += records;
      seen.slow += slow["enrichment"] ?? 0;
    }),
    allRuns(12),
  );
  assert.ok(seen.records > 200 && seen.slow > 20 && seen.slow < seen.records / 2, JSON.stringify(seen));
});

test("by id: the record's own name, then the file's, then that of options; with category and metadata", async () => {
  let applications: ReadonlyMap<string, readonly (readonly [string, string])[]> | undefined;
  const twins = await createFlowTwins({ applications: () => applications });
  const use = (file: string): void => {
    const { value } = readAppIds(Buffer.from(file));
    applications = new Map(Array.from(value, ([id, app]) => [id, app.fields]));
  };
  const send = (): Json[] =>
    parseLines(
      Buffer.from(
        twins.send(
          ipfix([
            ipfixTemplates(withId),
            ipfixTemplates(withName),
            dataSet(withId, [zoom, uint(1, 4)], [other, uint(2, 4)]),
            dataSet(withName, [zoom, text("own"), uint(3, 4)]),
          ]),
        ),
      ),
    );
  const names = (): unknown[] =>
    send().map((each) => [each["app.name"], each["app.category.name"], each["app.risk"]].filter((one) => one));
  assert.deepEqual(names(), [[], [], ["own"]]);
  use("13:495: {name: zoom, category: meetings, metadata: {.risk: low}}");
  assert.deepEqual(names(), [["zoom", "meetings", "low"], [], ["own", "meetings", "low"]]);
  twins.send(ipfix([ipfixTemplates(options), dataSet(options, [zoom, text("nbar")], [other, text("other")])]));
  assert.deepEqual(names(), [["zoom", "meetings", "low"], ["other"], ["own", "meetings", "low"]]);
  use("13:496: {category: voice}");
  assert.deepEqual(names(), [["nbar"], ["other", "voice"], ["own"]]);
  applications = undefined;
  assert.deepEqual(names(), [["nbar"], ["other"], ["own"]]);
  await twins.finish();
});
