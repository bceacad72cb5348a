import type { RecordFields } from "../../../record/index.ts";
import { createSamplingTable, type SamplingState, type SamplingTable } from "../sampling/sampling-table.ts";
import { createNameTable, type NamesState, type NameTable } from "./name-table.ts";
import type { OptionsShare } from "../limits/options-share.ts";

/** All that the options of one observation domain say for its flow records. */
export interface DomainOptions {
  readonly sampling: SamplingTable;
  readonly names: NameTable;
  /** When the exporter started, milliseconds since the epoch, where its options say so. */
  readonly bootTime: number | undefined;
  /** Whether nothing was learned yet. */
  readonly isEmpty: boolean;
  /** Takes an options record. Returns whether it said something new. */
  learn(options: RecordFields): boolean;
  state(): DomainOptionsState;
  /** Adds what `state` gave, where nothing is known yet. */
  restore(state: DomainOptionsState): void;
  clear(): void;
}

/** Plain data. */
export interface DomainOptionsState {
  readonly sampling: SamplingState;
  readonly names: NamesState;
  readonly bootTime: number | null;
}

/** Exporters that compute their start from an uptime send a slightly different one each time. */
const sameBootMs = 1000;

/** Made when there is something to learn: most domains send no options, and there may be many. */
export function createDomainOptions(share: OptionsShare): DomainOptions {
  let sampling = noSampling;
  let names = noNames;
  let bootTime: number | undefined;

  const begin = (): void => {
    if (sampling !== noSampling) return;
    sampling = createSamplingTable(share);
    names = createNameTable(share);
  };
  const learnBootTime = (options: RecordFields): boolean => {
    const value = options.get("flow.ie.systemInitTimeMilliseconds");
    const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(time)) return false;
    const isNew = bootTime === undefined || Math.abs(time - bootTime) > sameBootMs;
    bootTime = time;
    return isNew;
  };

  return {
    get sampling() {
      return sampling;
    },
    get names() {
      return names;
    },
    get bootTime() {
      return bootTime;
    },
    get isEmpty() {
      return bootTime === undefined && names.version === 0 && sampling.isEmpty;
    },
    learn(options) {
      begin();
      const isRate = sampling.learn(options);
      const isName = names.learn(options);
      return learnBootTime(options) || isRate || isName;
    },
    state: () => ({ sampling: sampling.state(), names: names.state(), bootTime: bootTime ?? null }),
    restore(state) {
      begin();
      sampling.restore(state.sampling);
      names.restore(state.names);
      bootTime ??= state.bootTime ?? undefined;
    },
    clear() {
      bootTime = undefined;
      if (sampling === noSampling) return;
      sampling.clear();
      names.clear();
      sampling = noSampling;
      names = noNames;
    },
  };
}

const nothing: OptionsShare = { take: () => false, give() {}, addBytes() {}, evicted() {} };
/** Of domains that said nothing; nothing is put into them. */
const noSampling = createSamplingTable(nothing);
const noNames = createNameTable(nothing);
