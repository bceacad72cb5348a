import type { FieldValues, RecordFields } from "../../record/index.ts";
import { addressKey, compareSpecificity, keyContains, parseAddress, parseKey } from "../../base/ip/index.ts";
import { LearntTable, type EntryShare } from "./limits.ts";

/** Elements that give a rate or a sampler, in flow records or in options. */
export const samplingElements: ReadonlySet<number> = new Set([34, 48, 50, 302, 305, 306, 309, 310, 311]);
/** The ones of these that name a sampler. */
export const samplerElements: ReadonlySet<number> = new Set([48, 302]);

/** From here on a rate is doubted: no device samples so few packets, and the lowest one in the wrong byte order is this. */
const doubtedFrom = 2 ** 24;
/** A rate that was sent in the wrong byte order has zeros where its lower half is expected. */
const halfBits = 16;

/**
 * A rate that can be: itself below 1:2^24. Beyond it the other byte order counts, where that gives a rate of 16 bits (RouterOS sends
 * 1:100 as 1 677 721 600).
 *
 * @returns undefined where neither order gives a rate.
 */
export function plausibleRate(rate: number): number | undefined {
  if (rate < doubtedFrom) return rate;
  if (!Number.isInteger(rate) || rate >= 2 ** 32 || (rate & 0xffff) !== 0) return undefined;
  const upper = rate >>> halfBits;
  return ((upper & 0xff) << 8) | (upper >>> 8);
}

/** Takes a rate that was said and cannot be, and the one that is taken for it: undefined where none is. */
export type DoubtRate = (said: number, taken: number | undefined) => void;

/** Returns what a rate that was said counts as: see {@link plausibleRate}. */
export function checkRate(said: number | undefined, doubt: DoubtRate | undefined): number | undefined {
  if (said === undefined) return undefined;
  const taken = plausibleRate(said);
  if (taken !== said) doubt?.(said, taken);
  return taken;
}

/**
 * One of how many packets was looked at, by what the record itself says: samplingInterval (34), samplerRandomInterval
 * (50), samplingPacketInterval and samplingPacketSpace (305, 306: so many taken, so many left out), samplingSize and
 * samplingPopulation (309, 310: n out of N), samplingProbability (311). Undefined when it says nothing usable.
 */
function recordRate(record: FieldValues): number | undefined {
  return (
    positive(record, "flow.ie.samplingInterval") ??
    positive(record, "flow.ie.samplerRandomInterval") ??
    countRate(record) ??
    ratio(positive(record, "flow.ie.samplingPopulation"), positive(record, "flow.ie.samplingSize")) ??
    ratio(1, positive(record, "flow.ie.samplingProbability"))
  );
}

/** The sampler that the record names: selectorId (302), or samplerId (48) of NetFlow v9. Zero names none. */
function recordSampler(record: FieldValues): number | undefined {
  return positive(record, "flow.ie.selectorId") ?? positive(record, "flow.ie.samplerId");
}

function countRate(record: FieldValues): number | undefined {
  const taken = positive(record, "flow.ie.samplingPacketInterval");
  const leftOut = record.get("flow.ie.samplingPacketSpace");
  return taken === undefined || typeof leftOut !== "number" ? undefined : (taken + leftOut) / taken;
}

const singlePrecision = 2 ** -23;

function ratio(all: number | undefined, taken: number | undefined): number | undefined {
  if (all === undefined || taken === undefined || taken > all) return undefined;
  const rate = all / taken;
  if (!Number.isFinite(rate)) return undefined;
  // A third in single precision is meant to be one of three.
  const whole = Math.round(rate);
  return Math.abs(rate - whole) < whole * singlePrecision ? whole : rate;
}

function positive(record: FieldValues, name: string): number | undefined {
  const value = record.get(name);
  return typeof value === "number" && value > 0 ? value : undefined;
}

