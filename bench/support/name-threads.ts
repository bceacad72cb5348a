// Loaded into a collector by `--import`: names its threads for the kernel, so that their CPU time can be told apart.
import { writeFileSync } from "node:fs";
import { isMainThread, workerData } from "node:worker_threads";

writeFileSync("/proc/thread-self/comm", isMainThread ? "main" : nameOf((workerData as object | null) ?? undefined));

/** @param data undefined in a thread that starts without any: that of the metadata file. */
function nameOf(data: object = {}): string {
  if ("rings" in data) return "receive";
  if ("store" in data) return "output";
  if ("feed" in data) return "explore";
  return "ring" in data ? "decode" : "other";
}
