// Stops a store while it is asked, and ends the thread that has it, again and again: `stop-life.js DIRECTORY`.
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { setTimeout as wait } from "node:timers/promises";
import { ExploreError, readFlowsQuery, readQuery } from "../../src/explore/index.ts";
import { configOf, newExplore } from "./explore-fixture.ts";

const rounds = 3;
const lines = 20_000;

if (isMainThread) {
  const [directory = ""] = process.argv.slice(2);
  for (let round = 0; round < rounds; round++) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { directory, round } });
    const [ended] = (await once(worker, "message")) as [string];
    process.stdout.write(`${ended}\n`);
    await worker.terminate();
  }
} else {
  const { directory, round } = workerData as { directory: string; round: number };
  const { explore } = newExplore(configOf({ directory }), {});
  const starting = explore.start();
  // In the first round the store is still being opened when it is stopped.
  if (round > 0) await starting;
  const at = new Date().toISOString();
  const line = (i: number): string =>
    `${JSON.stringify({ "@timestamp": at, "flow.src.ip.addr": `10.0.${i >> 8}.${i & 255}`, "flow.bytes": i })}\n`;
  if (round === 1) {
    explore.take(Buffer.from(Array.from({ length: lines }, (_, i) => line(i)).join("")), lines);
    await explore.flush();
  }
  const { signal } = new AbortController();
  const query = readQuery({ dimensions: ["flow.src.ip.addr"], granularity: "1m" }, Date.now());
  const flows = readFlowsQuery({ filter: "bytes > 9", limit: 1000 }, Date.now());
  const asked =
    round === 0 ? [] : [explore.query(query, signal), explore.flows(flows, signal), explore.query(query, signal)];
  const outcomes = Promise.allSettled(asked);
  await wait(7 * round);
  await explore.stop();
  const errors = (await outcomes).flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
  const unexpected = errors.filter((error) => !(error instanceof ExploreError) || error.code !== "unavailable");
  parentPort?.postMessage(unexpected.length === 0 ? "stopped" : String(unexpected[0]));
}
