import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Batcher } from "../../../src/output/delivery/batch.ts";
import {
  batchKey,
  joinChunks,
  positionOf,
  selectRecords,
  splitBatch,
  type Batch,
} from "../../../src/output/delivery/batch.ts";
import { Endpoints } from "../../../src/output/delivery/backoff.ts";
import { compileLineFilter, parseFilter, recordVocabulary } from "../../../src/record/index.ts";
import { cutTime } from "../../../src/output/delivery/line-editor.ts";
import { createLineFilter } from "../../../src/output/index.ts";
import { Backoff, systemClock, type Clock } from "../../../src/base/report/index.ts";
import { runs } from "../../support/runs.ts";

const text = (batch: Pick<Batch, "chunks" | "byteLength">): string => Buffer.from(joinChunks(batch)).toString();
const linesOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(""));

test("batches hold all lines in their order, within their limits, and give memory back once", () => {
  const line = fc.stringMatching(/^[a-z]{0,40}$/);
  fc.assert(
    fc.property(
      fc.array(fc.array(line, { minLength: 1, maxLength: 12 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 120 }),
      fc.integer({ min: 1, max: 9 }),
      (adds, maxBytes, maxRecords) => {
        const held: { readonly batch: Batch; readonly release: () => void }[] = [];
        const batcher = new Batcher(
          "test",
          { BATCH_MAX_BYTES: maxBytes, BATCH_DEADLINE: 60_000 },
          maxRecords,
          systemClock,
          (batch, release) => held.push({ batch, release }),
        );
        const done: number[] = adds.map(() => 0);
        for (const [i, lines] of adds.entries()) {
          batcher.add(linesOf(lines), lines.length, () => void (done[i] = (done[i] ?? 0) + 1));
        }
        batcher.flush();
        assert.equal(held.map(({ batch }) => text(batch)).join(""), linesOf(adds.flat()).toString());
        for (const [number, { batch }] of held.entries()) {
          assert.equal(batch.id.number, number);
          assert.ok(batch.count === 1 || (batch.byteLength <= maxBytes && batch.count <= maxRecords));
          assert.equal(text(batch).split("\n").length - 1, batch.count);
        }
        assert.deepEqual(
          done,
          adds.map(() => 0),
        );
        for (const { release } of held) release();
        assert.ok(done.every((times) => times === 1));
      },
    ),
    runs(200),
  );
});

test("a batch leaves at its deadline", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const held: { readonly batch: Batch; readonly release: () => void }[] = [];
  const batcher = new Batcher(
    "test",
    { BATCH_MAX_BYTES: 100, BATCH_DEADLINE: 50 },
    100,
    systemClock,
    (batch, release) => held.push({ batch, release }),
  );
  batcher.add(linesOf(["a"]), 1, () => {});
  t.mock.timers.tick(49);
  assert.equal(held.length, 0);
  batcher.add(linesOf(["b"]), 1, () => {});
  t.mock.timers.tick(1);
  assert.deepEqual(
    held.map(({ batch }) => text(batch)),
    ["a\nb\n"],
  );
});

test("records of a batch keep their identity when they are sent again", () => {
  const whole: Batch = {
    id: { instance: "abc", number: 37 },
    chunks: [linesOf(["a", "b"]), linesOf(["c", "d", "e"])],
    count: 5,
    byteLength: 10,
    oldestAt: 0,
  };
  const some = selectRecords(whole, [1, 2, 4]);
  const again = selectRecords(some, [0, 2]);
  assert.equal(text(again), "b\ne\n");
  assert.deepEqual([positionOf(again, 0), positionOf(again, 1)], [1, 4]);
  assert.equal(batchKey(again.id), "abc-11");
  const [first, second] = splitBatch(whole);
  assert.deepEqual([text(first), text(second)], ["a\nb\n", "c\nd\ne\n"]);
  assert.deepEqual([positionOf(second, 0), second.count, second.byteLength], [2, 3, 6]);
});

test("the wait doubles, has a random half, and heeds the server", () => {
  const backoff = new Backoff(100, 1000, () => 0);
  assert.deepEqual(
    [1, 2, 3, 4, 5, 60].map((failures) => backoff.delay(failures)),
    [50, 100, 200, 400, 500, 500],
  );
  assert.equal(new Backoff(100, 1000, () => 0.99).delay(1), 99.5);
  assert.equal(new Backoff(100, 1000).delay(3), 400, "without a random part all of it");
  assert.equal(backoff.delay(1, 5000), 5000);
  assert.equal(backoff.delay(1, 10 ** 9), 600_000);
});

test("requests go round the endpoints that work", () => {
  let now = 0;
  const clock: Clock = { now: () => now, monotonic: () => now };
  const endpoints = new Endpoints(["a", "b", "c"], clock);
  const next = (count: number): string => Array.from({ length: count }, () => endpoints.next()).join("");
  assert.equal(next(4), "abca");
  endpoints.failed("c");
  assert.equal(next(4), "baba");
  now += 1000;
  assert.equal(next(3).includes("c"), true);
  for (const url of ["a", "b", "c"]) endpoints.failed(url);
  assert.equal(endpoints.next(), "a", "none works: the one whose rest is over first");
  endpoints.worked("b");
  assert.equal(next(2), "bb");
});

