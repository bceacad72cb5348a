import assert from "node:assert/strict";
import { mock, test } from "node:test";
import * as fc from "fast-check";
import { RollupSink } from "../../../src/output/index.ts";
import { cleanUp } from "../../support/clean-up.ts";
import { runs } from "../../support/runs.ts";

const minute = 60_000;
const noon = Date.UTC(2026, 10, 22, 12);

interface Rig {
  now: number;
  /** What came out, call by call. */
  readonly out: string[];
  readonly counts: { added: number; overflowed: number; written: number; groups: () => number };
  write(...lines: string[]): void;
  stop(): Promise<void>;
}

async function createRig(fields: readonly string[], maxGroups = 1000): Promise<Rig> {
  const out: string[] = [];
  const counts = { added: 0, overflowed: 0, written: 0, groups: () => 0 };
  const inner = {
    name: "inner",
    write: (lines: Uint8Array, _count: number) => void out.push(Buffer.from(lines).toString()),
    start: async () => {},
    stop: async () => void out.push("stopped"),
  };
  const rig = { now: noon + 15_000, out, counts };
  const sink = new RollupSink(inner, {
    fields,
    maxGroups,
    intervalMs: minute,
    clock: { now: () => rig.now },
    report: {
      added: (records) => void (counts.added += records),
      overflowed: (records) => void (counts.overflowed += records),
      written: (records) => void (counts.written += records),
      groups: (read) => void (counts.groups = read),
    },
  });
  await sink.start();
  return Object.assign(rig, {
    write(...lines: string[]) {
      sink.write(Buffer.from(lines.map((line) => `${line}\n`).join("")), lines.length);
    },
    stop: () => sink.stop(),
  });
}

const flow = (source: string, bytes: number | string, more = ""): string =>
  `{"@timestamp":"2026-11-22T12:00:15Z","flow.export.ip.addr":"192.0.2.254","flow.src.ip.addr":"${source}"${more},"flow.raw.bytes":1,"flow.bytes":${bytes},"flow.packets":2}`;

test("records of an interval become one for each group; times are the first and the last", async () => {
  const rig = await createRig(["flow.src.ip.addr", "flow.src.site.name"]);
  const times = (start: string, end: string): string =>
    `,"flow.start.timestamp":"2026-11-22T11:59:${start}Z","flow.end.timestamp":"2026-11-22T12:00:${end}Z"`;
  rig.write(flow("10.0.0.1", 100, times("55.25", "01")), flow("10.0.0.2", 7, `,"flow.src.site.name":"é\\"x"`));
  rig.write(flow("10.0.0.1", 900, times("55", "01.5")), flow("10.0.0.1", 0, times("56", "00")));
  assert.deepEqual(rig.out, []);
  assert.equal(rig.counts.groups(), 2);
  rig.now += minute;
  rig.write(flow("10.0.0.3", 5));
  assert.deepEqual(rig.out, [
    '{"@timestamp":"2026-11-22T12:00:00.000Z","flow.record.type":"rollup","flow.src.ip.addr":"10.0.0.1","flow.start.timestamp":"2026-11-22T11:59:55Z","flow.end.timestamp":"2026-11-22T12:00:01.5Z","flow.bytes":1000,"flow.packets":6,"flow.raw.bytes":3,"flow.rollup.records":3}\n' +
      '{"@timestamp":"2026-11-22T12:00:00.000Z","flow.record.type":"rollup","flow.src.ip.addr":"10.0.0.2","flow.src.site.name":"é\\"x","flow.bytes":7,"flow.packets":2,"flow.raw.bytes":1,"flow.rollup.records":1}\n',
  ]);
  await rig.stop();
  assert.match(rig.out[1] ?? "", /^\{"@timestamp":"2026-11-22T12:01:00\.000Z",.*"10\.0\.0\.3"/);
  assert.equal(rig.out[2], "stopped");
  assert.deepEqual({ ...rig.counts, groups: rig.counts.groups() }, { added: 5, overflowed: 0, written: 3, groups: 0 });
});

test("what is no flow with counters passes as it comes", async () => {
  const rig = await createRig(["flow.src.ip.addr"]);
  const others = [
    '{"system.ip.addr":"192.0.2.1","netif.bytes":7}',
    '{"flow.export.ip.addr":"192.0.2.1","flow.record.type":"options","flow.bytes":7}',
    '{"flow.export.ip.addr":"192.0.2.1","flow.nat.event.id":1}',
    '{"flow.export.ip.addr":"192.0.2.1","flow.raw.bytes":[1,2]}',
    '{"flow.export.ip.addr":"192.0.2.1","flow.bytes":1.5}',
  ];
  rig.write(...others, flow("10.0.0.1", 1));
  assert.deepEqual(rig.out, [others.map((line) => `${line}\n`).join("")]);
  await rig.stop();
  assert.equal(rig.counts.added, 1);
});

test("groups beyond the limit leave as they are, and nothing is lost", async () => {
  const rig = await createRig(["flow.src.ip.addr"], 2);
  rig.write(flow("10.0.0.1", 1), flow("10.0.0.2", 2), flow("10.0.0.3", 3), flow("10.0.0.1", 4));
  assert.deepEqual(rig.out, [`${flow("10.0.0.3", 3)}\n`]);
  assert.deepEqual([rig.counts.added, rig.counts.overflowed], [3, 1]);
  await rig.stop();
  assert.match(rig.out[1] ?? "", /"10\.0\.0\.1".*"flow\.bytes":5,[^]*"10\.0\.0\.2".*"flow\.bytes":2,/);
});

test("an interval without records ends by itself, many groups leave in pieces", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  cleanUp(t, () => mock.timers.reset());
  const rig = await createRig(["flow.src.ip.addr"], 10_000);
  rig.write(...Array.from({ length: 9000 }, (_, i) => flow(`10.0.${i >> 8}.${i & 255}`, i)));
  rig.now += minute - 15_000;
  mock.timers.tick(minute - 15_000);
  assert.equal(rig.out.length, 1, "the rest waits for its turn");
  while (rig.counts.written < 9000) await new Promise(setImmediate);
  assert.ok(rig.out.length > 2);
  const sum = rig.out
    .join("")
    .trimEnd()
    .split("\n")
    .reduce((all, line) => all + Number((JSON.parse(line) as Record<string, number>)["flow.bytes"]), 0);
  assert.equal(sum, (9000 * 8999) / 2);
  await rig.stop();
  assert.equal(rig.counts.written, 9000);
});