/** Names of all fields that a rate may follow from. */
export const rateInputs: readonly string[] = [
  "flow.ie.samplingInterval",
  "flow.ie.samplerRandomInterval",
  "flow.ie.samplingPacketInterval",
  "flow.ie.samplingPacketSpace",
  "flow.ie.samplingPopulation",
  "flow.ie.samplingSize",
  "flow.ie.samplingProbability",
  "flow.ie.selectorId",
  "flow.ie.samplerId",
  "flow.in.netif.index",
  "flow.out.netif.index",
  "flow.direction.name",
];

/** The rates that the operator gives one exporter. */
export interface ManualRate {
  /** Wins over what it says. */
  readonly manualRate: number | undefined;
  /** For the case that it says nothing. */
  readonly fallbackRate: number | undefined;
}

/** The sources of the sampling rate of a flow record, besides the record itself. */
export interface RateSources extends ManualRate {
  /** The record's own domain. */
  readonly own: SamplingTable | undefined;
  /** Domain 0, which speaks for the whole exporter. */
  readonly whole: SamplingTable | undefined;
  /** True if other records of the domain name samplers: then one that names none was not taken by them. */
  readonly hasSamplers: boolean;
  /** Is called with an impossible rate of a record, and what is used instead. */
  readonly doubt: DoubtRate | undefined;
}

/** The facts about a record that are known before it is looked at. */
export interface RecordSampling {
  /** True if it may say something of sampling; false saves the look. */
  readonly namesSampling: boolean;
  /** The id of its template; 0 where that says nothing. */
  readonly templateId: number;
}

/**
 * One of how many packets was looked at: by the operator, the record, its sampler, its template, its interface, its domain, the
 * exporter as a whole, or the operator for want of these, the first that says it.
 */
export function flowRate(
  record: FieldValues,
  { namesSampling, templateId }: RecordSampling,
  { manualRate, fallbackRate, own, whole, hasSamplers, doubt }: RateSources,
): number | undefined {
  return (
    manualRate ??
    (namesSampling ? checkRate(recordRate(record), doubt) : undefined) ??
    own?.rateFor(record, { namesSampling, templateId, hasSamplers }) ??
    whole?.rateFor(record, { namesSampling, templateId: noTemplate, hasSamplers }) ??
    fallbackRate
  );
}

/** Numbers of templates are those of one domain. */
const noTemplate = 0;

/** Returns whether all records of a set have the same rate, whatever is in them. */
export function isOneRate(
  { namesSampling, templateId }: RecordSampling,
  { manualRate, own, whole, hasSamplers }: RateSources,
): boolean {
  if (manualRate !== undefined) return true;
  if (namesSampling || own?.isByInterface({ namesSampling, templateId, hasSamplers }) === true) return false;
  return whole?.isByInterface({ namesSampling, templateId: noTemplate, hasSamplers }) !== true;
}

/** Sampling rates by exporter: address, CIDR or range in canonical text. */
export type SamplingRates = ReadonlyMap<string, number>;

/** The operator's rates that may change while the collector runs. */
export interface RatesFile {
  readonly rates: SamplingRates;
  /** True if they win over what exporters say; else they are for exporters that say nothing. */
  readonly override: boolean;
}

/** The operator's rates: that of an exporter's address, else that of the smallest prefix or range around it. */
export class ManualRates {
  readonly #fixedRate: RateOf;
  readonly #file: () => RatesFile | undefined;
  #current: RatesFile | undefined;
  #fileRate: RateOf = () => undefined;

  /**
   * @param fixed win over those of the file.
   * @param file as it is now, another object after each change; undefined before it was read.
   * @throws KeyError when a key is none.
   */
  constructor(fixed: SamplingRates, file: () => RatesFile | undefined = () => undefined) {
    this.#fixedRate = createRateOf(fixed);
    this.#file = file;
  }

  /** Another value when answers may have changed. */
  version(): unknown {
    return this.#file();
  }

  of(address: string): ManualRate {
    const now = this.#file();
    if (now !== this.#current) {
      this.#current = now;
      this.#fileRate = createRateOf(now?.rates ?? new Map());
    }
    const rate = this.#fileRate(address);
    const isOverride = now?.override === true;
    return {
      manualRate: this.#fixedRate(address) ?? (isOverride ? rate : undefined),
      fallbackRate: isOverride ? undefined : rate,
    };
  }
}

