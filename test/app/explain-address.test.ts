// ExplainAddress says what a flow of the address carries, byte for byte, and what gave it.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { explainObject } from "../../src/app/explain-objects.ts";
import { explainAddress } from "../../src/api/tools/explain/explain-address.ts";
import { rawFields } from "../../src/api/tools/explain/raw-fields.ts";
import { createToolsContext } from "../../src/api/tools/common/tools-context.ts";
import type { ExplainAddressResponse } from "../../src/api/gen/udm/v1/tools_pb.ts";
import { createAddressEnricher, type AddressEnricher } from "../../src/enrich/index.ts";
import { formatAddress } from "../../src/ip/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import type { UdmEntry, UdmFileStore } from "../../src/udm/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { runs } from "../support/runs.ts";
import { denseAddress, denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { storeOn } from "../support/udm-store-fixture.ts";

async function started(people: readonly UdmEntry[], layer: readonly UdmEntry[] = [], locality = false) {
  const io = memoryFileIo();
  const { store } = storeOn(io, { stateDirectory: io.folder });
  await store.start();
  await store.submit(
    people.map((entry) => ({ op: "edit", key: entry.key, edit: () => ({ entry }) })),
    { user: "ann", method: "BatchUpsertUdms" },
  );
  store.layers.setNames(["netbox"]);
  await store.layers.replace("netbox", layer);
  const enricher = createAddressEnricher({
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
  return { store, enricher, stop: async () => (await enricher.stop(), store.stop()) };
}

function explain(
  store: UdmFileStore,
  enricher: AddressEnricher,
  ip: string,
  context = "",
): Promise<ExplainAddressResponse> {
  const tools = createToolsContext({
    source: store,
    maxBatchSize: 1000,
    explainObject: async () => (object, address) => explainObject(enricher, object, address),
  });
  return explainAddress(tools, { $typeName: "udm.v1.ExplainAddressRequest", ip, context });
}

type LineOf = (source: string, destination: string, exporter: string) => ReadonlyMap<string, string>;

/** The fields of the line of a flow, as they stand in it. */
function createLineOf(options: Parameters<typeof createFlowRig>[0]): LineOf {
  let text = "";
  const sink = { write: (lines: Uint8Array) => void (text = Buffer.from(lines).toString()) };
  const { pipeline } = createFlowRig({ ...options, sink });
  return (source, destination, exporter) => {
    pipeline.process(netflowV5Datagram([{ source, destination }]), exporter, 50_000);
    return new Map(rawFields(text.trimEnd()));
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

test("is what a flow of the address carries, byte for byte, over random tables, layers and contexts", async () => {
  const elsewhere = "203.0.113.1";
  const plainLineOf = createLineOf({});
  const property = fc.asyncProperty(entries, entries, fc.nat(63), fc.boolean(), async (people, layer, n, locality) => {
    const { store, enricher, stop } = await started(people, layer, locality);
    const ip = formatAddress(denseAddress(4, n));
    const { contexts } = await explain(store, enricher, ip);
    const lineOf = createLineOf({ enricher });
    for (const [i, name] of ["src", "dst", "exporter"].entries()) {
      const [source, destination, exporter] = [0, 1, 2].map((at) => (at === i ? ip : elsewhere)) as [
        string,
        string,
        string,
      ];
      const plain = plainLineOf(source, destination, exporter);
      const line = lineOf(source, destination, exporter);
      // What the other addresses, which have no metadata, add of their own.
      const others = lineOf(elsewhere, elsewhere, elsewhere);
      const added = [...line].filter(([field, value]) => plain.get(field) !== value && field !== "flow.locality");
      const object = ["flow.src", "flow.dst", "flow.export"][i] as string;
      const own = added.filter(([field]) => field.startsWith(`${object}.`) || !others.has(field));
      const said = contexts[i];
      assert.equal(said?.context, name);
      const fields = said.fields.map(({ field, value }) => [field, value] as const);
      assert.deepEqual(new Map(fields), new Map(own), `${name} ${ip}`);
      assert.deepEqual(
        rawFields(said.object).filter(([field]) => field !== `${object}.ip.addr`),
        fields,
      );
      for (const { field, origins } of said.fields) {
        if (!field.endsWith(".locality")) assert.equal(origins[0]?.source, "metadata", field);
      }
    }
    await stop();
  });
  await fc.assert(property, { ...runs(12), includeErrorInReport: true });
});

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
    const answer = await explain(store, enricher, "::ffff:10.0.0.1", "src");
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
    const { contexts } = await explain(store, enricher, "10.0.0.1");
    assert.deepEqual(
      contexts.map(({ context, object }) => [context, rawFields(object)[1]?.[1]]),
      [
        ["src", '"ten"'],
        ["dst", '"ten"'],
        ["exporter", '"router"'],
        ["system", '"router"'],
      ],
    );
    await assert.rejects(explain(store, enricher, "10.0.0"), /ip "10\.0\.0" is not an IP address/);
    await assert.rejects(explain(store, enricher, "10.0.0.1", "endpoint"), /expected src, dst, exporter, system/);
    await stop();
  });
});
