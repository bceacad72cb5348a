import { memoryCosts, noShare, type EntryShare } from "./limits.ts";

/** The last sample of an sFlow data source. */
interface SampleSource {
  /** -1 before the first. */
  sequence: number;
  /** Samples that the source says it dropped, modulo 2^32; -1 before the first. */
  drops: number;
  /** The highest count of drops before it went back, -1 where it did not: up to here drops have been counted. */
  droppedBefore: number;
  /** The number of times the count of drops went back. */
  dropsBack: number;
  /** One of how many packets; 0 where it is not said. */
  rate: number;
}

/** The amounts that a sample adds to the counts. */
export interface SampleStep {
  missing: number;
  recovered: number;
  drops: number;
}

/** A number that jumps ahead by more is another count. */
const maxJump = 0x1000_0000;
/** A count of drops that is ahead by more at once is another count. */
const maxDrops = 0x10_0000;
/** A number that lies back by less is a sample overtaken on its way. */
const maxLateSamples = 4096;

/** The sFlow data sources of one sub-agent, and the samples that their numbers show to be missing. */
export class SampleSources {
  readonly #share: EntryShare;
  readonly #sources = new Map<number, SampleSource>();
  readonly #step: SampleStep = { missing: 0, recovered: 0, drops: 0 };
  /** The last one, with its key: most samples of a datagram are of one source. */
  #lastKey = -1;
  #last: SampleSource | undefined;
  #maxGap = maxJump;
  missing = 0;
  drops = 0;

  constructor(share: EntryShare) {
    this.#share = share;
  }

  /**
   * Accounts for one sample. A source numbers its samples one by one, and counts those that it dropped for want of resources.
   * The first sample of a source, and the first after the agent started again, is taken as it is.
   *
   * @param key of the data source and the kind of its samples.
   * @returns the same object every time.
   */
  account(key: number, sequence: number, drops: number | undefined, rate: number): Readonly<SampleStep> {
    const step = this.#step;
    step.missing = step.recovered = step.drops = 0;
    const source = this.#sourceOf(key);
    source.rate = rate;
    this.#accountSamples(source, sequence);
    if (drops === undefined || step.recovered > 0) return step;
    const more = moreDrops(source, drops);
    if (more > 0 && more <= maxDrops) {
      this.drops += more;
      step.drops = more;
    }
    return step;
  }

  /**
   * Called before the samples of each datagram: a source whose number jumps ahead by more than `possible` samples begins a new count.
   */
  limit(possible: number): void {
    this.#maxGap = Math.min(maxJump, possible);
  }

  /** The agent has started again: every source begins a new count. */
  restart(): void {
    for (const source of this.#sources.values()) {
      source.sequence = source.drops = source.droppedBefore = -1;
      source.dropsBack = 0;
    }
  }

  /** Gives back what it takes of the budget. */
  forget(): void {
    this.#share.give(this.#sources.size);
    this.#share.memory.add(-this.#sources.size * memoryCosts.source);
    this.#sources.clear();
    this.#last = undefined;
  }

