// A program for tests: writes to a metadata file without end and prints each write once it was answered.
//   node udm-write-storm.js <file> <round> <state directory>
import { writeSync } from "node:fs";
import { argv, exit, stderr } from "node:process";
import { parseKey } from "../../src/base/ip/index.ts";
import { createHealth, createLog, createMetrics, systemClock } from "../../src/base/report/index.ts";
import { UdmFileStore, type UdmWrite } from "../../src/metadata/index.ts";

const [path = "", round = "", stateDirectory = ""] = argv.slice(2);
const store = new UdmFileStore({
  path,
  owned: true,
  refreshMs: 0,
  maxEntries: 10_000,
  stateDirectory,
  log: createLog({ level: "error", format: "text", destination: stderr }),
  metrics: createMetrics(),
  clock: systemClock,
  health: createHealth(),
});
await store.start();

const clients = 4;
const keysOfAClient = 8;

/** Creates, updates and deletes its own keys in turn; each write carries a number that grows. */
async function client(number: number): Promise<never> {
  for (let i = 0; ; i++) {
    const key = parseKey(`10.0.${number}.${i % keysOfAClient}`);
    const name = `${round}-${i}`;
    const values = { name, tags: [], vlan: 0n, internal: false, metadata: new Map([["filler", "x".repeat(500)]]) };
    const exists = store.current().get(key) !== undefined;
    const op = !exists ? "create" : i % 5 === 0 ? "delete" : "update";
    const write: UdmWrite = op === "delete" ? { op, key } : { op, key, values };
    await store.commit([write]);
    writeSync(1, `${key.text} ${op === "delete" ? "-" : name} ${round}-${i}\n`);
  }
}

await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
exit(1);
