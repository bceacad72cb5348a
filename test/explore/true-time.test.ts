import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery } from "../../src/explore/index.ts";
import { openExplore, takeLines } from "./explore-fixture.ts";
import { now } from "./query-cases.ts";
import { lineOf, type ModelRecord } from "./query-model.ts";

const begin = now - 3_600_000;
const packetBytes = 1000;

/** Flows of steady packets, reported in parts by an exporter with a time-out, whose clock is ahead. @returns records and the truth by buckets. */
function simulate(timeOutMs: number, ahead: number, bucketMs: number): { records: ModelRecord[]; truth: number[] } {
  const truth = Array.from({ length: 3_600_000 / bucketMs }, () => 0);
  const records: ModelRecord[] = [];
  for (let flow = 0; flow < 150; flow++) {
    // Prime steps, so that flows begin and end anywhere, and last from seconds to most of the hour.
    const start = begin + ((flow * 104_729) % 3_000_000);
    const end = Math.min(now - 1000, start + 5000 + ((flow * 611_953) % 3_300_000));
    const gap = 20 + ((flow * 37) % 160);
    for (let first = start; first < end; first += timeOutMs) {
      const until = Math.min(first + timeOutMs, end);
      const packets = Math.ceil((until - first) / gap);
      const last = first + (packets - 1) * gap;
      for (let i = 0; i < packets; i++) {
        const bucket = Math.floor((first + i * gap - begin) / bucketMs);
        truth[bucket] = (truth[bucket] as number) + packetBytes;
      }
      records.push({
        "@timestamp": new Date(until + 500).toISOString(),
        "flow.export.ip.addr": "192.0.2.1",
        "flow.export.type": "ipfix",
        "flow.export.clock.offset": ahead,
        "flow.start.timestamp": new Date(first + ahead).toISOString(),
        "flow.end.timestamp": new Date(last + ahead).toISOString(),
        "flow.bytes": packets * packetBytes,
        "flow.packets": packets,
      });
    }
  }
  return { records, truth };
}

for (const [seconds, ahead] of [
  [60, 0],
  [300, -7_200_000],
  [1800, 90_000],
] as const) {
  test(`time-outs of ${seconds} s, a clock ${ahead} ms ahead: buckets have what the packets had, but for one in a hundred`, async (t) => {
    const explore = await openExplore(t, { clockNow: () => now });
    const { records, truth } = simulate(1000 * seconds, ahead, 10_000);
    takeLines(explore, Buffer.from(records.map(lineOf).join("")));
    await explore.flush();
    const range = { from: new Date(begin).toISOString(), to: new Date(now).toISOString() };
    const seriesOf = async (granularity: string, when: string): Promise<readonly number[]> => {
      const query = readQuery({ ...range, granularity, when }, now);
      return (await explore.query(query, new AbortController().signal)).total.series ?? [];
    };
    const flowed = await seriesOf("10s", "flowed");
    assert.equal(
      flowed.reduce((a, b) => a + b, 0),
      truth.reduce((a, b) => a + b, 0),
    );
    // Where few packets are, one of them is more than a hundredth.
    const many = truth.flatMap((bytes, i) =>
      bytes >= 500 * packetBytes ? [[bytes, flowed[i] as number] as const] : [],
    );
    assert.ok(many.length > 300, `${many.length}`);
    assert.deepEqual(
      many.filter(([bytes, shown]) => Math.abs(shown - bytes) > 0.01 * bytes),
      [],
    );
    // By the time of receipt most buckets are far off.
    const received = await seriesOf("10s", "received");
    assert.ok(truth.filter((bytes, i) => Math.abs((received[i] as number) - bytes) > 0.1 * bytes).length > 100);

    // The 95th percentile of five minutes, as it is billed by interface counters.
    const counters = Array.from({ length: 12 }, (_, i) => truth.slice(30 * i, 30 * (i + 1)).reduce((a, b) => a + b, 0));
    const p95 = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[11] as number;
    const billed = p95(await seriesOf("5m", "flowed"));
    assert.ok(Math.abs(billed / p95(counters) - 1) < 0.02, `${billed}`);
  });
}