  /** Sampling rates by data source; for people. */
  rates(): readonly { readonly scope: string; readonly rate: number }[] {
    return [...this.#sources]
      .filter(([, { rate }]) => rate > 0)
      .map(([key, { rate }]) => ({ scope: `data source ${sourceIndex(key)}`, rate }));
  }

  #sourceOf(key: number): SampleSource {
    if (key === this.#lastKey && this.#last !== undefined) return this.#last;
    const known = this.#sources.get(key);
    if (known !== undefined) {
      this.#lastKey = key;
      this.#last = known;
      return known;
    }
    const source: SampleSource = { sequence: -1, drops: -1, droppedBefore: -1, dropsBack: 0, rate: 0 };
    if (this.#share.take()) this.#share.memory.add(memoryCosts.source);
    else {
      this.#share.onEvict();
      // Nothing is kept of a new source where this domain has none to give way.
      if (this.#sources.size === 0) return source;
      for (const oldest of this.#sources.keys()) {
        this.#sources.delete(oldest);
        break;
      }
      this.#last = undefined;
    }
    this.#sources.set(key, source);
    return source;
  }

  #accountSamples(source: SampleSource, sequence: number): void {
    const distance = source.sequence < 0 ? 0 : (sequence - source.sequence - 1) | 0;
    if (distance < 0 && distance >= -maxLateSamples) {
      if (this.missing === 0) return;
      this.missing--;
      this.#step.recovered = 1;
      return;
    }
    source.sequence = sequence;
    if (distance <= 0 || distance > this.#maxGap) return;
    this.missing += distance;
    this.#step.missing = distance;
  }
}

/**
 * Returns how many samples a source has dropped since its last one. The count is modulo 2^32. A count that goes back starts again from zero; one
 * that does so often stands for several counters under one number, and only what goes beyond all that was seen is counted.
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

/** The sources of domains of other protocols. */
export const noSampleSources = new SampleSources(noShare);

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

/** The units in a datagram that sequence numbers count. */
export interface SequenceUnits {
  /** By the protocol's rule. */
  readonly counted: number;
  /** Without records of options, which some IPFIX exporters leave out. */
  readonly flows: number;
}

export interface SequenceStep {
  readonly missing: number;
  readonly recovered: number;
  readonly event: "late" | "reset" | undefined;
}

/** A number that jumps ahead by more is no gap but another count, however long the exporter was silent. */
const maxGap = 0x1000_0000;
/** The number of units that may be lost at once. */
const burst = 65_536;
/** An exporter may send this many times what was received of it before. */
const surge = 16;
/** Units a millisecond that any exporter may send, although it was quiet before. */
const quietRate = 0.1;
/** A rate that is not reached any more is forgotten by this share in each second with datagrams. */
const decay = 0.1;
const secondMs = 1000;
/** A number that lies back by less is a datagram overtaken on its way. */
const maxLate = 4096;
const ownWayAfter = 2;

const inOrder: SequenceStep = { missing: 0, recovered: 0, event: undefined };

/** The state of the sequence numbers of one observation domain. */
export class Sequence {
  /** The last number and what its datagram held; undefined before the first, and when the next cannot be known from it. */
  last: { readonly number: number; readonly units: SequenceUnits } | undefined;
  /** Units found missing, in the protocol's own: flows (NetFlow v5, v7), datagrams (v9, sFlow), data records (IPFIX). */
  missing = 0;
  /** Units among these that came late, or never were missing because the exporter counts in a way of its own. */
  recovered = 0;
  /** Datagrams that came out of order. */
  late = 0;
  resets = 0;
  /** Units received. */
  received = 0;
  /** When units were found missing last, milliseconds since the epoch. */
  gapAt: number | undefined;
  /** Gaps that would be none if the exporter counted in a way of its own; from `ownWayAfter` on it is taken to do so. */
  doubts = 0;
  /** The units that these gaps added to `missing`. */
  doubtful = 0;
  /** When the last datagram was received, milliseconds since the epoch. */
  at = 0;
  /** Units received a millisecond: the rate of the busiest second lately. */
  rate = 0;
  /** The second that is measured: when it began, and what was received since. */
  readonly second = { at: 0, units: 0 };
}

/**
 * Returns the most units that an exporter can have sent since the datagram before: a burst, and by its rate for the time that has passed.
 *
 * @param now milliseconds since the epoch.
 */
export function possibleGap({ at, rate }: Sequence, now: number): number {
  const passed = Math.max(0, now - at);
  return Math.min(maxGap, burst + surge * Math.max(rate, quietRate) * passed);
}

/** Takes what a datagram holds for the rate. */
function measure(sequence: Sequence, units: number, now: number): void {
  const { second } = sequence;
  sequence.at = now;
  sequence.received += units;
  const passed = now - second.at;
  if (passed >= 0 && passed < secondMs) {
    second.units += units;
    return;
  }
  // A clock that was set back begins a second; so does the first datagram.
  const seen = passed < 0 ? 0 : second.units / passed;
  sequence.rate = Math.max(seen, sequence.rate * (1 - decay));
  second.at = now;
  second.units = units;
}

/**
 * Accounts for one datagram. Numbers are modulo 2^32 and give the units sent before the datagram. Exporters that break
 * this rule (softflowd counts the datagram's own flows in, others leave options out, count datagrams or nothing at all) are
 * recognised when their numbers fit such a way of counting twice where they do not fit the rule. An exporter that started again,
 * as its uptime says, or a number further ahead than it can have sent since ({@link possibleGap}) or far behind, begins a new count
 * with nothing missing.
 *
 * @param units what the datagram holds; undefined when that is not known, then the next is taken as it comes.
 * @param hasRestarted whether the exporter is known to have started again since the last datagram.
 * @param now when the datagram was received, milliseconds since the epoch.
 */
export function accountSequence(
  sequence: Sequence,
  number: number,
  units: SequenceUnits | undefined,
  hasRestarted: boolean,
  now: number,
): SequenceStep {
  const step = accountNumber(sequence, number, units, hasRestarted, now);
  if (step.missing > 0) sequence.gapAt = now;
  measure(sequence, units?.counted ?? 0, now);
  return step;
}

function accountNumber(
  sequence: Sequence,
  number: number,
  units: SequenceUnits | undefined,
  hasRestarted: boolean,
  now: number,
): SequenceStep {
  const { last } = sequence;
  const next = units && { number, units };
  if (last === undefined) {
    sequence.last = next;
    return inOrder;
  }
  const distance = (number - last.number - last.units.counted) | 0;
  if (distance === 0 && !hasRestarted) {
    if (!isOwnWay(last.number, last.units, number, units)) sequence.doubts = sequence.doubtful = 0;
    sequence.last = next;
    return inOrder;
  }
  if (hasRestarted || distance > possibleGap(sequence, now) || distance < -maxLate) {
    sequence.last = next;
    sequence.resets++;
    return { missing: 0, recovered: 0, event: "reset" };
  }
  if (isOwnWay(last.number, last.units, number, units)) {
    sequence.last = next;
    return accountOwnWay(sequence, distance);
  }
  if (distance > 0) {
    sequence.last = next;
    sequence.missing += distance;
    return { missing: distance, recovered: 0, event: undefined };
  }
  sequence.late++;
  const recovered = Math.min(units?.counted ?? 0, sequence.missing - sequence.recovered);
  sequence.recovered += recovered;
  return { missing: 0, recovered, event: "late" };
}

/** A number that fits another way of counting: a gap until that way is believed in, which takes the gaps back. */
function accountOwnWay(sequence: Sequence, distance: number): SequenceStep {
  const missing = sequence.doubts + 1 < ownWayAfter ? Math.max(0, distance) : 0;
  const recovered = sequence.doubts + 1 < ownWayAfter ? 0 : sequence.doubtful;
  sequence.doubts++;
  sequence.missing += missing;
  sequence.recovered += recovered;
  sequence.doubtful += missing - recovered;
  return { missing, recovered, event: undefined };
}

function isOwnWay(last: number, before: SequenceUnits, number: number, units: SequenceUnits | undefined): boolean {
  const step = (number - last) >>> 0;
  return step <= 1 || step === before.flows || step === units?.flows || step === units?.counted;
}
