import assert from "node:assert/strict";
import { test } from "node:test";
import { adapterOf } from "./adapter-fixture.ts";
import { clickHouseServer } from "./clickhouse/clickhouse-fixture.ts";
import { startFakeClickHouse } from "./clickhouse/fake-clickhouse.ts";
import { batchOf } from "./delivery/batch-fixture.ts";
import { startHttpServer } from "./http/http-fixture.ts";
import { startFakeSearchServer } from "./search/fake-search-server.ts";
import { searchServer } from "./search/search-fixture.ts";

const signal = new AbortController().signal;
const flow =
  '{"@timestamp":"2026-01-01T00:00:00.000Z","host.ip":"192.0.2.1","event.dataset":"netflow","source.ip":"10.0.0.1","n":1}';
const counters =
  '{"@timestamp":"2026-01-01T00:00:00.000Z","host.ip":"192.0.2.1","event.dataset":"sflow","flow.record.type":"counters","n":2}';
const snmp = '{"@timestamp":"2026-01-01T00:00:00.000Z","host.ip":"192.0.2.9","snmp.object.name":"if","n":3}';

test("the index template has the names of ECS, and records go to the index of their type", async (t) => {
  const fake = await startFakeSearchServer(t);
  const adapter = adapterOf("ELASTICSEARCH", searchServer(`http://127.0.0.1:${fake.port}`, { ECS_ENABLE: true }));
  await adapter.open(signal);
  const made = fake.puts.get("/_index_template/netgloss") as {
    template: { mappings: { properties: Record<string, { type: string }> } };
  };
  const { properties } = made.template.mappings;
  assert.deepEqual(properties["source.ip"], { type: "ip" });
  assert.deepEqual(properties["network.bytes"], { type: "unsigned_long" });
  assert.equal(properties["flow.src.ip.addr"], undefined);
  assert.ok(properties["flow.src.ip.subnet.name"], "a name that ECS does not have");
  await adapter.send(batchOf([flow, counters, snmp]), signal);
  assert.deepEqual(
    [...fake.documents].map(([id, { n }]) => [id.split("/")[0], n]),
    [
      ["netgloss-flow", 1],
      ["netgloss-telemetry", 2],
      ["netgloss-telemetry", 3],
    ],
  );
});

test("indices are called as NetObserv's are, so that its dashboards find every kind of record", async (t) => {
  const trap = '{"@timestamp":"2026-01-01T00:00:00.000Z","system.ip.addr":"192.0.2.9","snmp.trap.oid":".1","n":4}';
  const flowOfOurs = '{"@timestamp":"2026-01-01T00:00:00.000Z","flow.export.ip.addr":"192.0.2.1","n":1}';
  const sentTo = async (lines: string[], given: Parameters<typeof searchServer>[1]) => {
    const fake = await startFakeSearchServer(t);
    const naming = { INDEX_NAMING: "netobserv", INDEX_PREFIX: "elastiflow" } as const;
    const server = searchServer(`http://127.0.0.1:${fake.port}`, { ...naming, ...given });
    const adapter = adapterOf("ELASTICSEARCH", server);
    await adapter.open(signal);
    await adapter.send(batchOf(lines), signal);
    const indices = [...fake.documents].map(([id, { n }]) => [n, id.split("/")[0]]);
    const template = [...fake.puts.keys()].find((path) => path.startsWith("/_index_template/"));
    return { indices: Object.fromEntries(indices) as Record<string, string>, template };
  };
  const codex = await sentTo([flowOfOurs, snmp, trap], {});
  assert.deepEqual(codex, {
    indices: {
      1: "elastiflow-flow-codex-2.4-netgloss",
      3: "elastiflow-telemetry_snmp-codex-2.4-netgloss",
      4: "elastiflow-log-codex-2.4-netgloss",
    },
    template: "/_index_template/elastiflow-codex-netgloss",
  });
  const ecs = await sentTo([flow, counters], {
    ECS_ENABLE: true,
    INDEX_SUFFIX: "edge",
    INDEX_PERIOD: "daily",
  });
  assert.deepEqual(ecs.indices, {
    1: "elastiflow-flow-ecs-8.0-2.4-edge-netgloss-2026.01.01",
    2: "elastiflow-telemetry_flow-ecs-8.0-2.4-edge-netgloss-2026.01.01",
  });
});

test("tables of ClickHouse have columns by the names of ECS, each once", async (t) => {
  const fake = await startFakeClickHouse(t);
  const adapter = adapterOf("CLICKHOUSE", clickHouseServer(`http://127.0.0.1:${fake.port}`, { ECS_ENABLE: true }));
  await adapter.open(signal);
  for (const create of fake.statements.filter((one) => one.startsWith("CREATE TABLE"))) {
    const names = Array.from(create.matchAll(/^ {2}`(\w+)` /gm), ([, name]) => name);
    assert.equal(new Set(names).size, names.length);
    const order = create.includes("_telemetry`")
      ? /ORDER BY \(toStartOfHour\(timestamp\), host_ip, timestamp\)/
      : /`source_ip` Nullable\(IPv6\)/;
    assert.match(create, order);
  }
  await adapter.send(batchOf([flow]), signal);
  assert.equal(fake.tables.get("netgloss_flow")?.rows[0]?.["source_ip"], "10.0.0.1");
});

test("fields that settings name are found by their names in ECS", async (t) => {
  const server = await startHttpServer(t);
  const common = { ADDRESSES: [`http://127.0.0.1:${server.port}`], ECS_ENABLE: true };
  const loki = adapterOf("LOKI", { ...common, LABEL_FIELDS: ["flow.export.ip.addr"] });
  await loki.open(signal);
  await loki.send(batchOf([flow]), signal);
  assert.match(server.calls.at(-1)?.body ?? "", /"stream":\{[^}]*"host_ip":"192\.0\.2\.1"\}/);
  server.answer = (_, response) => void response.end('{"text":"Success","code":0}');
  const splunk = adapterOf("SPLUNK_HEC", { ...common, CIM_ENABLE: true });
  await splunk.open(signal);
  await splunk.send(batchOf([flow]), signal);
  assert.match(server.calls.at(-1)?.body ?? "", /"host":"192\.0\.2\.1","fields":\{[^}]*"src_ip":"10\.0\.0\.1"/);
});
