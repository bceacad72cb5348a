// What one answered write of metadata costs, compared with writing and syncing the same bytes by hand; and group commit.
import { mkdtemp, open, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseKey } from "../../src/base/ip/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { UdmFileStore, type CollectorUdmStore, type UdmStore } from "../../src/metadata/index.ts";
import { startUdmFileThread } from "../../src/app/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { median } from "../support/median.ts";
import { metadataKey, writeMetadataFile } from "../support/metadata-file.ts";

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
try {
  await measureSize(1000, 300);
  await measureSize(100_000, 30);
  await measureSize(1_000_000, 15);
  await measureHistory(1000, 300);
  await measureHistory(100_000, 30);
} finally {
  await rm(directory, { recursive: true });
}

/** One write after the other, each followed by the same bytes written by hand, so that both see the same disk. */
async function measureSize(entries: number, rounds: number): Promise<void> {
  const path = join(directory, `${entries}.yml`);
  writeMetadataFile(path, entries);
  const store = createStore(path);
  await store.start();
  try {
    let writes = 0;
    const write = (): Promise<void> => update(store, writes++ % entries, `round-${writes}`);
    await write();
    const bytes = await readFile(path);
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let i = 0; i < rounds; i++) {
      ours.push(await timed(write));
      theirs.push(await timed(() => replaceFile(join(directory, "by-hand"), bytes)));
    }
    const size = `${entries.toLocaleString("en").replaceAll(",", " ")} entries`;
    reportRow({
      what: `one write at ${size} (${(bytes.length / 1e6).toFixed(1)} MB)`,
      value: median(ours),
      unit: "ms",
      peer: { what: "write, fsync, rename, fsync of the bytes", value: median(theirs) },
      goal: "≤ 1.2 × at a million",
    });
    const one = await writesPerSecond(1, write);
    const many = await writesPerSecond(64, write);
    reportRow({
      what: `64 clients writing at ${size}`,
      value: many,
      unit: "writes/s",
      peer: { what: "one client", value: one },
      goal: "≥ 40 × at 100 000",
    });
  } finally {
    await store.stop();
  }
}

/** @param stateDirectory where the history is; without it there is none. */
function createStore(path: string, stateDirectory?: string): CollectorUdmStore {
  return new UdmFileStore({
    path,
    owned: true,
    refreshMs: 0,
    startThread: startUdmFileThread,
    ...(stateDirectory !== undefined && { stateDirectory }),
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
    health: createHealth(),
  });
}

/** What the history adds to a group of writes: a line more, and its sync. Two stores take turns. */
async function measureHistory(entries: number, rounds: number): Promise<void> {
  const [withPath, withoutPath] = ["with", "without"].map((name) => join(directory, `${name}-${entries}.yml`)) as [
    string,
    string,
  ];
  for (const path of [withPath, withoutPath]) writeMetadataFile(path, entries);
  const stores = [createStore(withPath, await mkdtemp(join(directory, "state-"))), createStore(withoutPath)];
  const times: number[][] = [[], []];
  for (const store of stores) {
    await store.start();
    await update(store, 0, "first");
  }
  for (let i = 0; i < rounds; i++) {
    for (const [n, store] of stores.entries()) {
      times[n]?.push(await timed(() => update(store, i % entries, `round-${i}`)));
    }
  }
  for (const store of stores) await store.stop();
  const [ours = [], without = []] = times;
  reportRow({
    what: `one write at ${entries.toLocaleString("en").replaceAll(",", " ")} entries, with a history`,
    value: median(ours),
    unit: "ms",
    peer: { what: "without a history", value: median(without) },
  });
}

async function update(store: UdmStore, i: number, name: string): Promise<void> {
  const values = { name, tags: ["bench"], vlan: 7n, internal: false, metadata: new Map([[".site.name", "Bench"]]) };
  await store.commit([{ op: "update", key: parseKey(metadataKey(i)), values }]);
}

async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(`${path}.tmp`, "w");
  await file.writeFile(bytes);
  await file.sync();
  await file.close();
  await rename(`${path}.tmp`, path);
  const folder = await open(directory, "r");
  await folder.sync();
  await folder.close();
}

async function writesPerSecond(clients: number, write: () => Promise<void>): Promise<number> {
  const start = performance.now();
  const end = start + 3000;
  let done = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      await write();
      done++;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return (done / (performance.now() - start)) * 1000;
}

async function timed(action: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}
