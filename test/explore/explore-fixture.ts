import type { TestContext } from "node:test";
import { createEmbeddedExplore, type EmbeddedExplore, type EmbeddedExploreConfig } from "../../src/explore/index.ts";
import { createMetrics, silentLog, systemClock, type Metrics } from "../../src/report/index.ts";
import { cleanUp, type Owner } from "../support/clean-up.ts";
import { tempDirectory } from "../support/temp-directory.ts";

export interface FixtureOptions {
  /** Left out: a new one, which is removed at the end. */
  readonly directory?: string;
  readonly clockNow?: () => number;
  readonly config?: Partial<EmbeddedExploreConfig>;
  readonly metrics?: Metrics;
  readonly onFault?: (fault: string | undefined) => void;
}

/** A directory that goes with the test, after the stores that {@link openExplore} opened. */
export const exploreDirectory = (t: Owner): string => tempDirectory(t);

/** An embedded store that is open; it is stopped by the test, or at its end. */
export async function openExplore(t: TestContext, options: FixtureOptions = {}): Promise<EmbeddedExplore> {
  const explore = createEmbeddedExplore({
    config: {
      directory: options.directory ?? tempDirectory(t),
      maxBytes: 2 ** 30,
      maxHours: 24,
      maxRate: 0,
      rollups: { maxDays: 0, maxBytes: 2 ** 30, fields: [] },
      memoryBytes: 256 * 2 ** 20,
      fields: ["flow.src.site.name"],
      maxMetadataFields: 8,
      timeoutMs: 10_000,
      ...options.config,
    },
    clock: { monotonic: () => systemClock.monotonic(), now: options.clockNow ?? (() => systemClock.now()) },
    random: Math.random,
    log: silentLog,
    metrics: options.metrics ?? createMetrics(),
    onFault: options.onFault ?? (() => {}),
  });
  cleanUp(t, () => explore.stop());
  await explore.start();
  return explore;
}

/** Gives lines to a store. */
export function takeLines(explore: EmbeddedExplore, lines: Buffer): void {
  let count = 0;
  for (const byte of lines) if (byte === 0x0a) count++;
  explore.take(lines, count);
}
