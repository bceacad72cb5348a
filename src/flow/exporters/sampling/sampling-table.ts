import type { FieldValues, RecordFields } from "../../../record/index.ts";
import { createLearntTable, type LearntTable } from "../limits/learnt-table.ts";
import type { OptionsShare } from "../limits/options-share.ts";
import { checkRate, plausibleRate, recordRate, recordSampler, type DoubtRate } from "./record-rate.ts";

/** What the options of one observation domain say of sampling. */
export interface SamplingTable {
  /**
   * Takes what an options record says; without a rate in it nothing changes. Returns whether it was something new.
   *
   * @param hasForeignScope whether the scope narrows it to something that flow records do not say: it holds for no flow then, unless it
   * names a sampler.
   * @param doubt is called with an impossible rate.
   */
  learn(options: RecordFields, hasForeignScope: boolean, doubt?: DoubtRate): boolean;
  /**
   * The rate for a flow record: of the sampler that it names, else of its template, of its interface, of the domain. A record that
   * names no sampler has that rate on which all samplers of the domain agree, unless other records name them.
   */
  rateFor(flow: FieldValues, of: TableQuestion): number | undefined;
  /** Whether the rate of a record that names no sampler may differ from that of another of its template. */
  isByInterface(of: TableQuestion): boolean;
  /** Whether no rate is known. */
  readonly isEmpty: boolean;
  /** For people: the rates by what they apply to. */
  rates(): readonly { readonly scope: string; readonly rate: number }[];
  /** The last change of a rate in this run; undefined while each scope had one rate. */
  readonly lastChange: RateChange | undefined;
  state(): SamplingState;
  /** Adds what `state` gave, where nothing is known yet. @param isNewer it counts before what is known. */
  restore(state: SamplingState, isNewer: boolean): void;
  clear(): void;
}

/** What is known of a flow record besides its fields. */
export interface TableQuestion {
  /** Whether it may name a sampler; false saves the look. */
  readonly namesSampling: boolean;
  /** Of its template; 0 where that says nothing. */
  readonly templateId: number;
  /** Whether other records of its domain name samplers. */
  readonly hasSamplers: boolean;
}

/** A rate that took the place of another one of the same scope. */
export interface RateChange {
  readonly scope: string;
  readonly from: number;
  readonly to: number;
  /** How often a rate of the domain changed. */
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

export function createSamplingTable(share: OptionsShare): SamplingTable {
  const samplers = createLearntTable<number, number>(share);
  const netifs = createLearntTable<number, number>(share);
  const templates = createLearntTable<number, number>(share);
  let domainRate: number | undefined;
  let commonRate: number | undefined;
  /** Worked out when a record needs it, so that a flood of options costs no more than what is in it. */
  let isCommonKnown = true;
  let lastChange: RateChange | undefined;

  const noteChange = (scope: string, from: number | undefined, to: number): void => {
    if (from === undefined || from === to) return;
    lastChange = { scope, from, to, count: (lastChange?.count ?? 0) + 1 };
  };
  const common = (): number | undefined => {
    if (!isCommonKnown) {
      isCommonKnown = true;
      commonRate = onlyOne(samplers.values());
    }
    return commonRate;
  };

  return {
    learn(options, hasForeignScope, doubt) {
      const rate = checkRate(recordRate(options), doubt);
      if (rate === undefined) return false;
      const sampler = recordSampler(options);
      if (sampler !== undefined) {
        noteChange(`sampler ${sampler}`, samplers.get(sampler), rate);
        const isNew = samplers.set(sampler, rate);
        if (isNew) isCommonKnown = false;
        return isNew;
      }
      if (hasForeignScope) return false;
      const template = options.get("flow.scope.template") ?? options.get("flow.ie.templateId");
      if (typeof template === "number") {
        noteChange(`template ${template}`, templates.get(template), rate);
        return templates.set(template, rate);
      }
      const netif =
        options.get("flow.scope.interface") ??
        options.get("flow.in.netif.index") ??
        options.get("flow.out.netif.index");
      if (typeof netif === "number") {
        noteChange(`interface ${netif}`, netifs.get(netif), rate);
        return netifs.set(netif, rate);
      }
      const isNew = domainRate !== rate;
      noteChange("domain", domainRate, rate);
      domainRate = rate;
      return isNew;
    },
    rateFor(flow, { namesSampling, templateId, hasSamplers }) {
      const sampler = namesSampling ? recordSampler(flow) : undefined;
      const bySampler = sampler === undefined ? undefined : samplers.get(sampler);
      const byTemplate = bySampler ?? (templates.size === 0 ? undefined : templates.get(templateId));
      if (byTemplate !== undefined) return byTemplate;
      const byAll = sampler === undefined && !hasSamplers ? common() : undefined;
      if (byAll !== undefined) return byAll;
      return (netifs.size === 0 ? undefined : netifs.get(netifOf(flow))) ?? domainRate;
    },
    isByInterface({ templateId, hasSamplers }) {
      if (netifs.size === 0 || templates.get(templateId) !== undefined) return false;
      return hasSamplers || common() === undefined;
    },
    get isEmpty() {
      return domainRate === undefined && samplers.size === 0 && templates.size === 0 && netifs.size === 0;
    },
    rates() {
      const all = Array.from(samplers.entries(), ([id, rate]) => ({ scope: `sampler ${id}`, rate }));
      for (const [id, rate] of templates.entries()) all.push({ scope: `template ${id}`, rate });
      for (const [index, rate] of netifs.entries()) all.push({ scope: `interface ${index}`, rate });
      if (domainRate !== undefined) all.push({ scope: "domain", rate: domainRate });
      return all;
    },
    get lastChange() {
      return lastChange;
    },
    state: () => ({
      samplers: [...samplers.entries()],
      netifs: [...netifs.entries()],
      templates: [...templates.entries()],
      domainRate: domainRate ?? null,
    }),
    restore(state, isNewer) {
      restoreRates(samplers, state.samplers, isNewer);
      restoreRates(netifs, state.netifs, isNewer);
      restoreRates(templates, state.templates ?? [], isNewer);
      domainRate = newer(domainRate, plausibleRate(state.domainRate ?? 0) || null, isNewer);
      isCommonKnown = false;
    },
    clear() {
      samplers.clear();
      netifs.clear();
      templates.clear();
      domainRate = undefined;
      isCommonKnown = false;
    },
  };
}

/** Versions that did not doubt rates may have kept them. */
function restoreRates(table: LearntTable<number, number>, rows: SamplingState["netifs"], isNewer: boolean): void {
  for (const [id, said] of rows) {
    const rate = plausibleRate(said);
    if (rate !== undefined && (isNewer || table.get(id) === undefined)) table.set(id, rate);
  }
}

/** What is known, unless nothing is, or what comes counts before it. */
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
