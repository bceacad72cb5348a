import assert from "node:assert/strict";
import { test } from "node:test";
import { NameEnricher, NetifEnricher, knownPortNames, readNetifs, type AddressSource } from "../../src/enrich/index.ts";
import { ecsNames, findField, recordFields, type Value } from "../../src/record/index.ts";
import {
  dataSet,
  fields,
  hex,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { parseLines, type Json } from "../support/flow-rig.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { findBy } from "../support/address-facts.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { dashboardEcsNames, dashboardNames } from "./dashboard-names.ts";
import { fitsField } from "./fits-field.ts";

const portNames = knownPortNames();

const tcp: PacketTemplate = {
  id: 300,
  fields: fields(
    [8, 4],
    [12, 4],
    [7, 2],
    [11, 2],
    [4, 1],
    [6, 1],
    [5, 1],
    [1, 8],
    [2, 8],
    [10, 4],
    [14, 4],
    [209, 8],
    [58, 2],
    [59, 2],
    [128, 4],
    [129, 4],
    [96, 3],
  ),
};
const icmp: PacketTemplate = { id: 301, fields: fields([8, 4], [12, 4], [4, 1], [176, 1], [177, 1], [1, 4]) };
const ends = [ipv4("10.0.0.1"), ipv4("198.51.100.2")];

/** Knows all of every address. */
const everything: AddressSource = {
  objects: new Set(["flow.src", "flow.dst", "flow.export"]),
  find: findBy(({ value }) => ({
    fields: [
      [".host.name", `host-${value}`],
      [".geo.city.name", `city-${value}`],
      [".geo.country.name", "Netherlands"],
      [".geo.country.code", "NL"],
      [".geo.loc.coord", "52.374,4.8897"],
      [".geo.tz.name", "Europe/Amsterdam"],
    ],
    as: { number: Number(value % 65_536n) + 1, organisation: "Example Net" },
  })),
  watch: () => () => {},
};

const netifs = readNetifs(
  Buffer.from("192.0.2.254: {7: {name: xe-7, type: ethernetCsmacd}, 8: {name: xe-8, type: ethernetCsmacd}}"),
).value;

test("every field that dashboards ask for is written, by kernel and model alike, with the type of the table", async () => {
  const twins = await createFlowTwins({
    addresses: { sources: [everything], locality: true },
    more: (metrics) => [new NetifEnricher(() => netifs, metrics), new NameEnricher(() => portNames, true, metrics)],
  });
  const send = (): Json[] => {
    const values = [uint(6, 1), uint(0x1a, 1), uint(0xb8, 1), uint(1500, 8), uint(3, 8)];
    const rest = [uint(7, 4), uint(8, 4), hex("000000000000011c"), uint(100, 2), uint(200, 2), uint(64_500, 4)];
    const record = (...ports: [number, number]): Buffer[] => [
      ...ends,
      ...ports.map((port) => uint(port, 2)),
      ...values,
      ...rest,
      uint(64_501, 4),
      Buffer.from("web"),
    ];
    const ping = [...ends, uint(1, 1), uint(3, 1), uint(3, 1), uint(84, 4)];
    const bytes = ipfix([
      ipfixTemplates(tcp, icmp),
      dataSet(tcp, record(50_000, 443), record(443, 50_000)),
      dataSet(icmp, ping),
    ]);
    return parseLines(Buffer.from(twins.send(bytes)));
  };
  const plain = send();
  twins.setMetadata([
    udmEntry("10.0.0.0/8", { name: "office", tags: ["dmz"], metadata: { ".sec.threat.name": "botnet" } }),
    udmEntry("198.51.100.0/24", { tags: ["dmz", "far"], metadata: { ".sec.threat.name": "scanner" } }),
  ]);
  const named = send();
  assert.deepEqual(named[0]?.["ip.subnet.tags"], ["dmz", "far"]);
  assert.deepEqual(named[0]?.["sec.threat.name"], ["botnet", "scanner"]);
  assert.equal(named[0]?.["flow.client.sec.threat.name"], "botnet");
  assert.deepEqual(named[0]?.["geo.country.name"], ["Netherlands"]);
  twins.setMetadata([
    udmEntry("10.0.0.0/8", {
      metadata: { "mitre.attack.tactic.name": "Exfiltration", "mitre.attack.technique.name": "Scheduled Transfer" },
    }),
  ]);
  const records = [...plain, ...named, ...send()];
  await twins.finish();

  const written = new Set(records.flatMap((record) => Object.keys(record)));
  assert.deepEqual(
    dashboardNames.filter((name) => !written.has(name)),
    [],
  );
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const found = findField(name);
      assert.ok(found !== undefined, name);
      if ("name" in found) assert.ok(fitsField(found, value as Value, false), `${name} is ${JSON.stringify(value)}`);
    }
  }
});

test("every field that dashboards ask for is in the table, and so is its name in ECS", () => {
  const names = new Set(recordFields.map(({ name }) => name));
  assert.deepEqual(
    dashboardNames.filter((name) => !names.has(name)),
    [],
  );
  const ecs = new Set(dashboardNames.map((name) => ecsNames.get(name) ?? name));
  assert.deepEqual(
    dashboardEcsNames.filter((name) => !ecs.has(name)),
    [],
  );
});
