// Two VRFs with the same prefixes, and a leak between them, as a router sends them: a collector process names each side by its own plan.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { metadataSettings, startCollectorProcess } from "../support/collector-process.ts";
import { untilRecords } from "../support/flow-records.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const flowTemplate: PacketTemplate = {
  id: 256,
  fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [234, 4], [235, 4], [1, 4]),
};
/** The exporter's table of VRFs: id, name, route distinguisher. */
const vrfTemplate: PacketTemplate = { id: 257, scopeCount: 1, fields: fields([234, 4], [236, 8], [90, 8]) };
const vrf = (id: number, name: string, rd: readonly [number, number]): Buffer[] => [
  uint(id, 4),
  Buffer.from(name.padEnd(8, "\0")),
  Buffer.concat([uint(0, 2), uint(rd[0], 2), uint(rd[1], 4)]),
];
const red = 1;
const blue = 2;
const shared = 3;
const flow = (from: number, to: number, host: number, bytes: number): Buffer[] => [
  ipv4(`10.0.0.${host}`),
  ipv4("10.0.1.9"),
  uint(40_000, 2),
  uint(443, 2),
  uint(6, 1),
  uint(from, 4),
  uint(to, 4),
  uint(bytes, 4),
];

test("two VRFs with the same prefixes have their own names, across a leak too, and what is in neither has the global ones", async (t) => {
  const directory = tempDirectory(t);
  const output = join(directory, "flows.ndjson");
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  mkdirSync(join(directory, "scopes"));
  const plan = (of: string): string => `10.0.0.0/24:\n  name: ${of} clients\n10.0.1.9:\n  name: ${of} server\n`;
  file("scopes/red.yml", plan("red"));
  file("scopes/blue.yml", plan("blue"));
  const collector = await startCollectorProcess({
    settings: {
      ...metadataSettings(file("ipaddrs.yml", plan("global"))),
      SVC_PROCESSOR_ENRICH_SCOPES_PATH: file(
        "scopes.yml",
        "red: {match: [{vrf: red}], entries: scopes/red.yml}\nblue: {match: [{vrf: '65000:2'}], inherit: false, entries: scopes/blue.yml}\n",
      ),
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: output,
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const table = dataSet(
    vrfTemplate,
    vrf(red, "red", [65_000, 1]),
    vrf(blue, "blue", [65_000, 2]),
    vrf(shared, "mgmt", [65_000, 3]),
  );
  const ways = [
    [red, red],
    [blue, blue],
    [red, blue],
    [blue, red],
    [shared, red],
    [shared, shared],
  ] as const;
  // The same addresses in each; the bytes say which flow it is.
  const flows = ways.flatMap(([from, to], i) => [5, 6].map((host) => flow(from, to, host, 1000 + i)));
  await sendDatagram(collector.flowPort, ipfix([ipfixTemplates(flowTemplate), ipfixTemplates(vrfTemplate), table]));
  await sendDatagram(collector.flowPort, ipfix([dataSet(flowTemplate, ...flows)], { sequence: 3 }));
  const records = await untilRecords(output, flows.length);
  const named = records.map((record) => [
    Number(record["flow.bytes"]) - 1000,
    record["flow.src.scope"] ?? "",
    record["flow.src.ip.subnet.name"],
    record["flow.dst.scope"] ?? "",
    record["flow.dst.ip.subnet.name"],
  ]);
  const name = (id: number): string => ({ [red]: "red", [blue]: "blue" })[id] ?? "";
  const wanted = ways.flatMap(([from, to], i) =>
    [5, 6].map(() => [i, name(from), `${name(from) || "global"} clients`, name(to), `${name(to) || "global"} server`]),
  );
  assert.deepEqual(named, wanted);
  assert.deepEqual([...new Set(records.map((record) => String(record["flow.in.vrf.name"])))].toSorted(), [
    "blue",
    "mgmt",
    "red",
  ]);
  // A name that is changed in one VRF by the API is the next flow's there, and nowhere else.
  const changed = await fetch(`${collector.api}/api/v1/enrich/ipaddr/scopes/red/udm.v1.UdmService/UpdateUdm`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ udm: { key: "10.0.1.9", name: "red database" } }),
  });
  assert.equal(changed.status, 200);
  await sendDatagram(collector.flowPort, ipfix([dataSet(flowTemplate, ...flows)], { sequence: 3 + flows.length }));
  const after = (await untilRecords(output, 2 * flows.length)).slice(flows.length);
  assert.deepEqual(
    after.map((record) => record["flow.dst.ip.subnet.name"]),
    wanted.map(([, , , , to]) => (to === "red server" ? "red database" : to)),
  );
});
