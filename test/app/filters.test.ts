import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createCollector, readSettings, runProgram } from "../../src/app/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("a filter that is none is a fault of the settings, with its place, at config check and at start", async () => {
  const env = { SVC_OUTPUT_FILE_FILTER: "bytes > 1 and\n sorce = 10.0.0.1", SVC_OUTPUT_KAFKA_FILTER: "src = 7" };
  const terminal = createFakeTerminal(["config", "check", "--running"], env);
  assert.equal(await runProgram(terminal), 78);
  assert.match(terminal.written.err, /error: SVC_OUTPUT_FILE_FILTER:2:2: there is no field sorce: .*\n.*\n {3}\^{5}\n/);
  assert.match(terminal.written.err, /error: SVC_OUTPUT_KAFKA_FILTER:1:7: src is an address: 7 is a number\n/);
  const layer = Object.entries(env).map(([name, text]) => ({ name, text, origin: "test" }));
  const { settings } = readSettings([layer], () => "");
  assert.throws(
    () => createCollector({ settings, log: silentLog, clock: systemClock, version: "0" }),
    /no field sorce/,
  );
});

test("each output takes the records that match its own filter, and its metric counts the others", async (t) => {
  const path = join(tempDirectory(t), "records.ndjson");
  const { collector, send } = await startFlowCollector(t, {
    SVC_PROCESSOR_POOL_SIZE: "main",
    SVC_OUTPUT_FILE_ENABLE: "true",
    SVC_OUTPUT_FILE_PATH: path,
    SVC_OUTPUT_FILE_FILTER: "dst in 198.51.100.0/24 and bytes >= 200 and port = 53",
  });
  const record = (last: number, bytes: number): { source: string; destination: string; bytes: number } => ({
    source: "10.0.0.1",
    destination: `198.51.${last}.1`,
    bytes,
  });
  // Another taker has all of them.
  await send(netflowV5Datagram([record(100, 199), record(100, 200), record(101, 201), record(100, 202)]));
  const lines = await until("the file", () => {
    const text = readFileSync(path, "utf8");
    return text.split("\n").length > 2 ? text.trim().split("\n") : undefined;
  });
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as Record<string, unknown>)["flow.bytes"]),
    [200, 202],
  );
  assert.equal(await collector.metrics.value("netgloss_output_filtered_records_total", { output: "file" }), 2);
});

for (const pool of ["main", "1"]) {
  test(`records are kept and dropped by the settings, where flows are decoded: ${pool}`, async (t) => {
    const { collector, send } = await startFlowCollector(t, {
      SVC_PROCESSOR_POOL_SIZE: pool,
      SVC_PROCESSOR_FILTER_KEEP: "dst in 198.51.0.0/16",
      SVC_PROCESSOR_FILTER_DROP: "bytes < 200 or src.port = 53",
    });
    const record = (second: number, bytes: number): { source: string; destination: string; bytes: number } => ({
      source: "10.0.0.1",
      destination: `198.${second}.100.1`,
      bytes,
    });
    const kept = await send(netflowV5Datagram([record(51, 199), record(52, 300), record(51, 200)]));
    assert.equal(kept["flow.bytes"], 200);
    const value = (name: string, labels = {}): Promise<number | undefined> => collector.metrics.value(name, labels);
    await until("the count", async () => (await value("netgloss_flow_filtered_records_total")) === 2);
    assert.equal(await value("netgloss_flow_records_total", { protocol: "netflow5" }), 3);
  });
}

for (const pool of ["main", "1"]) {
  test(`fields are dropped and times cut behind the filter, where flows are decoded: ${pool}`, async (t) => {
    const { send } = await startFlowCollector(t, {
      SVC_PROCESSOR_POOL_SIZE: pool,
      SVC_PROCESSOR_FILTER_DROP: "flow.export.sequence = 1",
      SVC_PROCESSOR_DROP_FIELDS: "flow.export.sequence,flow.dst.ip.addr",
      SVC_PROCESSOR_TIMESTAMP_PRECISION: "s",
    });
    const addresses = { source: "10.0.0.1", destination: "10.0.0.2" };
    const record = await send(netflowV5Datagram([addresses, addresses], 7));
    assert.deepEqual(
      [record["flow.src.ip.addr"], "flow.dst.ip.addr" in record, "flow.export.sequence" in record],
      ["10.0.0.1", false, false],
    );
    assert.match(String(record["@timestamp"]), /^[-0-9]{10}T[0-9:]{8}Z$/);
  });
}

for (const pool of ["main", "1"]) {
  test(`an exporter that sends too much is thinned, and an output of its own rate: ${pool}`, async (t) => {
    const path = join(tempDirectory(t), "records.ndjson");
    const { collector, send } = await startFlowCollector(t, {
      SVC_PROCESSOR_POOL_SIZE: pool,
      SVC_PROCESSOR_THIN_EXPORTER_RATE: "4",
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: path,
      SVC_OUTPUT_FILE_THIN_RATE: "1",
    });
    const records = Array.from({ length: 28 }, () => ({ source: "10.0.0.1", destination: "10.0.0.2" }));
    const first = await send(netflowV5Datagram(records));
    assert.equal(first["flow.sample_rate"], 1);
    const value = async (name: string, labels = {}): Promise<number> =>
      (await collector.metrics.value(name, labels)) ?? 0;
    // Four for themselves, four for two, four for four.
    await until("the count", async () => (await value("netgloss_flow_thinned_records_total")) === 16);
    // Of these twelve: one for itself, one of two, one of four, and perhaps one of the five that are left.
    const file = { output: "file" };
    await until("the file", async () => (await value("netgloss_output_records_total", file)) >= 3);
    const kept = 12 - (await value("netgloss_output_thinned_records_total", file));
    assert.ok(kept === 3 || kept === 4, `${kept}`);
    const rates = readFileSync(path, "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as Record<string, number>)["flow.sample_rate"]);
    assert.deepEqual(rates.slice(0, 1), [1]);
    assert.ok((rates[2] ?? 0) >= 4, rates.join(" "));
  });
}
