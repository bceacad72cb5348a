import assert from "node:assert/strict";
import { test } from "node:test";
import { replayMigrated } from "../support/netobserv-trial.ts";
import { startPartner } from "../support/partner.ts";

/** What panels of NetObserv's dashboards ask: the pattern of their data view, and a filter; each has to find something. */
const panels: readonly (readonly [pattern: string, filter: string])[] = [
  ["elastiflow-*-codex-*", "flow.client.ip.addr:* AND flow.server.ip.addr:*"],
  [
    "elastiflow-flow-codex-*",
    'l4.proto.name:"TCP" AND tcp.flags.bits:2 AND NOT flow.src.as.org:"PRIVATE" AND flow.export.type:("ipfix" OR "netflow")',
  ],
  ["elastiflow-flow-codex-*", 'l4.proto.name:"UDP" AND NOT flow.src.l4.port.id:123 AND flow.dst.l4.port.id:123'],
  ["elastiflow-flow-codex-*", 'flow.locality:"private" AND flow.server.l4.port.id:22'],
  ["elastiflow-flow-codex-*", 'l4.session.established:"false" AND flow.server.l4.port.name:*'],
  ["elastiflow-telemetry_*-codex-*", "netif.index:* OR flow.export.ip.addr:*"],
];
const ecsPanels: typeof panels = [
  ["elastiflow-*-ecs-*", "client.ip:* AND server.ip:*"],
  ["elastiflow-flow-ecs-*", 'network.transport:"tcp" AND network.type:"ipv4" AND event.dataset:("netflow" OR "ipfix")'],
  ["elastiflow-flow-ecs-*", 'network.transport:"udp" AND NOT client.as.organization.name:"Example"'],
  ["elastiflow-flow-ecs-*", 'flow.locality:"private" AND source.as.organization.name:"PRIVATE"'],
];
/** What panels split by; a text that is analysed, or one that is no field of the index, has no buckets. */
const terms = [
  "l4.proto.name",
  "flow.server.l4.port.name",
  "as.label",
  "ip.dscp.name",
  "geo.city.name",
  "flow.locality",
];

test("a real Elasticsearch has what NetObserv's dashboards ask, from an unedited Compose file and config migrate", async (t) => {
  const { url } = await startPartner(t, "elasticsearch");
  const ask = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(new URL(path, String(url)), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Record<string, unknown>;
  };
  for (const isEcs of [false, true]) {
    const { code, replayed } = await replayMigrated(t, Number(new URL(String(url)).port), isEcs);
    assert.equal(code, 0, replayed);
  }
  await fetch(new URL("/elastiflow-*/_refresh", String(url)), { method: "POST" });
  for (const [pattern, filter] of [...panels, ...ecsPanels]) {
    const answer = await ask(`/${pattern}/_count`, {
      query: { query_string: { query: filter, analyze_wildcard: true } },
    });
    assert.ok(Number(answer["count"]) > 0, `${pattern}: ${filter}: ${JSON.stringify(answer)}`);
  }
  const aggs = Object.fromEntries(terms.map((field) => [field.replaceAll(".", "-"), { terms: { field } }]));
  const { aggregations } = await ask("/elastiflow-flow-codex-*/_search", { size: 0, aggs });
  for (const [name, { buckets }] of Object.entries(aggregations as Record<string, { buckets: object[] }>)) {
    assert.ok(buckets.length > 0, name);
  }
  const sums = { sum: { sum: { field: "flow.bytes" } } };
  const { aggregations: summed } = await ask("/elastiflow-flow-codex-*/_search", { size: 0, aggs: sums });
  assert.ok((summed as { sum: { value: number } }).sum.value > 0);
});
