// What names by the API cost: CPU time of the pipeline for records whose interfaces, systems, VLANs, ports and MAC addresses have some, in turns with the
// same records while there are no names.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OwnNames } from "../../src/enrich/index.ts";
import { FlowPipeline } from "../../src/flow/index.ts";
import { createWorkspace, createWorkspaceMemory } from "../../src/record/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { parseNameKey, UdmFileStore } from "../../src/metadata/index.ts";
import { dataSet, fields, ipfix, ipfixTemplates, uint, type PacketTemplate } from "../../packages/testkit/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { median } from "../support/median.ts";

const records = 20;
const datagrams = 1000;
const rounds = 9;
const exporter = "192.0.2.254";
const hosts = 50;
const template: PacketTemplate = {
  id: 300,
  fields: [
    ...fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [1, 4], [2, 4], [10, 4], [14, 4], [16, 4], [17, 4]),
    ...fields([58, 2], [59, 2], [56, 6], [80, 6]),
  ],
};
const interfaces = [1, 2, 3, 4, 5, 6, 7, 8].map((index) => `interface:${exporter}/${index}`);
const macOf = (host: number): Buffer => Buffer.from([0, 0, 0x5e, 0, 0x53, host]);
const hexOf = (mac: Buffer): string => mac.toString("hex").replaceAll(/..(?=.)/g, "$&:");
const others = ["as:64496", "as:64511", "vlan:*/10", "vlan:*/20", "port:tcp/443", "mac:00:00:5e"].concat(
  Array.from({ length: hosts }, (_, host) => `mac:${hexOf(macOf(host))}`),
);

const pool = Array.from({ length: 20 }, (_, d) =>
  ipfix([
    dataSet(
      template,
      ...Array.from({ length: records }, (__, r) => {
        const i = d * records + r;
        const ends = [uint(0x0a00_0000 + i, 4), uint(0xc633_6400 + (i % 100), 4), uint(49_152 + i, 2), uint(443, 2)];
        const route = [uint(1 + (i % 4), 4), uint(5 + (i % 4), 4), uint(64_496, 4), uint(64_511, 4)];
        const link = [uint(10, 2), uint(20, 2), macOf(i % hosts), macOf((i + 7) % hosts)];
        return [...ends, uint(6, 1), uint(1500 + i, 4), uint(1, 4), ...route, ...link];
      }),
    ),
  ]),
);

/** @returns what measures a round: nanoseconds of CPU a record. */
async function setUp(keys: readonly string[], directory: string): Promise<() => number> {
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const path = join(directory, `${keys.length}.yml`);
  const store = new UdmFileStore({ ...common, health: createHealth(), path, keys: "names", owned: true, refreshMs: 0 });
  await store.start();
  const values = { tags: [], vlan: 0n, internal: false, metadata: new Map<string, string>() };
  const writes = keys.map((text) => {
    return { op: "create", key: parseNameKey(text), values: { ...values, name: `name of ${text}` } } as const;
  });
  if (writes.length > 0) await store.commit(writes);
  const names = new OwnNames(store.watchAddresses, common.metrics);
  await names.start();
  let lines = 0;
  const pipeline = new FlowPipeline({
    ...common,
    enricher: names,
    shape: names.shape,
    sink: { write: (_lines, count) => void (lines += count) },
    communityId: true,
    workspace: createWorkspace(createWorkspaceMemory(0)),
  });
  pipeline.process(ipfix([ipfixTemplates(template)]), exporter, 2055);
  return () => {
    lines = 0;
    const start = process.cpuUsage();
    for (let i = 0; i < datagrams; i++) pipeline.process(pool[i % pool.length] as Buffer, exporter, 2055);
    const { user, system } = process.cpuUsage(start);
    if (lines !== datagrams * records) throw new Error(`${lines} lines`);
    return ((user + system) * 1000) / lines;
  };
}

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
try {
  const cases = [
    { what: "a record while there are no names", keys: [] },
    { what: "names of both its interfaces", keys: interfaces },
    { what: "names of interfaces, systems, VLANs, a port, MAC addresses", keys: [...interfaces, ...others] },
  ];
  const measured: { readonly what: string; readonly round: () => number; readonly costs: number[] }[] = [];
  for (const { what, keys } of cases) measured.push({ what, round: await setUp(keys, directory), costs: [] });
  for (const { round } of measured) round();
  for (let i = 0; i < rounds; i++) for (const { round, costs } of measured) costs.push(round());
  const [none, ...named] = measured.map(({ what, costs }) => ({ what, value: median(costs), unit: "ns CPU" }));
  if (none === undefined) throw new Error("nothing was measured");
  reportRow(none);
  for (const row of named) reportRow({ ...row, peer: { what: "no names", value: none.value } });
} finally {
  await rm(directory, { recursive: true });
}
