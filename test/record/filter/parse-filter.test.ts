import assert from "node:assert/strict";
import { test } from "node:test";
import { goldenRecords } from "../../support/goldens.ts";
import { FilterError, parseFilter, recordVocabulary, udmVocabulary, type Filter } from "../../../src/record/index.ts";

const parse = (text: string): Filter => parseFilter(text, "test", recordVocabulary);

function faultOf(text: string, vocabulary = recordVocabulary): FilterError {
  try {
    parseFilter(text, "test", vocabulary);
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: `${text} is a filter` });
}

test("and binds closer than or, and brackets closer than both", () => {
  const shape = (filter: Filter): unknown =>
    filter.kind === "and" || filter.kind === "or"
      ? [filter.kind, ...filter.filters.map(shape)]
      : filter.kind === "not"
        ? ["not", shape(filter.filter)]
        : "t";
  const t = "bytes > 1";
  assert.deepEqual(shape(parse(`${t} or ${t} and ${t} or ${t}`)), ["or", "t", ["and", "t", "t"], "t"]);
  assert.deepEqual(shape(parse(`(${t} || ${t}) && !${t}`)), ["and", ["or", "t", "t"], ["not", "t"]]);
  assert.deepEqual(shape(parse(`NOT (${t} Or ${t}) # comment and\n AND ${t}`)), [
    "and",
    ["not", ["or", "t", "t"]],
    "t",
  ]);
  assert.deepEqual(shape(parse("not src.tag exists")), shape(parse("src.tag not exists")));
});

test("a filter is plain data, with the names of records and values of their type", () => {
  assert.deepEqual(parse("port in (22, 8000-8100)"), {
    kind: "quantities",
    fields: ["flow.src.l4.port.id", "flow.dst.l4.port.id"],
    of: "number",
    ranges: [
      { first: 22, last: 22 },
      { first: 8000, last: 8100 },
    ],
  });
  assert.deepEqual(parse("proto != TCP"), {
    kind: "not",
    filter: { kind: "quantities", fields: ["l4.proto.id"], of: "number", ranges: [{ first: 6, last: 6 }] },
  });
  assert.deepEqual(parse("exporter.site = 'a b'"), { kind: "texts", fields: ["flow.export.site"], values: ["a b"] });
  assert.deepEqual(parse("`ups.load` > 80"), {
    kind: "compare",
    fields: ["ups.load"],
    of: "number",
    operator: ">",
    value: 80,
  });
  assert.deepEqual(parse("`src.tga` = pci"), { kind: "texts", fields: ["flow.src.tga"], values: ["pci"] });
  const filter = parse('src in 10.1.2.3/8 and dst.name ~ "x" and start > 2026-11-22');
  assert.deepEqual(structuredClone(filter), filter);
});

test("values with units are exact in the unit of the field", () => {
  const valueOf = (text: string): unknown => {
    const filter = parse(text);
    return filter.kind === "compare" ? filter.value : undefined;
  };
  const cases: readonly (readonly [string, unknown])[] = [
    ["bytes > 1MB", 1_000_000],
    ["bytes > 1.5kB", 1500],
    ["bytes > 1KiB", 1024],
    ["bytes > 8kbit", 1000],
    ["bytes > 1_000", 1000],
    ["bytes > 12bit", 1.5],
    ["bytes > 18446744073709551615", 18_446_744_073_709_551_615n],
    ["bytes > 9PB", 9_000_000_000_000_000],
    ["bytes > 10PB", 10_000_000_000_000_000n],
    ["packets > 0.1k", 100],
    ["exporter.uptime > 1.5h", 5_400_000],
    ["exporter.uptime > 1us", 0.001],
    ["in.if.speed >= 10Gbps", 10_000_000_000],
    ["start > 1970-01-01T00:00:01.000000001+00:00", 1_000_000_001n],
    ["start > 1970-01-02", 86_400_000_000_000n],
    ["`x` > -3", -3],
  ];
  for (const [text, value] of cases) assert.deepEqual(valueOf(text), value, text);
});

test("words of the collector itself may be in other case; other texts may not", () => {
  const valuesOf = (text: string): unknown => {
    const filter = parse(text);
    return filter.kind === "texts" ? filter.values : undefined;
  };
  assert.deepEqual(valuesOf("tcp.flag in (syn, Ack)"), ["SYN", "ACK"]);
  assert.deepEqual(valuesOf("direction = INGRESS"), ["ingress"]);
  assert.deepEqual(valuesOf("locality = Public"), ["public"]);
  assert.deepEqual(valuesOf("protocol = IPFIX"), ["ipfix"]);
  assert.deepEqual(valuesOf("dst.tag = PCI"), ["PCI"]);
});

test("the texts that records have for such fields are among them", () => {
  const seen = new Set<string>();
  for (const { name: golden, records } of goldenRecords()) {
    for (const [name, value] of records.flatMap((record) => Object.entries(record))) {
      const words = recordVocabulary.find(name)?.words;
      for (const text of words === undefined ? [] : [value].flat()) {
        assert.ok(words?.includes(text as string), `${golden}: ${name}: ${JSON.stringify(value)}`);
        seen.add(name);
      }
    }
  }
  assert.deepEqual([...seen].toSorted(), [
    "flow.direction.name",
    "flow.export.type",
    "flow.reverse.tcp.flags.tags",
    "tcp.flags.tags",
  ]);
});

