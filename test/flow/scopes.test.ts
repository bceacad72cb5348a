import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { addressTableBytes, AddressEnricher } from "../../src/enrich/index.ts";
import { compareSpecificity, parseKey } from "../../src/base/ip/index.ts";
import {
  createWorkspace,
  createWorkspaceMemory,
  parseFilter,
  recordVocabulary,
  type Enricher,
} from "../../src/record/index.ts";
import type { FlowPipelineOptions } from "../../src/flow/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Scopes } from "../../src/metadata/index.ts";
import {
  dataSet,
  ethernet,
  expandedFlowSample,
  fields,
  flowSample,
  ipfix,
  ipfixTemplates,
  ipv4,
  ipv4Packet,
  netflow5,
  netflow9,
  netflow9Templates,
  sampledHeader,
  sflow,
  tcp,
  udp,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { allEnds } from "../support/all-ends.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { runs } from "../support/runs.ts";
import { storeOn } from "../support/udm-store-fixture.ts";

const exporters = ["192.0.2.254", "192.0.2.17", "198.51.100.1"] as const;
const columns = { 234: 4, 235: 4, 10: 4, 14: 4, 58: 2, 59: 2 } as const;
type Column = keyof typeof columns;
const columnIds = [234, 235, 10, 14, 58, 59] as const;
const nameOf: PacketTemplate = { id: 301, scopeCount: 1, fields: fields([10, 4], [82, 8]) };
const vrfOf: PacketTemplate = { id: 302, scopeCount: 1, fields: fields([234, 4], [236, 8]) };
const rdOf: PacketTemplate = { id: 303, scopeCount: 1, fields: fields([234, 4], [90, 8]) };

interface Row {
  readonly vrf?: readonly string[];
  readonly exporter?: readonly string[];
  readonly interface?: readonly string[];
  readonly vlan?: readonly string[];
}
interface Scope {
  readonly name: string;
  readonly match: readonly Row[];
  readonly inherit: boolean;
  readonly keys: readonly string[];
  /** The text of its entries; left out: entries with these keys. */
  readonly yaml?: string;
}

const some = <T>(values: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...values], { minLength: 1, maxLength: 2 });
const row: fc.Arbitrary<Row> = fc
  .record(
    {
      vrf: some(["1", "2", "red", "blue", "65000:1"]),
      exporter: some(["192.0.2.254", "192.0.2.0/27", "198.51.100.1-198.51.100.9"]),
      interface: some(["7", "Gi0/*", "xe-?/1", "*"]),
      vlan: some(["0", "100", "100-199"]),
    },
    { requiredKeys: [] },
  )
  .map((given) => (Object.keys(given).length === 0 ? { vlan: ["100"] } : given));
const keys = fc.subarray(["10.0.0.0/8", "10.0.0.0/24", "10.0.0.5", "10.0.0.1-10.0.0.9", "192.0.2.0/24"]);
const scope = fc.record({ match: fc.array(row, { maxLength: 3 }), inherit: fc.boolean(), keys });
const scopes = fc
  .array(scope, { maxLength: 4 })
  .map((all): Scope[] => all.map((one, i) => ({ name: ["acme", "beta", "c_3", "d-4"][i] as string, ...one })));

const record = fc.record({
  source: fc.constantFrom("10.0.0.5", "10.0.0.77", "10.9.9.9"),
  destination: fc.constantFrom("10.0.0.5", "10.0.0.3", "203.0.113.9"),
  234: fc.constantFrom(0, 1, 2, 3),
  235: fc.constantFrom(0, 1, 2, 3),
  10: fc.constantFrom(0, 7, 8),
  14: fc.constantFrom(0, 7, 8),
  58: fc.constantFrom(0, 100, 150),
  59: fc.constantFrom(0, 100, 150),
});
type Flow = typeof record extends fc.Arbitrary<infer T> ? T : never;
const datagram = fc.record({
  exporter: fc.constantFrom(...exporters),
  columns: fc.subarray([...columnIds]),
  flows: fc.array(record, { minLength: 1, maxLength: 4 }),
  named: fc.option(fc.tuple(fc.constantFrom(7, 8), fc.constantFrom("Gi0/1", "xe-0/1", "lo0")), { nil: undefined }),
  vrfNamed: fc.option(fc.tuple(fc.constantFrom(1, 2, 3), fc.constantFrom("red", "blue", "x")), { nil: undefined }),
  hasRd: fc.boolean(),
});
type Datagram = typeof datagram extends fc.Arbitrary<infer T> ? T : never;
const turn = fc.record({
  scopes: fc.option(scopes, { nil: undefined }),
  global: keys,
  sent: fc.array(datagram, { maxLength: 6 }),
});

