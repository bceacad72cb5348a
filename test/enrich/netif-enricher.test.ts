import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { NetifEnricher, FileFindings, formatFinding, readNetifs } from "../../src/enrich/index.ts";
import { addressKey, compareSpecificity, formatAddress, keyContains, parseKey } from "../../src/base/ip/index.ts";
import type { RecordFields, Value } from "../../src/record/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import { denseAddress, denseKeyText } from "../support/udm-entry.ts";
import { runs } from "../support/runs.ts";

type Fields = Readonly<Record<string, Value>>;

function setUp(text: string) {
  const metrics = createMetrics();
  const file = { current: readNetifs(Buffer.from(text)).value };
  const enricher = new NetifEnricher(() => file.current, metrics);
  const added = (fields: Fields): Fields => {
    const record: RecordFields = new Map(Object.entries(fields));
    enricher.enrich(record);
    return Object.fromEntries([...record].filter(([name, value]) => fields[name] !== value));
  };
  return {
    enricher,
    added,
    read: (next: string) => void (file.current = readNetifs(Buffer.from(next)).value),
    count: (name: string) => metrics.value(`netgloss_enrich_netif_${name}_total`),
  };
}

const flow = (exporter: string, input: Value, output: Value): Fields => ({
  "flow.export.ip.addr": exporter,
  "flow.in.netif.index": input,
  "flow.out.netif.index": output,
});

const sample = `
192.0.2.1:
  1:
    name: ge-0/0/0
    description: 01
    alias: 'to: upstream'
    type: 6
    speed: 10000000000
    tags: [transit, transit, paid]
    metadata:
      .provider: Example
      site: ams1
  2: {ifName: ge-0/0/1, ifDescr: d, ifAlias: a, ifType: ethernet, ifSpeed: 18446744073709551615}
  3:
`;

test("each attribute goes below the interface that has the index", async () => {
  const { added, count } = setUp(sample.replace("18446744073709551615", "9223372036854775807"));
  assert.deepEqual(added(flow("192.0.2.1", 1, 2)), {
    "flow.in.netif.name": "ge-0/0/0",
    "flow.in.netif.descr": "01",
    "flow.in.netif.alias": "to: upstream",
    "flow.in.netif.type.name": "6",
    "flow.in.netif.speed": 10_000_000_000,
    "flow.in.netif.tags": ["transit", "paid"],
    "flow.in.netif.provider": "Example",
    site: "ams1",
    "flow.out.netif.name": "ge-0/0/1",
    "flow.out.netif.descr": "d",
    "flow.out.netif.alias": "a",
    "flow.out.netif.type.name": "ethernet",
    "flow.out.netif.speed": 9_223_372_036_854_775_807n,
  });
  assert.deepEqual(added(flow("192.0.2.1", 3, 4)), {});
  assert.deepEqual(added(flow("192.0.2.2", 1, 2)), {});
  assert.deepEqual(added(flow("192.0.2.1", [1], 2n ** 60n)), {});
  assert.equal(await count("fields"), 11);
});

test("the file counts before what the record has; metadata gets in nobody's way", async () => {
  const { added, count } = setUp(
    "192.0.2.1: {1: {name: a, metadata: {.index: '7', .name.short: s, ip: x, site: one}}, 2: {metadata: {site: two}}}",
  );
  const record = { ...flow("192.0.2.1", 1, 2), "flow.in.netif.name": "given", "ip.version.ver": 4 };
  assert.deepEqual(added(record), {
    "flow.in.netif.name": "a",
    "flow.in.netif.index": "7",
    "flow.in.netif.name_short": "s",
    "ip.value": "x",
    site: ["one", "two"],
  });
  assert.equal(await count("renamed"), 2);
});

test("a changed file counts at once", () => {
  const { added, read } = setUp("192.0.2.1: {1: {name: before}}");
  assert.deepEqual(added(flow("192.0.2.1", 1, 0)), { "flow.in.netif.name": "before" });
  read("192.0.2.1: {1: {name: after}}");
  assert.deepEqual(added(flow("192.0.2.1", 1, 0)), { "flow.in.netif.name": "after" });
  read("");
  assert.deepEqual(added(flow("192.0.2.1", 1, 0)), {});
});

test("of exporters that cover the address the most specific one with the interface counts", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(denseKeyText, fc.subarray([1, 2, 3])), {
        maxLength: 12,
        selector: ([text]) => parseKey(text).text,
      }),
      (exporters) => {
        const text = exporters.map(
          ([key, indexes]) => `"${key}": {${indexes.map((index) => `${index}: {name: "${key}"}`).join(", ")}}\n`,
        );
        const { added } = setUp(text.join(""));
        for (const family of [4, 6] as const) {
          for (let n = 0; n < 64; n += 3) {
            const address = denseAddress(family, n);
            const best = (index: number): string | undefined =>
              exporters
                .filter(([key, indexes]) => indexes.includes(index) && keyContains(parseKey(key), addressKey(address)))
                .toSorted(([a], [b]) => compareSpecificity(parseKey(a), parseKey(b)))[0]?.[0];
            const found = added(flow(formatAddress(address), 1, 2));
            assert.equal(found["flow.in.netif.name"], best(1));
            assert.equal(found["flow.out.netif.name"], best(2));
          }
        }
      },
    ),
    runs(100),
  );
});