const flow = `{"@timestamp":"2026-01-01T00:00:00.000Z","flow.export.ip.addr":"192.0.2.1","flow.bytes":9007199254740993}`;
const options = `{"@timestamp":"t","flow.export.ip.addr":"192.0.2.1","flow.record.type":"options","x":1}`;
const counters = `{"@timestamp":"t","flow.export.ip.addr":"192.0.2.1","flow.record.type":"counters","x":1}`;
const snmp = `{"@timestamp":"t","system.ip.addr":"192.0.2.1","snmp.object.name":"if"}`;

test("an output takes the records of its types", () => {
  const all = linesOf([flow, options, counters, snmp]);
  const pass = (...types: ("flow" | "flow_option" | "telemetry")[]): string =>
    Buffer.from(createLineFilter({ types })?.(all, 4)?.lines ?? []).toString();
  assert.equal(pass("flow"), linesOf([flow]).toString());
  assert.equal(pass("flow_option"), linesOf([options]).toString());
  assert.equal(pass("telemetry"), linesOf([counters, snmp]).toString());
  assert.equal(pass("telemetry", "flow"), linesOf([flow, counters, snmp]).toString());
  assert.equal(createLineFilter({ types: ["flow", "flow_option", "telemetry"] }), undefined, "nothing is looked at");
  assert.equal(createLineFilter({ types: ["flow_option"] })?.(linesOf([flow]), 1), undefined);
});

test("an output takes the records that match its filter, and counts the others of its types", () => {
  const matches = compileLineFilter(parseFilter("bytes > 9PB or system exists", "test", recordVocabulary));
  let others = 0;
  const filter = createLineFilter({
    types: ["flow", "telemetry"],
    matches,
    filtered: (records) => void (others += records),
  });
  const got = filter?.(linesOf([flow, options, counters, snmp]), 4);
  assert.equal(Buffer.from(got?.lines ?? []).toString(), linesOf([flow, snmp]).toString());
  assert.deepEqual([got?.count, others], [2, 1]);
  assert.equal(got?.lines.buffer.byteLength, got?.lines.length, "no more memory than the lines");
});

test("times lose decimals, and nothing else changes", () => {
  const cut = (decimals: number, line: string): string =>
    Buffer.from(
      createLineFilter({ dropFields: ["x"], edits: new Map([["t", cutTime(decimals)]]) })?.(linesOf([line]), 1)
        ?.lines ?? [],
    ).toString();
  const line = '{"a":"2026-11-22T04:00:00.123456789Z","t":"2026-11-22T04:00:00.123456789Z","x":[1],"b":1.5}';
  const of = (time: string): string => `{"a":"2026-11-22T04:00:00.123456789Z","t":"${time}","b":1.5}\n`;
  assert.equal(cut(0, line), of("2026-11-22T04:00:00Z"));
  assert.equal(cut(3, line), of("2026-11-22T04:00:00.123Z"));
  assert.equal(cut(6, line), of("2026-11-22T04:00:00.123456Z"));
  assert.equal(cut(3, '{"t":"2026-11-22T04:00:00Z"}'), '{"t":"2026-11-22T04:00:00Z"}\n');
  assert.equal(cut(3, '{"t":"2026-11-22T04:00:00.1Z"}'), '{"t":"2026-11-22T04:00:00.1Z"}\n');
});

test("dropping fields leaves every other byte as it was", () => {
  const name = fc.stringMatching(/^[a-z.@"\\,{}:]{1,6}$/);
  const value = fc.oneof(
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.string(),
    fc.constant('","a":"'),
    fc.array(fc.oneof(fc.integer(), fc.string(), fc.dictionary(fc.constantFrom("a", "b", "c"), fc.string()))),
  );
  fc.assert(
    fc.property(
      fc.array(
        fc.uniqueArray(fc.tuple(fc.oneof(fc.constantFrom("a", "b", "c"), name), value), { selector: ([key]) => key }),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
      fc.subarray(["a", "b", "c", "d"], { minLength: 1 }),
      (records, drop) => {
        const write = (fields: [string, unknown][]): string =>
          `{${fields.map(([key, of]) => `${JSON.stringify(key)}:${JSON.stringify(of)}`).join(",")}}`;
        const lines = linesOf(records.map(write));
        const kept = records.map((fields) => write(fields.filter(([key]) => !drop.includes(key))));
        const got = createLineFilter({ dropFields: drop })?.(lines, records.length);
        assert.equal(Buffer.from(got?.lines ?? []).toString(), linesOf(kept).toString());
      },
    ),
    runs(300),
  );
});