function yamlOf(entries: readonly string[], name: string): string {
  return entries
    .map((key) => `${JSON.stringify(key)}:\n  name: ${JSON.stringify(`${name} ${key}`)}\n  tags: [${name}]\n`)
    .join("");
}

function bytesOf({ columns: used, flows, named, vrfNamed, hasRd }: Datagram, id: number): Buffer {
  const template: PacketTemplate = {
    id,
    fields: fields([8, 4], [12, 4], ...used.map((column): [number, number] => [column, columns[column]])),
  };
  const values = (flow: Flow): Buffer[] => [
    ipv4(flow.source),
    ipv4(flow.destination),
    ...used.map((column: Column) => uint(flow[column], columns[column])),
  ];
  const options = [
    ...(named === undefined ? [] : [dataSet(nameOf, [uint(named[0], 4), text8(named[1])])]),
    ...(vrfNamed === undefined ? [] : [dataSet(vrfOf, [uint(vrfNamed[0], 4), text8(vrfNamed[1])])]),
    ...(hasRd ? [dataSet(rdOf, [uint(3, 4), Buffer.from("0000fde800000001", "hex")])] : []),
  ];
  return ipfix([
    ipfixTemplates(nameOf),
    ipfixTemplates(vrfOf),
    ipfixTemplates(rdOf),
    ipfixTemplates(template),
    ...options,
    dataSet(template, ...flows.map(values)),
  ]);
}

const text8 = (value: string): Buffer => Buffer.from(value.padEnd(8, "\0"));

/** A pattern with stars and question marks, the slow way. */
function isLike(pattern: string, value: string): boolean {
  if (pattern === "") return value === "";
  if (pattern.startsWith("*"))
    return isLike(pattern.slice(1), value) || (value !== "" && isLike(pattern, value.slice(1)));
  return (
    value !== "" && (pattern.startsWith("?") || pattern[0] === value[0]) && isLike(pattern.slice(1), value.slice(1))
  );
}

/** The scope of an object of a record by what the record says, as docs/scopes.md has it. */
function scopeOf(all: readonly Scope[], object: "src" | "dst" | "export", of: Json): Scope | undefined {
  const known = (name: string): boolean => of[name] !== undefined && of[name] !== 0;
  const way = (name: string, isZeroKnown: boolean): "in" | "out" =>
    object === "dst" && (known(`flow.out.${name}`) || (isZeroKnown && of[`flow.out.${name}`] === 0)) ? "out" : "in";
  const texts = (...names: string[]): string[] =>
    object === "export" ? [] : names.flatMap((name) => (of[name] === undefined ? [] : [String(of[name] as number)]));
  const vrfWay = way("vrf.id", true);
  const vrfs = texts(`flow.${vrfWay}.vrf.id`, `flow.${vrfWay}.vrf.name`, `flow.${vrfWay}.vrf.rd`);
  const netifWay = way("netif.index", false);
  const netifs = [
    ...texts(`flow.${netifWay}.netif.index`).filter((index) => index !== "0"),
    ...texts(`flow.${netifWay}.netif.name`),
  ];
  const vlanName = object === "dst" && known("flow.dst.vlan.tag.id") ? "flow.dst.vlan.tag.id" : "flow.src.vlan.tag.id";
  const vlan = texts(vlanName).find((id) => id !== "0");
  const exporter = parseKey(String(of["flow.export.ip.addr"])).first;
  return all.find(({ match }) =>
    match.some((wanted) => {
      if (wanted.vrf !== undefined && !wanted.vrf.some((text) => vrfs.includes(text))) return false;
      const isOf = (text: string): boolean => parseKey(text).first <= exporter && exporter <= parseKey(text).last;
      if (wanted.exporter !== undefined && !wanted.exporter.some(isOf)) return false;
      if (wanted.interface !== undefined && !wanted.interface.some((one) => netifs.some((name) => isLike(one, name))))
        return false;
      const isIn = (range: string): boolean => {
        const [first, last = first] = range.split("-").map(Number);
        return vlan !== undefined && Number(first) <= Number(vlan) && Number(vlan) <= Number(last);
      };
      return wanted.vlan === undefined || wanted.vlan.some(isIn);
    }),
  );
}

