// What a look-up of an address takes among few and many scopes: the same number of entries over 1, 100 and 10 000 scopes with the same plan each.
import { SharedIndex, SharedIndexReader, type UdmEntry, type UdmIndex } from "../../src/metadata/index.ts";
import { parseKey } from "../../src/base/ip/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { createRandom } from "../support/random.ts";

const size = 1_000_000;
const counts = [1, 100, 10_000] as const;
const lookUps = 300_000;
/** Addresses that are looked up together. */
const batch = 32;
const rounds = 5;

function entry(scope: number, i: number): UdmEntry {
  const key = parseKey(`10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`);
  return { key, name: `net-${scope}-${i}`, tags: ["prod"], vlan: 0n, internal: false, metadata: new Map() };
}

/** An index with this many scopes. @returns what looks up: nanoseconds for an address. */
function setUp(count: number): () => number {
  const shared = new SharedIndex({ maxEntries: 2 * size });
  const each = size / count;
  const scopes = new Map<number, { readonly index: UdmIndex; readonly inherits: boolean }>();
  for (let scope = 1; scope <= count; scope++) {
    const edit = shared.empty().edit();
    for (let i = 0; i < each; i++) edit.put(entry(scope, i), "");
    scopes.set(scope, { index: edit.done(), inherits: true });
  }
  shared.publishScopes(scopes);
  const reader = new SharedIndexReader(shared.handle());
  return () => {
    const random = createRandom(1);
    const addresses = new Int32Array(4 * batch);
    const asked = new Int32Array(batch);
    let found = 0;
    const start = process.cpuUsage();
    for (let n = 0; n < lookUps; n += batch) {
      for (let i = 0; i < batch; i++) {
        addresses.set([0, 0, 0xffff, 0x0a000000 + (random() % each)], 4 * i);
        asked[i] = 1 + (random() % count);
      }
      found += reader.texts(
        addresses,
        batch,
        (read) => {
          let sum = 0;
          for (let i = 0; i < batch; i++) sum += read(i).count;
          return sum;
        },
        asked,
      );
    }
    const { user, system } = process.cpuUsage(start);
    // Keeps the states, which are shown for as long as they are held.
    if (found < lookUps || scopes.size !== count) throw new Error("entries are missing");
    return ((user + system) * 1000) / lookUps;
  };
}

const measured = counts.map((count) => ({ count, lookUp: setUp(count), best: Number.POSITIVE_INFINITY }));
for (let round = 0; round < rounds; round++) {
  for (const one of measured) one.best = Math.min(one.best, one.lookUp());
}
const one = measured[0]?.best ?? Number.NaN;
for (const { count, best } of measured) {
  reportRow({
    what: `look-up of an address among a million entries in ${count} scopes`,
    value: best,
    unit: "ns CPU",
    peer: { what: "in one scope", value: one },
    goal: "≤ 1.2 ×",
  });
}
