// ExplainAddress says what a flow of the address carries, byte for byte, and what gave it.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { create } from "@bufbuild/protobuf";
import { explainObject, type ExplainedEnrichers } from "../../src/app/enrichment/explain-objects.ts";
import { explainAddress, rawFields } from "../../src/server/tools/explain-address.ts";
import { ToolsContext } from "../../src/server/tools/tools-context.ts";
import {
  ExplainAddressRequestSchema,
  type ExplainAddressRequest,
  type ExplainAddressResponse,
} from "../../src/server/gen/udm/v1/tools_pb.ts";
import {
  AddressEnricher,
  AppEnds,
  NameEnricher,
  NetifEnricher,
  knownPortNames,
  readAppEnds,
  readNetifs,
} from "../../src/enrich/index.ts";
import { formatAddress, parseKey } from "../../src/base/ip/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { joinLineEnrichers, type Enricher } from "../../src/record/index.ts";
import { InterfaceDirectory, InterfaceEnricher } from "../../src/snmp/index.ts";
import type { UdmEntry, CollectorUdmStore } from "../../src/metadata/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { runs } from "../support/runs.ts";
import { denseAddress, denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { memoryPath, storeOn } from "../support/udm-store-fixture.ts";

const portNames = knownPortNames();

async function started(people: readonly UdmEntry[], layer: readonly UdmEntry[] = [], locality = false) {
  const io = memoryFileIo();
  const { store } = storeOn(io, { stateDirectory: io.folder });
  await store.start();
  await store.submit(
    people.map((entry) => ({ op: "edit", key: entry.key, edit: () => ({ entry }) })),
    { user: "ann", method: "BatchUpsertUdms" },
  );
  await store.layers.setNames(["netbox"]);
  await store.layers.replace("netbox", layer);
  const enricher = new AddressEnricher({
    watch: store.watchAddresses,
    ttlMs: 1_000_000,
    invalidate: true,
    maxCached: 1000,
    locality,
    clock: systemClock,
    metrics: createMetrics(),
    log: silentLog,
  });
  await enricher.start();
  return { io, store, enricher, stop: async () => (await enricher.stop(), store.stop()) };
}

type Question = Partial<Omit<ExplainAddressRequest, "$typeName" | "$unknown" | "ip">>;

function explain(
  store: CollectorUdmStore,
  enrichers: ExplainedEnrichers,
  ip: string,
  question: Question = {},
): Promise<ExplainAddressResponse> {
  const tools = new ToolsContext(store, {
    maxBatchSize: 1000,
    explainObject: async () => (asked) => explainObject(enrichers, asked),
  });
  return explainAddress(tools, create(ExplainAddressRequestSchema, { ip, ...question }));
}

/** An end of a flow. */
interface End {
  readonly ip: string;
  readonly port: number;
  readonly netif: number;
}
type LineOf = (source: End, destination: End, exporter: string, protocol: number) => ReadonlyMap<string, string>;

/** The fields of the line of a flow, as they stand in it. */
function createLineOf(options: Parameters<typeof createFlowRig>[0]): LineOf {
  let text = "";
  const sink = { write: (lines: Uint8Array) => void (text = Buffer.from(lines).toString()) };
  const { pipeline } = createFlowRig({ ...options, sink });
  return (source, destination, exporter, protocol) => {
    const flow = {
      source: source.ip,
      destination: destination.ip,
      ports: [source.port, destination.port] as const,
      protocol,
      packets: 1,
      bytes: 100,
      route: {
        as: [0, 0],
        prefixes: [0, 0],
        interfaces: [source.netif, destination.netif],
        nextHop: "0.0.0.0",
      } as const,
    };
    pipeline.process(netflow5([flow]), exporter, 50_000);
    return new Map(rawFields(text.trimEnd()));
  };
}

const device = "203.0.113.9";
const metrics = createMetrics();
const apps = new AppEnds({ private: true, public: true }, metrics);
apps.use(
  readAppEnds(
    Buffer.from(
      "0.0.0.0/5:\n  50-60: {name: naming, category: net}\n0.0.0.3:\n  443: {name: shop, metadata: {owner: sales}}\n",
    ),
  ).value,
);
const netifs = readNetifs(
  Buffer.from(`${device}:\n  1: {name: wan, speed: 1000, tags: [x]}\n  2: {alias: lan, metadata: {.floor: "2"}}\n`),
).value;
const directory = new InterfaceDirectory();
directory.change({
  deviceId: "d",
  known: {
    ip: device,
    addresses: [],
    interfaces: new Map(
      [1, 2, 3].map((index) => [
        index,
        { name: `if${index}`, ...(index > 1 && { alias: `"a" ${index}`, bitsPerSecond: 1000 }) },
      ]),
    ),
  },
});
const known: ExplainedEnrichers = {
  netifs: new NetifEnricher(() => netifs, metrics),
  interfaces: new InterfaceEnricher(directory, metrics),
  names: new NameEnricher(() => portNames, false, metrics),
  apps,
};

/** As flows are decoded with them. */
function joined({ netifs: first, interfaces, names, apps: fourth, addresses }: ExplainedEnrichers): Enricher {
  const all = [first, interfaces, names, fourth, addresses].filter((enricher) => enricher !== undefined);
  return {
    enrich: (record, rendered) => all.forEach((enricher) => enricher.enrich(record, rendered)),
    lines: joinLineEnrichers(all.map(({ lines }) => lines)),
  };
}

const anyEntry = fc
  .record({
    key: denseKeyText,
    name: fc.constantFrom("", "a", 'b"\\ü'),
    tags: fc.subarray(["x", "y", "z"]),
    vlan: fc.constantFrom(0n, 7n, 2n ** 64n - 1n),
    internal: fc.boolean(),
    metadata: fc.dictionary(
      fc.constantFrom(".site.name", ".rack", "tenant", ".site", ".host.name"),
      fc.constantFrom("", "p", "q"),
    ),
    context: fc.constantFrom(undefined, "exporter" as const, "endpoint" as const),
  })
  .map(({ key, metadata, context, ...values }) =>
    udmEntry(key, {
      ...values,
      metadata,
      ...(context !== undefined && { fileOnly: { contexts: [context], yaml: `  contexts:\n    - ${context}\n` } }),
    }),
  );
// The other addresses of a flow have no metadata: what several give becomes a list.
const localEntry = anyEntry.filter(({ key }) => key.text !== "0.0.0.0/0");
const entries = fc.uniqueArray(localEntry, { maxLength: 8, selector: ({ key }) => key.text });

/** A port of neither a name nor an application. */
const plainPort = 40_000;
const anyEnd = fc.record({
  port: fc.constantFrom(53, 443, plainPort),
  netif: fc.nat(4),
  protocol: fc.constantFrom(6, 17),
});

test("is what a flow of the address carries, byte for byte, over random tables, layers, contexts, ports and interfaces", async () => {
  const elsewhere = { ip: "203.0.113.1", port: plainPort + 1, netif: 0 };
  const plainLineOf = createLineOf({});
  const numbers = fc.tuple(fc.nat(63), anyEnd, fc.boolean());
  const property = fc.asyncProperty(entries, entries, numbers, async (people, layer, [n, end, locality]) => {
    const { store, enricher: addresses, stop } = await started(people, layer, locality);
    const enrichers = { ...known, addresses };
    const ip = formatAddress(denseAddress(4, n));
    const { port, netif, protocol } = end;
    const { contexts } = await explain(store, enrichers, ip, {
      port,
      protocol,
      ...(netif > 0 && { exporter: device, ifIndex: netif }),
    });
    const lineOf = createLineOf({ enricher: joined(enrichers) });
    for (const [i, name] of ["src", "dst", "exporter"].entries()) {
      const [source, destination] = [0, 1].map((at) => (at === i ? { ip, port, netif } : elsewhere)) as [End, End];
      const exporter = i === 2 ? ip : device;
      const plain = plainLineOf(source, destination, exporter, protocol);
      const line = lineOf(source, destination, exporter, protocol);
      // What the other addresses, which have no metadata, add of their own.
      const others = lineOf(elsewhere, elsewhere, device, protocol);
      const added = [...line].filter(([field, value]) => plain.get(field) !== value && field !== "flow.locality");
      const object = ["flow.src", "flow.dst", "flow.export"][i] as string;
      const own = added.filter(([field]) => field.startsWith(`${object}.`) || !others.has(field));
      const said = contexts[i];
      assert.equal(said?.context, name);
      const fields = said.fields.map(({ field, value }) => [field, value] as const);
      assert.deepEqual(new Map(fields), new Map(own), `${name} ${ip} ${JSON.stringify(end)}`);
      const asked = new Set([`${object}.ip.addr`, `${object}.l4.port.id`, "l4.proto.id", `${netifOf[i] ?? ""}.index`]);
      assert.deepEqual(
        rawFields(said.object).filter(([field]) => !asked.has(field)),
        fields,
      );
      for (const { field, origins } of said.fields) {
        const [source0] = sourcesByName.find(([, pattern]) => pattern.test(field)) ?? ["metadata"];
        const isGiven = people.concat(layer).some(({ metadata }) => [...metadata.keys()].includes(field));
        // What the file of interfaces says of one, SNMP does not.
        const isNamed = source0 === "snmp" && saidByFile[netif]?.test(field) === true;
        if (!isGiven && !isNamed) assert.equal(origins[0]?.source, source0, field);
      }
    }
    await stop();
  });
  await fc.assert(property, { ...runs(20), includeErrorInReport: true });
});

const saidByFile = [undefined, /\.(?:name|speed)$/, /\.alias$/];
const netifOf = ["flow.in.netif", "flow.out.netif"];
const sourcesByName: readonly (readonly [source: string, pattern: RegExp])[] = [
  ["locality", /\.locality$/],
  ["ports", /\.l4\.port\.name$/],
  ["apps", /^(?:app\.|owner$)/],
  ["snmp", /^flow\.(?:in|out)\.netif\.(?:name|alias|speed)$/],
  ["netif", /^flow\.(?:in|out)\.netif\./],
];

suite("where it comes from", { concurrency: true }, () => {
  const people = [
    udmEntry("10.0.0.0/8", { name: "ten", tags: ["a", "b"], vlan: 7n, metadata: { ".site": "AMS" } }),
    udmEntry("10.0.0.0/24", { tags: ["b", "c"], internal: true, metadata: { ".site": "FRA", tenant: "t" } }),
    udmEntry("10.0.0.1", {
      fileOnly: { contexts: ["exporter"], yaml: "  contexts:\n    - exporter\n" },
      name: "router",
    }),
  ];
  const layer = [udmEntry("10.0.0.0/24", { name: "netbox name", metadata: { ".site": "LON" } })];

  test("each field names its entry, layer, change and author, and who lost to it", async () => {
    const { store, enricher, stop } = await started(people, layer);
    const answer = await explain(store, { addresses: enricher }, "::ffff:10.0.0.1", { context: "src" });
    assert.equal(answer.ip, "10.0.0.1");
    const [src] = answer.contexts;
    assert.deepEqual(
      src?.fields.map(({ field, origins }) => [
        field,
        ...origins.map(({ key, layer: name, change, author }) => [key, name, change, author]),
      ]),
      [
        ["flow.src.ip.subnet.name", ["10.0.0.0/24", "netbox", 0, ""]],
        ["flow.src.ip.subnet.tags", ...["10.0.0.0/24", "10.0.0.0/24", "10.0.0.0/8"].map((key) => [key, "", 1, "ann"])],
        ["flow.src.isInternal", ["10.0.0.0/24", "", 1, "ann"]],
        ["flow.src.vlan.tag.id", ["10.0.0.0/8", "", 1, "ann"]],
        ["flow.src.site", ["10.0.0.0/24", "", 1, "ann"]],
        ["tenant", ["10.0.0.0/24", "", 1, "ann"]],
      ],
    );
    const losers = src?.fields.flatMap((field) =>
      field.losers.map(({ value, reason }) => [field.field, value, reason]),
    );
    assert.deepEqual(losers, [
      ["flow.src.ip.subnet.name", '"ten"', "10.0.0.0/24 is more specific"],
      ["flow.src.ip.subnet.tags", '"b"', "a more specific entry has it already"],
      ["flow.src.site", '"LON"', "what people write comes before layers"],
      ["flow.src.site", '"AMS"', "10.0.0.0/24 is more specific"],
    ]);
    assert.deepEqual(
      src?.ignored.map(({ origin, reason }) => [origin?.key, reason]),
      [["10.0.0.1", "the entry applies to exporter only"]],
    );
    assert.deepEqual(
      answer.entries.map(({ key, layer: name }) => [key, name]),
      [
        ["10.0.0.1", ""],
        ["10.0.0.0/24", ""],
        ["10.0.0.0/24", "netbox"],
        ["10.0.0.0/8", ""],
      ],
    );
    await stop();
  });

  test("all four contexts are explained unless one is asked for; faults are named", async () => {
    const { store, enricher, stop } = await started(people);
    const { contexts } = await explain(store, { addresses: enricher }, "10.0.0.1");
    assert.deepEqual(
      contexts.map(({ context, object }) => [context, rawFields(object)[1]?.[1]]),
      [
        ["src", '"ten"'],
        ["dst", '"ten"'],
        ["exporter", '"router"'],
        ["system", '"router"'],
      ],
    );
    await assert.rejects(explain(store, {}, "10.0.0"), /ip "10\.0\.0" is not an IP address/);
    await assert.rejects(
      explain(store, {}, "10.0.0.1", { context: "endpoint" }),
      /expected src, dst, exporter, system/,
    );
    await stop();
  });

  test("the line of the file is right before the first write, and after each one", async () => {
    const text =
      "# by hand\n10.0.0.0/8: {name: ten}\n\n'10.0.0.1':\n  name: one\n\"2001:DB8::/32\": # six\n  name: six\n";
    const io = memoryFileIo();
    io.put(memoryPath, text);
    const { store } = storeOn(io, { stateDirectory: io.folder });
    await store.start();
    const linesOf = async (ip: string): Promise<unknown[]> => {
      const { contexts } = await explain(store, {}, ip, { context: "src" });
      const { fields = [], ignored = [] } = contexts[0] ?? {};
      const origins = [...fields.flatMap((field) => field.origins), ...ignored.map(({ origin }) => origin)];
      return origins.map((origin) => [origin?.key, origin?.file, origin?.line]);
    };
    assert.deepEqual(await linesOf("10.0.0.1"), [["10.0.0.1", memoryPath, 4]]);
    assert.deepEqual(await linesOf("10.0.0.2"), [["10.0.0.0/8", memoryPath, 2]]);
    assert.deepEqual(await linesOf("2001:db8::1"), [["2001:db8::/32", memoryPath, 6]]);
    await store.commit([{ op: "create", key: parseKey("10.0.0.0/24"), values: udmEntry("::", { tags: ["a", "b"] }) }]);
    const lines = (await io.read(memoryPath)).toString().split("\n");
    for (const key of ["10.0.0.1", "2001:db8::/32"]) {
      const [[, , line] = []] = (await linesOf(key.replace("/32", "1"))) as [string, string, number][];
      assert.match(lines[(line ?? 0) - 1] ?? "", new RegExp(`^"?${key.replaceAll(".", "\\.")}"?:$`));
    }
    io.put(memoryPath, `# edited\n${text}`);
    assert.deepEqual(
      (await linesOf("10.0.0.2")).map((origin) => (origin as unknown[])[2]),
      [0, 0],
    );
    await store.stop();
  });

  test("faults of ports and interfaces are named, all of them", async () => {
    const { store, stop } = await started([]);
    const refused = (question: Question, message: RegExp): Promise<void> =>
      assert.rejects(explain(store, {}, "10.0.0.1", question), message);
    await refused({ port: 70_000 }, /port 70000 is more than 65535/);
    await refused({ port: 1, protocol: 256 }, /protocol 256 is more than 255/);
    await refused({ protocol: 17 }, /protocol belongs to port/);
    await refused({ ifIndex: 3 }, /exporter is missing/);
    await refused({ exporter: "10.0.0.1" }, /if_index is missing/);
    await refused({ exporter: "x", ifIndex: 1 }, /exporter "x" is not an IP address/);
    await refused({ context: "system", port: 1 }, /context "system" has no ports and interfaces/);
    await stop();
  });
});