/** What a record has to say of an object. */
function expected(all: readonly Scope[], global: readonly string[], object: "src" | "dst" | "export", of: Json): Json {
  const found = scopeOf(all, object, of);
  const address = String(of[`flow.${object}.ip.addr`]);
  const { first: value } = parseKey(address);
  const covering = (given: readonly string[], name: string): { key: string; name: string }[] =>
    given
      .map((text) => parseKey(text))
      .filter((key) => key.first <= value && value <= key.last)
      .toSorted(compareSpecificity)
      .map(({ text }) => ({ key: text, name }));
  const entries = [
    ...(found === undefined ? [] : covering(found.keys, found.name)),
    ...(found?.inherit === false ? [] : covering(global, "global")),
  ];
  const tags = [...new Set(entries.map(({ name }) => name))];
  return {
    scope: found?.name,
    name: entries[0] && `${entries[0].name} ${entries[0].key}`,
    tags: tags.length === 0 ? undefined : tags,
  };
}

function said(object: string, of: Json): Json {
  return {
    scope: of[`flow.${object}.scope`],
    name: of[`flow.${object}.ip.subnet.name`],
    tags: of[`flow.${object}.ip.subnet.tags`],
  };
}

async function setUp(settings: Partial<FlowPipelineOptions> = { communityId: true }): Promise<{
  /** One that writes lines, and one that makes records of all. */
  readonly rigs: readonly FlowRig[];
  readonly put: (all: readonly Scope[] | undefined, global: readonly string[]) => Promise<void>;
  readonly stop: () => Promise<void>;
}> {
  const io = memoryFileIo();
  const { store, health } = storeOn(io, { owned: false });
  const reporting = { clock: systemClock, metrics: createMetrics(), log: silentLog, health };
  const scopesPart = new Scopes({
    ...reporting,
    path: "/memory/scopes.yml",
    metadata: store,
    entries: { owned: false, refreshMs: 0 },
    io,
  });
  await store.start();
  await scopesPart.start();
  const enrichers: AddressEnricher[] = [];
  const rigOf = async (hasLines: boolean): Promise<FlowRig> => {
    const workspace = createWorkspace(createWorkspaceMemory(addressTableBytes(1000)));
    const enricher = new AddressEnricher({
      ...reporting,
      metrics: createMetrics(),
      watch: store.watchAddresses,
      ttlMs: 1_000_000,
      invalidate: true,
      maxCached: 1000,
      workspace,
    });
    await enricher.start();
    enrichers.push(enricher);
    const slow: Enricher = { enrich: (of, rendered) => enricher.enrich(of, rendered) };
    return createFlowRig({ workspace, enricher: hasLines ? enricher : slow, optionsRecords: false, ...settings });
  };
  return {
    rigs: [await rigOf(true), await rigOf(false)],
    async put(all, global) {
      io.put("/memory/ipaddrs.yml", yamlOf(global, "global"));
      if (all !== undefined) {
        const lists = Object.fromEntries(
          all.map(({ name, match, inherit }) => [name, { match, inherit, entries: `${name}.yml` }]),
        );
        for (const { name, keys: of, yaml } of all) io.put(`/memory/${name}.yml`, yaml ?? yamlOf(of, name));
        io.put("/memory/scopes.yml", JSON.stringify(lists));
      }
      await store.load();
      await scopesPart.reload();
    },
    async stop() {
      for (const enricher of enrichers) await enricher.stop();
      await scopesPart.stop();
      await store.stop();
    },
  };
}

const filters = [
  "bytes >= 0",
  "src.scope = acme or dst.scope = beta",
  "flow.community.id exists",
  "not src.name exists",
] as const;
const settings = fc.record({
  communityId: fc.boolean(),
  ends: fc.constantFrom(undefined, allEnds),
  scaleCounters: fc.boolean(),
  splitBiflows: fc.boolean(),
  optionsRecords: fc.boolean(),
  filter: fc.constantFrom(undefined, ...filters),
});
/** What a template may have besides the addresses; 29305 is the reverse direction. */
const cells: readonly (readonly [id: number, length: number, pen?: number])[] = [
  [4, 1],
  [7, 2],
  [11, 2],
  [32, 2],
  [1, 8],
  [2, 4],
  [34, 4],
  [1, 8, 29_305],
  [152, 8],
  [153, 8],
  [10, 4],
  [14, 4],
  [58, 2],
  [59, 2],
  [234, 4],
  [235, 4],
  [236, 8],
  [90, 8],
  [82, 8],
  [372, 6],
];
const cellValues: Readonly<Record<number, readonly number[]>> = {
  4: [6, 17, 1, 47, 255],
  10: [0, 7],
  14: [0, 7],
  58: [0, 100],
  59: [0, 100],
  234: [0, 1],
  235: [0, 1],
};
const cell = ([id, length]: (typeof cells)[number]): fc.Arbitrary<Buffer> => {
  const values = cellValues[id];
  if (values !== undefined) return fc.constantFrom(...values).map((value) => uint(value, length));
  return fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => Buffer.from(bytes));
};
const ofTemplate = fc.subarray([...cells]).chain((used) =>
  fc.record({
    used: fc.constant(used),
    isV9: fc.boolean(),
    flows: fc.array(fc.tuple(record, ...used.map(cell)), { minLength: 1, maxLength: 9 }),
  }),
);
const otherDatagrams: readonly Buffer[] = [
  netflow5([{}, { protocol: 17 }, { protocol: 1 }, { protocol: 6 }, {}]),
  sflow([
    flowSample([sampledHeader(ethernet(0x0800, ipv4Packet(tcp(0x10)), "81000064"))]),
    flowSample([sampledHeader(ethernet(0x0800, ipv4Packet(udp(53), { protocol: 17 })))]),
    expandedFlowSample([sampledHeader(ethernet(0x0800, ipv4Packet(Buffer.alloc(8), { protocol: 1 })))]),
  ]),
];

