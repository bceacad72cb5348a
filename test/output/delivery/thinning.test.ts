import assert from "node:assert/strict";
import { test } from "node:test";
import { createLineFilter, Thinning } from "../../../src/output/index.ts";

/** Numbers from 0 up to 1 that look drawn by lot, from a seed (xorshift). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

interface Site {
  bytes: number;
  packets: number;
  records: number;
}

const sites = ["a", "b"];

test("sums by site stay right within 1 % when one record of a hundred is kept", () => {
  const clock = { at: 0, monotonic: () => clock.at };
  const random = createRandom(1);
  let thinned = 0;
  const thinning = new Thinning({
    maxRate: 1000,
    byExporter: true,
    hasScaledCounters: true,
    clock,
    random,
    thinned: (records) => void (thinned += records),
  });
  const shape = createLineFilter({ thinning });
  const empty = (): Record<string, Site> =>
    Object.fromEntries(sites.map((site) => [site, { bytes: 0, packets: 0, records: 0 }]));
  const sent = empty();
  const got = empty();
  let kept = 0;
  const seconds = 10;
  const perBatch = 1000;
  for (let i = 0; i < seconds * 100; i++) {
    clock.at = i * 10;
    let lines = "";
    for (let j = 0; j < perBatch; j++) {
      // Sites, and records of both directions, come in turns: what is kept must not keep step with them.
      const site = sites[j & 1] as string;
      const bytes = (j & 2) === 0 ? 100 : 100 + Math.floor(100 * random());
      const of = sent[site] as Site;
      of.bytes += 10 * bytes;
      of.packets += 10;
      of.records++;
      lines += `{"s":"${site}","flow.export.ip.addr":"192.0.2.1","flow.raw.bytes":${bytes},"flow.sample_rate":10,"flow.bytes":${10 * bytes},"flow.packets":10}\n`;
    }
    const shaped = shape?.(Buffer.from(lines), perBatch);
    for (const line of Buffer.from(shaped?.lines ?? [])
      .toString()
      .split("\n")) {
      if (line === "") continue;
      const record = JSON.parse(line) as {
        s: string;
        "flow.sample_rate": number;
        "flow.bytes": number;
        "flow.packets": number;
      };
      const of = got[record.s] as Site;
      of.bytes += record["flow.bytes"];
      of.packets += record["flow.packets"];
      of.records += record["flow.sample_rate"] / 10;
      kept++;
    }
  }
  const all = seconds * 100 * perBatch;
  assert.equal(kept + thinned, all, "every record is kept or counted");
  // In the first second, until the rate is known, more are kept.
  assert.ok(kept < seconds * 1000 * 1.8, `${kept} kept`);
  for (const site of sites) {
    for (const measure of ["bytes", "packets", "records"] as const) {
      const ratio = (got[site] as Site)[measure] / (sent[site] as Site)[measure];
      assert.ok(Math.abs(ratio - 1) < 0.01, `${measure} of ${site}: ${ratio}`);
    }
  }
});

test("each exporter has its own rate, and what has no sampling rate is not thinned", () => {
  const clock = { at: 0, monotonic: () => clock.at };
  let thinned = 0;
  const thinning = new Thinning({
    maxRate: 2,
    byExporter: true,
    hasScaledCounters: false,
    clock,
    random: () => 0,
    thinned: (records) => void (thinned += records),
  });
  const shape = createLineFilter({ thinning, dropFields: ["x"] });
  const flow = (exporter: number, rate = "1"): string =>
    `{"flow.export.ip.addr":"192.0.2.${exporter}","x":1,"flow.bytes":7,"flow.sample_rate":${rate},"flow.scaled.bytes":18446744073709551615}\n`;
  const pass = (lines: string): string[] =>
    Buffer.from(shape?.(Buffer.from(lines), lines.split("\n").length - 1)?.lines ?? [])
      .toString()
      .trimEnd()
      .split("\n");
  assert.equal(pass(flow(1).repeat(2) + flow(2).repeat(2)).length, 4);
  assert.equal(thinned, 0);
  // Two were kept, so groups of two follow, then of four.
  const [first = "", ...rest] = pass(flow(1, "1.5").repeat(4));
  assert.equal(
    first,
    '{"flow.export.ip.addr":"192.0.2.1","flow.bytes":7,"flow.sample_rate":3,"flow.scaled.bytes":36893488147419103230}',
  );
  assert.equal(rest.length, 1);
  assert.equal(thinned, 2);
  assert.equal(pass('{"system.ip.addr":"192.0.2.1"}\n'.repeat(9)).length, 9);
  // A second later the rate is known: 6 a second are three times as many as may be.
  clock.at = 1000;
  const later = pass(flow(1).repeat(3)).map((line) => (JSON.parse(line) as Record<string, number>)["flow.sample_rate"]);
  assert.deepEqual(later, [3]);
});

test("scaled counters grow with the rate, those as exported stay", () => {
  const thinning = new Thinning({
    maxRate: 1,
    byExporter: false,
    hasScaledCounters: true,
    clock: { monotonic: () => 0 },
    random: () => 0,
    thinned() {},
  });
  const shape = createLineFilter({ thinning });
  const line =
    '{"flow.raw.bytes":7,"flow.reverse.raw.packets":1,"flow.sample_rate":1,"flow.bytes":7,"flow.packets":9007199254740993,"flow.reverse.packets":1}\n';
  const shaped = Buffer.from(shape?.(Buffer.from(line.repeat(3)), 3)?.lines ?? []).toString();
  assert.equal(
    shaped,
    `${line}{"flow.raw.bytes":7,"flow.reverse.raw.packets":1,"flow.sample_rate":2,"flow.bytes":14,"flow.packets":18014398509481986,"flow.reverse.packets":2}\n`,
  );
});
