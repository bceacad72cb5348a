import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createDemoExporter, createRandom } from "../../packages/testkit/index.ts";
import { systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { totalsOf, untilRecords, type FlowRecord } from "../support/flow-records.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("nfdump and netgloss read the same flows from what the demonstration sends", async (t) => {
  if (requireProgram(t, "nfcapd", "apt-get install nfdump") === undefined) return;
  if (requireProgram(t, "nfdump", "apt-get install nfdump") === undefined) return;
  const directory = tempDirectory(t);
  const output = join(directory, "flows.ndjson");
  const collector = await startCollectorProcess({
    settings: { SVC_FLOW_SERVER_UDP_ENABLE: "true", SVC_OUTPUT_FILE_ENABLE: "true", SVC_OUTPUT_FILE_PATH: output },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const nfcapd = await startNfcapd(directory);
  cleanUp(t, () => nfcapd.child.kill("SIGKILL"));

  // One socket receives from the exporters and passes every datagram on to both.
  const relay = await bound();
  cleanUp(t, () => relay.close());
  let datagrams = 0;
  relay.on("message", (datagram) => {
    datagrams++;
    for (const port of [collector.flowPort, nfcapd.port]) relay.send(datagram, port, "127.0.0.1");
  });
  const exporter = createDemoExporter({
    port: relay.address().port,
    random: createRandom(7),
    clock: systemClock,
    intervalMs: 20,
  });
  await exporter.start();
  await until("a hundred datagrams", () => datagrams >= 100);
  await exporter.stop();

  const ours = await settled(
    async () => (await untilRecords(output, 1)).length,
    () => untilRecords(output, 1),
  );
  await collector.end();
  nfcapd.child.kill("SIGTERM");
  await once(nfcapd.child, "exit");
  const theirs = readNfdump(directory);
  assert.deepEqual(totalsOf(ours), theirs.totals);
  assert.deepEqual(ours.map(describe).toSorted(), theirs.flows.toSorted());
});

/** What `read` gives once `count` has been the same for half a second. */
async function settled<T>(count: () => Promise<number>, read: () => Promise<T>): Promise<T> {
  let last = -1;
  let since = performance.now();
  await until("no more records", async () => {
    const current = await count();
    if (current !== last) [last, since] = [current, performance.now()];
    return performance.now() - since > 500;
  });
  return read();
}

function describe(record: FlowRecord): string {
  const names = ["flow.src.ip.addr", "flow.src.l4.port.id", "flow.dst.ip.addr", "flow.dst.l4.port.id", "l4.proto.id"];
  return [...names, "flow.packets", "flow.bytes"].map((name) => String(record[name])).join(" ");
}

async function bound(): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket;
}

async function startNfcapd(directory: string): Promise<{ child: ReturnType<typeof spawn>; port: number }> {
  const probe = await bound();
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  const child = spawn("nfcapd", ["-w", directory, "-p", String(port), "-b", "127.0.0.1", "-t", "3600"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  }
  await until("nfcapd listens", () => {
    if (child.exitCode !== null) throw new Error(`nfcapd ended: ${text}`);
    return spawnSync("sh", ["-c", `grep -qi ':${port.toString(16).padStart(4, "0")} ' /proc/net/udp`]).status === 0;
  });
  return { child, port };
}

function readNfdump(directory: string): { flows: string[]; totals: ReturnType<typeof totalsOf> } {
  const files = readdirSync(directory).filter((name) => name.startsWith("nfcapd."));
  const flows = files.flatMap((name) => {
    const format = "fmt:%sa,%sp,%da,%dp,%pr,%pkt,%byt";
    const run = spawnSync("nfdump", ["-r", join(directory, name), "-q", "-6", "-N", "-o", format], {
      encoding: "utf8",
    });
    assert.equal(run.status, 0, run.stderr);
    const lines = run.stdout.split("\n").filter((line) => line.includes(","));
    return lines.map((line) => line.split(",").map((cell) => cell.trim()));
  });
  const protocols: Record<string, string> = { TCP: "6", UDP: "17" };
  const sum = (column: number): number => flows.reduce((total, flow) => total + Number(flow[column]), 0);
  return {
    flows: flows.map((flow) => flow.map((cell, i) => (i === 4 ? (protocols[cell] ?? cell) : cell)).join(" ")),
    totals: { flows: flows.length, packets: sum(5), bytes: sum(6) },
  };
}
