import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsView } from "../../src/app/views/collector-views.ts";
import { createOverview } from "../../src/app/views/overview-view.ts";
import { createMetrics } from "../../src/base/report/index.ts";

interface Answer {
  readonly recentSeconds: number;
  readonly recordsTotal: number;
  readonly recordsPerSecond: number | null;
  readonly losses: readonly {
    readonly what: string;
    readonly of?: string;
    readonly unit: string;
    readonly total: number;
    readonly recent: number;
  }[];
}

test("losses are shown by their counters, with what is new, and rates by the readings before", async () => {
  const metrics = createMetrics();
  let ms = 0;
  const records = metrics.counter("netgloss_flow_records_total", "Records.", ["protocol"]);
  const missing = metrics.counter("netgloss_flow_missing_total", "Missing.", { protocol: ["ipfix"] });
  const recovered = metrics.counter("netgloss_flow_recovered_total", "Recovered.", { protocol: ["ipfix"] });
  const drops = metrics.counter("netgloss_output_dropped_records_total", "Dropped.", ["output", "reason"]);
  const refused = metrics.counter("netgloss_output_refused_records_total", "Refused.", ["output"]);
  const view = createOverview(metrics, { now: () => 1000 + ms, monotonic: () => ms });
  const ask = async (at: number): Promise<Answer> => {
    ms = at;
    return (await view()) as Answer;
  };

  records.add(100, { protocol: "ipfix" });
  missing.add(7, { protocol: "ipfix" });
  recovered.add(2, { protocol: "ipfix" });
  const first = await ask(0);
  assert.deepEqual([first.recordsTotal, first.recordsPerSecond, first.recentSeconds], [100, null, 0]);
  assert.deepEqual(
    first.losses.map(({ of, total, recent }) => [of, total, recent]),
    [["ipfix", 5, 0]],
  );

  records.add(500, { protocol: "netflow9" });
  drops.add(3, { output: "http", reason: "queue_full" });
  drops.add(4, { output: "http", reason: "closed" });
  refused.add(2, { output: "loki" });
  const soon = await ask(1999);
  assert.equal(soon.recordsTotal, 100, "counters are read every two seconds at most");
  const second = await ask(5000);
  assert.deepEqual([second.recordsTotal, second.recordsPerSecond, second.recentSeconds], [600, 100, 5]);
  assert.deepEqual(
    second.losses.map(({ of, total, recent }) => [of, total, recent]),
    [
      ["ipfix", 5, 0],
      ["http", 7, 7],
      ["loki", 2, 2],
    ],
  );

  records.add(600, { protocol: "ipfix" });
  const later = await ask(65_000);
  assert.equal(later.recordsPerSecond, 10, "over the last half minute, or as far back as readings go");
  const muchLater = await ask(305_001);
  assert.deepEqual(
    muchLater.losses.map(({ total, recent }) => [total, recent]),
    [
      [5, 0],
      [7, 0],
      [2, 0],
    ],
    "what is older than five minutes is not new",
  );
});

test("what is missing has the unit that the sequence numbers of its protocol count", async () => {
  const metrics = createMetrics();
  const missing = metrics.counter("netgloss_flow_missing_total", "Missing.", ["protocol"]);
  for (const protocol of ["netflow5", "netflow7", "netflow9", "ipfix", "sflow"]) missing.add(1, { protocol });
  const view = createOverview(metrics, { now: () => 0, monotonic: () => 0 });
  const { losses } = (await view()) as Answer;
  assert.deepEqual(Object.fromEntries(losses.map(({ of, unit }) => [of, unit])), {
    netflow5: "records",
    netflow7: "records",
    netflow9: "datagrams",
    ipfix: "records",
    sflow: "datagrams",
  });
});

test("fields say whether enrichment adds them", () => {
  const { fields, patterns, shortNames } = fieldsView();
  const isAdded = (name: string): boolean | undefined => fields.find((field) => field.name === name)?.isAdded;
  const added = ["flow.src.ip.subnet.name", "flow.dst.geo.city.name", "flow.src.l4.port.name", "flow.client.ip.addr"];
  const sent = [
    "flow.src.ip.addr",
    "flow.bytes",
    "flow.src.as.asn",
    "@timestamp",
    "flow.in.netif.index",
    "l4.proto.id",
  ];
  assert.deepEqual(
    added.map(isAdded),
    added.map(() => true),
  );
  assert.deepEqual(
    sent.map(isAdded),
    sent.map(() => false),
  );
  assert.deepEqual(
    ["flow.ie.*", "flow.src.*"].map((wanted) => patterns.find(({ pattern }) => pattern === wanted)?.isAdded),
    [false, true],
  );
  assert.deepEqual(shortNames.find(({ name }) => name === "src.name")?.fields, ["flow.src.ip.subnet.name"]);
});
