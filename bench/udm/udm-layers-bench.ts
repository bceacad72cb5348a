// What layers and sheets cost: a million entries in layers compared with a million in the file, the import of a sheet compared with parsing it.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parse } from "csv-parse";
import { importEntries, readyMap, SharedIndex, SharedIndexReader, type UdmEntry } from "../../src/metadata/index.ts";
import { parseKey } from "../../src/base/ip/index.ts";
import { loadState } from "../../src/metadata/store/load-state.ts";
import { UdmLayers } from "../../src/metadata/store/udm-layers.ts";
import { reportRow } from "../support/bench-report.ts";
import { metadataKey, writeMetadataFile } from "../support/metadata-file.ts";
import { createRandom } from "../support/random.ts";

const size = 1_000_000;
const lookUps = 300_000;
const rows = 100_000;
const rounds = 3;

/** As the file has it. */
function entry(i: number): UdmEntry {
  const site = (i >> 8) & 255;
  const metadata = new Map([[".site.name", `Site ${site}`]]);
  const key = parseKey(metadataKey(i));
  return {
    key,
    name: `net-${i}`,
    tags: [`site-${site}`, "prod"],
    vlan: BigInt((i % 4000) + 1),
    internal: false,
    metadata,
  };
}

/** Milliseconds of CPU. */
async function cpuOf(work: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Milliseconds of CPU, of the fastest round. */
async function best(work: () => Promise<void> | void): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) least = Math.min(least, await cpuOf(work));
  return least;
}

/** What a million entries cost. */
interface Cost {
  /** Microseconds of CPU for each entry, until it can be looked up. */
  readonly load: number;
  /** Bytes for each entry. */
  readonly bytes: number;
  /** Nanoseconds of a look-up at first sight. */
  readonly lookUp: number;
  /** Milliseconds. */
  readonly longestTurn: number;
}

/** Loads a part of the entries; what it takes is added up. */
type Load = (work: () => Promise<void>) => Promise<void>;

async function costOf(fill: (shared: SharedIndex, loadPart: Load) => Promise<void>): Promise<Cost> {
  const shared = new SharedIndex({ maxEntries: 2 * size });
  let load = 0;
  let longestTurn = 0;
  await fill(shared, async (work) => {
    // What was done before it belongs to no turn of it.
    await new Promise((resolve) => setImmediate(resolve));
    const turns = monitorEventLoopDelay({ resolution: 1 });
    turns.enable();
    load += await cpuOf(work);
    turns.disable();
    longestTurn = Math.max(longestTurn, turns.max / 1e6);
  });
  const { tree, entries } = shared.stats();
  const reader = new SharedIndexReader(shared.handle());
  const ms = await best(() => {
    const random = createRandom(1);
    const address = Int32Array.of(0, 0, 0xffff, 0);
    let found = 0;
    for (let i = 0; i < lookUps; i++) {
      address[3] = 0x0a000000 + (random() & 0xffffff);
      found += reader.texts(address, 1, (read) => read(0).count);
    }
    if (found < lookUps) throw new Error("entries are missing");
  });
  return {
    load: (load * 1000) / size,
    bytes: (tree + entries) / size,
    lookUp: (ms * 1e6) / lookUps,
    longestTurn,
  };
}

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const path = join(directory, "ipaddrs.yml");
writeMetadataFile(path, size);
const bytes = await readFile(path);
await rm(directory, { recursive: true });
const file = await costOf((shared, loadPart) =>
  loadPart(async () => {
    const lease = shared.lease(undefined);
    const { built } = loadState(lease, bytes);
    if (built === undefined) throw new Error("nothing was loaded");
    shared.publish(shared.completeLease(lease, built));
  }),
);

/** All entries spread evenly over this many layers. */
function costOfLayers(count: number): Promise<Cost> {
  return costOf(async (shared, loadPart) => {
    const layers = new UdmLayers(
      shared,
      { index: () => undefined, changed: () => {} },
      (action) => action(),
      async () => {},
    );
    const names = Array.from({ length: count }, (_, i) => `layer ${i}`);
    await layers.setNames(names);
    for (const [first, name] of names.entries()) {
      const entries = Array.from({ length: Math.ceil((size - first) / count) }, (_, i) => entry(first + i * count));
      await loadPart(async () => void (await layers.replace(name, entries)));
    }
  });
}

for (const count of [4, 16]) {
  const { load, bytes: memory, lookUp, longestTurn } = await costOfLayers(count);
  const what = `a million entries in ${count} layers`;
  const peer = (value: number): { what: string; value: number } => ({ what: "in the file", value });
  reportRow({
    what: `${what}: look-up at first sight`,
    value: lookUp,
    unit: "ns",
    peer: peer(file.lookUp),
    goal: "1 ×",
  });
  reportRow({ what: `${what}: memory of an entry`, value: memory, unit: "B", peer: peer(file.bytes), goal: "1 ×" });
  reportRow({
    what: `${what}: first load of an entry`,
    value: load,
    unit: "µs CPU",
    peer: peer(file.load),
    goal: "1 ×",
  });
  reportRow({ what: `${what}: longest turn of a first load`, value: longestTurn, unit: "ms", goal: "≤ 50 ms" });
}

const lines = Array.from(
  { length: rows },
  (_, i) =>
    `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}/32,active,Global,Tenant ${i % 50},AMS${i % 9},lan (${i % 4000}),server,"some, text ${i}","a,b"`,
);
const sheet = Buffer.from(`prefix,status,vrf,tenant,scope,vlan,role,description,tags\n${lines.join("\n")}\n`);
const pieces = Array.from({ length: Math.ceil(sheet.length / 65_536) }, (_, i) =>
  sheet.subarray(i * 65_536, (i + 1) * 65_536),
);
const parsing = await best(
  () =>
    new Promise((resolve) => {
      const parser = parse({ relax_column_count: true });
      parser.on("data", () => {});
      parser.on("end", resolve);
      for (const piece of pieces) parser.write(piece);
      parser.end();
    }),
);
const importing = await best(async () => {
  const { entries } = await importEntries(pieces, { format: "csv", map: readyMap("netbox") });
  if (entries.length !== rows) throw new Error("entries are missing");
});
const peer = { what: "csv-parse alone", value: parsing };
reportRow({ what: "import of 100 000 rows of a sheet", value: importing, unit: "ms", goal: "≤ 1500", peer });
