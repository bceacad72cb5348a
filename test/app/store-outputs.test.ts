import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { test, type TestContext } from "node:test";
import { startHttpServer, type HttpServerFake } from "../output/http/http-fixture.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

/** Sends this many flows of one record each, whose source ports count from `from`. */
async function sendFlows(t: TestContext, port: number, from: number, count: number, now?: number): Promise<void> {
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  for (let n = from; n < from + count; n++) {
    const datagram = netflowV5Datagram([{ source: "10.0.0.1", destination: "10.0.0.2" }], 0, now);
    datagram.writeUInt16BE(n, 24 + 32);
    await new Promise((sent) => socket.send(datagram, port, "127.0.0.1", sent));
  }
}

const ports = (server: HttpServerFake): number[] =>
  server.calls
    .filter(({ method }) => method === "POST")
    .flatMap(({ body }) => body.split("\n").slice(0, -1))
    .map((line) => (JSON.parse(line) as Record<string, number>)["flow.src.l4.port.id"] ?? -1);

async function outputsOf({ api }: CollectorProcess): Promise<Record<string, unknown>[]> {
  const answer = (await (await fetch(`${api}/api/v1/outputs`)).json()) as { outputs: Record<string, unknown>[] };
  return answer.outputs;
}

const settingsFor = (
  server: HttpServerFake,
  directory: string,
  mode: string,
  threads: "main" | "1" = "main",
): Record<string, string> => ({
  SVC_FLOW_SERVER_UDP_ENABLE: "true",
  SVC_PROCESSOR_POOL_SIZE: threads,
  SVC_STATE_DIRECTORY_PATH: directory,
  SVC_OUTPUT_GENERIC_HTTP_ENABLE: "true",
  SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: `http://127.0.0.1:${server.port}/in`,
  SVC_OUTPUT_GENERIC_HTTP_SPOOL_MODE: mode,
  SVC_OUTPUT_GENERIC_HTTP_BATCH_DEADLINE: "20",
  SVC_OUTPUT_GENERIC_HTTP_RETRY_BACKOFF: "50",
  SVC_OUTPUT_GENERIC_HTTP_RETRY_BACKOFF_MAX: "100",
});

test("an output's @timestamp is the end of the flow when its settings say so", async (t) => {
  const server = await startHttpServer(t);
  const settings = settingsFor(server, tempDirectory(t), "overflow");
  const collector = await startCollectorProcess({
    settings: { ...settings, EF_OUTPUT_GENERIC_HTTP_TIMESTAMP_SOURCE: "end" },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  // Two hours ago, and years ago: a time that is more than a day from receipt names no place.
  const ages = [7200, 10 ** 8];
  for (const [from, age] of ages.entries())
    await sendFlows(t, collector.flowPort, from, 1, Math.floor(Date.now() / 1000) - age);
  await until("the records arrive", () => ports(server).length === ages.length);
  const records = server.calls
    .filter(({ method }) => method === "POST")
    .flatMap(({ body }) => body.trim().split("\n"))
    .map((line) => JSON.parse(line) as Record<string, string>)
    .toSorted((a, b) => Number(a["flow.src.l4.port.id"]) - Number(b["flow.src.l4.port.id"]));
  assert.equal(records[0]?.["@timestamp"], records[0]?.["flow.end.timestamp"]);
  assert.ok(Math.abs(Date.parse(records[1]?.["@timestamp"] ?? "") - Date.now()) < 3_600_000);
});

test("flows reach a store over HTTP; while it is away the collector is degraded, not dead, and nothing is lost", async (t) => {
  const server = await startHttpServer(t);
  const collector = await startCollectorProcess({ settings: settingsFor(server, tempDirectory(t), "overflow", "1") });
  cleanUp(t, () => collector.end("SIGKILL"));
  await sendFlows(t, collector.flowPort, 0, 20);
  await until("the records arrive", () => ports(server).length === 20);

  server.answer = (_, response) => void response.writeHead(503).end("no room");
  await sendFlows(t, collector.flowPort, 20, 20);
  const ready = await until("it is degraded", async () => {
    const answer = await fetch(`${collector.api}/readyz`);
    const text = await answer.text();
    return text.includes("503 (no room)") ? { status: answer.status, text } : undefined;
  });
  assert.equal(ready.status, 200);
  let sent = 40;
  await until("what waits is on disk", async () => {
    await sendFlows(t, collector.flowPort, sent, 5);
    sent += 5;
    return ((await collector.metric("netgloss_output_spool_bytes")) ?? 0) > 0;
  });
  const [failing] = await outputsOf(collector);
  assert.equal(failing?.["state"], "failing");
  assert.equal(failing?.["deliveredRecords"], 20);

  server.calls.length = 0;
  server.answer = (_, response) => void response.end();
  await until("the rest arrives", () => ports(server).length >= sent - 20);
  assert.deepEqual(
    ports(server).toSorted((a, b) => a - b),
    Array.from({ length: sent - 20 }, (_, i) => 20 + i),
  );
  await until("it works again", async () => (await outputsOf(collector))[0]?.["state"] === "working");
  // Metrics are rendered at most once a second.
  await until("all are counted", async () => (await collector.metric("netgloss_output_records_total")) === sent);
  assert.equal(await collector.metric("netgloss_output_dropped_records_total"), 0);
  const messages = new Set(collector.log().map(({ msg }) => msg));
  assert.ok(messages.has("output is connected") && messages.has("output works again"));
  assert.deepEqual(await collector.end(), { code: 0, signal: null });
});

test("in the mode always, what is on disk when the process is killed arrives after the restart", async (t) => {
  const server = await startHttpServer(t);
  const directory = tempDirectory(t);
  const settings = settingsFor(server, directory, "always");
  server.answer = (call, response) => void response.writeHead(call.method === "POST" ? 500 : 200).end();
  let sent = 0;
  for (let round = 0; round < 3; round++) {
    const collector = await startCollectorProcess({ settings });
    cleanUp(t, () => collector.end("SIGKILL"));
    await sendFlows(t, collector.flowPort, sent, 50);
    sent += 50;
    const all = sent;
    // All that was sent waits, and nothing is on its way to the disk.
    await until("all is on disk", async () => {
      const [output] = await outputsOf(collector);
      return output?.["queueBytes"] === 0 && output["waitingRecords"] === all;
    });
    await collector.end("SIGKILL");
  }
  server.calls.length = 0;
  server.answer = (_, response) => void response.end();
  const last = await startCollectorProcess({ settings });
  cleanUp(t, () => last.end("SIGKILL"));
  await until("everything arrives", () => new Set(ports(server)).size === sent);
  assert.deepEqual(
    ports(server).toSorted((a, b) => a - b),
    Array.from({ length: sent }, (_, i) => i),
    "a batch that was never acknowledged is sent once by the last run",
  );
});
