import assert from "node:assert/strict";
import * as fc from "fast-check";
import { compileFilter, parseFilter, recordVocabulary } from "../../src/record/index.ts";
import { readQuery, type ExploreAnswer, type ExploreQuery } from "../../src/explore/index.ts";
import { crossing, fieldValues, partsWithin, recordsBy, sumsBy, type ModelRecord } from "./query-model.ts";

/** When the questions are asked. */
export const now = Date.parse("2026-11-22T12:00:00Z");
const addresses = [
  "10.0.0.1",
  "10.0.0.2",
  "10.1.2.3",
  "192.0.2.7",
  "::1",
  "2001:db8::1",
  "2001:db8:0:1::ffff",
  "fe80::1",
];
const names = [
  "web-1",
  "db-1",
  "a name that is longer than twelve bytes",
  "Zürich",
  "50%_off\\",
  'a "quote"',
  "x",
  "two\nlines",
  // Of 4096 characters, the last of them two halves for JavaScript.
  `${"x".repeat(4095)}🦊`,
  `${"x".repeat(4095)}🦊z`,
];
const bigs = [0, 1, 1500, 2 ** 40, 9_007_199_254_740_993n, 2n ** 63n, 2n ** 64n - 1n];

const record: fc.Arbitrary<ModelRecord> = fc
  .record(
    {
      "@timestamp": fc.integer({ min: 1, max: 3_500_000 }).map((ago) => new Date(now - ago).toISOString()),
      "flow.export.ip.addr": fc.constant("192.0.2.254"),
      "flow.export.type": fc.constantFrom("netflow", "ipfix"),
      "flow.src.ip.addr": fc.constantFrom(...addresses),
      "flow.dst.ip.addr": fc.constantFrom(...addresses),
      "flow.src.l4.port.id": fc.constantFrom(0, 53, 443, 65_535),
      "flow.src.ip.subnet.name": fc.constantFrom(...names),
      "flow.dst.ip.subnet.name": fc.constantFrom(...names),
      "flow.src.ip.subnet.tags": fc.uniqueArray(fc.constantFrom("dmz", "pci", "a tag of some length"), {
        minLength: 1,
      }),
      "flow.dst.ip.subnet.tags": fc.uniqueArray(fc.constantFrom("dmz", 'a "quote"'), { minLength: 1 }),
      "flow.src.isInternal": fc.boolean(),
      "flow.src.as.asn": fc.constantFrom(0, 64_496, 4_200_000_000),
      "flow.in.netif.speed": fc.constantFrom(0, 1_000_000, 100_000_000_000),
      "flow.sample_rate": fc.constantFrom(1, 0.5, 1024),
      "flow.bytes": fc.constantFrom<number | bigint>(...bigs),
      "flow.packets": fc.constantFrom<number | bigint>(...bigs),
      "flow.start.timestamp": fc.constantFrom("2026-11-22T11:59:59.123456789Z", "2026-11-22T11:00:00Z"),
      "flow.export.clock.offset": fc.constantFrom(-600, 3_600_000, -86_400_000),
    },
    { requiredKeys: ["@timestamp", "flow.export.ip.addr", "flow.export.type"] },
  )
  .chain((given) => {
    const at = Date.parse(given["@timestamp"]) + (given["flow.export.clock.offset"] ?? 0);
    const time = (ms: number): string => new Date(ms).toISOString();
    // Of moments, minutes, hours; now and then of times that cannot be.
    const span = fc.oneof(
      { arbitrary: fc.integer({ min: 0, max: 30_000 }), weight: 2 },
      { arbitrary: fc.integer({ min: 0, max: 1_900_000 }), weight: 3 },
      fc.constantFrom(0, 1, 59_999, 60_000, 300_000, 86_400_000, 86_400_001, -1),
    );
    const late = fc.oneof(fc.integer({ min: -3000, max: 20_000 }), fc.integer({ min: 0, max: 2_000_000 }));
    const timed = fc.tuple(span, late).map(([length, before]) =>
      Object.assign({}, given, {
        "flow.start.timestamp": time(at - before - length),
        "flow.end.timestamp": time(at - before),
      }),
    );
    return fc.oneof(fc.constant(given), { arbitrary: timed, weight: 4 });
  })
  .map((given) => given as ModelRecord);

