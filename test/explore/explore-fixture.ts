import type { TestContext } from "node:test";
import { EmbeddedExplore, type EmbeddedExploreConfig } from "../../src/explore/index.ts";
import { createSamplingMemory, setOpen, type LineSampler } from "../../src/explore/sampling/index.ts";
import { createMetrics, silentLog, systemClock, type Metrics } from "../../src/base/report/index.ts";
import { cleanUp, type Owner } from "../support/clean-up.ts";
import { createDirectSampler } from "../support/direct-sampler.ts";
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
  const sampling = createSamplingMemory(1);
  const rates = options.config?.rates ?? { whole: 0, sampled: 0 };
  const config = {
    directory: options.directory ?? tempDirectory(t),
    maxBytes: 2 ** 30,
    maxHours: 24,
    rates,
    rollups: { maxDays: 0, maxBytes: 2 ** 30, fields: [] },
    memoryBytes: 256 * 2 ** 20,
    fields: ["flow.src.site.name"],
    maxMetadataFields: 8,
    timeoutMs: 10_000,
    ...options.config,
  };
  const clock = { monotonic: () => systemClock.monotonic(), now: options.clockNow ?? (() => systemClock.now()) };
  const reporting = { clock, log: silentLog, metrics: options.metrics ?? createMetrics() };
  const explore = new EmbeddedExplore(config, sampling, reporting, options.onFault ?? (() => {}));
  cleanUp(t, () => explore.stop());
  await explore.start();
  setOpen(sampling, true);
  samplers.set(
    explore,
    createDirectSampler(sampling, rates, (lines, records) => explore.take(lines, records)),
  );
  return explore;
}

const samplers = new WeakMap<EmbeddedExplore, LineSampler>();
const lineFeed = 0x0a;

/** Gives lines to a store, some at a time as a decoder does. */
export function takeLines(explore: EmbeddedExplore, lines: Buffer): void {
  let start = 0;
  let count = 0;
  for (let at = 0; at < lines.length; at++) {
    if (lines[at] !== lineFeed || (++count < 25 && at + 1 < lines.length)) continue;
    samplers.get(explore)?.look(lines.subarray(start, at + 1), count);
    start = at + 1;
    count = 0;
  }
}
