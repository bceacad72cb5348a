// Filters of rules are decided once for each value: here they are compared with filters that are asked of each record.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compileFilter, parseFilter, recordVocabulary } from "../../src/record/index.ts";
import { runs } from "../support/runs.ts";
import { startWatch, type TestFlow } from "./watch-rig.ts";

const term = fc.constantFrom(
  "dst.port = 53",
  "dst.port in 1000-70000",
  "flow.dst.as.asn > 65000",
  "flow.dst.as.asn = 65536",
  "dst in 192.0.2.0/30",
  "dst in 2001:db8::/32",
  "ip in 10.0.0.0/31",
  "flow.bytes >= 5000000000",
  "flow.export.host.name ~ edge",
  'flow.export.host.name = ""',
  "flow.dst.as.label exists",
  "flow.src.ip.subnet.tags = a",
  "flow.export.type = ipfix",
);

const filter = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3 },
    term,
    tie("filter").map((inner) => `not (${inner})`),
    fc.tuple(tie("filter"), fc.constantFrom("and", "or"), tie("filter")).map(([a, word, b]) => `(${a}) ${word} (${b})`),
  ),
})).filter;

const flow = fc.record({
  src: fc.constantFrom("10.0.0.1", "10.0.0.2", "10.0.0.3", "2001:db8::1"),
  dst: fc.constantFrom("192.0.2.1", "192.0.2.5", "2001:db8::2", "10.0.0.1"),
  port: fc.constantFrom(53, 443, 1000, 65_535),
  bytes: fc.constantFrom(1, 4_999_999_999, 5_000_000_000),
  extra: fc.record(
    {
      "flow.dst.as.asn": fc.constantFrom(64_999, 65_535, 65_536, 4_200_000_000),
      "flow.export.host.name": fc.constantFrom("", "edge1", "core", "e".repeat(300)),
      "flow.dst.as.label": fc.constantFrom("x"),
      "flow.src.ip.subnet.tags": fc.constantFrom(["a", "b"], ["b"], []),
    },
    { requiredKeys: [] },
  ),
});

/** The sources whose flows pass, as a filter says that is asked of each. */
function passing(text: string, flows: readonly TestFlow[]): ReadonlySet<string> {
  const matches = compileFilter(parseFilter(text, "filter", recordVocabulary));
  const fieldsOf = ({ src, dst, port, bytes, extra }: TestFlow): Readonly<Record<string, unknown>> => ({
    "flow.src.ip.addr": src,
    "flow.dst.ip.addr": dst,
    "flow.dst.l4.port.id": port,
    "flow.bytes": bytes,
    "flow.export.type": "ipfix",
    ...extra,
  });
  const passes = (each: TestFlow): boolean => matches({ get: (field) => fieldsOf(each)[field] as string });
  return new Set(flows.filter(passes).map(({ src = "" }) => src));
}

test("a rule counts the flows that its filter says, batch after batch", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(filter, { minLength: 1, maxLength: 4 }),
      fc.array(fc.array(flow, { maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      async (filters, batches) => {
        const rules = filters.map(
          (text, i) =>
            `  - {name: r${i}, filter: '${text}', by: [src], measure: flows_per_second, over: 1m, when: '> 0'}\n`,
        );
        const rig = await startWatch(t, `rules:\n${rules.join("")}`);
        assert.ok(
          rig.faults.every((fault) => fault === undefined),
          rig.faults.join(),
        );
        for (const batch of batches) rig.take(batch);
        rig.pass(1);
        for (const [i, text] of filters.entries()) {
          const counted = rig.in("firing").filter(({ rule }) => rule === `r${i}`);
          const sources = new Set(counted.map(({ key }) => key["flow.src.ip.addr"] ?? ""));
          assert.deepEqual(sources, passing(text, batches.flat()), text);
        }
        await rig.watch.stop();
      },
    ),
    runs(60),
  );
});

test("more values than are remembered: none is taken for another", async (t) => {
  const rules = `rules:
  - {name: large, filter: dst in 10.0.0.0/16, by: [dst], measure: packets_per_second, over: 1m, when: '> 100'}
  - {name: hosts, filter: not dst in 10.0.0.0/16, by: [dst], measure: packets_per_second, over: 1m, when: '> 100'}
`;
  const rig = await startWatch(t, rules, { maxKeys: 100_000 });
  const known: TestFlow[] = ["10.0.0.1", "192.0.2.1"].map((dst) => ({ dst, packets: 3500 }));
  for (let block = 0; block < 40; block++) {
    const net = 10 + (block & 1);
    const others = Array.from({ length: 1000 }, (_, i) => ({ dst: `${net}.${i >> 8}.${block}.${i & 255}` }));
    rig.take([...known, ...others]);
  }
  rig.pass(1);
  assert.deepEqual(
    new Set(rig.in("firing").map(({ rule, key, value }) => `${rule} ${key["flow.dst.ip.addr"]} ${value}`)),
    new Set(["large 10.0.0.1 2333", "hosts 192.0.2.1 2333"]),
  );
});
