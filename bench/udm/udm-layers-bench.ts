// What layers and sheets cost: a look-up over several layers beside one layer, the import of a sheet beside parsing it.
import { parse } from "csv-parse";
import { importEntries, readyMap } from "../../src/exchange/index.ts";
import { parseKey } from "../../src/ip/index.ts";
import { createSharedIndex, openSharedIndex, type UdmEntry } from "../../src/udm/index.ts";
import { createUdmLayers } from "../../src/udm/store/udm-layers.ts";
import { reportRow } from "../support/bench-report.ts";

const size = 100_000;
const rows = 100_000;
const rounds = 3;

function entry(i: number): UdmEntry {
  const key = parseKey(`10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`);
  return { key, name: `host ${i}`, tags: ["a", "b"], vlan: 5n, internal: false, metadata: new Map([[".site", "ams"]]) };
}

/** Milliseconds of CPU, of the fastest round. */
async function best(work: () => Promise<void> | void): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/** Nanoseconds of a look-up at first sight, all entries being spread evenly over so many layers. */
async function lookUp(count: number): Promise<number> {
  const shared = createSharedIndex({ maxEntries: 2 * size });
  const layers = createUdmLayers({
    shared,
    own: () => undefined,
    alone: (action) => action(),
    changed: () => {},
    note: async () => {},
  });
  const names = Array.from({ length: count }, (_, i) => `layer ${i}`);
  layers.setNames(names);
  for (const [first, name] of names.entries()) {
    const entries = Array.from({ length: Math.ceil((size - first) / count) }, (_, i) => entry(first + i * count));
    await layers.replace(name, entries);
  }
  const reader = openSharedIndex(shared.handle());
  const ms = await best(() => {
    let found = 0;
    for (let i = 0; i < size; i++) {
      found += reader.texts(0, 0, 0xffff, (0x0a000000 + ((i * 7919) % size)) | 0, (texts) => texts.count);
    }
    if (found < size) throw new Error("entries are missing");
  });
  return (ms * 1e6) / size;
}

const one = await lookUp(1);
for (const count of [4, 16]) {
  const peer = { what: "one layer", value: one };
  reportRow({ what: `look-up over ${count} layers`, value: await lookUp(count), unit: "ns", peer });
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
