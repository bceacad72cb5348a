import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import {
  exchangeFormats,
  exportEntries,
  importEntries,
  type ExchangeEntry,
  checkValues,
  type UdmContext,
} from "../../../src/metadata/index.ts";
import { parseKey } from "../../../src/base/ip/index.ts";
import { keyText } from "../../support/ip-arbitrary.ts";
import { runs } from "../../support/runs.ts";
import { anyValues } from "../../support/udm-write-arbitrary.ts";

const contexts = fc.option(
  fc.constantFrom<readonly UdmContext[]>(["exporter"], ["endpoint"], ["exporter", "endpoint"]),
  {
    nil: undefined,
  },
);

const otherFields = fc.option(
  fc.constantFrom("owner: bob\n", 'note: "=1, \\"x\\""\nlist:\n  - a\n  - b: c\n', "deep:\n  er:\n    still: 1\n"),
  { nil: undefined },
);

/** Entries with different keys that keep the rules for values. */
const entries: fc.Arbitrary<ExchangeEntry[]> = fc.uniqueArray(
  fc
    .record({ key: keyText.map(parseKey), values: anyValues, contexts, otherFields })
    .filter(({ values }) => checkValues(values).length === 0)
    .map(({ key, values, contexts: where, otherFields: others }) =>
      Object.assign(
        { key },
        values,
        where === undefined ? {} : { contexts: where },
        others === undefined ? {} : { otherFields: others },
      ),
    ),
  { maxLength: 6, selector: ({ key }) => key.text },
);

/** Texts in which spreadsheets see formulas, and our own signs. */
const sheetText = fc.string({ unit: fc.constantFrom(...Array.from('=+-@\\,;"\t\r\n aé')), maxLength: 6 });
const signs: fc.Arbitrary<ExchangeEntry[]> = fc
  .record({
    name: sheetText,
    tags: fc.array(sheetText, { maxLength: 3 }),
    metadata: fc.dictionary(fc.constantFrom(".a", "b", "10", "metadata:x", "__proto__"), sheetText, { maxKeys: 3 }),
  })
  .map(({ name, tags, metadata }) => ({
    key: parseKey("192.0.2.1"),
    name,
    tags,
    vlan: 0n,
    internal: false,
    metadata: new Map(Object.entries(metadata)),
  }))
  .filter((values) => checkValues(values).length === 0)
  .map((entry) => [entry]);

suite("what is exported is imported as it was", () => {
  for (const format of exchangeFormats) {
    test(`as ${format}`, async () => {
      const property = fc.asyncProperty(
        fc.oneof(entries, signs),
        fc.integer({ min: 1, max: 40 }),
        async (all, size) => {
          const bytes = Buffer.from([...exportEntries(() => all, format)].join(""));
          const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
            bytes.subarray(i * size, (i + 1) * size),
          );
          const result = await importEntries(pieces, { format });
          assert.deepEqual(result.faults, []);
          assert.deepEqual(result.entries.map(plain), all.map(plain));
        },
      );
      await fc.assert(property, runs(40));
    });
  }
});

test("a sheet with more metadata keys than columns has the others as JSON", async () => {
  const metadata = new Map(Array.from({ length: 300 }, (_, i) => [`k${i}`, `v${i}`]));
  const all = [{ key: parseKey("10.0.0.0/8"), name: "", tags: [], vlan: 0n, internal: false, metadata }];
  const text = [...exportEntries(() => all, "csv")].join("");
  assert.equal(text.split("\r\n")[0]?.split(",").length, 5 + 256 + 1);
  const { entries: read } = await importEntries([Buffer.from(text)], { format: "csv" });
  assert.deepEqual(read.map(plain), all.map(plain));
});

test("a sheet has no cell that a spreadsheet takes for a formula", () => {
  const all = [
    {
      key: parseKey("10.0.0.1"),
      name: "=1+1",
      tags: ["@x"],
      vlan: 0n,
      internal: false,
      metadata: new Map([["a", "-2"]]),
    },
  ];
  const text = [...exportEntries(() => all, "csv")].join("");
  assert.equal(text, "key,name,tags,vlan,internal,metadata:a\r\n10.0.0.1,\\=1+1,\\@x,,,\\-2\r\n");
});

function plain(entry: ExchangeEntry): unknown {
  const metadata = [...entry.metadata].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { ...entry, key: entry.key.text, metadata, contexts: entry.contexts };
}
