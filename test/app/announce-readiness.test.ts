import assert from "node:assert/strict";
import { test } from "node:test";
import { announceReadiness } from "../../src/app/service/service.ts";
import { createFakeTime } from "../support/fake-time.ts";
import { createHealth, silentLog, type Log } from "../../src/base/report/index.ts";

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
  const end = announceReadiness(health, log, { flowPorts: [1] }, createFakeTime());
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

test("a part that comes and goes does not fill the log", async () => {
  const lines: unknown[] = [];
  const note = (fields: object, message: string): void => void lines.push([message, fields]);
  const time = createFakeTime();
  const health = createHealth();
  health.set({ name: "output", ready: true });
  announceReadiness(health, { ...silentLog, info: note, warn: note }, {}, time);
  lines.length = 0;
  for (let i = 0; i < 181; i++) {
    health.set({ name: "output", ready: true, degraded: i % 2 === 0 });
    await time.pass(540);
  }
  await time.pass(60_000);
  const [bad, good] = ["netgloss is ready, but not all of it works", "netgloss is ready"];
  const down = { degraded: ["output"], works: [] };
  assert.deepEqual(lines.slice(0, 3), [
    [bad, down],
    [good, {}],
    [bad, down],
  ]);
  assert.ok(lines.length <= 8, `${lines.length} lines`);
  // The last line says how it stands.
  assert.equal((lines.at(-1) as unknown[])[0], bad);
  const told = lines.map((line) => (line as [string, { changes?: number }])[1].changes ?? 1);
  assert.equal(
    told.reduce((sum, changes) => sum + changes),
    181,
  );
});
