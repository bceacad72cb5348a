import assert from "node:assert/strict";
import { test } from "node:test";
import { recordFields } from "../../src/record/index.ts";
import { batchOf } from "../output/delivery/batch-fixture.ts";
import { clickHouseServer, type ClickHouseSettings } from "../output/clickhouse/clickhouse-fixture.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../output/delivery/output-contract.ts";
import { adapterOf } from "../output/adapter-fixture.ts";
import { startPartner } from "../support/partner.ts";

const signal = new AbortController().signal;

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
  assert.deepEqual(await adapter.send(batchOf(lines), signal), { refused: [], retry: [] });
  assert.deepEqual(await adapter.send(batchOf(lines), signal), { refused: [], retry: [] });
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
  assert.deepEqual(await adapter.send(batchOf([odd], 7), signal), { refused: [], retry: [] });
  const oddRows = await ask(
    "SELECT other FROM netgloss.netgloss_telemetry WHERE has(mapKeys(other), 'flow.export.ip.addr')",
  );
  const oddFlows = await ask(
    "SELECT other FROM netgloss.netgloss_flow WHERE has(mapKeys(other), 'flow.export.ip.addr')",
  );
  assert.deepEqual([...oddRows, ...oddFlows], [{ other: { "flow.export.ip.addr": "no address" } }]);
  await adapter.close();
});
