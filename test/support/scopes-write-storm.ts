// A program for tests: writes entries of all addresses, of a scope and of names, and scopes, without end, and prints each write once it was answered.
//   node scopes-write-storm.js <folder> <round> <state directory>
import { writeSync } from "node:fs";
import { join } from "node:path";
import { argv, exit, stderr } from "node:process";
import { createHealth, createLog, createMetrics, systemClock } from "../../src/base/report/index.ts";
import { Scopes, UdmFileStore, type CollectorUdmStore, type KeyForm, type UdmWrite } from "../../src/metadata/index.ts";

const [folder = "", round = "", stateDirectory = ""] = argv.slice(2);
const reporting = {
  log: createLog({ level: "error", format: "text", destination: stderr }),
  clock: systemClock,
  health: createHealth(),
};
const kept = { owned: true, refreshMs: 0, stateDirectory };

function storeOf(file: string, keys: KeyForm): UdmFileStore {
  const path = join(folder, file);
  return new UdmFileStore({ ...reporting, ...kept, metrics: createMetrics(), path, keys, maxEntries: 10_000 });
}

const global = storeOf("ipaddrs.yml", "addresses");
const names = storeOf("names.yml", "names");
await Promise.all([global.start(), names.start()]);
const metrics = createMetrics();
const scopes = new Scopes({ ...reporting, metrics, path: join(folder, "scopes.yml"), metadata: global, entries: kept });
await scopes.start();

const keysOfAClient = 8;

/** Creates, updates and deletes its own keys in turn; each write carries a number that grows. */
async function writeEntries(
  label: string,
  store: () => CollectorUdmStore,
  keyOf: (i: number) => string,
): Promise<never> {
  for (let i = 0; ; i++) {
    const of = store();
    const key = of.parseKey(keyOf(i % keysOfAClient));
    const name = `${round}-${i}`;
    const values = { name, tags: [], vlan: 0n, internal: false, metadata: new Map([["filler", "x".repeat(500)]]) };
    const exists = of.current().get(key) !== undefined;
    const op = !exists ? "create" : i % 5 === 0 ? "delete" : "update";
    const write: UdmWrite = op === "delete" ? { op, key } : { op, key, values };
    await of.commit([write]);
    writeSync(1, `${label}.${i % keysOfAClient} ${op === "delete" ? "-" : name} ${round}-${i}\n`);
  }
}

/** The same with scopes, whose VRF has the number. */
async function writeScopes(): Promise<never> {
  for (let i = 0; ; i++) {
    const name = `9-${i % keysOfAClient}`;
    const vrf = `${round}-${i}`;
    const exists = scopes.list().some((scope) => scope.name === name);
    const isDeleted = exists && i % 5 === 0;
    if (isDeleted) await scopes.remove(name, {});
    else await scopes.set({ name, match: [{ vrf: [vrf] }], inherit: true }, "", {});
    writeSync(1, `scopes.9.${i % keysOfAClient} ${isDeleted ? "-" : vrf} ${round}-${i}\n`);
  }
}

const acme = (): CollectorUdmStore => {
  const store = scopes.store("acme");
  if (store === undefined || "disabled" in store) throw new Error("there is no scope acme");
  return store;
};
if (scopes.store("acme") === undefined) await scopes.set({ name: "acme", match: [], inherit: true }, "", {});
await Promise.all([
  writeEntries(
    "global.0",
    () => global,
    (i) => `10.0.0.${i}`,
  ),
  writeEntries(
    "global.1",
    () => global,
    (i) => `10.0.1.${i}`,
  ),
  writeEntries("acme.2", acme, (i) => `10.0.2.${i}`),
  writeEntries(
    "names.3",
    () => names,
    (i) => `port:udp/30${i}`,
  ),
  writeScopes(),
]);
exit(1);