test("a clock that is set back begins another interval", async () => {
  const rig = await createRig([]);
  rig.write(flow("10.0.0.1", 1));
  rig.now -= 10 * minute;
  rig.write(flow("10.0.0.1", 1));
  assert.equal(rig.counts.written, 1);
  await rig.stop();
  assert.match(rig.out[1] ?? "", /^\{"@timestamp":"2026-11-22T11:50:00\.000Z"/);
});

const names = ["flow.bytes", "flow.packets", "flow.raw.bytes", "flow.reverse.bytes", "flow.reverse.scaled.packets"];

test("as the model: sums of BigInts by chosen fields, exact beyond 2^53", async () => {
  const counter = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: 0n, max: 1000n }),
    fc.constantFrom(2n ** 53n - 1n, 2n ** 53n, 999_999_999_999_999n, 10n ** 15n),
  );
  const record = fc.record(
    {
      a: fc.constantFrom("1", '"x"', '["x","y"]', "true", '"ü,\\"}"'),
      b: fc.constantFrom("1", '"x"'),
      other: fc.constantFrom("1", '"flow.bytes"', "[1,[2]]"),
      counters: fc.dictionary(fc.constantFrom(...names), counter, { minKeys: 1 }),
    },
    { requiredKeys: ["counters"] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 40 }), async (records) => {
      const rig = await createRig(["a", "b"]);
      const expected = new Map<string, Map<string, bigint>>();
      for (const { a, b, other, counters } of records) {
        const parts = Object.entries({ a, b, other }).filter(([, value]) => value !== undefined);
        const counted = Object.entries(counters);
        const all = [...parts, ...counted].map(([name, value]) => `${JSON.stringify(name)}:${value}`);
        rig.write(`{"flow.export.ip.addr":"192.0.2.1",${all.join(",")}}`);
        const key = [a && `"a":${a}`, b && `"b":${b}`].filter((part) => part !== undefined).join(",");
        const sums = expected.get(key) ?? new Map<string, bigint>();
        expected.set(key, sums);
        for (const [name, value] of [...counted, ["records", 1n] as const]) {
          sums.set(name, (sums.get(name) ?? 0n) + value);
        }
      }
      await rig.stop();
      const lines = rig.out
        .slice(0, -1)
        .join("")
        .split("\n")
        .filter((line) => line !== "");
      const found = lines.map((line) => {
        const [, key = "", sums = ""] =
          /^\{"@timestamp":"[^"]*","flow\.record\.type":"rollup",?(.*?),?("flow\.(?:bytes|packets|raw|reverse)[^]*)\}$/.exec(
            line,
          ) ?? [];
        return [key, sums.replace("flow.rollup.records", "records").split(",").toSorted()] as const;
      });
      assert.deepEqual(
        new Map(found),
        new Map(
          [...expected].map(([key, sums]) => [key, [...sums].map(([name, sum]) => `"${name}":${sum}`).toSorted()]),
        ),
      );
    }),
    runs(200),
  );
});
