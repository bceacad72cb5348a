import type { ElementSource } from "../../elements/mapping/element-names.ts";
import type { Plan } from "./plan.ts";
import { variableLength, type Template } from "./template.ts";

/** A field of the records of a template that all have one length. */
export interface PlacedField {
  readonly at: number;
  readonly length: number;
}

/**
 * How records of a firewall's events are read whose counters count since the last event of the flow, but in its last event from its
 * beginning (Cisco ASA, "NetFlow Implementation Guide": update and teardown).
 */
export interface FirewallPlan {
  readonly event: PlacedField;
  /** What tells flows apart. */
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
