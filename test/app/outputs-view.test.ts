import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveringOutput } from "../../src/app/threads/delivering-output.ts";
import { outputsView } from "../../src/app/views/outputs-view.ts";
import { collectorMethods } from "../../src/server/index.ts";
import { OutputMetrics } from "../../src/output/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import { violations } from "../support/schema-violations.ts";

const state = {
  name: "http",
  state: "failing",
  queueBytes: 900,
  waitingRecords: 3,
  spoolMode: "off",
  spoolBytes: 0,
  spoolMaxBytes: 0,
  inFlight: 0,
  deliveredRecords: 0,
  retriedRecords: 0,
  refusedRecords: 0,
  droppedRecords: 0,
  refusals: [],
} as const;
const store = { name: "output http", state: async () => state } as unknown as DeliveringOutput;
const restarting = { name: "output loki", state: async () => undefined } as unknown as DeliveringOutput;

test("outputs: what was lost before it reached the output's thread counts, and outputs to files have their counts", async () => {
  const metrics = createMetrics();
  const reports = new OutputMetrics(metrics);
  reports.output("http", () => 5000).dropped("queue_full", 40, 4000);
  const file = reports.output("file", () => 77);
  file.written(12, 1200);
  file.dropped("queue_full", 2, 200);
  file.dropped("stopped", 1, 100);
  const answer = await outputsView(
    [store, restarting],
    [
      { name: "api", ready: true },
      { name: "output file", ready: true, degraded: true, detail: "ENOSPC" },
      { name: "output http", ready: false },
    ],
    metrics,
  );
  assert.deepEqual(answer.outputs, [
    {
      name: "file",
      state: "failing",
      fault: "ENOSPC",
      deliveredRecords: 12,
      droppedRecords: 3,
      drops: [
        { reason: "queue_full", records: 2 },
        { reason: "stopped", records: 1 },
      ],
      queueBytes: 77,
    },
    { ...state, droppedRecords: 40, drops: [{ reason: "queue_full", records: 40 }], canTest: true },
    { name: "loki", state: "restarting", canTest: true },
  ]);
  assert.deepEqual(violations(collectorMethods.listOutputs.answer.schema, JSON.parse(JSON.stringify(answer))), []);
});