type RateOf = (address: string) => number | undefined;

function createRateOf(rates: SamplingRates): RateOf {
  const prefixes = Array.from(rates, ([text, rate]) => ({ key: parseKey(text), rate }))
    .filter(({ key }) => key.kind !== "ip")
    .toSorted((a, b) => compareSpecificity(a.key, b.key));
  return (text) => {
    const own = rates.get(text);
    if (own !== undefined || prefixes.length === 0) return own;
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    const inner = addressKey(address);
    return prefixes.find(({ key }) => keyContains(key, inner))?.rate;
  };
}

/** A rate that replaced another one of the same scope. */
export interface RateChange {
  readonly scope: string;
  readonly from: number;
  readonly to: number;
  /** The number of times a rate of the domain changed. */
  readonly count: number;
}

/** Plain data; null is no rate. */
export interface SamplingState {
  readonly samplers: readonly (readonly [id: number, rate: number])[];
  readonly netifs: readonly (readonly [index: number, rate: number])[];
  /** Left out: none are known. */
  readonly templates?: readonly (readonly [id: number, rate: number])[];
  readonly domainRate: number | null;
}

/** Holds what the options of one observation domain say of sampling. */
export class SamplingTable {
  readonly #samplers: LearntTable<number, number>;
  readonly #netifs: LearntTable<number, number>;
  readonly #templates: LearntTable<number, number>;
  #domainRate: number | undefined;
  #commonRate: number | undefined;
  /** Worked out when a record needs it, so that a flood of options costs no more than what is in it. */
  #isCommonKnown = true;
  /** The last change of a rate in this run; undefined while each scope had one rate. */
  lastChange: RateChange | undefined;

  constructor(share: EntryShare) {
    this.#samplers = new LearntTable(share);
    this.#netifs = new LearntTable(share);
    this.#templates = new LearntTable(share);
  }

  /** True if no rate is known. */
  get isEmpty(): boolean {
    const known = this.#samplers.size + this.#templates.size + this.#netifs.size;
    return this.#domainRate === undefined && known === 0;
  }

  /**
   * Takes what an options record says; without a rate in it nothing changes. Returns whether it was something new.
   *
   * @param hasForeignScope whether the scope narrows it to something that flow records do not say: it holds for no flow then, unless it
   * names a sampler.
   * @param doubt is called with an impossible rate.
   */
  learn(options: RecordFields, hasForeignScope: boolean, doubt?: DoubtRate): boolean {
    const rate = checkRate(recordRate(options), doubt);
    if (rate === undefined) return false;
    const sampler = recordSampler(options);
    if (sampler !== undefined) {
      const isNew = this.#put(this.#samplers, `sampler ${sampler}`, sampler, rate);
      if (isNew) this.#isCommonKnown = false;
      return isNew;
    }
    if (hasForeignScope) return false;
    const template = options.get("flow.scope.template") ?? options.get("flow.ie.templateId");
    if (typeof template === "number") return this.#put(this.#templates, `template ${template}`, template, rate);
    const netif =
      options.get("flow.scope.interface") ?? options.get("flow.in.netif.index") ?? options.get("flow.out.netif.index");
    if (typeof netif === "number") return this.#put(this.#netifs, `interface ${netif}`, netif, rate);
    const isNew = this.#domainRate !== rate;
    this.#noteChange("domain", this.#domainRate, rate);
    this.#domainRate = rate;
    return isNew;
  }

