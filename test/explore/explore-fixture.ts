import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createEmbeddedExplore, type EmbeddedExplore, type EmbeddedExploreConfig } from "../../src/explore/index.ts";
import { createMetrics, silentLog, systemClock, type Metrics } from "../../src/report/index.ts";

export interface FixtureOptions {
  /** Left out: a new one, which is removed at the end. */
  readonly directory?: string;
  readonly clockNow?: () => number;
  readonly config?: Partial<EmbeddedExploreConfig>;
  readonly metrics?: Metrics;
  readonly onFault?: (fault: string | undefined) => void;
}

/** Stores that work on their files until they are stopped, by test. */
const opened = new WeakMap<TestContext, EmbeddedExplore[]>();

/** A new directory. At the end of the test it is removed, after the stores that {@link openExplore} opened are stopped. */
export function exploreDirectory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "netgloss-explore-"));
  t.after(async () => {
    for (const explore of opened.get(t) ?? []) await explore.stop();
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

/** An embedded store that is open; it is stopped by the test, or at its end. */
export async function openExplore(t: TestContext, options: FixtureOptions = {}): Promise<EmbeddedExplore> {
  const explore = createEmbeddedExplore({
    config: {
      directory: options.directory ?? exploreDirectory(t),
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
  opened.set(t, [...(opened.get(t) ?? []), explore]);
  t.after(() => explore.stop());
  await explore.start();
  return explore;
}
