import assert from "node:assert/strict";
import { test } from "node:test";
import { ExploreError, Profiles, subjectOf } from "../../src/explore/index.ts";
import { parseFilter, recordVocabulary } from "../../src/record/index.ts";
import { openExplore, takeLines } from "./explore-fixture.ts";

const never = new AbortController().signal;

test("a subject: both ways of what stands at an end of a flow, one of what is of the flow", () => {
  const ways = (field: string, value: string): readonly string[] =>
    subjectOf(field, value).ways.map(({ way, filter }) => `${way}: ${filter}`);
  assert.deepEqual(ways("address", "10.0.0.1"), ["in: dst = 10.0.0.1", "out: src = 10.0.0.1"]);
  assert.deepEqual(ways("prefix", "10.0.0.0/8"), ["in: dst in 10.0.0.0/8", "out: src in 10.0.0.0/8"]);
  assert.deepEqual(ways("tag", 'a "b"'), ['in: dst.tag = "a \\"b\\""', 'out: src.tag = "a \\"b\\""']);
  assert.deepEqual(ways("site.name", "Berlin"), ['in: dst.site.name = "Berlin"', 'out: src.site.name = "Berlin"']);
  assert.deepEqual(ways("flow.dst.as.asn", "64496"), ["in: dst.as.asn = 64496", "out: src.as.asn = 64496"]);
  assert.deepEqual(ways("exporter", "192.0.2.1"), ["all: exporter = 192.0.2.1"]);
  assert.deepEqual(ways("app.name", "x y"), ['all: app.name = "x y"']);
  assert.deepEqual(ways("interface", "192.0.2.1@5"), [
    "in: exporter = 192.0.2.1 and in.if = 5",
    "out: exporter = 192.0.2.1 and out.if = 5",
  ]);
});

test("whatever the value is, the filters are filters of that value alone, or the value is refused", () => {
  const values = ["1 or 2", "x) or (y", '"', "\\", "#", "10.0.0.1 or bytes > 0", "a\nb", "`", "'", "ü", "0", "-1"];
  for (const field of ["tag", "site.name", "as", "address", "prefix", "interface", "app.name", "port", "my-key"]) {
    for (const value of values) {
      let subject;
      try {
        subject = subjectOf(field, value);
      } catch (error) {
        assert.ok(error instanceof ExploreError && error.field === "value", `${field} ${value}`);
        continue;
      }
      for (const { filter } of subject.ways) {
        const parse = (): { readonly kind: string } => parseFilter(filter, "filter", recordVocabulary);
        // Refused is right, too: but for texts all values are there.
        if (!["tag", "site.name", "app.name", "my-key"].includes(field) && throws(parse)) continue;
        const { kind } = parse();
        assert.ok(field === "interface" ? kind === "and" : !["and", "or"].includes(kind), filter);
      }
    }
  }
  assert.throws(() => subjectOf("no field", "x"), /there is no field "no field"/);
  assert.throws(() => subjectOf("tag", ""), /must not be empty/);
});

function throws(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch {
    return true;
  }
}

