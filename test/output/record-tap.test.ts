import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { RecordTap } from "../../src/output/index.ts";
import { compileLineFilter, LimitedLines, parseFilter, recordVocabulary, shownWith } from "../../src/record/index.ts";
import { seenFrom } from "../support/limited-record.ts";
import { runs } from "../support/runs.ts";

const clock = { at: 0, now: () => clock.at, monotonic: () => clock.at };
const line = (i: number): string => `{"@timestamp":"t","flow.export.ip.addr":"192.0.2.1","n":${i}}\n`;
const batch = (from: number, count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, (_, i) => line(from + i)).join(""));

test("a tap gives everything on, whoever listens, and lends only where it can", () => {
  const seen: number[] = [];
  const lent: number[] = [];
  let done = 0;
  const tap = new RecordTap({
    write: (_, count) => void seen.push(count),
    lease: (_, count, end) => {
      lent.push(count);
      end();
    },
  });
  const listener = tap.listen({ maxRate: 10, clock });
  tap.write(batch(0, 3), 3);
  tap.lease(batch(3, 2), 2, () => void done++);
  assert.deepEqual([seen, lent, done], [[3], [2], 1]);
  assert.equal(Buffer.from(listener.take()).toString("utf8"), Array.from({ length: 5 }, (_, i) => line(i)).join(""));
  assert.equal(listener.take().length, 0);
  listener.close();
  tap.write(batch(0, 1), 1);
  assert.deepEqual(listener.counts(), { seen: 5, examined: 5, matched: 5, passed: 5 });
  // A sink that cannot be lent to is given a copy.
  const copies: Uint8Array[] = [];
  const lines = new Uint8Array(batch(0, 1));
  new RecordTap({ write: (bytes) => void copies.push(bytes) }).lease(lines, 1, () => lines.fill(0));
  assert.equal(Buffer.from(copies[0] ?? []).toString("utf8"), line(0));
});

test("what a listener gets is bounded by its rate, what is looked at by the tap, in each second", () => {
  const tap = new RecordTap({ write() {} });
  const isEven = (bytes: Buffer, start: number, end: number): boolean =>
    /[02468]\}/.test(bytes.toString("utf8", start, end));
  const listener = tap.listen({ maxRate: 100, matches: isEven, clock });
  for (let i = 0; i < 25; i++) tap.write(batch(0, 1000), 1000);
  assert.deepEqual(listener.counts(), { seen: 25_000, examined: 20_000, matched: 10_000, passed: 100 });
  clock.at += 1000;
  tap.write(batch(0, 1000), 1000);
  assert.deepEqual(listener.counts(), { seen: 1000, examined: 1000, matched: 500, passed: 100 });
  clock.at = 0;
});

test("records of devices are no flows; bytes that nobody takes are bounded", () => {
  const tap = new RecordTap({ write() {} });
  const listener = tap.listen({ maxRate: 1_000_000, clock });
  tap.write(Buffer.from('{"system.ip.addr":"192.0.2.9"}\n'), 1);
  assert.deepEqual(listener.counts(), { seen: 1, examined: 1, matched: 0, passed: 0 });
  const long = `{"flow.export.ip.addr":"192.0.2.1","x":"${"y".repeat(1_000_000)}"}\n`;
  for (let i = 0; i < 10; i++) tap.write(Buffer.from(long), 1);
  assert.equal(listener.counts().passed, 4);
  assert.ok(listener.take().length <= 4 * 2 ** 20);
});

test("lent bytes are copied before they are given back", () => {
  const tap = new RecordTap({ write() {}, lease: (_, __, end) => end() });
  const listener = tap.listen({ maxRate: 10, clock });
  const bytes = batch(1, 1);
  tap.lease(bytes, 1, () => bytes.fill(0));
  assert.equal(Buffer.from(listener.take()).toString("utf8"), line(1));
});

test("who is limited to scopes is shown fields of the connection, and no metadata of an exporter whose names begin like these", () => {
  const names = [
    "ip.version.ver",
    "l4.proto.name",
    "app.name",
    "tcp.flags.bits",
    "flow.end.reason.name",
    "flow.http.referer",
  ];
  assert.deepEqual(
    names.map((name) => [name, shownWith(name) !== undefined]),
    names.map((name) => [name, true]),
  );
  assert.deepEqual(["ip.zone", "l4.team", "tcp.owner", "flow.end.office"].map(shownWith), Array(4).fill(undefined));
});

type Flow = Readonly<Record<string, string | number | readonly string[]>>;
const words = fc.constantFrom("acme", "beta", '.scope":"acme"', 'a"flow.src.scope":"acme"', "\\", "}\n{", "é");
const names = [
  "flow.src.ip.subnet.name",
  "flow.dst.ip.subnet.name",
  "flow.src.scope_",
  "flow.in.vrf.name",
  "flow.scope",
  "x.src.scope",
  "app.name",
];
const flow = fc.record(
  {
    "@timestamp": fc.constant("2026-01-01T00:00:00.000Z"),
    "flow.export.ip.addr": fc.constant("192.0.2.1"),
    "flow.bytes": fc.constantFrom(1, 2),
    "flow.src.scope": fc.constantFrom("acme", "beta", "acme2", "acm"),
    "flow.src.ip.subnet.tags": fc.array(words, { maxLength: 2 }),
    "flow.dst.scope": fc.constantFrom("acme", "beta", "acme2", "acm"),
    ...Object.fromEntries(names.map((name) => [name, words])),
    "l4.proto.name": fc.constant("TCP"),
  },
  { requiredKeys: ["@timestamp", "flow.export.ip.addr", "flow.bytes"] },
);

test("who is limited to a scope gets the flows of it, with what is shown of each, filters what is shown, and counts no other", () => {
  const filter = 'src.name = acme or exporter = 192.0.2.1 or dst.scope = beta or app.name ~ "e"';
  const matches = compileLineFilter(parseFilter(filter, "filter", recordVocabulary));
  const check = (flows: readonly Flow[], isFiltered: boolean): void => {
    const tap = new RecordTap({ write() {} });
    const limit = new LimitedLines(["acme"]);
    const listener = tap.listen({ limit, maxRate: 1e6, clock, ...(isFiltered && { matches }) });
    const lines = flows.map((each) => Buffer.from(`${JSON.stringify(each)}\n`));
    tap.write(Buffer.concat(lines), lines.length);
    const own = flows.map((each) => seenFrom(each, "acme")).filter((each) => each !== undefined);
    const wanted = own.filter(
      (each) =>
        !isFiltered || each["flow.src.ip.subnet.name"] === "acme" || String(each["app.name"] ?? "").includes("e"),
    );
    const got = Buffer.from(listener.take()).toString().split("\n").slice(0, -1);
    assert.deepEqual(
      got.map((text) => JSON.parse(text) as unknown),
      wanted,
    );
    const [seen, matched] = [own.length, wanted.length];
    assert.deepEqual(listener.counts(), { seen, examined: seen, matched, passed: matched });
  };
  fc.assert(fc.property(fc.array(flow as fc.Arbitrary<Flow>, { maxLength: 8 }), fc.boolean(), check), runs(100));
});
