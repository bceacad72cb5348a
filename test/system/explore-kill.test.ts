import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { createDemoExporter, createRandom } from "../../packages/testkit/index.ts";
import { systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("kill -9 loses at most what came within the last seconds; a second collector with the same files is degraded", async (t) => {
  const directory = tempDirectory(t);
  const settings = {
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(directory, "explore"),
  };
  const first = await startCollectorProcess({ settings });
  cleanUp(t, () => first.end("SIGKILL"));
  const options = { random: createRandom(5), clock: systemClock, intervalMs: 20 };
  const exporter = createDemoExporter({ ...options, port: first.flowPort });
  await exporter.start();
  await until("flows are stored", async () => ((await flowsOf(first)) ?? 0) > 300);
  await exporter.stop();
  const received = Number(await first.metric("netgloss_flow_records_total"));
  await until("all that came is stored", async () => (await flowsOf(first)) === received);

  const other = await startCollectorProcess({ settings });
  cleanUp(t, () => other.end("SIGKILL"));
  const readiness = (await (await fetch(`${other.api}/readyz`)).json()) as {
    checks: { name: string; detail?: string }[];
  };
  assert.match(readiness.checks.find(({ name }) => name === "explore")?.detail ?? "", /another process has the files/);

  await pause(1500);
  await first.end("SIGKILL");
  // It tries again by itself.
  await until("the second has opened the files", async () => (await flowsOf(other, [200, 503])) !== undefined);
  assert.equal(await flowsOf(other), received);
  await other.end();
});

test("flows that the main thread decodes are stored, too, those of the last second before a stop included", async (t) => {
  const settings = {
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_PROCESSOR_POOL_SIZE: "main",
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(tempDirectory(t), "explore"),
  };
  const first = await startCollectorProcess({ settings });
  cleanUp(t, () => first.end("SIGKILL"));
  const options = { random: createRandom(5), clock: systemClock, intervalMs: 20 };
  const exporter = createDemoExporter({ ...options, port: first.flowPort });
  await exporter.start();
  await until("flows are stored", async () => ((await flowsOf(first)) ?? 0) > 300);
  await exporter.stop();
  const received = Number(await first.metric("netgloss_flow_records_total"));
  await first.end();

  const second = await startCollectorProcess({ settings });
  cleanUp(t, () => second.end("SIGKILL"));
  assert.equal(await flowsOf(second), received);
  await second.end();
});

async function flowsOf({ api }: CollectorProcess, statuses = [200]): Promise<number | undefined> {
  const body = JSON.stringify({ measure: "flows", granularity: "none" });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${api}/api/v1/explore/query`, { method: "POST", headers, body });
  assert.ok(statuses.includes(answer.status), await answer.clone().text());
  if (answer.status !== 200) return undefined;
  return ((await answer.json()) as { total: { value: number } }).total.value;
}
