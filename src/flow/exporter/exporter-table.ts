import { createExporter, type Exporter } from "./exporter.ts";
import { createEvictions, type Evictions, type Limits } from "./limits.ts";
import type { WaitingBudget } from "./waiting-sets.ts";

/** All exporters by address. Beyond the limit the one silent for longest is forgotten. */
export interface ExporterTable {
  /** @param address canonical text. */
  get(address: string, now: number): Exporter;
  all(): Iterable<Exporter>;
  readonly size: number;
  readonly evictions: Readonly<Evictions>;
  /** What waits for a template, of all exporters. */
  readonly waiting: Readonly<WaitingBudget>;
  /** Drops what has waited for a template since before a time, milliseconds since the epoch. */
  dropWaiting(before: number): void;
}

/** @param manualRates sampling rates by the exporter's address in canonical text. */
export function createExporterTable(limits: Limits, manualRates: ReadonlyMap<string, number>): ExporterTable {
  const exporters = new Map<string, Exporter>();
  const evictions = createEvictions();
  const waiting: WaitingBudget = {
    bytes: 0,
    sets: 0,
    maxBytes: limits.waitingBytesInAll,
    maxSets: Number.POSITIVE_INFINITY,
  };
  let last: Exporter | undefined;

  const evictOldest = (): void => {
    for (const [address, exporter] of exporters) {
      exporter.forget();
      exporters.delete(address);
      break;
    }
    evictions.exporters++;
  };

  return {
    get(address, now) {
      if (last?.address === address) return last;
      let exporter = exporters.get(address);
      if (exporter === undefined) {
        if (exporters.size >= limits.exporters) evictOldest();
        const manualRate = manualRates.get(address);
        exporter = createExporter({ address, manualRate, now, limits, waiting, evictions });
      } else exporters.delete(address);
      // The order of insertion is the order of use.
      exporters.set(address, exporter);
      last = exporter;
      return exporter;
    },
    all: () => exporters.values(),
    get size() {
      return exporters.size;
    },
    evictions,
    waiting,
    dropWaiting(before) {
      if (waiting.sets === 0) return;
      for (const exporter of exporters.values()) exporter.dropWaiting(before);
    },
  };
}
