import type { RecordFields } from "../../record/index.ts";
import { recordRate, recordSampler } from "./record-rate.ts";

/** What the options of one observation domain say of sampling. */
export interface SamplingTable {
  /** Takes what an options record says; without a rate in it nothing changes. */
  learn(options: RecordFields): void;
  /**
   * The rate for a flow record: of the sampler that it names, else of its interface, else of the domain. A record that
   * names no sampler has that rate on which all samplers of the domain agree.
   *
   * @param namesSampling whether the record may name a sampler; false saves the look.
   */
  rateFor(flow: RecordFields, namesSampling: boolean): number | undefined;
  /** For people: the rates by what they apply to. */
  rates(): readonly { readonly scope: string; readonly rate: number }[];
}

/** Samplers and interfaces come from the network: so many are kept of each, the oldest gives way. */
const maxEntries = 4096;

export function createSamplingTable(): SamplingTable {
  const samplers = new Map<number, number>();
  const interfaces = new Map<number, number>();
  let domainRate: number | undefined;
  let commonRate: number | undefined;

  return {
    learn(options) {
      const rate = recordRate(options);
      if (rate === undefined) return;
      const sampler = recordSampler(options);
      const netif = options.get("flow.scope.interface") ?? options.get("flow.in.netif.index");
      if (sampler !== undefined) {
        keep(samplers, sampler, rate);
        const rates = new Set(samplers.values());
        commonRate = rates.size === 1 ? rate : undefined;
      } else if (typeof netif === "number") keep(interfaces, netif, rate);
      else domainRate = rate;
    },
    rateFor(flow, namesSampling) {
      const sampler = namesSampling ? recordSampler(flow) : undefined;
      const bySampler = sampler === undefined ? commonRate : samplers.get(sampler);
      return bySampler ?? byInterface(interfaces, flow) ?? domainRate;
    },
    rates() {
      const all = [...samplers].map(([id, rate]) => ({ scope: `sampler ${id}`, rate }));
      for (const [index, rate] of interfaces) all.push({ scope: `interface ${index}`, rate });
      if (domainRate !== undefined) all.push({ scope: "domain", rate: domainRate });
      return all;
    },
  };
}

function keep(table: Map<number, number>, key: number, rate: number): void {
  if (table.size >= maxEntries && !table.has(key)) {
    const [oldest] = table.keys();
    if (oldest !== undefined) table.delete(oldest);
  }
  table.set(key, rate);
}

/** Flows are sampled where they were seen: at the way in, or at the way out where the record says so. */
function byInterface(interfaces: ReadonlyMap<number, number>, flow: RecordFields): number | undefined {
  if (interfaces.size === 0) return undefined;
  const isEgress = flow.get("flow.direction.name") === "egress";
  const index = flow.get(isEgress ? "flow.out.netif.index" : "flow.in.netif.index");
  return typeof index === "number" ? interfaces.get(index) : undefined;
}
