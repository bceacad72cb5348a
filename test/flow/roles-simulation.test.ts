import assert from "node:assert/strict";
import { test } from "node:test";
import { allEnds } from "../support/all-ends.ts";
import {
  dataSet,
  fields,
  ipv4,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";

/** Who is said to be the client where it is known who began: by kinds of traffic, as exporters with and without flags of TCP see it. */

interface SeenFlow {
  readonly from: readonly [host: string, port: number];
  readonly to: readonly [host: string, port: number];
  readonly protocol: number;
  readonly flags: number;
  readonly packets: number;
  readonly bytes: number;
  /** The address of who began. */
  readonly client: string;
}
type Random = (below: number) => number;
/** Both directions of a connection, as far as there are two. */
type Kind = (random: Random, i: number) => SeenFlow[];

function generator(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

const [tcp, udp] = [6, 17];
const [syn, rstAck, synAck, data] = [2, 0x14, 0x12, 0x1b];
const inside = (random: Random): string => `10.0.${random(4)}.${1 + random(200)}`;
const outside = (random: Random): string => `203.0.${random(100)}.${1 + random(200)}`;
const ephemeral = (random: Random): number => 32_768 + random(28_232);

/** A connection in which much or little is said; flags are those of its middle, unless all of it is in one record. */
function connection(
  random: Random,
  client: readonly [string, number],
  server: readonly [string, number],
  protocol = tcp,
): SeenFlow[] {
  const packets = 3 + random(30);
  const common = { protocol, flags: protocol === tcp ? data & ~(random(4) === 0 ? 0 : syn) : 0, client: client[0] };
  return [
    { ...common, from: client, to: server, packets, bytes: packets * (60 + random(200)) },
    { ...common, from: server, to: client, packets, bytes: packets * (60 + random(1200)) },
  ];
}

/** One or two packets to an end, and what comes back: nothing, or a packet. */
function probe(
  random: Random,
  scanner: readonly [string, number],
  target: readonly [string, number],
  answer: "none" | "refused" | "open",
  flags: number,
): SeenFlow[] {
  const common = { protocol: tcp, client: scanner[0] };
  const packets = answer === "none" ? 1 + random(2) : 1;
  const asked = { ...common, from: scanner, to: target, flags, packets, bytes: packets * 44 };
  const back = { ...common, from: target, to: scanner, packets: 1, bytes: 40 };
  if (answer === "none") return [asked];
  return [asked, { ...back, flags: answer === "open" ? synAck : rstAck }];
}

const scanner = "198.51.100.66";
const ordinary: Kind[] = [
  (random) => connection(random, [inside(random), ephemeral(random)], [outside(random), 443]),
  (random) => connection(random, [inside(random), ephemeral(random)], [outside(random), 80]),
  (random) => connection(random, [inside(random), ephemeral(random)], ["10.0.9.53", 53], udp),
  (random) => connection(random, [inside(random), ephemeral(random)], ["10.0.9.43", 5432]),
  (random) => connection(random, [inside(random), ephemeral(random)], ["10.0.9.92", 9092]),
  (random) => connection(random, [inside(random), 1024 + random(64_000)], ["10.0.9.22", 22]),
];
/** Servers at ports that systems give to clients, by which nothing but what is learnt says who serves. */
const highPorts: Kind = (random) =>
  connection(random, [inside(random), ephemeral(random)], [`10.0.9.${80 + random(4)}`, 50_051]);
const scans: Readonly<Record<string, Kind>> = {
  "all ports of a few hosts": (random) =>
    probe(random, [scanner, 61_000], [`10.0.0.${1 + random(4)}`, 1 + random(65_000)], pick(random), syn),
  "high ports of many hosts": (random) =>
    probe(random, [scanner, 61_001], [inside(random), 32_768 + random(32_000)], pick(random), syn),
  "one port of many hosts": (random) => probe(random, [scanner, 61_002], [inside(random), 445], pick(random), syn),
  "one high port of many hosts": (random) =>
    probe(random, [scanner, 61_003], [inside(random), 50_070], pick(random), syn),
  "only refusals are seen": (random) =>
    probe(random, [scanner, 61_004], [inside(random), 1 + random(65_000)], "refused", syn).slice(1),
  "with a new port for each": (random) =>
    probe(random, [scanner, ephemeral(random)], [inside(random), 32_768 + random(32_000)], pick(random), syn),
  "by UDP": (random) => {
    const target = [inside(random), 1 + random(65_000)] as const;
    const common = { protocol: udp, flags: 0, client: scanner };
    return [{ ...common, from: [scanner, 61_005], to: target, packets: 1, bytes: 60 }];
  },
};

function pick(random: Random): "none" | "refused" | "open" {
  return (["none", "none", "refused", "refused", "open"] as const)[random(5)] as "none";
}

/** Peers that listen at a port of their own and call from others: by UDP from that port, by TCP from a new one. */
const peers: Kind = (random) => {
  const mine = [inside(random), 51_413] as const;
  const theirs = [outside(random), 32_768 + random(32_000)] as const;
  if (random(2) === 0)
    return random(2) === 0 ? connection(random, mine, theirs, udp) : connection(random, theirs, mine, udp);
  return connection(random, [outside(random), ephemeral(random)], mine);
};

const withFlags: PacketTemplate = {
  id: 300,
  fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [2, 4], [1, 4], [6, 1]),
};
const withoutFlags: PacketTemplate = { id: 301, fields: withFlags.fields.slice(0, -1) };

interface Outcome {
  readonly all: number;
  readonly wrong: number;
  readonly none: number;
}

/** Decodes flows in a random order among ordinary traffic, and compares what is said of those of a kind. */
function outcomes(kinds: Readonly<Record<string, Kind>>, hasFlags: boolean, seed: number): Record<string, Outcome> {
  const random = generator(seed);
  const all = Object.entries(kinds).flatMap(([name, kind]) =>
    Array.from({ length: 400 }, (_, i) => kind(random, i).map((flow) => ({ name, flow }))).flat(),
  );
  for (let i = 0; i < 1200; i++) {
    const kind = ordinary[random(ordinary.length)] as Kind;
    all.push(...kind(random, i).map((flow) => ({ name: "ordinary", flow })));
  }
  const shuffled = all.map((each) => ({ at: random(1_000_000), each })).toSorted((a, b) => a.at - b.at);
  const rig = createFlowRig({ ends: allEnds });
  const template = hasFlags ? withFlags : withoutFlags;
  const found: Record<string, { all: number; wrong: number; none: number }> = {};
  for (let i = 0; i < shuffled.length; i += 20) {
    const some = shuffled.slice(i, i + 20).map(({ each }) => each);
    const rows = some.map(({ flow: { from, to, protocol, packets, bytes, flags } }) => [
      ipv4(from[0]),
      ipv4(to[0]),
      uint(from[1], 2),
      uint(to[1], 2),
      uint(protocol, 1),
      uint(packets, 4),
      uint(bytes, 4),
      ...(hasFlags ? [uint(flags, 1)] : []),
    ]);
    const records = rig.send(netflow9([netflow9Templates(template), dataSet(template, ...rows)], { sequence: i / 20 }));
    for (const [n, { name, flow }] of some.entries()) {
      const of = (found[name] ??= { all: 0, wrong: 0, none: 0 });
      const client = records[n]?.["flow.client.ip.addr"];
      of.all++;
      if (client === undefined) of.none++;
      else if (client !== flow.client) of.wrong++;
    }
  }
  if (process.env["SHOW_ROLES"] === "1") console.table(found);
  return found;
}

for (const hasFlags of [true, false]) {
  const seen = hasFlags ? "with flags of TCP" : "without flags of TCP";
  test(`a scanner is not taken for the server, ${seen}`, () => {
    for (const [name, kind] of Object.entries(scans)) {
      for (const seed of [1, 2]) {
        const { ordinary: usual, scan } = outcomes({ scan: kind }, hasFlags, seed);
        assert.ok((scan?.wrong ?? 0) <= 0.01 * (scan?.all ?? 0), `${name}: ${JSON.stringify(scan)}`);
        assert.ok((usual?.wrong ?? 0) <= 0.005 * (usual?.all ?? 0), `${name}: ordinary ${JSON.stringify(usual)}`);
      }
    }
  });

  test(`servers at ports of clients are learnt, whatever scans go on, ${seen}`, () => {
    const { highPorts: learnt, ordinary: usual, ...rest } = outcomes({ highPorts, ...scans }, hasFlags, 3);
    assert.equal(learnt?.wrong, 0);
    assert.ok((learnt?.none ?? 0) < 0.15 * (learnt?.all ?? 0), JSON.stringify(learnt));
    assert.ok((usual?.wrong ?? 0) <= 0.005 * (usual?.all ?? 0), JSON.stringify(usual));
    for (const [name, scan] of Object.entries(rest)) {
      assert.ok(scan.wrong <= 0.02 * scan.all, `${name}: ${JSON.stringify(scan)}`);
    }
  });

  test(`among peers of which each is both few are said wrong, ${seen}`, () => {
    const { peers: said } = outcomes({ peers }, hasFlags, 4);
    assert.ok((said?.wrong ?? 0) <= 0.05 * (said?.all ?? 0), JSON.stringify(said));
  });
}

test("a system port says more than what was learnt of a high one", () => {
  const rig = createFlowRig({ ends: allEnds });
  const client = (from: readonly [string, number], to: readonly [string, number], flags: number): unknown => {
    const row = [ipv4(from[0]), ipv4(to[0]), uint(from[1], 2), uint(to[1], 2), uint(tcp, 1), uint(9, 4), uint(999, 4)];
    return rig.send(netflow9([netflow9Templates(withFlags), dataSet(withFlags, [...row, uint(flags, 1)])]))[0];
  };
  // It has been seen as a server, and now calls one itself from there.
  client(["10.0.0.1", 40_000], ["10.0.0.2", 40_001], syn);
  const record = client(["10.0.0.2", 40_001], ["203.0.113.1", 443], 0x18) as Record<string, unknown>;
  assert.deepEqual([record["flow.client.ip.addr"], record["flow.clisrv.method"]], ["10.0.0.2", "port"]);
});
