import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { until } from "../support/until.ts";

const datagrams = 600;
const recordsEach = 30;
const sent = datagrams * recordsEach;

test("a reader of the standard output that stalls stops nobody: records beyond the queue are dropped and counted", async (t) => {
  const collector = await startCollectorProcess({
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_OUTPUT_STDOUT_ENABLE: "true",
      SVC_OUTPUT_STDOUT_QUEUE_SIZE: "1MiB",
    },
    stdout: "pipe",
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const { stdout } = collector.child;
  assert.ok(stdout !== null);
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());

  const records = Array.from({ length: recordsEach }, (_, i) => ({ source: `10.0.0.${i}`, destination: "10.0.0.99" }));
  for (let i = 0; i < datagrams; i++) {
    socket.send(netflowV5Datagram(records, i * recordsEach), collector.flowPort, "127.0.0.1");
    // The receive buffer of an ordinary host holds few datagrams; none may be lost before it is received.
    if (i % 20 === 19) await untilReceived((i + 1) * recordsEach);
  }
  async function untilReceived(count: number): Promise<void> {
    await until(
      "what was sent is received",
      async () => (await collector.metric("netgloss_flow_records_total")) === count,
    );
  }
  const outcome = async (): Promise<{ written: number; dropped: number }> => ({
    written: (await collector.metric("netgloss_output_records_total")) ?? 0,
    dropped: (await collector.metric("netgloss_output_dropped_records_total")) ?? 0,
  });
  // Lines come to the output a little after they are made.
  await until("the pipe and the queue are full", async () => (await outcome()).dropped > 0);

  let text = "";
  stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const ended = once(stdout, "close");
  await until("each record is written or counted as dropped", async () => {
    const { written, dropped } = await outcome();
    return written + dropped === sent;
  });
  const { written } = await outcome();
  assert.ok(written > 0 && written < sent);
  assert.deepEqual(await collector.end(), { code: 0, signal: null });
  await ended;
  const lines = text.split("\n");
  assert.equal(lines.pop(), "", "the last line is whole");
  assert.equal(lines.length, written);
  for (const line of lines)
    assert.equal(typeof (JSON.parse(line) as Record<string, unknown>)["flow.src.ip.addr"], "string");
});

test("a reader that goes away is no end of the collector", async (t) => {
  const collector = await startCollectorProcess({
    settings: { SVC_FLOW_SERVER_UDP_ENABLE: "true", SVC_OUTPUT_STDOUT_ENABLE: "true" },
    stdout: "pipe",
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  collector.child.stdout?.destroy();
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  await until("a record is dropped and counted", async () => {
    socket.send(netflowV5Datagram([{ source: "10.0.0.1", destination: "10.0.0.2" }]), collector.flowPort, "127.0.0.1");
    return ((await collector.metric("netgloss_output_dropped_records_total")) ?? 0) > 0;
  });
  assert.equal((await fetch(`${collector.api}/livez`)).status, 200);
  assert.deepEqual(await collector.end(), { code: 0, signal: null });
});