const faults: readonly (readonly [text: string, line: number, column: number, fault: RegExp])[] = [
  ["", 1, 1, /the filter is empty/],
  ["  # nothing", 1, 12, /the filter is empty/],
  ["src = 7", 1, 7, /src is an address: 7 is a number/],
  ["src > 10.0.0.1", 1, 5, /src is an address, which has the operators = != in exists/],
  ["src = 10.0.0.0/8", 1, 7, /10\.0\.0\.0\/8 is no single address: use in/],
  ["src = 10.0.0.1/32", 1, 7, /no single address/],
  ["src in 10.0.0.0/33", 1, 8, /the prefix length must be 0 to 32/],
  ["bytes > many", 1, 9, /flow.bytes is a number of bytes: many is none/],
  ["bytes > 10.0.0.1", 1, 9, /flow.bytes is a number of bytes: 10.0.0.1 is none/],
  ["bytes > 5s", 1, 9, /5s has none of its units k K M G T P B kB/],
  ["port in (80, 90-70)", 1, 14, /the range 90-70 starts after its end/],
  ["port ~ 80", 1, 6, /port is a number, which has the operators/],
  ["proto = tpc", 1, 9, /there is no protocol tpc: did you mean tcp\?/],
  ["byte > 1", 1, 1, /there is no field byte: did you mean bytes\?/],
  ["flow.dst.l4.port.ib = 1", 1, 1, /did you mean flow.dst.l4.port.id\?/],
  ["nonsense.name = 1", 1, 1, /put a name that is not in the docs in backquotes/],
  ["src.tga = pci", 1, 1, /did you mean src.tag\? .* backquotes/],
  ["src.internal = yes", 1, 16, /src.internal is true or false, not yes/],
  ["tcp.flag in (SYN, SINK)", 1, 19, /^tcp.flag is one of FIN, SYN, .*, not SINK$/],
  ["locality != home", 1, 13, /^locality is one of internal, private, public, multicast, not home$/],
  ["start > yesterday", 1, 9, /flow.start.timestamp is a time, such as/],
  ["start > 2026-02-30", 1, 9, /is a time/],
  ["bytes > 1 packets > 2", 1, 11, /expected and, or, or the end of the filter, not packets/],
  ["bytes > 1\nand (port = 80\nor port =", 3, 10, /expected a value/],
  ["bytes > 1\nand (port = 80\nor port = 1", 3, 12, /expected and, or, or the closing bracket/],
  ["(port = 80]", 1, 11, /expected \) to close \(/],
  ["port = 80)", 1, 10, /expected and, or, or the end/],
  ["port", 1, 5, /expected one of = != .* behind port/],
  ["port is 80", 1, 6, /expected one of .* behind port, not is/],
  ["port not = 80", 1, 10, /expected in or exists behind not/],
  ["and port = 80", 1, 1, /expected a field before and/],
  ["= 80", 1, 1, /expected a field, such as src/],
  ["port = (80, 81)", 1, 8, /a list in brackets comes behind "in"/],
  ["port in ()", 1, 10, /expected a value/],
  ["dst.name = or", 1, 12, /put "or" in quotes/],
  ['dst.name = "abc', 1, 12, /the quote " is not closed/],
  [String.raw`dst.name = "a\d"`, 1, 12, /a backslash in a text in double quotes/],
  ["port = 80 & port = 81", 1, 11, /& means nothing here/],
];

test("faults say what is wrong, and where", () => {
  for (const [text, line, column, fault] of faults) {
    const error = faultOf(text);
    assert.match(error.fault, fault, text);
    assert.deepEqual(error.location, { line, column }, `${text}: ${error.message}`);
    const [, shown = "", carets = ""] = error.message.split("\n");
    assert.equal(carets.indexOf("^"), column + 1, text);
    assert.ok(shown.includes(text.split("\n")[line - 1]?.slice(0, column - 1) ?? ""), text);
  }
});

test("a fault in a long line is shown with what is around it", () => {
  const [, shown = "", carets = ""] = faultOf(
    `${"bytes > 1 and ".repeat(40)}port = x${" or bytes > 1".repeat(40)}`,
  ).message.split("\n");
  assert.ok(shown.length < 140);
  assert.equal(shown.charAt(carets.indexOf("^")), "x");
});

test("filters that are too long or too deep are faults, not a full stack", () => {
  assert.match(faultOf(`${"(".repeat(5000)}port = 1`).fault, /nested more than 100 levels/);
  assert.match(faultOf("not ".repeat(5000)).fault, /nested more than 100 levels/);
  assert.match(faultOf("port = 1 or ".repeat(10_000)).fault, /more than 65536 characters/);
  assert.match(faultOf(`dst.name ~ ${"a".repeat(2000)}`).fault, /a pattern has at most 1024/);
});

test("filters over metadata have its names", () => {
  const filter = parseFilter("key in 10.0.0.0/8 and tag = pci and metadata.site.name ~ ams", "test", udmVocabulary);
  assert.equal(filter.kind, "and");
  assert.match(faultOf("tagz = pci", udmVocabulary).fault, /did you mean tags?\?/);
  assert.match(faultOf("metadata. = pci", udmVocabulary).fault, /there is no field/);
});