const faults: readonly (readonly [text: string, findings: readonly string[]])[] = [
  [
    "192.0.2.300: {}\n192.0.2.0/24: 7\n192.0.2.1:\n  -1: {}\n  4294967296: {}\n  1: text\n",
    [
      '1:1: exporter 192.0.2.300: "192.0.2.300" is not an IP address, a CIDR or a range <from>-<to>',
      "2:15: exporter 192.0.2.0/24: expected a mapping, found a text",
      '4:3: exporter 192.0.2.1: interface -1: expected an ifIndex, a number below 2^32; found "-1"',
      '5:3: exporter 192.0.2.1: interface 4294967296: expected an ifIndex, a number below 2^32; found "4294967296"',
      "6:6: exporter 192.0.2.1: interface 1: expected a mapping, found a text",
    ],
  ],
  [
    "192.0.2.1:\n  1:\n    name: [a]\n    speed: fast\n    tags: a\n    metadata: {a b: c, .x: [1], flow.bytes: 7}\n    ifAlias: a\n    alias: b\n",
    [
      "3:11: exporter 192.0.2.1: interface 1: name: expected a text of one line, at most 1024 characters, found a list",
      '4:12: exporter 192.0.2.1: interface 1: speed: expected a whole number of bits a second, found "fast"',
      "5:11: exporter 192.0.2.1: interface 1: tags: expected a list, each a text, found a text",
      '6:16: exporter 192.0.2.1: interface 1: metadata "a b": metadata key "a b" contains white space',
      "6:28: exporter 192.0.2.1: interface 1: metadata .x: expected a text, found a list",
      "6:33: exporter 192.0.2.1: interface 1: metadata flow.bytes: names below flow belong to others; .x is put below the interface",
      "8:5: exporter 192.0.2.1: interface 1: alias: alias is there twice",
    ],
  ],
  ["2001:db8::1: {}\n2001:DB8::0:1: {}\n", ["2:1: exporter 2001:DB8::0:1: is there twice"]],
  [
    "192.0.2.1: {1: {tags: ['', [a]]}}\n",
    [
      '1:24: exporter 192.0.2.1: interface 1: tags 1: tag "" is empty',
      "1:28: exporter 192.0.2.1: interface 1: tags 2: expected a text, found a list",
    ],
  ],
];

for (const [text, expected] of faults) {
  test(`a file of interfaces is refused with line and column: ${JSON.stringify(text.slice(0, 40))}`, () => {
    assert.throws(
      () => readNetifs(Buffer.from(text)),
      (error) => {
        assert.ok(error instanceof FileFindings);
        assert.deepEqual(error.findings.map(formatFinding), expected);
        assert.ok(error.message.startsWith(expected[0] ?? ""));
        return true;
      },
    );
  });
}

test("an unknown attribute is ignored and reported", () => {
  const { value, warnings } = readNetifs(Buffer.from("192.0.2.1: {1: {name: a, cirIn: 7}}"));
  assert.deepEqual(warnings.map(formatFinding), [
    "1:26: exporter 192.0.2.1: interface 1: cirIn: unknown key is ignored",
  ]);
  assert.equal(value.length, 1);
});

test("whatever a file says, it is read or refused", () => {
  const part = fc.constantFrom(
    "192.0.2.1",
    "1",
    "name",
    "tags",
    "metadata",
    ": ",
    "\n",
    "  ",
    "[",
    "]",
    "{",
    "}",
    "-",
    '"',
    "&a",
    "*a",
    "<<",
    "!!x",
    "\t",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      try {
        readNetifs(Buffer.from(parts.join("")));
      } catch (error) {
        assert.ok(error instanceof FileFindings, String(error));
      }
    }),
    runs(2000),
  );
});

test("lines made without a record get the same; metadata makes the exporter's records fields", () => {
  const { enricher, read } = setUp(
    "192.0.2.1: {1: {name: a, tags: [x]}, 2: {name: b}}\n192.0.2.2: {1: {metadata: {.x: y}}}\n",
  );
  const { lines } = enricher;
  assert.ok(lines !== undefined);
  const bytes = (exporter: string, field: string, number: number): string =>
    lines.numbers
      .filter((additions) => additions.field === field)
      .map((additions) => Buffer.from(additions.tableFor(exporter, new Uint8Array())?.get(number) ?? []).toString())
      .join("");
  assert.equal(bytes("192.0.2.1", "flow.in.netif.index", 1), ',"flow.in.netif.name":"a","flow.in.netif.tags":["x"]');
  assert.equal(bytes("192.0.2.1", "flow.out.netif.index", 2), ',"flow.out.netif.name":"b"');
  assert.equal(bytes("192.0.2.1", "flow.out.netif.index", 3), "");
  assert.equal(lines.needsFields?.("192.0.2.1"), false);
  assert.equal(lines.needsFields?.("192.0.2.2"), true);
  read("192.0.2.1: {1: {name: c, metadata: {site: y}}}");
  assert.equal(bytes("192.0.2.1", "flow.in.netif.index", 1), ',"flow.in.netif.name":"c"');
  assert.equal(lines.needsFields?.("192.0.2.1"), true);
  assert.equal(lines.needsFields?.("192.0.2.2"), false);
});
