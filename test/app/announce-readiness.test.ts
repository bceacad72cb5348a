import assert from "node:assert/strict";
import { test } from "node:test";
import { announceReadiness } from "../../src/app/announce-readiness.ts";
import { createHealth, silentLog, type Log } from "../../src/report/index.ts";

test("the log says whether it is ready, what works and what does not, and each change once", () => {
  const lines: unknown[] = [];
  const log: Log = {
    ...silentLog,
    info: (fields, message) => void lines.push([message, fields]),
    warn: (fields, message) => void lines.push([message, fields]),
  };
  const health = createHealth();
  health.set({ name: "flow", ready: true });
  health.set({ name: "metadata", ready: false, detail: "broken" });
  health.set({ name: "output stdout", ready: true, degraded: true, detail: "gone" });
  const end = announceReadiness(health, log, { flowPorts: [1] });
  health.set({ name: "metadata", ready: false, detail: "still broken" });
  health.set({ name: "metadata", ready: true });
  health.set({ name: "output stdout", ready: true });
  end();
  health.set({ name: "flow", ready: false });
  assert.deepEqual(lines, [
    [
      "netgloss runs, but it is not ready",
      { flowPorts: [1], notReady: ["metadata"], degraded: ["output stdout"], works: ["flow"] },
    ],
    ["netgloss is ready, but not all of it works", { degraded: ["output stdout"], works: ["flow", "metadata"] }],
    ["netgloss is ready", {}],
  ]);
});
