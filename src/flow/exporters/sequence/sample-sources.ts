import type { Budget } from "../limits/options-share.ts";
import { memoryCosts, type MemoryShare } from "../limits/memory.ts";

/** What the last sample of an sFlow data source said. */
export interface SampleSource {
  /** -1 before the first. */
  sequence: number;
  /** Samples that the source says it dropped, modulo 2^32; -1 before the first. */
  drops: number;
  /** The highest count of drops before it went back, -1 where it did not: up to here drops have been counted. */
  droppedBefore: number;
  /** How often the count of drops went back. */
  dropsBack: number;
  /** One of how many packets; 0 where it is not said. */
  rate: number;
}

/** What a sample adds to the counts. */
export interface SampleStep {
  missing: number;
  recovered: number;
  drops: number;
}

/** The sFlow data sources of one sub-agent, and the samples that their numbers show to be missing. */
export interface SampleSources {
  /**
   * Accounts for one sample. A source numbers its samples one by one, and counts those that it dropped for want of resources.
   * The first sample of a source, and the first after the agent started again, is taken as it is.
   *
   * @param key of the data source and the kind of its samples.
   * @returns the same object every time.
   */
  account(key: number, sequence: number, drops: number | undefined, rate: number): Readonly<SampleStep>;
  /**
   * Called before the samples of each datagram: a source whose number jumps ahead by more than `possible` samples begins a new count.
   */
  limit(possible: number): void;
  /** The agent has started again: every source begins a new count. */
  restart(): void;
  /** Gives back what it takes of the budget. */
  forget(): void;
  readonly missing: number;
  readonly drops: number;
  /** Sampling rates by data source; for people. */
  rates(): readonly { readonly scope: string; readonly rate: number }[];
}

/** A number that jumps ahead by more is another count. */
const maxJump = 0x1000_0000;
/** A count of drops that is ahead by more at once is another count. */
const maxDrops = 0x10_0000;
/** A number that lies back by less is a sample overtaken on its way. */
const maxLate = 4096;

/**
 * @param budgets how many data sources the exporter may have in all its domains, and all exporters together.
 * @param onEvict is called when one gives way.
 */
export function createSampleSources(
  budgets: readonly Budget[],
  memory: MemoryShare,
  onEvict: () => void,
): SampleSources {
  const sources = new Map<number, SampleSource>();
  const step: SampleStep = { missing: 0, recovered: 0, drops: 0 };
  /** The last one, with its key: most samples of a datagram are of one source. */
  let lastKey = -1;
  let last: SampleSource | undefined;
  let maxGap = maxJump;

  const sourceOf = (key: number): SampleSource => {
    if (key === lastKey && last !== undefined) return last;
    const known = sources.get(key);
    if (known !== undefined) {
      lastKey = key;
      last = known;
      return known;
    }
    const source: SampleSource = { sequence: -1, drops: -1, droppedBefore: -1, dropsBack: 0, rate: 0 };
    if (budgets.some(({ used, max }) => used >= max)) {
      onEvict();
      // Nothing is kept of a new source where this domain has none to give way.
      if (sources.size === 0) return source;
      for (const oldest of sources.keys()) {
        sources.delete(oldest);
        break;
      }
      last = undefined;
    } else {
      for (const budget of budgets) budget.used++;
      memory.add(memoryCosts.source);
    }
    sources.set(key, source);
    return source;
  };

  const accountSequence = (source: SampleSource, sequence: number): void => {
    const distance = source.sequence < 0 ? 0 : (sequence - source.sequence - 1) | 0;
    if (distance < 0 && distance >= -maxLate) {
      if (all.missing === 0) return;
      all.missing--;
      step.recovered = 1;
      return;
    }
    source.sequence = sequence;
    if (distance <= 0 || distance > maxGap) return;
    all.missing += distance;
    step.missing = distance;
  };

  const all: { -readonly [Key in keyof SampleSources]: SampleSources[Key] } = {
    missing: 0,
    drops: 0,
    account(key, sequence, drops, rate) {
      step.missing = step.recovered = step.drops = 0;
      const source = sourceOf(key);
      source.rate = rate;
      accountSequence(source, sequence);
      if (drops === undefined || step.recovered > 0) return step;
      const more = moreDrops(source, drops);
      if (more > 0 && more <= maxDrops) {
        all.drops += more;
        step.drops = more;
      }
      return step;
    },
    limit(possible) {
      maxGap = Math.min(maxJump, possible);
    },
    restart() {
      for (const source of sources.values()) {
        source.sequence = source.drops = source.droppedBefore = -1;
        source.dropsBack = 0;
      }
    },
    forget() {
      for (const budget of budgets) budget.used -= sources.size;
      memory.add(-sources.size * memoryCosts.source);
      sources.clear();
      last = undefined;
    },
    rates: () =>
      [...sources]
        .filter(([, { rate }]) => rate > 0)
        .map(([key, { rate }]) => ({ scope: `data source ${sourceIndex(key)}`, rate })),
  };
  return all;
}

/**
 * How many samples a source has dropped since its last one. The count is modulo 2^32. One that went back was begun anew; one that does so again
 * and again stands for several counters under one number, and only what goes beyond all that was seen is counted.
 */
function moreDrops(source: SampleSource, drops: number): number {
  const { drops: before, droppedBefore: highest } = source;
  source.drops = drops;
  if (before < 0) return 0;
  const more = (drops - before) | 0;
  if (more < 0) {
    source.dropsBack++;
    if (highest < 0 || ((before - highest) | 0) > 0) source.droppedBefore = before;
    return 0;
  }
  if (highest < 0 || ((highest - before) | 0) <= 0) return more;
  const beyond = (drops - highest) | 0;
  return beyond >= 0 || source.dropsBack > 1 ? Math.max(0, beyond) : more;
}

const noStep: Readonly<SampleStep> = { missing: 0, recovered: 0, drops: 0 };

/** Of domains of other protocols. */
export const noSampleSources: SampleSources = {
  account: () => noStep,
  limit() {},
  restart() {},
  forget() {},
  missing: 0,
  drops: 0,
  rates: () => [],
};

const indexes = 0x1_0000_0000;
const kinds = 3;

/** Flow, counter and discard samples of one source are numbered each for itself. */
export function sourceKey(kind: 0 | 1 | 2, type: number, index: number): number {
  return (type * kinds + kind) * indexes + index;
}

/** The index, with the type before it where it is no interface. */
function sourceIndex(key: number): string {
  const type = Math.floor(Math.floor(key / indexes) / kinds);
  const index = key % indexes;
  return type === 0 ? String(index) : `${type}:${index}`;
}