  /**
   * The rate for a flow record: of the sampler that it names, else of its template, of its interface, of the domain. A record that
   * names no sampler has that rate on which all samplers of the domain agree, unless other records name them.
   */
  rateFor(
    flow: FieldValues,
    { namesSampling, templateId, hasSamplers }: RecordSampling & Pick<RateSources, "hasSamplers">,
  ): number | undefined {
    const sampler = namesSampling ? recordSampler(flow) : undefined;
    const bySampler = sampler === undefined ? undefined : this.#samplers.get(sampler);
    const byTemplate = bySampler ?? (this.#templates.size === 0 ? undefined : this.#templates.get(templateId));
    if (byTemplate !== undefined) return byTemplate;
    const byAll = sampler === undefined && !hasSamplers ? this.#common() : undefined;
    if (byAll !== undefined) return byAll;
    return (this.#netifs.size === 0 ? undefined : this.#netifs.get(netifOf(flow))) ?? this.#domainRate;
  }

  /** Returns whether the rate of a record that names no sampler may differ from that of another of its template. */
  isByInterface({ templateId, hasSamplers }: RecordSampling & Pick<RateSources, "hasSamplers">): boolean {
    if (this.#netifs.size === 0 || this.#templates.get(templateId) !== undefined) return false;
    return hasSamplers || this.#common() === undefined;
  }

  /** For people: the rates by what they apply to. */
  rates(): readonly { readonly scope: string; readonly rate: number }[] {
    const all = Array.from(this.#samplers.entries(), ([id, rate]) => ({ scope: `sampler ${id}`, rate }));
    for (const [id, rate] of this.#templates.entries()) all.push({ scope: `template ${id}`, rate });
    for (const [index, rate] of this.#netifs.entries()) all.push({ scope: `interface ${index}`, rate });
    if (this.#domainRate !== undefined) all.push({ scope: "domain", rate: this.#domainRate });
    return all;
  }

  state(): SamplingState {
    return {
      samplers: [...this.#samplers.entries()],
      netifs: [...this.#netifs.entries()],
      templates: [...this.#templates.entries()],
      domainRate: this.#domainRate ?? null,
    };
  }

  /**
   * Adds what `state` gave, where nothing is known yet. Versions that did not doubt rates may have kept them.
   *
   * @param isNewer it counts before what is known.
   */
  restore(state: SamplingState, isNewer: boolean): void {
    this.#samplers.restore(state.samplers, isNewer, plausibleRate);
    this.#netifs.restore(state.netifs, isNewer, plausibleRate);
    this.#templates.restore(state.templates ?? [], isNewer, plausibleRate);
    this.#domainRate = newer(this.#domainRate, plausibleRate(state.domainRate ?? 0) || null, isNewer);
    this.#isCommonKnown = false;
  }

  clear(): void {
    for (const table of [this.#samplers, this.#netifs, this.#templates]) table.clear();
    this.#domainRate = undefined;
    this.#isCommonKnown = false;
  }

  #put(table: LearntTable<number, number>, scope: string, id: number, rate: number): boolean {
    this.#noteChange(scope, table.get(id), rate);
    return table.set(id, rate);
  }

  #noteChange(scope: string, from: number | undefined, to: number): void {
    if (from === undefined || from === to) return;
    this.lastChange = { scope, from, to, count: (this.lastChange?.count ?? 0) + 1 };
  }

  /** The rate that all samplers have. */
  #common(): number | undefined {
    if (!this.#isCommonKnown) {
      this.#isCommonKnown = true;
      this.#commonRate = onlyOne(this.#samplers.values());
    }
    return this.#commonRate;
  }
}

/** Returns what is known, unless nothing is, or what comes counts before it. */
export function newer<T>(known: T | undefined, given: T | null, isNewer: boolean): T | undefined {
  return isNewer ? (given ?? known) : (known ?? given ?? undefined);
}

/** Flows are sampled where they were seen: at the way in, or at the way out where the record says so. -1 is nowhere. */
function netifOf(flow: FieldValues): number {
  const isEgress = flow.get("flow.direction.name") === "egress";
  const index = flow.get(isEgress ? "flow.out.netif.index" : "flow.in.netif.index");
  return typeof index === "number" ? index : -1;
}

/** The value that all are; undefined when they differ or there is none. */
function onlyOne(values: Iterable<number>): number | undefined {
  let first: number | undefined;
  for (const value of values) {
    if (first !== undefined && value !== first) return undefined;
    first = value;
  }
  return first;
}