suite("scopes of flows", () => {
  test("no flow is dropped with scopes that is not dropped without, whatever is set and sent", async () => {
    const all = ["acme", "beta"].map((name): Scope => {
      const vlan = name === "acme" ? ["100"] : ["0"];
      const match = [{ vlan }, { vrf: ["1"] }, { interface: ["7", "*1*"] }];
      return { name, match, inherit: name === "acme", keys: ["10.0.0.0/8", "192.0.2.0/24"] };
    });
    const property = fc.asyncProperty(settings, fc.array(ofTemplate, { maxLength: 3 }), async (given, sent) => {
      const { filter, ...others } = given;
      const parsed = filter === undefined ? undefined : parseFilter(filter, "test", recordVocabulary);
      const datagrams = sent.flatMap(({ used, isV9, flows }, i) => {
        const own = isV9 ? used.filter(([, , pen]) => pen === undefined) : used;
        const template: PacketTemplate = { id: 400 + i, fields: fields([8, 4], [12, 4], ...own) };
        const rows = flows.map(([{ source, destination }, ...values]) => [
          ipv4(source),
          ipv4(destination),
          ...values.filter((_, at) => own.includes(used[at] as (typeof cells)[number])),
        ]);
        return isV9
          ? [netflow9([netflow9Templates(template)]), netflow9([dataSet(template, ...rows)])]
          : [ipfix([ipfixTemplates(template), dataSet(template, ...rows)])];
      });
      const { rigs, put, stop } = await setUp({ ...others, filter: parsed });
      const [lines, records] = rigs as [FlowRig, FlowRig];
      const send = (rig: FlowRig): Json[] => [...datagrams, ...otherDatagrams].flatMap((bytes) => rig.send(bytes));
      await put(undefined, ["10.0.0.0/8"]);
      const before = send(lines).length;
      send(records);
      await put(all, ["10.0.0.0/8"]);
      const after = send(lines);
      assert.deepEqual(after, send(records));
      if (filter === undefined || filter === filters[0] || filter === filters[2]) assert.equal(after.length, before);
      for (const rig of rigs) {
        const counted = Object.keys(await rig.counts());
        assert.ok(!counted.some((name) => name.includes("internal")), counted.join("\n"));
      }
      await stop();
    });
    await fc.assert(property, runs(40));
  });

  test("records have what their VRFs, interfaces and VLANs say, as a slow model has it", async () => {
    const property = fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), async (turns) => {
      const { rigs, put, stop } = await setUp();
      let all: readonly Scope[] = [];
      let id = 400;
      for (const { scopes: given, global, sent } of turns) {
        all = given ?? all;
        await put(given, global);
        for (const one of sent) {
          const bytes = bytesOf(one, id++);
          const [lines = [], records = []] = rigs.map((rig) => rig.send(bytes, { address: one.exporter }));
          assert.equal(lines.length, one.flows.length);
          assert.deepEqual(lines, records);
          for (const of of lines) {
            for (const object of ["src", "dst", "export"] as const) {
              assert.deepEqual(
                said(object, of),
                expected(all, global, object, of),
                `${object} of ${JSON.stringify(of)}`,
              );
            }
          }
        }
      }
      await stop();
    });
    await fc.assert(property, runs(100));
  });

  test("a name that comes later counts from then on, and what is decided stays until it changes", async () => {
    const { rigs, put, stop } = await setUp();
    await put([{ name: "acme", match: [{ interface: ["Gi0/*"] }], inherit: true, keys: ["10.0.0.0/8"] }], []);
    const flow: Flow = { source: "10.0.0.5", destination: "10.0.0.3", 234: 1, 235: 1, 10: 7, 14: 8, 58: 0, 59: 0 };
    const send = (named?: Datagram["named"]): unknown[] =>
      rigs.flatMap((rig) =>
        rig
          .send(
            bytesOf(
              {
                exporter: exporters[0],
                columns: [10, 14],
                flows: [flow, flow],
                named,
                vrfNamed: undefined,
                hasRd: false,
              },
              400,
            ),
          )
          .map((of) => of["flow.src.scope"] ?? of["flow.dst.scope"]),
      );
    assert.deepEqual(send(), [undefined, undefined, undefined, undefined]);
    assert.deepEqual(send([7, "Gi0/1"]), ["acme", "acme", "acme", "acme"]);
    assert.deepEqual(send(), ["acme", "acme", "acme", "acme"]);
    assert.deepEqual(send([7, "lo0"]), [undefined, undefined, undefined, undefined]);
    await stop();
  });

  test("metadata under the name of the scope goes out as metadata under any name that is taken", async () => {
    const { rigs, put, stop } = await setUp();
    const yaml = "10.0.0.0/8:\n  metadata:\n    .scope.kind: lab\n";
    const match = [{ exporter: ["192.0.2.0/24"], interface: ["1"] }];
    await put([{ name: "acme", match, inherit: false, keys: [], yaml }], []);
    for (const rig of rigs) {
      const [of = {}] = rig.send(netflow5([{ source: "10.0.0.1" }]));
      const named = Object.entries(of).filter(([name]) => name.startsWith("flow.src.scope"));
      assert.deepEqual(Object.fromEntries(named), { "flow.src.scope": "acme", "flow.src.scope_kind": "lab" });
    }
    await stop();
  });

  test("metadata of a scope says nothing of scopes and other ends, and nothing in place of what an exporter said", async () => {
    const { rigs, put, stop } = await setUp();
    const metadata = {
      ".scope": "beta",
      ".ip.addr": "203.0.113.66",
      ".site": "own",
      "flow.dst.scope": "acme",
      "flow.export.scope": "acme",
      "flow.dst.ip.subnet.name": "false",
      "flow.dst.site": "false",
      "flow.bytes": "0",
      "@timestamp": "1970-01-01T00:00:00Z",
      "cost.center": "27",
    };
    const yaml = JSON.stringify({ "10.0.0.0/8": { metadata } });
    const match = [{ interface: ["1"], exporter: ["192.0.2.0/24"] }];
    for (const inherit of [false, true]) {
      await put([{ name: "acme", match, inherit, keys: [], yaml: "" }], []);
      const sent = netflow5([{ source: "10.0.0.1", destination: "198.51.100.9" }]);
      const before = rigs.map((rig) => rig.send(sent)[0] ?? {});
      await put([{ name: "acme", match, inherit, keys: [], yaml }], []);
      for (const [i, rig] of rigs.entries()) {
        const [of = {}] = rig.send(sent);
        for (const [name, value] of Object.entries(before[i] ?? {})) assert.deepEqual(of[name], value, name);
        const more = Object.entries(of).filter(([name]) => !(name in (before[i] ?? {})));
        assert.deepEqual(Object.fromEntries(more), {
          "flow.src.scope_": "beta",
          "flow.src.ip.addr_": "203.0.113.66",
          "flow.src.site": "own",
          flow_dst_scope_: "acme",
          flow_export_scope_: "acme",
          flow_dst_ip_subnet_name_: "false",
          flow_dst_site_: "false",
          flow_bytes_: "0",
          "@timestamp_": "1970-01-01T00:00:00Z",
          "cost.center": "27",
        });
      }
    }
    await stop();
  });

  test("NetFlow v5 has interfaces, and so has scopes", async () => {
    const { rigs, put, stop } = await setUp();
    await put(
      [
        {
          name: "acme",
          match: [{ exporter: ["192.0.2.0/24"], interface: ["1"] }],
          inherit: false,
          keys: ["10.0.0.0/8"],
        },
      ],
      ["10.0.0.0/8"],
    );
    for (const rig of rigs) {
      const [of] = rig.send(netflow5([{}]));
      assert.deepEqual(
        [of?.["flow.in.netif.index"], of?.["flow.src.scope"], of?.["flow.dst.scope"]],
        [1, "acme", undefined],
      );
    }
    await stop();
  });
});