/** Regular expressions that the engines of stores could take in other ways. */
const regexes = [
  "^(?<kind>[a-z]+)-(?P<number>\\d)$",
  "(?i)zür",
  "o.l|off",
  "^(?s:two.l)|off",
  "o\\nl",
  "^\\PM{8}$",
  "[(?<]|\\(?<|\\Q(?<\\E|-1",
  "\\\\$",
  "🦊$",
  "z|off",
  "^x+$",
];

/** Terms that rollups answer. */
const rolledTerms = [
  fc.constantFrom(...names).map((each) => `src.name = ${JSON.stringify(each)}`),
  fc
    .constantFrom("web", "^web", "?-1$", "*A*e*", "ZÜR", "%", "_off", "\\\\$", '\\"', "^$")
    .map((each) => `name ~ ${JSON.stringify(each)}`),
  fc.constantFrom(...regexes).map((each) => `name =~ ${JSON.stringify(each)}`),
  fc.constantFrom('src.tag =~ "^(?<zone>d|p)"', 'not src.tag =~ "g+t"'),
  fc.constantFrom("src.tag = dmz", "src.tag in (pci, none)", "src.tag ~ some", "src.tag exists", "src.tag not exists"),
  fc.constantFrom("src.internal = true", "src.internal = false", "internal exists", "src.internal != true"),
  fc.constantFrom(
    "src.as > 0",
    "src.as in (0, 64496)",
    "src.as not exists",
    "exporter = 192.0.2.254",
    "exporter in 192.0.2.0/24",
  ),
];
const term = fc.oneof(
  ...rolledTerms,
  fc.constantFrom(...addresses).map((each) => `src = ${each}`),
  fc
    .constantFrom(
      "10.0.0.0/8",
      "(10.0.0.0/31, 2001:db8::/32)",
      "::/0",
      "0.0.0.0/0",
      "::ffff:10.0.0.0/104",
      "fe80::-fe80::f",
    )
    .map((each) => `addr in ${each}`),
  fc.constantFrom("src.port > 53", "src.port >= 443", "src.port in (53, 400-500)", "src.port != 443"),
  fc.constantFrom(
    "bytes > 1k",
    "bytes >= 9007199254740993",
    "bytes < 9223372036854775808",
    "bytes = 18446744073709551615",
  ),
  fc.constantFrom("flow.sample_rate < 1", "flow.sample_rate = 0.5", "flow.sample_rate >= 1.5"),
  fc.constantFrom("start > 2026-11-22T11:59:59.123456788Z", "start = 2026-11-22T11:00:00Z", "start not exists"),
);
const filterOf = (terms: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.letrec<{ any: string }>((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      terms,
      fc.tuple(tie("any"), fc.constantFrom("and", "or"), tie("any")).map(([a, word, b]) => `(${a} ${word} ${b})`),
      tie("any").map((each) => `not (${each})`),
    ),
  })).any;

const rolledDimensions = [
  "flow.src.ip.subnet.name",
  "flow.src.isInternal",
  "flow.src.ip.subnet.tags",
  "flow.dst.ip.subnet.tags",
  "flow.src.as.asn",
  "flow.export.ip.addr",
];
const otherDimensions = ["flow.src.ip.addr", "flow.dst.ip.addr", "flow.src.l4.port.id", "flow.sample_rate"];
const dimensionsOf = (fields: readonly string[]): fc.Arbitrary<string[]> =>
  fc.uniqueArray(fc.constantFrom(...fields), { maxLength: 3 });

/** Questions of any kind, and those that rollups answer. */
const questions = {
  any: { filter: filterOf(term), dimensions: dimensionsOf([...rolledDimensions, ...otherDimensions]) },
  rollups: { filter: filterOf(fc.oneof(...rolledTerms)), dimensions: dimensionsOf(rolledDimensions) },
};

/** Records with and without each field. */
export const sampleRecords = fc.sample(record, { numRuns: 300, seed: 11 });

/** The same with numbers as most flows have them. */
export const usualRecords: readonly ModelRecord[] = sampleRecords.map((each, i) =>
  Object.assign(
    {},
    each,
    "flow.bytes" in each ? { "flow.bytes": (i * 7919) % 100_003 } : {},
    "flow.packets" in each ? { "flow.packets": i % 17 } : {},
  ),
);

