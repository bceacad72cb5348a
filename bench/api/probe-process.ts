// A client that lists one key by REST again and again, a call every other millisecond at most. `start` begins, `stop` reports
// how long the calls since then took.
import { Agent, request } from "node:http";

export interface ProbeOrder {
  readonly op: "start" | "stop";
  readonly port: number;
  readonly path: string;
  readonly body: string;
}

/** Milliseconds. */
export interface ProbeTimes {
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const pauseMs = 2;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let running: { isEnded: boolean; times: number[]; done: Promise<void> } | undefined;

process.on("message", ({ op, port, path, body }: ProbeOrder) => {
  if (op === "start") {
    const state = { isEnded: false, times: [] as number[], done: Promise.resolve() };
    state.done = (async () => {
      while (!state.isEnded) {
        const start = performance.now();
        await callOnce(port, path, body);
        state.times.push(performance.now() - start);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    })();
    running = state;
    process.send?.("started");
    return;
  }
  const ended = running;
  if (ended === undefined) throw new Error("nothing runs");
  ended.isEnded = true;
  void ended.done.then(() => process.send?.(summary(ended.times)));
});
process.once("disconnect", () => process.exit(0));

function summary(times: readonly number[]): ProbeTimes {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { calls: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

function callOnce(port: number, path: string, body: string): Promise<void> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`HTTP ${response.statusCode}`));
      response.resume();
      response.on("end", resolve);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
