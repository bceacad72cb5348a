// A thread for tests: looks up two addresses without end and checks that what it finds is of one generation.
import { parentPort, workerData } from "node:worker_threads";
import { openSharedIndex, type SharedIndexHandle } from "../../src/udm/index.ts";
import { denseAddress } from "./udm-entry.ts";

const reader = openSharedIndex(workerData as SharedIndexHandle);
const faults: string[] = [];
const generations = new Set<string>();
let looks = 0;
let isStopped = false;

function look(): void {
  for (const family of [4, 6] as const) {
    const before = reader.version();
    const entries = reader.covering(denseAddress(family, 1)).filter((entry) => /^[0-9]/.test(entry.name));
    looks++;
    const names = new Set(entries.map((entry) => entry.name));
    if (names.size > 1 || (entries.length !== 25 && entries.length !== 0 && entries[0]?.key.kind === "cidr")) {
      faults.push(`${entries.length} entries of ${[...names].join(", ")}`);
    }
    for (const name of names) generations.add(name.split(" ")[0] ?? "");
    if (reader.version() < before) faults.push("the version went back");
  }
}

function work(): void {
  for (let i = 0; i < 200 && faults.length < 5; i++) look();
  if (isStopped) parentPort?.postMessage({ looks, generations: generations.size, faults }, []);
  else setImmediate(work);
}

parentPort?.once("message", () => void (isStopped = true));
parentPort?.postMessage("ready", []);
work();