/** Each regular expression finds the records that it finds in them one by one. */
export async function checkRegexes(
  ask: (query: ExploreQuery) => Promise<ExploreAnswer>,
  records: readonly ModelRecord[],
): Promise<void> {
  for (const regex of regexes) {
    const text = `src.name =~ ${JSON.stringify(regex)}`;
    const matches = compileFilter(parseFilter(text, "filter", recordVocabulary));
    const found = records.filter((each) => matches(fieldValues(each))).length;
    assert.ok(found > 0 && found < records.length, text);
    assert.equal((await ask(readQuery({ filter: text, measure: "flows" }, now))).total.value, found, text);
  }
}

/** Questions with filters, fields that are lacking, lists, IPv6 and sums beyond 64 bits, answered as a slow model does. */
export async function checkAnswers(
  ask: (query: ExploreQuery) => Promise<ExploreAnswer>,
  records: readonly ModelRecord[],
  numRuns: number,
  kind: keyof typeof questions = "any",
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      questions[kind].filter,
      questions[kind].dimensions,
      fc.constantFrom("bytes" as const, "packets" as const, "flows" as const),
      fc.constantFrom("none", "5m", ...(kind === "any" ? ["1m", "10s"] : [])),
      fc.constantFrom("flowed" as const, "flowed" as const, "received" as const),
      async (text, asked, measure, granularity, when) => {
        const query = { from: "-1h", filter: text, dimensions: asked, measure, limit: 5, granularity, when };
        const answer = await ask(readQuery(query, now));
        const matches = compileFilter(parseFilter(text, "filter", recordVocabulary));
        const matching = records.filter((each) => matches(fieldValues(each)));
        const passed = partsWithin(matching, measure, when, Date.parse(answer.from), Date.parse(answer.to));
        const sums = sumsBy(passed, asked, measure);
        const sorted = [...sums.values()].toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0));
        const count = asked.length === 0 ? 0 : Math.min(5, sorted.length);
        assert.deepEqual(
          answer.rows.map(({ value }) => value),
          sorted.slice(0, count).map(Number),
        );
        for (const { key, value } of answer.rows)
          assert.equal(value, Number(sums.get(JSON.stringify(key))), JSON.stringify(key));
        const [total = 0n] = sumsBy(passed, [], measure).values();
        assert.equal(answer.total.value, Number(total));
        assert.equal(answer.others.keys, asked.length === 0 ? 0 : sorted.length - count);
        if (granularity === "none") return;
        for (const { value, series = [] } of answer.rows)
          close(
            series.reduce((a, b) => a + b, 0),
            value,
          );
        close(answer.total.series?.reduce((a, b) => a + b, 0) ?? -1, answer.total.value);
        for (const [i, time] of (answer.times ?? []).entries()) {
          const begin = Date.parse(time);
          const end = Math.min(begin + 1000 * answer.granularitySeconds, Date.parse(answer.to));
          const ofBucket = sumsBy(partsWithin(matching, measure, when, begin, end), asked, measure);
          // Buckets of less than a minute are rounded for all flows together.
          const roundings = sumsBy(crossing(matching, measure, when, begin, end), asked, "flows");
          for (const { key, series } of answer.rows) {
            const name = JSON.stringify(key);
            const [part, model] = [series?.[i] ?? -1, Number(ofBucket.get(name) ?? 0n)];
            const most = granularity === "10s" ? Number(roundings.get(name) ?? 0n) : 0;
            assert.ok(Math.abs(part - model) <= most, `${name} ${time}: ${part}, not ${model}`);
          }
        }
      },
    ),
    { numRuns, includeErrorInReport: true },
  );
}

