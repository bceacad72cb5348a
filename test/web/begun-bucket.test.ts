import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExploreAnswer } from "../../web/src/api/explore-answer.ts";
import { isLastBegun, withoutBegunBucket } from "../../web/src/api/begun-bucket.ts";

const at = (second: string): string => `2026-03-01T10:00:${second}Z`;

function answerTo(to: string, times = [at("00"), at("10"), at("20")]): ExploreAnswer {
  const value = { value: 5, series: times.map((_, index) => index + 1) };
  return {
    from: at("00"),
    to,
    granularitySeconds: 10,
    measure: "bits_per_second",
    when: "flowed",
    unit: "bit/s",
    dimensions: ["flow.src.ip.addr"],
    times,
    rows: [{ ...value, key: ["10.0.0.1"], share: 1 }],
    others: { value: 0, keys: 0, share: 0 },
    total: value,
    sampling: 1,
    complete: true,
    parts: [],
    store: "duckdb",
    elapsedMs: 1,
  };
}

test("a value whose time has just begun is not drawn; sums stay", () => {
  const cut = withoutBegunBucket(answerTo(at("24.999")));
  assert.deepEqual(cut.times, [at("00"), at("10")]);
  assert.deepEqual(cut.rows[0]?.series, [1, 2]);
  assert.deepEqual(cut.total, { value: 5, series: [1, 2] });
  assert.deepEqual(cut.others, { value: 0, keys: 0, share: 0 });
});

test("a value without records is not drawn before its time is over: records may be on their way", () => {
  const empty = (to: string): ExploreAnswer => ({ ...answerTo(to), total: { value: 3, series: [1, 2, 0] } });
  assert.deepEqual(withoutBegunBucket(empty(at("29.9"))).times, [at("00"), at("10")]);
  assert.equal(withoutBegunBucket(empty(at("30"))).times?.length, 3);
});

test("a value of half its time or more is drawn, and so is each of a short answer or of one without a course", () => {
  for (const whole of [answerTo(at("25")), answerTo(at("30")), answerTo(at("11"), [at("00"), at("10")])]) {
    assert.equal(withoutBegunBucket(whole), whole);
  }
  const { times, ...rest } = answerTo(at("24"));
  assert.equal(times?.length, 3);
  assert.equal(withoutBegunBucket(rest), rest);
});

test("a last value is begun as long as its time is not over", () => {
  assert.equal(isLastBegun(answerTo(at("25"))), true);
  assert.equal(isLastBegun(answerTo(at("30"))), false);
  // Without the one that has just begun, the last one is over.
  assert.equal(isLastBegun(withoutBegunBucket(answerTo(at("24")))), false);
  assert.equal(isLastBegun({ ...answerTo(at("25")), times: [] }), false);
});
