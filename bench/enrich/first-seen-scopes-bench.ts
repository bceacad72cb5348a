// What records cost whose two addresses no cache knows, by how many scopes they are in: VRFs with one overlapping plan of twenty entries each. In turns, and
// beside the same addresses without scopes.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addressTableBytes, AddressEnricher } from "../../src/enrich/index.ts";
import { FlowPipeline } from "../../src/flow/index.ts";
import { parseKey } from "../../src/base/ip/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { UdmFileStore, type UdmEntry, type UdmIndex } from "../../src/metadata/index.ts";
import { createWorkspace, createWorkspaceMemory } from "../../src/record/index.ts";
import { dataSet, fields, ipfix, ipfixTemplates, uint, type PacketTemplate } from "../../packages/testkit/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { median } from "../support/median.ts";
import { createRandom } from "../support/random.ts";

const counts = [0, 1, 100, 10_000] as const;
const rounds = 7;
const records = 24;
const datagrams = 3000;
/** In both its halves a cache of this size has fewer addresses than come before the first comes again. */
const maxCached = 32_768;
const entriesOfScope = 20;
const exporter = "192.0.2.254";
const template: PacketTemplate = {
  id: 300,
  fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [1, 4], [2, 4], [234, 4], [235, 4]),
};

function entry(scope: number, i: number): UdmEntry {
  const key = parseKey(i === 0 ? "10.0.0.0/8" : `10.${i - 1}.0.0/16`);
  return { key, name: `net-${scope}-${i}`, tags: ["prod"], vlan: 0n, internal: false, metadata: new Map() };
}

/** Datagrams of records with a VRF each, all of whose addresses are others. */
function createPool(vrfs: number): readonly Buffer[] {
  const random = createRandom(1);
  let next = 0;
  const address = (): Buffer => uint(0x0a00_0000 + (next++ % 2 ** 20), 4);
  return Array.from({ length: datagrams }, () =>
    ipfix([
      dataSet(
        template,
        ...Array.from({ length: records }, () => {
          const vrf = uint(1 + (random() % vrfs), 4);
          const ends = [address(), address()];
          return [...ends, uint(443, 2), uint(50_000, 2), uint(6, 1), uint(1500, 4), uint(1, 4), vrf, vrf];
        }),
      ),
    ]),
  );
}

/** A pipeline over this many scopes; none: the entries are global. @returns what measures a round: nanoseconds of CPU a record. */
async function setUp(count: number, directory: string): Promise<() => number> {
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const path = join(directory, `${count}.yml`);
  const store = new UdmFileStore({ ...common, health: createHealth(), path, owned: false, refreshMs: 0 });
  await store.start();
  const stateOf = (scope: number): UdmIndex => {
    const edit = store.scopes.shared.empty().edit();
    for (let i = 0; i < entriesOfScope; i++) edit.put(entry(scope, i), "");
    return edit.done();
  };
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const states = new Map(numbers.map((number) => [number, { index: stateOf(number), inherits: true }]));
  const definitions = numbers.map((number) => ({ name: `s${number}`, number, match: [{ vrf: [String(number)] }] }));
  const global = stateOf(0);
  await store.scopes.alone(async () => {
    store.scopes.shared.publish(global);
    if (count > 0) store.scopes.publish(states, Buffer.from(JSON.stringify(definitions)));
  });
  const workspace = createWorkspace(createWorkspaceMemory(addressTableBytes(maxCached)));
  const enricher = new AddressEnricher({
    ...common,
    workspace,
    watch: store.watchAddresses,
    ttlMs: 7_200_000,
    invalidate: true,
    maxCached,
  });
  await enricher.start();
  let lines = 0;
  const pipeline = new FlowPipeline({
    ...common,
    enricher,
    sink: { write: (_lines, many) => void (lines += many) },
    communityId: false,
    workspace,
  });
  pipeline.process(ipfix([ipfixTemplates(template)]), exporter, 2055);
  const pool = createPool(Math.max(1, count));
  return () => {
    lines = 0;
    const start = process.cpuUsage();
    for (const datagram of pool) pipeline.process(datagram, exporter, 2055);
    const { user, system } = process.cpuUsage(start);
    // The states are shown for as long as they are held.
    if (lines !== datagrams * records || states.size !== count || global.size === 0) throw new Error(`${lines} lines`);
    return ((user + system) * 1000) / lines;
  };
}

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
try {
  const sides: { readonly count: number; readonly round: () => number; readonly costs: number[] }[] = [];
  for (const count of counts) sides.push({ count, round: await setUp(count, directory), costs: [] });
  for (const { round } of sides) round();
  for (let i = 0; i < rounds; i++) for (const { round, costs } of sides) costs.push(round());
  const [none, one, ...more] = sides.map(({ count, costs }) => ({ count, cost: median(costs) }));
  if (none === undefined || one === undefined) throw new Error("nothing was measured");
  const what = (count: number): string =>
    `a record, both addresses new, in ${count === 1 ? "one scope" : `${count} scopes`}`;
  reportRow({ what: "a record, both addresses new, without scopes", value: none.cost, unit: "ns CPU" });
  reportRow({ what: what(1), value: one.cost, unit: "ns CPU", peer: { what: "without scopes", value: none.cost } });
  for (const { count, cost } of more) {
    const peer = { what: "in one scope", value: one.cost };
    reportRow({ what: what(count), value: cost, unit: "ns CPU", peer, goal: "≤ 1.2 ×" });
  }
} finally {
  await rm(directory, { recursive: true });
}
