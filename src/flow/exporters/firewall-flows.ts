import type { ElementSource } from "../elements/mapping/element-names.ts";
import { type Plan, variableLength, type Template } from "./plan.ts";
import { memoryCosts, type MemoryShare } from "./limits.ts";

/** A field of the records of a template that all have one length. */
export interface PlacedField {
  readonly at: number;
  readonly length: number;
}

/**
 * Says how to read records of a firewall's events whose counters count since the last event of the flow, but in its last event from its
 * beginning (Cisco ASA, "NetFlow Implementation Guide": update and teardown).
 */
export interface FirewallPlan {
  readonly event: PlacedField;
  /** The fields that tell flows apart. */
  readonly key: readonly PlacedField[];
  readonly counters: readonly PlacedField[];
  /** For such records with a total of eight bytes behind them for each counter. */
  readonly totals: Plan;
}

/** firewallEvent, and what it was before it had a number of IANA. */
const eventElements: ReadonlySet<number> = new Set([233, 40_005]);
/** initiatorOctets, responderOctets, initiatorPackets, responderPackets. */
const counterElements: ReadonlySet<number> = new Set([231, 232, 298, 299]);
const flowId = 148;
/** With addresses, ports and protocol: several firewalls behind one may number flows alike. */
const keyElements: ReadonlySet<number> = new Set([flowId, 8, 12, 27, 28, 7, 11, 4]);
/** An address of IPv6. */
const longestKey = 16;
const totalBytes = 8;
/** An enterprise number of nobody, for totals. */
const totalPen = 0xffff_fffe;

/** @returns undefined for templates that are not of this kind. */
export function firewallPlan(
  template: Template,
  elements: ElementSource,
  build: (template: Template, elements: ElementSource) => Plan | undefined,
): FirewallPlan | undefined {
  const { fields, scopeCount } = template;
  if (scopeCount !== undefined || fields.some(({ length }) => length === variableLength)) return undefined;
  let at = 0;
  const placed = fields.map(({ pen, id, length }) => {
    at += length;
    return { id: pen === 0 ? id : -1, at: at - length, length };
  });
  const of = (ids: ReadonlySet<number>) => placed.filter(({ id, length }) => ids.has(id) && length > 0);
  const [event] = of(eventElements);
  const counters = of(counterElements).filter(({ length }) => length <= totalBytes);
  const key = of(keyElements).filter(({ length }) => length <= longestKey);
  const isRepeated = new Set([...counters, ...key].map(({ id }) => id)).size < counters.length + key.length;
  if (event?.length !== 1 || counters.length === 0 || isRepeated || !key.some(({ id }) => id === flowId))
    return undefined;
  const totalFields = counters.map(({ id }) => ({ pen: totalPen, id, length: totalBytes }));
  const totals = build({ ...template, fields: [...fields, ...totalFields] }, withTotals(elements));
  return totals && { event, key, counters, totals };
}

/** A total has the name of its element, which a count since the last event has not. */
function withTotals(elements: ElementSource): ElementSource {
  return {
    names(pen, id) {
      if (pen !== totalPen) return elements.names(pen, id);
      const { fallback } = elements.names(0, id);
      return {
        names: [{ name: fallback.name, convert: fallback.convert, preference: 0 }],
        fallback,
        takesEmpty: false,
      };
    },
    type: (pen, id) => elements.type(pen === totalPen ? 0 : pen, id),
  };
}

/** The limit of flows that are remembered of one domain. Flows of which the end does not come give way to younger ones. */
const maxFlows = 131_072;

/** Holds reports of firewalls about flows that last: for those that report a flow while it lasts and, at its end, all of it once more. */
export class FirewallFlows {
  readonly #reported = new Map<string, Float64Array>();
  readonly #memory: MemoryShare;
  readonly #onEvict: () => void;

  /** @param onEvict is called when a flow gives way. */
  constructor(memory: MemoryShare, onEvict: () => void) {
    this.#memory = memory;
    this.#onEvict = onEvict;
  }

  /** Adds what was reported since the last time. @param counts by the fields of {@link FirewallPlan.counters}. */
  add(key: string, counts: readonly number[]): void {
    const known = this.#reported.get(key);
    if (known !== undefined) this.#reported.delete(key);
    else this.#makeRoom();
    const sums = known ?? new Float64Array(counts.length);
    counts.forEach((count, i) => (sums[i] = (sums[i] as number) + count));
    // The order of insertion is the order of use.
    this.#reported.set(key, sums);
  }

  /** Forgets a flow that ends or begins. @returns what was reported of it; undefined: nothing. */
  take(key: string): ArrayLike<number> | undefined {
    const sums = this.#reported.get(key);
    if (sums !== undefined) this.#remove(key);
    return sums;
  }

  clear(): void {
    this.#memory.add(-this.#reported.size * memoryCosts.firewallFlow);
    this.#reported.clear();
  }

  #makeRoom(): void {
    this.#memory.add(memoryCosts.firewallFlow);
    if (this.#reported.size < maxFlows) return;
    for (const oldest of this.#reported.keys()) {
      this.#remove(oldest);
      break;
    }
    this.#onEvict();
  }

  #remove(key: string): void {
    this.#reported.delete(key);
    this.#memory.add(-memoryCosts.firewallFlow);
  }
}
