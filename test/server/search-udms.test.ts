// Searches against a slow model: all entries judged one by one, sorted, cut into pages.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { ToolsContext } from "../../src/server/tools/tools-context.ts";
import { matcherOf, readFilter, searchUdms } from "../../src/server/tools/search-udms.ts";
import { TagKeys } from "../../src/server/tools/scan-entries.ts";
import { compareKeys } from "../../src/base/ip/index.ts";
import type { UdmEntry, UdmWrite } from "../../src/metadata/index.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { runs } from "../support/runs.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { storeOn } from "../support/udm-store-fixture.ts";

const anyEntry = fc
  .record({
    key: denseKeyText,
    name: fc.constantFrom("", "Router", "über", 'a"b', "contexts"),
    tags: fc.subarray(["pci", "PCI", "old"]),
    vlan: fc.constantFrom(0n, 9n, 10n),
    internal: fc.boolean(),
    metadata: fc.dictionary(fc.constantFrom(".site", "rack"), fc.constantFrom("Router room", "r1")),
    contextsName: fc.constantFrom("", "contexts", '"contexts"'),
  })
  .map(({ key, contextsName, ...values }) =>
    udmEntry(key, {
      ...values,
      ...(contextsName !== "" && {
        fileOnly: { contexts: ["exporter"], yaml: `  note: a\n  ${contextsName}:\n    - exporter\n` },
      }),
    }),
  );

const filters = [
  "",
  "tag = pci",
  "tag = pci and not name exists",
  "tag in (pci, old)",
  "key in 10.0.0.0/27",
  "key in 2001:db8::/124 and vlan > 9",
  "name ~ ROUT or metadata..site ~ room",
  'name = "a\\"b"',
  "context = exporter and internal = true",
  "not tag = old",
  "context exists",
  "not context exists",
  "context = exporter or name = Router",
  "name = contexts",
];
const filtersOfLayers = [
  ...filters,
  "layer = netbox",
  "layer in (netbox, ipam)",
  "not layer exists",
  "layer = netbox or tag = pci",
];
const question = fc.record({
  filter: fc.constantFrom(...filtersOfLayers),
  layers: fc.boolean(),
  text: fc.constantFrom("", "router", "ÜBER", "10.0.0.1", "PCI"),
  order: fc.constantFrom("", "key", "-key", "name", "-name", "vlan", "-vlan"),
  pageSize: fc.integer({ min: 1, max: 4 }),
});

const someEntries = fc.uniqueArray(anyEntry, { maxLength: 8, selector: ({ key }) => key.text });

const nobody = { throwIfAborted() {}, headers: {}, peer: undefined, principal: undefined };
const put = (entry: UdmEntry): UdmWrite => ({ op: "edit", key: entry.key, edit: () => ({ entry }) });

test("pages of any search are those of the model, and the keys of tags follow changes", async () => {
  const steps = fc.array(
    fc.record({
      entries: someEntries,
      question,
      layer: fc.constantFrom("netbox", "ipam"),
      layered: someEntries,
    }),
    {
      minLength: 1,
      maxLength: 4,
    },
  );
  const property = fc.asyncProperty(steps, async (all) => {
    const io = memoryFileIo();
    const { store } = storeOn(io, { stateDirectory: io.folder });
    await store.start();
    await store.layers.setNames(["netbox", "ipam"]);
    const context = new ToolsContext(store, { maxBatchSize: 1000 });
    const tagKeys = new TagKeys(() => store);
    for (const { entries, question: asked, layer, layered } of all) {
      await store.layers.replace(layer, layered, "RunSource");
      await store.submit(entries.map(put));
      const isMatch = matcherOf(readFilter(asked.filter), asked.text);
      const isWide = asked.layers || asked.filter.includes("layer");
      const states = [
        { layer: "", index: store.current() },
        ...(isWide ? store.layers.list().map(({ name, index }) => ({ layer: name, index })) : []),
      ];
      const list = states.flatMap(({ layer: name, index }) =>
        Array.from(index.entries(), (entry) => ({ ...entry, layer: name })),
      );
      type Listed = (typeof list)[number];
      const sign = asked.order.startsWith("-") ? -1 : 1;
      const by = asked.order.replace("-", "");
      const compare = (a: Listed, b: Listed): number => {
        if (by === "name" && a.name !== b.name) return a.name < b.name ? -sign : sign;
        if (by === "vlan" && a.vlan !== b.vlan) return a.vlan < b.vlan ? -sign : sign;
        const byKeys = compareKeys(a.key, b.key) * (by === "name" || by === "vlan" ? 1 : sign);
        return byKeys === 0 ? Number(a.layer > b.layer) - Number(a.layer < b.layer) : byKeys;
      };
      const expected = list.filter((entry) => isMatch(entry, entry.layer)).toSorted(compare);
      const found: string[] = [];
      let pageToken = "";
      do {
        const request = { $typeName: "udm.v1.SearchUdmsRequest" as const, ...asked, pageToken };
        const answer = (await searchUdms(context, tagKeys, request, nobody)).encode("json") as string;
        const page = JSON.parse(answer) as { udms?: { key: string; layer?: string }[]; nextPageToken?: string };
        found.push(...(page.udms ?? []).map(({ key, layer: name = "" }) => `${key} ${name}`));
        assert.ok((page.udms?.length ?? 0) <= asked.pageSize);
        pageToken = page.nextPageToken ?? "";
      } while (pageToken !== "");
      assert.deepEqual(
        found,
        expected.map(({ key, layer: name }) => `${key.text} ${name}`),
      );
    }
    await store.stop();
  });
  await fc.assert(property, { ...runs(15), includeErrorInReport: true });
});

test("a page token stays good when entries come and go", async () => {
  const io = memoryFileIo();
  const { store } = storeOn(io, { stateDirectory: io.folder });
  await store.start();
  const context = new ToolsContext(store, { maxBatchSize: 1000 });
  const tagKeys = new TagKeys(() => store);
  await store.submit(
    ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"].map((key) => put(udmEntry(key, { tags: ["t"] }))),
  );
  const ask = async (pageToken: string): Promise<{ keys: string[]; next: string }> => {
    const request = {
      $typeName: "udm.v1.SearchUdmsRequest" as const,
      filter: "tag = t",
      text: "",
      order: "",
      pageSize: 2,
      pageToken,
      layers: false,
    };
    const answer = (await searchUdms(context, tagKeys, request, nobody)).encode("json") as string;
    const { udms = [], nextPageToken = "" } = JSON.parse(answer) as {
      udms?: { key: string }[];
      nextPageToken?: string;
    };
    return { keys: udms.map(({ key }) => key), next: nextPageToken };
  };
  const first = await ask("");
  await store.submit([
    { op: "delete", key: udmEntry("10.0.0.2").key },
    put(udmEntry("10.0.0.0", { tags: ["t"] })),
    put(udmEntry("10.0.0.2-10.0.0.9", { tags: ["t"] })),
  ]);
  assert.deepEqual(
    [first.keys, (await ask(first.next)).keys],
    [
      ["10.0.0.1", "10.0.0.2"],
      ["10.0.0.3", "10.0.0.4"],
    ],
  );
  await store.stop();
});
