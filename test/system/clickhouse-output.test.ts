import assert from "node:assert/strict";
import { test } from "node:test";
import { recordFields } from "../../src/record/index.ts";
import { batchOf } from "../output/delivery/batch-fixture.ts";
import { clickHouseServer, type ClickHouseSettings } from "../output/clickhouse/clickhouse-fixture.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../output/delivery/output-contract.ts";
import type { OutputAdapter } from "../../src/output/index.ts";
import { adapterOf } from "../output/adapter-fixture.ts";
import { startPartner } from "../support/partner.ts";

const signal = new AbortController().signal;
const accepted = { refused: [], retry: [] };

type AdapterTo = (given: Partial<ClickHouseSettings>) => OutputAdapter;
type Ask = (query: string) => Promise<Record<string, unknown>[]>;

test("clickhouse: records arrive once through all faults, with the types of the table", async (t) => {
  const partner = await startPartner(t, "clickhouse");
  const { url } = partner;
  const target = new URL(String(url));
  const proxy = await startFaultProxy(t, target.hostname, Number(target.port));
  const adapterTo = (given: Partial<ClickHouseSettings> = {}) =>
    adapterOf("CLICKHOUSE", clickHouseServer(`http://127.0.0.1:${proxy.port}`, given));
  const ask = async (query: string): Promise<Record<string, unknown>[]> => {
    const answer = await fetch(`${String(url)}/?user=netgloss&password=secret`, {
      method: "POST",
      body: `${query} FORMAT JSONEachRow`,
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
  };

  const stranger = adapterTo({ PASSWORD: "wrong" });
  await assert.rejects(stranger.open(signal), /Authentication failed/);
  await stranger.close();

  const numbers = async (): Promise<number[]> =>
    (await ask("SELECT toInt32(other['n']) AS n FROM default.netgloss_flow")).map(({ n }) => Number(n));
  const ledger = { records: 20_000, step: 50, faultMs: 200, config: { TIMEOUT: 10, BATCH_MAX_BYTES: 200_000 } };
  // First contact comes before the faults, or it would take all of their time.
  const faulted = adapterTo({ COMPRESSION: "gzip", TABLE_TTL: 0 });
  await faulted.open(signal);
  const opened = Object.assign(faulted, { open: async () => [] });
  await keepLedger(t, { adapter: opened, proxy, isExactlyOnce: true, numbers }, ledger);

  const adapter = adapterTo({ DATABASE: "netgloss" });
  assert.deepEqual(await adapter.open(signal), []);
  const full = Object.fromEntries(recordFields.map(({ name, example }) => [name, example]));
  const flow = JSON.stringify({ ...full, "flow.record.type": "sample of the test" }).replace(
    "sample of the test",
    "discard",
  );
  const { "flow.export.ip.addr": _, ...polled } = full;
  const lines = [flow, JSON.stringify({ ...polled, ifName: "xe-0/0/7" }), numberedFlow(1)];
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  const [row] = await ask(
    "SELECT count() AS count, any(toString(flow_src_ip_addr)) AS src, any(flow_src_ip_subnet_name) AS name, any(flow_src_ip_subnet_tags) AS tags " +
      "FROM netgloss.netgloss_flow WHERE isIPAddressInRange(toString(flow_src_ip_addr), '::ffff:192.0.2.0/120')",
  );
  assert.deepEqual(
    { ...row, count: Number(row?.["count"]) },
    { count: 1, src: "::ffff:192.0.2.1", name: "office", tags: ["dmz"] },
  );
  const [others] = await ask(
    "SELECT mapKeys(other) AS names FROM netgloss.netgloss_flow WHERE flow_src_ip_addr IS NOT NULL",
  );
  const own = ((others?.["names"] ?? ["no row"]) as string[]).filter((name) =>
    /^(flow\.|@timestamp|no row)/.test(name),
  );
  assert.deepEqual(own, [], "every field of flows has its column");
  const [polledRow] = await ask(
    "SELECT toString(system_ip_addr) AS system, other['ifName'] AS name FROM netgloss.netgloss_telemetry",
  );
  assert.deepEqual(polledRow, { system: "::ffff:192.0.2.254", name: "xe-0/0/7" });

  const odd = `{"@timestamp":"2026-11-22T04:00:00Z","flow.export.ip.addr":"no address"}`;
  assert.deepEqual(await adapter.send(batchOf([odd], 7), signal), accepted);
  const oddRows = await ask(
    "SELECT other FROM netgloss.netgloss_telemetry WHERE has(mapKeys(other), 'flow.export.ip.addr')",
  );
  const oddFlows = await ask(
    "SELECT other FROM netgloss.netgloss_flow WHERE has(mapKeys(other), 'flow.export.ip.addr')",
  );
  assert.deepEqual([...oddRows, ...oddFlows], [{ other: { "flow.export.ip.addr": "no address" } }]);
  await adapter.close();

  await knowsLargeBatches(adapterTo, ask);
  await keepsOwnTypes(adapterTo, ask);
});

/** More rows than one block has, sent again: in a table of one server, and by way of one in front of a shard. */
async function knowsLargeBatches(adapterTo: AdapterTo, ask: Ask): Promise<void> {
  const many = batchOf(Array.from({ length: 40_000 }, (_, n) => numberedFlow(n)));
  const single = adapterTo({ DATABASE: "single", TABLE_TTL: 0 });
  assert.deepEqual(await single.open(signal), []);
  await ask("CREATE DATABASE front");
  await ask(
    "CREATE TABLE front.netgloss_flow AS single.netgloss_flow_option ENGINE = Distributed('{cluster}', 'single', 'netgloss_flow_option', cityHash64(timestamp, flow_export_ip_addr))",
  );
  const front = adapterTo({ DATABASE: "front" });
  assert.deepEqual(await front.open(signal), [], "rows are known again behind the table in front");
  for (const { adapter, table } of [
    { adapter: single, table: "single.netgloss_flow" },
    { adapter: front, table: "front.netgloss_flow" },
  ]) {
    for (let tries = 0; tries < 2; tries++) assert.deepEqual(await adapter.send(many, signal), accepted);
    const [found] = await ask(
      `SELECT toInt32(count()) AS rows, toInt32(uniqExact(flow_bytes)) AS distinct FROM ${table}`,
    );
    assert.deepEqual(found, { rows: 40_000, distinct: 40_000 }, table);
    await adapter.close();
  }
}

/** Columns of an operator's own types. */
async function keepsOwnTypes(adapterTo: AdapterTo, ask: Ask): Promise<void> {
  await ask("CREATE DATABASE own");
  await ask(
    "CREATE TABLE own.netgloss_flow (timestamp DateTime, flow_bytes UInt16, flow_packets String, flow_src_ip_addr IPv4, flow_dst_ip_addr Nullable(String), " +
      "flow_src_isInternal UInt8, flow_start_timestamp DateTime('UTC'), flow_src_ip_subnet_tags Array(String), other Map(LowCardinality(String), String)) " +
      "ENGINE = MergeTree ORDER BY timestamp SETTINGS non_replicated_deduplication_window = 100",
  );
  const adapter = adapterTo({ DATABASE: "own" });
  assert.deepEqual(await adapter.open(signal), []);
  const head = '{"@timestamp":"2026-11-22T04:00:00Z","flow.export.ip.addr":"192.0.2.1"';
  const held = `${head},"flow.bytes":65535,"flow.packets":5,"flow.src.ip.addr":"192.0.2.7","flow.dst.ip.addr":"2001:db8::7","flow.src.isInternal":true,"flow.start.timestamp":"2026-11-22T03:59:59Z","flow.src.ip.subnet.tags":["dmz"]}`;
  const changed = `${head},"flow.bytes":65536,"flow.src.ip.addr":"2001:db8::8","flow.start.timestamp":"1969-12-31T23:59:59Z"}`;
  assert.deepEqual(await adapter.send(batchOf([held, changed]), signal), accepted);
  const rows = await ask(
    "SELECT flow_bytes AS bytes, flow_packets AS packets, toString(flow_src_ip_addr) AS src, flow_dst_ip_addr AS dst, flow_src_isInternal AS internal, " +
      "toString(flow_start_timestamp) AS start, flow_src_ip_subnet_tags AS tags, other FROM own.netgloss_flow ORDER BY bytes DESC",
  );
  const start = "2026-11-22 03:59:59";
  assert.deepEqual(rows, [
    { bytes: 65_535, packets: "5", src: "192.0.2.7", dst: "2001:db8::7", internal: 1, start, tags: ["dmz"], other: {} },
    {
      bytes: 0,
      packets: "0",
      src: "0.0.0.0",
      dst: null,
      internal: 0,
      start: "1970-01-01 00:00:00",
      tags: [],
      other: {
        "flow.bytes": "65536",
        "flow.src.ip.addr": "2001:db8::8",
        "flow.start.timestamp": "1969-12-31T23:59:59.000000000Z",
      },
    },
  ]);
  await adapter.close();
}
