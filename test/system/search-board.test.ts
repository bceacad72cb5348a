// The board of traffic on OpenSearch: every panel asks what a real server answers with rows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { recordFields } from "../../src/record/index.ts";
import { batchOf } from "../output/delivery/batch-fixture.ts";
import { searchServer } from "../output/search/search-fixture.ts";
import { adapterOf } from "../output/adapter-fixture.ts";
import { startPartner } from "../support/partner.ts";

interface Aggregation {
  readonly id: string;
  readonly type: string;
  readonly field?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

interface Target {
  readonly query: string;
  readonly metrics: readonly Aggregation[];
  readonly bucketAggs: readonly Aggregation[];
}

interface Buckets {
  readonly buckets: readonly Readonly<Record<string, unknown>>[];
}

/** What Grafana's data source asks for a target. */
function searchOf({ query, metrics, bucketAggs }: Target): object {
  return {
    size: 0,
    query: { query_string: { query: query.replaceAll("${exporter}", "*") } },
    aggs: aggregationsOf(metrics, bucketAggs),
  };
}

/** Buckets in buckets, each with all sums. */
function aggregationsOf(metrics: readonly Aggregation[], [first, ...inner]: readonly Aggregation[]): object {
  if (first === undefined) return {};
  const { id, type, field, settings = {} } = first;
  const { size, order, orderBy = "", missing } = settings;
  const body =
    type === "date_histogram"
      ? { field, fixed_interval: "1m" }
      : { field, size: Number(size), order: { [orderBy]: order }, ...(missing !== undefined && { missing }) };
  const sums = metrics.filter((metric) => metric.type === "sum").map((sum) => [sum.id, { sum: { field: sum.field } }]);
  return { [id]: { [type]: body, aggs: { ...Object.fromEntries(sums), ...aggregationsOf(metrics, inner) } } };
}

test("every question of the board of traffic is one that OpenSearch answers", async (t) => {
  const { url } = await startPartner(t, "opensearch");
  const board = readFileSync(join(import.meta.dirname, "../../../monitoring/grafana/traffic-opensearch.json"), "utf8");
  const { panels } = JSON.parse(board) as { panels: { title: string; targets: Target[] }[] };
  const adapter = adapterOf("OPENSEARCH", searchServer(String(url)));
  const never = new AbortController().signal;
  await adapter.open(never);
  const record = Object.fromEntries(recordFields.map(({ name, example }) => [name, example]));
  await adapter.send(batchOf([JSON.stringify(record)]), never);
  await adapter.close();
  const ask = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(new URL(path, String(url)), {
      method: "POST",
      headers: { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return JSON.parse(text) as Record<string, unknown>;
  };
  await ask("/netgloss-flow*/_refresh");
  assert.ok(panels.length > 5);
  for (const { title, targets } of panels) {
    for (const target of targets) {
      let found = (await ask("/netgloss-flow*/_search", searchOf(target)))["aggregations"] as Record<string, Buckets>;
      for (const { id } of target.bucketAggs) {
        const [bucket] = found[id]?.buckets ?? [];
        assert.ok(bucket !== undefined, `${title}: no rows`);
        found = bucket as Record<string, Buckets>;
      }
      for (const { id, type } of target.metrics) {
        if (type !== "sum") continue;
        const { value } = found[id] as unknown as { readonly value: number };
        assert.ok(value > 0, `${title}: nothing in sum ${id}`);
      }
    }
  }
});
