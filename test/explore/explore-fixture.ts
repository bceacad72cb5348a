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

/** A config of a store that keeps every record of a day. */
export function configOf(
  given: Pick<EmbeddedExploreConfig, "directory"> & Partial<EmbeddedExploreConfig>,
): EmbeddedExploreConfig {
  return {
    maxBytes: 2 ** 30,
    maxHours: 24,
    rates: { whole: 0, sampled: 0 },
    rollups: { maxDays: 0, maxBytes: 2 ** 30, fields: [] },
    memoryBytes: 256 * 2 ** 20,
    fields: ["flow.src.site.name"],
    maxMetadataFields: 8,
    timeoutMs: 10_000,
    ...given,
  };
}

type Store = Readonly<{ explore: EmbeddedExplore; sampling: ReturnType<typeof createSamplingMemory> }>;

/** An embedded store that is still to be started. */
export function newExplore(config: EmbeddedExploreConfig, options: FixtureOptions): Store {
  const sampling = createSamplingMemory(1);
  const clock = { monotonic: () => systemClock.monotonic(), now: options.clockNow ?? (() => systemClock.now()) };
  const reporting = { clock, log: silentLog, metrics: options.metrics ?? createMetrics() };
  return { explore: new EmbeddedExplore(config, sampling, reporting, options.onFault ?? (() => {})), sampling };
}

/** An embedded store that is open; it is stopped by the test, or at its end. */
export async function openExplore(t: TestContext, options: FixtureOptions = {}): Promise<EmbeddedExplore> {
  const config = configOf({ directory: options.directory ?? tempDirectory(t), ...options.config });
  const { rates } = config;
  const { explore, sampling } = newExplore(config, options);
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
