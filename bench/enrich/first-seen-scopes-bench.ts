// What records cost whose two addresses no cache knows, by how many customers' plans of addresses there are, each with its entries: overlapping plans in scopes
// of their own, by VRF; and as many plans without scopes, which then have different addresses. The records are the same but for these, and measured in turns.
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

const plans = [1, 100, 10_000] as const;
const rounds = 7;
const records = 24;
const datagrams = 3000;
/** In both its halves a cache of this size has fewer addresses than come before the first comes again. */
const maxCached = 32_768;
/** The addresses of a plan, of which there is one entry, and of its parts, each with one more. */
const planBits = 17;
const partBits = 13;
const exporter = "192.0.2.254";
const template: PacketTemplate = {
  id: 300,
  fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [1, 4], [2, 4], [234, 4], [235, 4]),
};

/** The first address of a plan: the same of all that are in scopes. */
function firstOf(plan: number, isScoped: boolean): number {
  return isScoped ? 0x0a00_0000 : plan * 2 ** planBits;
}

function entriesOf(plan: number, isScoped: boolean): UdmEntry[] {
  const first = firstOf(plan, isScoped);
  const entry = (address: number, bits: number): UdmEntry => {
    const text = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
    const key = parseKey(`${text}/${32 - bits}`);
    return { key, name: `net-${plan}-${address}`, tags: ["prod"], vlan: 0n, internal: false, metadata: new Map() };
  };
  const parts = Array.from({ length: 2 ** (planBits - partBits) }, (_, i) =>
    entry(first + i * 2 ** partBits, partBits),
  );
  return [entry(first, planBits), ...parts];
}

/** Datagrams of records of a random plan each, all of whose addresses are others. */
function createPool(count: number, isScoped: boolean): readonly Buffer[] {
  const random = createRandom(1);
  let next = 0;
  return Array.from({ length: datagrams }, () =>
    ipfix([
      dataSet(
        template,
        ...Array.from({ length: records }, () => {
          const plan = 1 + (random() % count);
          const address = (): Buffer => uint(firstOf(plan, isScoped) + (next++ % 2 ** planBits), 4);
          const ends = [address(), address()];
          const vrf = uint(plan, 4);
          return [...ends, uint(443, 2), uint(50_000, 2), uint(6, 1), uint(1500, 4), uint(1, 4), vrf, vrf];
        }),
      ),
    ]),
  );
}

/** A pipeline over this many plans. @returns what measures a round: nanoseconds of CPU a record. */
async function setUp(count: number, isScoped: boolean, directory: string): Promise<() => number> {
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const path = join(directory, `${count}-${isScoped}.yml`);
  const store = new UdmFileStore({ ...common, health: createHealth(), path, owned: false, refreshMs: 0 });
  await store.start();
  const stateOf = (entries: Iterable<UdmEntry>): UdmIndex => {
    const edit = store.scopes.shared.empty().edit();
    for (const entry of entries) edit.put(entry, "");
    return edit.done();
  };
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const scopes = new Map(
    isScoped ? numbers.map((plan) => [plan, { index: stateOf(entriesOf(plan, true)), inherits: true }]) : [],
  );
  const definitions = numbers.map((number) => ({ name: `s${number}`, number, match: [{ vrf: [String(number)] }] }));
  const global = stateOf(isScoped ? [] : numbers.flatMap((plan) => entriesOf(plan, false)));
  await store.scopes.alone(async () => {
    store.scopes.shared.publish(global);
    if (isScoped) store.scopes.publish(scopes, Buffer.from(JSON.stringify(definitions)));
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
  const pool = createPool(count, isScoped);
  return () => {
    lines = 0;
    const start = process.cpuUsage();
    for (const datagram of pool) pipeline.process(datagram, exporter, 2055);
    const { user, system } = process.cpuUsage(start);
    // The states are shown for as long as they are held.
    if (lines !== datagrams * records || scopes.size + global.size === 0) throw new Error(`${lines} lines`);
    return ((user + system) * 1000) / lines;
  };
}

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
try {
  const sides = plans.flatMap((count) => [
    { count, isScoped: false },
    { count, isScoped: true },
  ]);
  const measured: {
    readonly count: number;
    readonly isScoped: boolean;
    readonly round: () => number;
    readonly costs: number[];
  }[] = [];
  for (const side of sides)
    measured.push({ ...side, round: await setUp(side.count, side.isScoped, directory), costs: [] });
  for (const { round } of measured) round();
  for (let i = 0; i < rounds; i++) for (const { round, costs } of measured) costs.push(round());
  const costOf = (count: number, isScoped: boolean): number =>
    median(measured.find((side) => side.count === count && side.isScoped === isScoped)?.costs ?? []);
  for (const { count, isScoped, costs } of measured) {
    const many = `${count === 1 ? "one plan" : `${count} plans`} of ${entriesOf(1, false).length} entries`;
    const what = `a record, both addresses new, ${many}, ${isScoped ? "each in its scope" : "without scopes"}`;
    const row = { what, value: median(costs), unit: "ns CPU" };
    if (!isScoped) reportRow(row);
    else reportRow({ ...row, peer: { what: "without scopes", value: costOf(count, false) }, goal: "≤ 1.2 ×" });
  }
} finally {
  await rm(directory, { recursive: true });
}
