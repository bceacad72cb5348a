// A thread for tests: looks up addresses without end and checks that what it finds is of one generation, and that it was notified of
// every change.
import { parentPort, workerData } from "node:worker_threads";
import { parseKey } from "../../src/base/ip/index.ts";
import { SharedIndexReader, type SharedIndexHandle } from "../../src/metadata/index.ts";
import { denseAddress } from "./udm-entry.ts";

const reader = new SharedIndexReader(workerData as SharedIndexHandle);
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

/** Names of the entries that cover an address, kept until a change is announced. They begin with the version they came with. */
const kept = new Map<string, string[]>();
const watched = (["10.9.0.1", "10.8.0.1", "10.7.0.1", "2001:db8:9::1"] as const).map(parseKey);
let keptUses = 0;

function lookAtKept(): void {
  const { version, changed } = reader.changes();
  for (const { family, first, text } of watched) {
    const isTold = changed?.some((range) => range.family === family && range.first <= first && first <= range.last);
    if (isTold ?? true) kept.delete(text);
    const names = reader.covering({ family, value: first }).map((entry) => entry.name);
    const known = kept.get(text);
    if (known === undefined) {
      kept.set(text, names);
      continue;
    }
    keptUses++;
    const isLater = names.some((name) => Number.parseInt(name, 10) > version);
    if (!isLater && names.join(",") !== known.join(","))
      faults.push(`at ${version} ${known.join(",")} became ${names.join(",")}`);
  }
}

function work(): void {
  for (let i = 0; i < 200 && faults.length < 5; i++) {
    look();
    lookAtKept();
  }
  if (isStopped) parentPort?.postMessage({ looks, keptUses, generations: generations.size, faults }, []);
  else setImmediate(work);
}

parentPort?.once("message", () => void (isStopped = true));
parentPort?.postMessage("ready", []);
work();
