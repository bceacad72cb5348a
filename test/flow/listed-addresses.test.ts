import assert from "node:assert/strict";
import { test } from "node:test";
import { addressTableBytes, AddressEnricher, type AddressEnricherOptions } from "../../src/enrich/index.ts";
import {
  parseFilter,
  recordVocabulary,
  createWorkspace,
  createWorkspaceMemory,
  type AddressAdditions,
  type Enricher,
} from "../../src/record/index.ts";
import type { FlowPipelineOptions } from "../../src/flow/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import {
  dataSet,
  fields,
  hex,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
  ethernet,
  flowSample,
  ipv4Packet,
  sampledHeader,
  sflow,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type Json } from "../support/flow-rig.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { manualWatch } from "../support/udm-watch.ts";

const flow: PacketTemplate = { id: 300, fields: fields([8, 4], [12, 4], [4, 1]) };
const flow6: PacketTemplate = { id: 301, fields: fields([27, 16], [28, 16], [4, 1]) };
/** A source and a destination in 10.0.0.0/16 or 2001:db8::/32, by number. */
type Ends = readonly [number, number];

const address4 = (n: number): Buffer => ipv4(`10.0.${n >> 8}.${n & 255}`);
const address6 = (n: number): Buffer => Buffer.concat([hex("20010db8 0000 0000 0000 0000 0000"), uint(n, 2)]);
const frame = ([source, destination]: Ends): Buffer => {
  const packet = ipv4Packet(Buffer.alloc(40));
  address4(source).copy(packet, 12);
  address4(destination).copy(packet, 16);
  return ethernet(0x0800, packet);
};

const protocols: Readonly<Record<string, (records: readonly Ends[]) => Buffer>> = {
  IPFIX: (records) =>
    ipfix([ipfixTemplates(flow), dataSet(flow, ...records.map(([a, b]) => [address4(a), address4(b), uint(6, 1)]))]),
  "IPFIX of IPv6": (records) =>
    ipfix([ipfixTemplates(flow6), dataSet(flow6, ...records.map(([a, b]) => [address6(a), address6(b), uint(6, 1)]))]),
  sFlow: (records) => sflow(records.map((ends) => flowSample([sampledHeader(frame(ends))]))),
};

async function setUp(enrichment: Partial<AddressEnricherOptions>, flows: Partial<FlowPipelineOptions> = {}) {
  const { maxCached = 10_000 } = enrichment;
  const workspace = createWorkspace(createWorkspaceMemory(addressTableBytes(maxCached)));
  const common = { clock: systemClock, metrics: createMetrics(), log: silentLog, workspace };
  const metadata = manualWatch();
  const enricher = new AddressEnricher({
    ...common,
    watch: metadata.watch,
    ttlMs: 100_000,
    invalidate: true,
    maxCached,
    ...enrichment,
  });
  await enricher.start();
  const { lines } = enricher;
  const [additions] = lines?.addresses ?? [];
  assert.ok(additions !== undefined);
  /** Of each time that the kernel had addresses looked up together: how many, and how many of them were new. */
  const together: (readonly [number, number])[] = [];
  const locateAll = (at: number, count: number): number => {
    const looked = additions.locateAll(at, count);
    together.push([count, looked]);
    return looked;
  };
  const addresses: AddressAdditions = {
    ...additions,
    append: (object, address, into) => additions.append(object, address, into),
    keepFields: () => additions.keepFields(),
    locateAll,
  };
  const counting: Enricher = {
    enrich: (record, rendered) => enricher.enrich(record, rendered),
    lines: { ...lines, addresses: [addresses] },
  };
  const rig = createFlowRig({ ...flows, workspace, enricher: counting });
  const count = async (name: string): Promise<number> =>
    (await common.metrics.value(`netgloss_enrich_udm_cache_${name}_total`)) ?? 0;
  return { metadata, together, send: (datagram: Buffer) => rig.send(datagram), count };
}

/** Entries of both families: all addresses have the first, those whose number is a multiple of 5 one of their own. */
function entries(name: string) {
  const own = Array.from({ length: 200 }, (_, i) => 5 * i);
  return [
    udmEntry("10.0.0.0/8", { name }),
    udmEntry("2001:db8::/32", { name }),
    ...own.flatMap((n) => [
      udmEntry(`10.0.${n >> 8}.${n & 255}`, { name: `${name} ${n}` }),
      udmEntry(`2001:db8::${n.toString(16)}`, { name: `${name} ${n}` }),
    ]),
  ];
}

const expected = (name: string, records: readonly Ends[]): string[][] =>
  records.map((ends) => ends.map((n) => (n % 5 === 0 ? `${name} ${n}` : name)));
const names = (lines: readonly Json[]): unknown[][] =>
  lines.map((line) => [line["flow.src.ip.subnet.name"], line["flow.dst.ip.subnet.name"]]);

/** Ends of which none comes in another round; some come twice in their own. */
const newEnds = (round: number): Ends[] =>
  Array.from({ length: 10 }, (_, i) => [20 * round + i, 20 * round + 10 + (i >> 1)] as const);

for (const [protocol, packet] of Object.entries(protocols)) {
  test(`new addresses of ${protocol} are looked up together, each once, and lines have what is known at their time`, async () => {
    const { metadata, together, send, count } = await setUp({});
    for (let round = 0; round < 40; round++) {
      const name = `round-${round >> 2}`;
      if ((round & 3) === 0) metadata.set(entries(name));
      const records = newEnds(round);
      assert.deepEqual(names(send(packet(records))), expected(name, records));
    }
    assert.ok(together.length >= 30, `${together.length} lists`);
    for (const one of together) assert.deepEqual(one, [20, 15]);
    // The exporter's address is looked up after each change of the metadata.
    assert.equal(await count("misses"), 40 * 15 + 10);
    assert.equal(await count("hits"), 40 * 5 + 30);
    // After sets that have nothing new, nothing is listed.
    for (let round = 0; round < 12; round++) send(packet(newEnds(39)));
    const before = together.length;
    for (let round = 0; round < 12; round++) send(packet(newEnds(39)));
    assert.equal(together.length, before);
    assert.equal(await count("misses"), 40 * 15 + 10);
  });
}

test("nothing is listed for records that a filter may drop", async () => {
  const filter = parseFilter("src in 10.0.0.0/25", "test", recordVocabulary);
  const { metadata, together, send } = await setUp({}, { filter });
  metadata.set(entries("net"));
  for (let round = 0; round < 20; round++) {
    const records = newEnds(round);
    const kept = records.filter(([source]) => source < 128);
    assert.deepEqual(names(send(protocols["IPFIX"]?.(records) ?? assert.fail())), expected("net", kept));
  }
  assert.deepEqual(together, []);
});

for (const [what, options] of Object.entries({
  "that is not kept": { ttlMs: 0 },
  "of a list that would fill half a small cache": { maxCached: 30 },
})) {
  test(`an address ${what} is looked up when its record comes`, async () => {
    const { metadata, together, send } = await setUp(options);
    metadata.set(entries("net"));
    for (let round = 0; round < 20; round++) {
      const records = newEnds(round);
      assert.deepEqual(names(send(protocols["IPFIX"]?.(records) ?? assert.fail())), expected("net", records));
    }
    assert.ok(together.length > 10);
    for (const one of together) assert.deepEqual(one, [20, 0]);
  });
}
