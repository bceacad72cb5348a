import { createRecordedLog, type LogLine } from "./recorded-log.ts";
import { createHealth, createMetrics, systemClock, type Health, type Metrics } from "../../src/base/report/index.ts";
import {
  UdmFileStore,
  type UdmEntry,
  type UdmFileStoreOptions,
  type UdmIndex,
  type CollectorUdmStore,
} from "../../src/metadata/index.ts";
import { type FileIo } from "../../src/base/file/index.ts";
import { memoryFileIo } from "./memory-file-io.ts";
import { leastEntries } from "./shared-index.ts";

export const memoryPath = "/memory/ipaddrs.yml";

export interface StoreFixture {
  readonly store: CollectorUdmStore;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly lines: readonly LogLine[];
}

/** A store that owns a file behind `io`, not started; what it reports can be looked at. */
export function storeOn(io: FileIo, options: Partial<UdmFileStoreOptions> = {}): StoreFixture {
  const metrics = createMetrics();
  const health = createHealth();
  const { log, lines } = createRecordedLog();
  const defaults = { path: memoryPath, owned: true, refreshMs: 0, maxEntries: leastEntries };
  const reporting = { io, log, metrics, clock: systemClock, health };
  return { store: new UdmFileStore({ ...defaults, ...reporting, ...options }), metrics, health, lines };
}

/** What a store makes of a file with this content. @throws UdmError when it cannot use it. */
export async function readFileText(text: string | Uint8Array): Promise<{ index: UdmIndex; lines: readonly LogLine[] }> {
  const io = memoryFileIo();
  io.put(memoryPath, text);
  const { store, lines } = storeOn(io, { owned: false });
  await store.start();
  await store.stop();
  return { index: store.current(), lines };
}

/** The entries in a form that can be compared and printed. */
export function plainEntries(entries: Iterable<UdmEntry>): unknown[] {
  return Array.from(entries, ({ key, metadata, ...rest }) => ({ ...rest, key: key.text, metadata: [...metadata] }));
}
