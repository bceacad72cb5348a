// One start of a store from its copy on disk, in a process of its own, while the database is away: asked with the folder of the copy.
import { startUdmFileThread } from "../../src/app/threads/start-udm-file-thread.ts";
import { parseServerAddress } from "../../src/base/postgresql/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { UdmPostgresqlStore } from "../../src/metadata/index.ts";

/** What a start from a copy took. */
export interface CopyStartCost {
  readonly entries: number;
  /** Until reads were answered, in milliseconds. */
  readonly ms: number;
  /** Processor time of all threads, in milliseconds. */
  readonly cpuMs: number;
}

process.once("message", (stateDirectory: string) => {
  void start(stateDirectory).then((cost) => process.send?.(cost));
});

async function start(stateDirectory: string): Promise<CopyStartCost> {
  const store = new UdmPostgresqlStore({
    address: parseServerAddress("postgresql://netgloss:secret@127.0.0.1:1/netgloss"),
    tls: {},
    timeoutMs: 30_000,
    owned: true,
    collector: "bench",
    stateDirectory,
    exportPath: "",
    historyBytes: 2 ** 30,
    maxEntries: 2_000_000,
    startThread: startUdmFileThread,
    log: silentLog,
    metrics: createMetrics(),
    health: createHealth(),
    clock: systemClock,
  });
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const starting = new Promise<void>((resolve) => store.watch(() => resolve()));
  const started = store.start();
  await starting;
  const ms = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpu);
  const cost = { entries: store.current().size, ms, cpuMs: (user + system) / 1000 };
  await started;
  await store.stop();
  return cost;
}
