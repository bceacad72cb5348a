import assert from "node:assert/strict";
import { test } from "node:test";
import { announceToServiceManager, type ServiceManagerOptions } from "../../src/app/index.ts";
import { createHealth, createLog, silentLog } from "../../src/base/report/index.ts";
import { until } from "../support/until.ts";

function announced(env: Record<string, string>, more: Partial<ServiceManagerOptions> = {}) {
  const said: string[] = [];
  const health = createHealth();
  health.set({ name: "flows", ready: true });
  const options = { env: { NOTIFY_SOCKET: "/run/x", ...env }, pid: 7, health, log: silentLog, ...more };
  const stopping = announceToServiceManager({
    notify: async (assignments) => void said.push(assignments.join(" ")),
    ...options,
  });
  return { said, health, stopping };
}

test("the service manager hears of the start, of each change of the state, and of the stop", async () => {
  const { said, health, stopping } = announced({});
  health.set({ name: "kafka", ready: true, degraded: true });
  health.set({ name: "kafka", ready: true, degraded: true, detail: "still" });
  health.set({ name: "kafka", ready: false });
  stopping();
  health.set({ name: "kafka", ready: true });
  const expected = [
    "READY=1 STATUS=ready",
    "STATUS=degraded: kafka",
    "STATUS=not ready: kafka",
    "STOPPING=1 STATUS=stopping",
  ];
  await until("all is said", () => said.length >= expected.length);
  assert.deepEqual(said, expected);
});

test("the watchdog hears twice in its time that the process lives, unless it watches another one", async () => {
  const own = announced({ WATCHDOG_USEC: "20000", WATCHDOG_PID: "7" });
  const other = announced({ WATCHDOG_USEC: "20000", WATCHDOG_PID: "8" });
  await until("three signs of life", () => own.said.filter((line) => line === "WATCHDOG=1").length >= 3);
  own.stopping();
  other.stopping();
  assert.ok(!other.said.includes("WATCHDOG=1"));
});

test("without a service manager nothing is said", async () => {
  const { said, stopping } = announced({ NOTIFY_SOCKET: "" });
  stopping();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(said, []);
});

test("a service manager that cannot be notified is logged once, and the rest goes on", async () => {
  let text = "";
  const log = createLog({ level: "info", format: "text", destination: { write: (line) => (text += line) } });
  let tries = 0;
  const notify = async (): Promise<void> => {
    tries++;
    throw new Error("spawn systemd-notify ENOENT");
  };
  const { health, stopping } = announced({}, { log, notify });
  health.set({ name: "flows", ready: false });
  stopping();
  await until("three tries", () => tries === 3 && text !== "");
  assert.equal(text.match(/the service manager cannot be notified/g)?.length, 1);
  assert.match(text, /spawn systemd-notify ENOENT/);
});
