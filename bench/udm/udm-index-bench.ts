// Looking up addresses in the metadata index, compared with the interval trees of npm and PostgreSQL on the same table; memory,
// changes, building.
import { IntervalTree as FlattenTree } from "@flatten-js/interval-tree";
import nodeIntervalTree from "node-interval-tree";
import { formatAddress, parseKey, type Family, type Key } from "../../src/base/ip/index.ts";
import { StateBuilder, SharedIndex, type IndexReturn, type UdmEntry, type UdmIndex } from "../../src/metadata/index.ts";
import { CoveringSearch } from "../../src/metadata/index/covering-entries.ts";
import { addressWords } from "../../src/metadata/index/key-limbs.ts";
import { layouts, TreeCursor } from "../../src/metadata/index/tree-nodes.ts";
import { SnapshotPin, firstState, rootOf } from "../../src/metadata/index/snapshots.ts";
import { reportRow } from "../support/bench-report.ts";
import { median } from "../support/median.ts";
import { createRandom } from "../support/random.ts";
import { postgresLookUps } from "./postgres-peer.ts";

const queryCount = 1 << 18;
const random = createRandom(2463534242);

for (const size of [1000, 100_000, 1_000_000]) {
  for (const family of [4, 6] as const) measure(size, family);
}

function measure(size: number, family: Family): void {
  const keys = makeKeys(size, family);
  const name = `${size.toLocaleString("en").replaceAll(",", " ")} IPv${family} entries`;
  const shared = new SharedIndex({ maxEntries: 2_000_000 });
  const lease = shared.lease();
  const builder = new StateBuilder(lease);
  const buildMs = timed(() => {
    for (const [i, key] of keys.entries()) builder.add(makeEntry(key, i));
  });
  let index: UdmIndex | undefined;
  const sortMs = timed(() => {
    builder.sort();
    index = shared.completeLease(lease, builder.finish() as IndexReturn);
  });
  const built = index as unknown as UdmIndex;
  shared.publish(built);

  const queries =
    keys.length === 0 ? [] : Array.from({ length: queryCount }, () => addressIn(keys[random() % size] as Key));
  const find = createFinder(shared, family, queries);
  const ours = callsASecond(queryCount, find);
  const peers = [
    ...(family === 4 && size <= 100_000 ? peerLookUps(keys, queries) : []),
    ...(size >= 100_000 ? postgresPeer(shared, family, keys, queries) : []),
  ];
  const goal = size === 1_000_000 ? `≥ ${family === 4 ? 2.5 : 2} M/s` : undefined;
  const row = {
    what: `covering entries, ${name}`,
    value: ours / 1e6,
    unit: "M/s",
    ...(goal !== undefined && { goal }),
  };
  if (peers.length === 0) reportRow(row);
  for (const { what, rate } of peers) reportRow({ ...row, peer: { what, value: rate / 1e6 } });

  const { tree, entries } = shared.stats();
  reportRow({ what: `tree, ${name}`, value: tree / size, unit: "B/entry", goal: "≤ 40" });
  if (size < 100_000) return;
  reportRow({ what: `contents, ${name}`, value: entries / size, unit: "B/entry" });
  reportRow({ what: `rendering and building in random order, ${name}`, value: buildMs + sortMs, unit: "ms" });
  if (family === 4) measureWithin(shared, queries, name);
  measureChanges(shared, built, keys, name);
}

/** Looks up all addresses and returns how many entries cover them. */
function createFinder(shared: SharedIndex, family: Family, queries: readonly bigint[]): () => number {
  const handle = shared.handle();
  const pin = new SnapshotPin(handle.control, handle);
  const search = new CoveringSearch(new Int32Array(handle.heap));
  const views = new Int32Array(handle.views);
  const words = new Int32Array(4 * queries.length);
  for (const [i, value] of queries.entries()) words.set(addressWords({ family, value }), 4 * i);
  const address = new Int32Array(4);
  return () => {
    let found = 0;
    for (let at = 0; at < words.length; at += 4) {
      for (let w = 0; w < 4; w++) address[w] = words[at + w] as number;
      found += search.find(views[firstState(pin.pin())] as number, family, address);
      pin.unpin();
    }
    if (found === 0) throw new Error("nothing was found");
    return found;
  };
}

function peerLookUps(keys: readonly Key[], queries: readonly bigint[]): { what: string; rate: number }[] {
  const addresses = queries.slice(0, 20_000).map(Number);
  const flatten = new FlattenTree<number>();
  const node = new nodeIntervalTree.default<number>();
  for (const [i, key] of keys.entries()) {
    flatten.insert([Number(key.first), Number(key.last)], i);
    node.insert(Number(key.first), Number(key.last), i);
  }
  const rate = (search: (address: number) => readonly unknown[]): number =>
    callsASecond(addresses.length, () => {
      let found = 0;
      for (const address of addresses) found += search(address).length;
      if (found === 0) throw new Error("nothing was found");
    });
  return [
    { what: "@flatten-js/interval-tree", rate: rate((address) => flatten.search([address, address]) as unknown[]) },
    { what: "node-interval-tree", rate: rate((address) => node.search(address, address)) },
  ];
}

