import type { RecordFields } from "../../../record/index.ts";
import { createSamplingTable, newer, type SamplingState, type SamplingTable } from "../sampling/sampling-table.ts";
import { createNameTable, type NamesState, type NameTable } from "./name-table.ts";
import type { DoubtRate } from "../sampling/record-rate.ts";
import type { OptionsShare } from "../limits/options-share.ts";

/** All that the options of one observation domain say for its flow records. */
export interface DomainOptions {
  readonly sampling: SamplingTable;
  readonly names: NameTable;
  /** When the exporter started, milliseconds since the epoch, where its options say so. */
  readonly bootTime: number | undefined;
  /** Whether nothing was learned yet. */
  isEmpty(): boolean;
  /** How many templates of flows of the domain name samplers. */
  samplerTemplates: number;
  /**
   * Takes an options record. Returns whether it said something new.
   *
   * @param now milliseconds since the epoch.
   * @param hasForeignScope, doubt as {@link SamplingTable.learn}.
   */
  learn(options: RecordFields, now: number, hasForeignScope: boolean, doubt?: DoubtRate): boolean;
  /** Takes of such a record only when the exporter started: that is the same in all its domains. Returns whether it said something new. */
  learnStart(options: RecordFields, now: number): boolean;
  state(): DomainOptionsState;
  /**
   * Adds what `state` gave, where nothing is known yet. What has changed since options came here counts before what is known.
   *
   * @returns whether nothing was known, or something older.
   */
  restore(state: DomainOptionsState): boolean;
  clear(): void;
}

/** Plain data. */
export interface DomainOptionsState {
  readonly sampling: SamplingState;
  readonly names: NamesState;
  readonly bootTime: number | null;
  /** When it changed for the last time, milliseconds since the epoch. Left out: not known. */
  readonly changedAt?: number;
}

/** Exporters that compute their start from an uptime send a slightly different one each time. */
const sameBootMs = 1000;

/** Made when there is something to learn: most domains send no options, and there may be many. */
export function createDomainOptions(share: OptionsShare): DomainOptions {
  let heardAt = 0;
  let changedAt = 0;
  const begin = (): void => {
    if (all.sampling !== noSampling) return;
    all.sampling = createSamplingTable(share);
    all.names = createNameTable(share);
  };
  const learnBootTime = (options: RecordFields): boolean => {
    const value = options.get("flow.ie.systemInitTimeMilliseconds");
    const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(time)) return false;
    const isNew = all.bootTime === undefined || Math.abs(time - all.bootTime) > sameBootMs;
    all.bootTime = time;
    return isNew;
  };

  const all: { -readonly [Key in keyof DomainOptions]: DomainOptions[Key] } = {
    sampling: noSampling,
    names: noNames,
    bootTime: undefined,
    samplerTemplates: 0,
    isEmpty: () =>
      all.bootTime === undefined && (all.sampling === noSampling || (all.names.version === 0 && all.sampling.isEmpty)),
    learn(options, now, hasForeignScope, doubt) {
      begin();
      heardAt = now;
      const isRate = all.sampling.learn(options, hasForeignScope, doubt);
      const isName = all.names.learn(options);
      const isChange = learnBootTime(options) || isRate || isName;
      if (isChange) changedAt = now;
      return isChange;
    },
    learnStart(options, now) {
      const isChange = learnBootTime(options);
      if (isChange) changedAt = heardAt = now;
      return isChange;
    },
    state: () => ({
      sampling: all.sampling.state(),
      names: all.names.state(),
      bootTime: all.bootTime ?? null,
      changedAt,
    }),
    restore(state) {
      const wasEmpty = all.isEmpty();
      begin();
      const saidAt = state.changedAt ?? 0;
      const isNewer = saidAt > heardAt && saidAt > changedAt;
      all.sampling.restore(state.sampling, isNewer);
      all.names.restore(state.names, isNewer);
      all.bootTime = newer(all.bootTime, state.bootTime, isNewer);
      changedAt = Math.max(changedAt, saidAt);
      return wasEmpty || isNewer;
    },
    clear() {
      all.bootTime = undefined;
      if (all.sampling === noSampling) return;
      all.sampling.clear();
      all.names.clear();
      all.sampling = noSampling;
      all.names = noNames;
    },
  };
  return all;
}

const nothing: OptionsShare = { take: () => false, give() {}, addBytes() {}, evicted() {} };
/** Of domains that said nothing; nothing is put into them. */
const noSampling = createSamplingTable(nothing);
const noNames = createNameTable(nothing);
