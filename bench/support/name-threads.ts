// Loaded into a collector by `--import`: names its threads for the kernel, so that their CPU time can be told apart.
import { writeFileSync } from "node:fs";
import { isMainThread, workerData } from "node:worker_threads";

writeFileSync("/proc/thread-self/comm", isMainThread ? "main" : nameOf(workerData as object | null));

function nameOf(data: object | null): string {
  if (data !== null && "rings" in data) return "receive";
  if (data !== null && "store" in data) return "output";
  if (data !== null && "feed" in data) return "explore";
  return data !== null && "ring" in data ? "decode" : "other";
}