/** All keys here are prefixes. A peer that fails or finds other entries is reported and left out. */
function postgresPeer(
  shared: SharedIndex,
  family: Family,
  keys: readonly Key[],
  queries: readonly bigint[],
): { what: string; rate: number }[] {
  const asked = queries.slice(0, 20_000);
  try {
    const peer = postgresLookUps(
      keys.map(({ text }) => text),
      asked.map((value) => formatAddress({ family, value })),
    );
    if (peer === undefined) return [];
    const found = createFinder(shared, family, asked)();
    if (peer.found !== found) throw new Error(`it found ${peer.found} entries, we ${found}`);
    return [
      { what: "PostgreSQL (GiST inet_ops, prefixes only)", rate: peer.oneByOne },
      { what: "PostgreSQL (the same by one join)", rate: peer.joined },
    ];
  } catch (error) {
    console.log(`PostgreSQL: ${String(error)}`);
    return [];
  }
}

function measureWithin(shared: SharedIndex, queries: readonly bigint[], name: string): void {
  const handle = shared.handle();
  const words = new Int32Array(handle.heap);
  const view = new SnapshotPin(handle.control, handle).pin();
  const root = rootOf(words, new Int32Array(handle.views)[firstState(view)] as number, 4);
  const items = new Int32Array(1024);
  for (const [length, count] of [
    [24, 50_000],
    [16, 50_000],
    [8, 200],
  ] as const) {
    const size = 1n << BigInt(32 - length);
    const bounds = queries.slice(0, count).map((value) => {
      const first = (value / size) * size;
      return {
        first: addressWords({ family: 4, value: first }),
        last: addressWords({ family: 4, value: first + size - 1n }),
      };
    });
    const wanted = length === 16 ? items.subarray(0, 1) : items;
    let found = 0;
    const rate = callsASecond(count, () => {
      found = 0;
      for (const bound of bounds) {
        const cursor = new TreeCursor(words, layouts[4], root, bound);
        let read = cursor.next(wanted);
        found += read;
        // The first of a /16 is enough.
        while (read === items.length) {
          read = cursor.next(items);
          found += read;
        }
      }
    });
    const [what, goal] = {
      24: ["entries within a /24", "≤ 1 µs"],
      16: ["first entry within a /16", "≤ 1 µs"],
      8: ["an entry within a /8", "≤ 20 ns"],
    }[length] as [string, string];
    const value = length === 8 ? (1e9 / rate) * (count / found) : 1e6 / rate;
    reportRow({ what: `${what}, ${name}`, value, unit: length === 8 ? "ns" : "µs", goal });
  }
  shared.closeReader(handle);
}

function measureChanges(shared: SharedIndex, built: UdmIndex, keys: readonly Key[], name: string): void {
  let index = built;
  const commit = (changes: number, change: (edit: ReturnType<UdmIndex["edit"]>, n: number) => void): void => {
    const edit = index.edit();
    for (let n = 0; n < changes; n++) change(edit, n);
    const next = edit.done();
    shared.publish(next);
    shared.release(index);
    index = next;
  };
  const single = callsASecond(2000, () => {
    for (let i = 0; i < 2000; i++) commit(1, (edit) => edit.put(makeEntry(keys[random() % keys.length] as Key, i)));
  });
  reportRow({ what: `changes of one entry, ${name}`, value: single, unit: "1/s" });
  const some = Array.from({ length: 20_000 }, (_, n) => keys[(n * 7) % keys.length] as Key);
  const batched = callsASecond(40_000, () => {
    commit(20_000, (edit, n) => void edit.delete(some[n] as Key));
    commit(20_000, (edit, n) => edit.put(makeEntry(some[n] as Key, n)));
  });
  reportRow({ what: `deleting and adding in batches, ${name}`, value: batched, unit: "1/s" });
}

/** Address plans: mostly networks of one size, some larger around them, hosts. */
function makeKeys(size: number, family: Family): Key[] {
  const keys = new Map<string, Key>();
  const bits = family === 4 ? 32 : 128;
  while (keys.size < size) {
    const kind = random() % 100;
    const lengths = family === 4 ? [18, 24, 28, 32] : [40, 48, 64, 128];
    const length = lengths[kind < 5 ? 0 : kind < 70 ? 1 : kind < 80 ? 2 : 3] as number;
    const host = BigInt(bits - length);
    const value = (randomAddress(family) >> host) << host;
    const text = formatAddress({ family, value });
    const key = parseKey(length === bits ? text : `${text}/${length}`);
    keys.set(key.text, key);
  }
  return [...keys.values()];
}

function randomAddress(family: Family): bigint {
  if (family === 4) return BigInt(random());
  const words = [0x2000_0000 + (random() % 0x1000_0000), random(), random(), random()];
  return words.reduce((value, word) => (value << 32n) | BigInt(word), 0n);
}

function addressIn({ first, last }: Key): bigint {
  return first + (BigInt(random()) % (last - first + 1n));
}

function makeEntry(key: Key, n: number): UdmEntry {
  const metadata = new Map([[".site.name", `Site ${n % 1000}`]]);
  return {
    key,
    name: `net-${n}`,
    tags: [`site-${n % 1000}`, "prod"],
    vlan: BigInt(n % 4000),
    internal: false,
    metadata,
  };
}

/** Milliseconds of the processor, so that others on the machine weigh less. */
function timed(action: () => void): number {
  const start = process.cpuUsage();
  action();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Calls a second of the processor, the median of five rounds. */
function callsASecond(calls: number, round: () => void): number {
  return calls / (median(Array.from({ length: 5 }, () => timed(round))) / 1000);
}