/** The percents of interfaces that flows came in by: what each brought by the speed of its own. */
export async function checkUtilisation(
  ask: (query: ExploreQuery) => Promise<ExploreAnswer>,
  records: readonly ModelRecord[],
): Promise<void> {
  for (const [dimensions, when] of [
    [[], "received"],
    [["flow.src.ip.subnet.tags"], "flowed"],
    [["flow.src.as.asn"], "received"],
  ] as const) {
    const body = { from: "-1h", dimensions, measure: "utilisation_in", granularity: "5m", when };
    const { rows, total, unit, times = [], to } = await ask(readQuery(body, now));
    const percentOf = (begin: number, end: number): number => {
      const parts = partsWithin(records, "bytes", when, begin, end);
      const bits = parts.map((each) => {
        const speed = Number(each["flow.in.netif.speed"] ?? 0);
        return speed === 0 ? 0 : (8 * Number(each["flow.bytes"] ?? 0)) / speed;
      });
      return (100_000 * bits.reduce((a, b) => a + b, 0)) / (end - begin);
    };
    assert.equal(unit, "%");
    nearly(total.value, percentOf(now - 3_600_000, now));
    if (dimensions[0] === "flow.src.as.asn") {
      const others = records.filter((each) => !("flow.in.netif.speed" in each && "flow.src.as.asn" in each));
      assert.ok(others.length > 0 && rows.length > 1);
    }
    for (const [i, time] of times.entries()) {
      nearly(
        total.series?.[i] ?? -1,
        percentOf(Date.parse(time), Math.min(Date.parse(time) + 300_000, Date.parse(to))),
      );
    }
  }
}

/** Different addresses and ports, by keys that share some of them, with the time before. */
export async function checkDifferent(
  ask: (query: ExploreQuery) => Promise<ExploreAnswer>,
  records: readonly ModelRecord[],
): Promise<void> {
  const hour = 3_600_000;
  for (const [measure, field, dimensions] of [
    ["destinations", "flow.dst.ip.addr", ["flow.src.ip.addr"]],
    ["sources", "flow.src.ip.addr", ["flow.src.ip.subnet.tags", "flow.dst.ip.subnet.tags"]],
    ["source_ports", "flow.src.l4.port.id", []],
    ["sources", "flow.src.ip.addr", ["flow.src.as.asn"]],
  ] as const) {
    const filter = "not src.tag = dmz";
    const matches = compileFilter(parseFilter(filter, "filter", recordVocabulary));
    const matching = records.filter((each) => matches(fieldValues(each)));
    const within = (begin: number, end: number): readonly ModelRecord[] =>
      partsWithin(matching, "flows", "received", begin, end);
    const of = (some: readonly ModelRecord[]): number =>
      new Set(some.flatMap((each) => (field in each ? [String(each[field])] : []))).size;
    const body = { from: "-30m", filter, dimensions, measure, limit: 3, granularity: "5m", compare: true };
    const answer = await ask(readQuery(body, now));
    const { rows, others, total, times = [], unit } = answer;
    const [from, to] = [Date.parse(answer.from), Date.parse(answer.to)];
    assert.equal(unit, measure === "source_ports" ? "ports" : "addresses");
    const byKey = recordsBy(within(from, to), dimensions);
    const largest = [...byKey.values()].map(of).toSorted((a, b) => b - a);
    assert.deepEqual(
      rows.map(({ value }) => value),
      dimensions.length === 0 ? [] : largest.slice(0, 3),
    );
    for (const { key, value } of rows) assert.equal(value, of(byKey.get(JSON.stringify(key)) ?? []), measure);
    assert.equal(total.value, of(within(from, to)));
    assert.equal(total.previous, of(within(2 * from - to, from)));
    const shown = new Set(rows.map(({ key }) => JSON.stringify(key)));
    const rest = [...byKey].flatMap(([key, some]) => (shown.has(key) ? [] : some));
    assert.equal(others.value, dimensions.length === 0 ? 0 : of(rest));
    for (const [i, time] of times.entries()) {
      const begin = Date.parse(time);
      const inBucket = within(begin, Math.min(begin + hour / 12, to));
      assert.equal(total.series?.[i], of(inBucket), time);
      const ofKeys = recordsBy(inBucket, dimensions);
      for (const { key, series } of rows) assert.equal(series?.[i], of(ofKeys.get(JSON.stringify(key)) ?? []), time);
    }
    assert.equal(answer.estimated, undefined);
  }
}

function nearly(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.abs(expected), `${actual} is not ${expected}`);
}

/** The parts of a sum beyond 2^53 are rounded, each for itself. */
function close(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-12 * Math.abs(expected), `${actual} is not ${expected}`);
}
