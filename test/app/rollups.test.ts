import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("fields that records cannot be added up by are faults, with the nearest name", async () => {
  const terminal = createFakeTerminal(["config", "check", "--running"], {
    SVC_OUTPUT_FILE_ROLLUP_FIELDS: "sorce,port,flow.bytes",
    SVC_OUTPUT_KAFKA_ROLLUP_FIELDS: "src exists or dst",
    SVC_OUTPUT_STDOUT_ROLLUP_FIELDS: "src.site.name,dst.port,proto",
  });
  assert.equal(await runProgram(terminal), 78);
  const { err } = terminal.written;
  assert.match(err, /error: SVC_OUTPUT_FILE_ROLLUP_FIELDS:1:1: there is no field sorce/);
  assert.match(err, /SVC_OUTPUT_FILE_ROLLUP_FIELDS: port stands for several fields: flow\.src\.l4\.port\.id, /);
  assert.match(err, /SVC_OUTPUT_FILE_ROLLUP_FIELDS: flow\.bytes is made of all records of a group/);
  assert.match(err, /SVC_OUTPUT_KAFKA_ROLLUP_FIELDS: src exists or dst is no name of a field/);
  assert.ok(!err.includes("STDOUT"), err);
});

test("an output's filter is about records, its rollup about what is left; the rest is written at the end", async (t) => {
  const path = join(tempDirectory(t), "records.ndjson");
  const { collector, send } = await startFlowCollector(t, {
    SVC_PROCESSOR_POOL_SIZE: "main",
    SVC_OUTPUT_FILE_ENABLE: "true",
    SVC_OUTPUT_FILE_PATH: path,
    SVC_OUTPUT_FILE_FILTER: "bytes >= 200",
    SVC_OUTPUT_FILE_ROLLUP_FIELDS: "dst",
    SVC_PROCESSOR_ROLLUP_INTERVAL: "3600",
  });
  const record = (last: number, bytes: number) => ({ source: "10.0.0.1", destination: `198.51.100.${last}`, bytes });
  await send(netflowV5Datagram([record(1, 199), record(1, 200), record(2, 300), record(1, 400)]));
  const value = (name: string): Promise<number | undefined> => collector.metrics.value(name, { output: "file" });
  await until("the sums", async () => (await value("netgloss_output_rollup_records_total")) === 3);
  assert.equal(await value("netgloss_output_filtered_records_total"), 1);
  assert.equal(await value("netgloss_output_rollup_groups"), 2);
  assert.equal(await value("netgloss_output_rollup_overflow_records_total"), 0);
  await collector.stop();
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    records.map((one) => [
      one["flow.dst.ip.addr"],
      one["flow.bytes"],
      one["flow.rollup.records"],
      one["flow.record.type"],
    ]),
    [
      ["198.51.100.1", 600, 2, "rollup"],
      ["198.51.100.2", 300, 1, "rollup"],
    ],
  );
  assert.equal(await value("netgloss_output_rollup_written_records_total"), 2);
});