test("a profile: traffic both ways with the time before, rankings, first and last record", async (t) => {
  const now = Date.UTC(2026, 2, 1, 12, 30, 30);
  const explore = await openExplore(t, { clockNow: () => now });
  const at = (minutesAgo: number, fields: Readonly<Record<string, unknown>>): string => {
    const time = new Date(now - minutesAgo * 60_000).toISOString();
    return `${JSON.stringify({ "@timestamp": time, "flow.export.type": "ipfix", ...fields })}\n`;
  };
  const ends = (from: string, to: string, bytes: number): Readonly<Record<string, unknown>> => ({
    "flow.src.ip.addr": from,
    "flow.dst.ip.addr": to,
    "flow.bytes": bytes,
    "flow.export.ip.addr": "192.0.2.1",
  });
  const lines = [
    at(110, ends("10.0.0.9", "10.0.0.8", 1)),
    at(50, ends("10.0.0.2", "10.0.0.1", 300)),
    at(20, ends("10.0.0.1", "10.0.0.2", 1500)),
    at(10, ends("10.0.0.3", "10.0.0.1", 6000)),
    at(5, ends("10.0.0.2", "10.0.0.1", 3000)),
  ];
  takeLines(explore, Buffer.from(lines.join("")));
  await explore.flush();
  const profiles = new Profiles(
    {
      status: () => Promise.resolve(explore.status()),
      query: (query, signal) => explore.query(query, signal),
      flows: (query, signal) => explore.flows(query, signal),
    },
    () => now,
  );
  const ask = (body: object): ReturnType<Profiles["answer"]> => profiles.answer(body, never);
  const profile = await ask({ field: "address", value: "10.0.0.1", from: "-30m" });
  const { traffic } = profile;
  const seconds = (Date.parse(traffic?.to ?? "") - Date.parse(traffic?.from ?? "")) / 1000;
  const bytes = (bits: number | undefined): number => Math.round(((bits ?? NaN) * seconds) / 8);
  assert.deepEqual(
    traffic?.ways.map(({ way, value, previous, series }) => [
      way,
      bytes(value),
      bytes(previous?.value),
      series.length === traffic.times.length && previous?.series.length === series.length,
    ]),
    [
      ["in", 9000, 300, true],
      ["out", 1500, 0, true],
    ],
  );
  const peers = profile.rankings?.filter(({ name }) => name === "peers");
  assert.deepEqual(
    peers?.map(({ way, rows, total }) => [way, rows.map(({ key, value }) => [key[0], value]), total.value]),
    [
      [
        "in",
        [
          ["10.0.0.3", 6000],
          ["10.0.0.2", 3000],
        ],
        9000,
      ],
      ["out", [["10.0.0.2", 1500]], 1500],
    ],
  );
  const seen = profile.seen;
  const minutesAgo = (text: string | undefined): number => Math.round((now - Date.parse(text ?? "")) / 60_000);
  assert.deepEqual([minutesAgo(seen?.first), minutesAgo(seen?.last), minutesAgo(seen?.keptSince)], [50, 5, 110]);

  const exporter = await ask({ field: "exporter", value: "192.0.2.1", parts: ["rankings"] });
  assert.deepEqual(
    [exporter.traffic, exporter.seen, exporter.rankings?.map(({ name }) => name)],
    [undefined, undefined, ["sources", "destinations", "services", "applications", "exporters"]],
  );
  const none = await ask({ field: "address", value: "10.9.9.9" });
  assert.deepEqual([none.seen?.first, none.rankings?.[0]?.rows], [undefined, []]);
  for (const [body, message] of [
    [{ field: "address", value: "10.0.0.1", parts: ["all"] }, /parts must be a list of/],
    [{ field: "address", value: "10.0.0.1", from: "soon" }, /from must be a time/],
    [{ field: "address", value: "10.0.0.300" }, /10\.0\.0\.300/],
    [{ field: "address" }, /value must be a text/],
    [{ field: "address", value: "x", colour: 1 }, /there is no field "colour"/],
  ] as const) {
    await assert.rejects(ask(body), message);
  }
});

test("of many profiles two are answered at a time, so that other questions have their turn; too many are refused", async () => {
  let running = 0;
  let most = 0;
  const go: (() => void)[] = [];
  const busy = async (): Promise<never> => {
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => go.push(resolve));
    running--;
    throw new ExploreError("unavailable", "no store");
  };
  const profiles = new Profiles({ status: busy, query: busy, flows: busy }, () => Date.UTC(2026, 2, 1));
  const gone = new AbortController();
  const body = { field: "address", value: "10.0.0.1" };
  const answers = Array.from({ length: 100 }, (_, i) => profiles.answer(body, i === 2 ? gone.signal : never));
  const ends = Promise.allSettled(answers);
  gone.abort(new ExploreError("canceled", "gone"));
  await assert.rejects(answers[2] as Promise<unknown>, /gone/);
  const isDone = ends.then(() => true);
  while (!(await Promise.race([isDone, new Promise((resolve) => setImmediate(resolve, false))]))) go.shift()?.();
  const codes = (await ends).map((end) => (end.status === "rejected" ? (end.reason as ExploreError).code : "answered"));
  assert.equal(most, 2);
  assert.equal(codes.filter((code) => code === "resource_exhausted").length, 34);
  assert.equal(codes.filter((code) => code === "unavailable").length, 65);
});
