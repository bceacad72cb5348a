import assert from "node:assert/strict";
import { test } from "node:test";
import { createAppEnds, readAppEnds, readAppIds } from "../../src/enrich/index.ts";
import { createMetrics } from "../../src/report/index.ts";
import {
  dataSet,
  fields,
  hex,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
} from "../support/flow-packets.ts";
import { parseLines, type Json } from "../support/flow-rig.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { udmEntry } from "../support/udm-entry.ts";

const flow: PacketTemplate = { id: 300, fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [1, 4]) };
const withId: PacketTemplate = { id: 301, fields: fields([95, 4], [1, 4]) };
const withName: PacketTemplate = { id: 302, fields: fields([95, 4], [96, 8], [1, 4]) };
const options: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([95, 4], [96, 8]) };
const text = (value: string): Buffer => Buffer.concat([Buffer.from(value), Buffer.alloc(8)], 8);
const zoom = hex("0d0001ef");
const other = hex("0d0001f0");

test("by address and port: kernel and model write the same, and only records of listed addresses become fields", async () => {
  const apps = createAppEnds({ privateAddresses: true, publicAddresses: true, metrics: createMetrics() });
  const twins = await createFlowTwins({ addresses: { sources: [apps.source] }, more: () => [apps.enricher] });
  const record = (source: string, from: number, destination: string, to: number): Buffer[] => [
    ipv4(source),
    ipv4(destination),
    uint(from, 2),
    uint(to, 2),
    uint(6, 1),
    uint(1000, 4),
  ];
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
  assert.deepEqual(send(), Array.from({ length: 5 }));
  apps.use(
    readAppEnds(Buffer.from("192.168.1.0/24: {8090: {name: erp, category: books, metadata: {.owner: me, cost: x}}}"))
      .value,
  );
  assert.deepEqual(send(), ["erp", "erp", undefined, undefined, undefined]);
  twins.setMetadata([udmEntry("192.168.0.0/16", { name: "lan", metadata: { cost: "y", ".app": "z" } })]);
  assert.deepEqual(send(), ["erp", "erp", undefined, undefined, undefined]);
  twins.setMetadata([]);
  assert.deepEqual(send(), ["erp", "erp", undefined, undefined, undefined]);
  apps.use([]);
  assert.deepEqual(send(), Array.from({ length: 5 }));
  const { records, slow } = await twins.finish();
  assert.equal(records, 25);
  // Three of five records in each of three datagrams.
  assert.equal(slow["enrichment"], 9);
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
