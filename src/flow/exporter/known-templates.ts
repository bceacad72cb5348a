import type { Budget } from "../options/options-share.ts";
import type { Plan } from "../template/plan.ts";
import type { Template } from "../template/template.ts";
import type { Domain, KnownTemplate } from "./domain.ts";
import type { Evictions, Limits } from "./limits.ts";

/** A template as it came. */
export interface TemplateRecord {
  readonly template: Template;
  /** Its record on the wire. */
  readonly raw: Buffer;
}

export type Define = (template: Template) => Plan | undefined;

/** The templates of all domains of one exporter, bounded together. */
export interface KnownTemplates {
  /** See {@link Exporter.define}. */
  define(
    domain: Domain,
    record: TemplateRecord,
    plan: Define,
    now: number,
  ): "added" | "refreshed" | "changed" | "refused";
  /** Takes a template of an earlier run, unless one of its id is there. Returns whether it was taken. */
  restore(domain: Domain, record: TemplateRecord, plan: Define, definedAt: number, now: number): boolean;
  /** Forgets a template. Returns whether there was one. */
  withdraw(domain: Domain, id: number): boolean;
  /** Forgets those of a domain. */
  clear(domain: Domain): void;
  /** Forgets those that did not come again since before a time, milliseconds since the epoch. Returns how many. */
  expire(before: number): number;
  /** Every template and where it is, the one that did not come again for longest first. */
  entries(): Iterable<readonly [KnownTemplate, Domain]>;
  readonly size: number;
}

/**
 * @param inAll fields in the templates of all exporters together.
 * @param reclaim makes room there at the cost of another exporter; returns false when there is none.
 */
export function createKnownTemplates(
  limits: Limits,
  evictions: Evictions,
  inAll: Budget,
  reclaim: () => boolean,
): KnownTemplates {
  const order = new Map<KnownTemplate, Domain>();
  let fields = 0;

  const count = (by: number): void => {
    fields += by;
    inAll.used += by;
  };
  const put = (domain: Domain, known: KnownTemplate): void => {
    domain.templates.set(known.plan.template.id, known);
    order.set(known, domain);
    count(known.plan.lengths.length);
  };
  const remove = (domain: Domain, known: KnownTemplate): void => {
    domain.templates.delete(known.plan.template.id);
    order.delete(known);
    count(-known.plan.lengths.length);
  };
  const removeOldest = (): void => {
    for (const [oldest, domain] of order) {
      remove(domain, oldest);
      break;
    }
    evictions.templates++;
  };
  const makeRoom = (added: number): void => {
    while (order.size > 0 && (order.size >= limits.templates || fields + added > limits.fields)) removeOldest();
    while (inAll.used + added > inAll.max) {
      if (reclaim()) continue;
      if (order.size === 0) return;
      removeOldest();
    }
  };

  return {
    define(domain, { template, raw }, plan, now) {
      const known = domain.templates.get(template.id);
      const isSame =
        known !== undefined && known.raw.equals(raw) && isOptions(known.plan.template) === isOptions(template);
      if (isSame) {
        known.refreshedAt = now;
        known.isRestored = false;
        // The order of insertion is the order of age.
        order.delete(known);
        order.set(known, domain);
        return "refreshed";
      }
      const made = plan(template);
      if (made === undefined) return "refused";
      if (known !== undefined) remove(domain, known);
      makeRoom(made.lengths.length);
      put(domain, { plan: made, raw: copyOf(raw), definedAt: now, refreshedAt: now, isRestored: false });
      return known === undefined ? "added" : "changed";
    },
    restore(domain, { template, raw }, plan, definedAt, now) {
      if (domain.templates.has(template.id)) return false;
      const made = plan(template);
      if (made === undefined) return false;
      makeRoom(made.lengths.length);
      put(domain, { plan: made, raw: copyOf(raw), definedAt, refreshedAt: now, isRestored: true });
      return true;
    },
    withdraw(domain, id) {
      const known = domain.templates.get(id);
      if (known !== undefined) remove(domain, known);
      return known !== undefined;
    },
    clear(domain) {
      for (const known of domain.templates.values()) remove(domain, known);
    },
    expire(before) {
      let expired = 0;
      for (const [known, domain] of order) {
        if (known.refreshedAt >= before) break;
        remove(domain, known);
        expired++;
      }
      evictions.expiredTemplates += expired;
      return expired;
    },
    entries: () => order.entries(),
    get size() {
      return order.size;
    },
  };
}

function isOptions(template: Template): boolean {
  return template.scopeCount !== undefined;
}

/** Bytes of a datagram that are kept: with memory of their own, because a slice would keep much more alive. */
function copyOf(raw: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(raw.length);
  raw.copy(copy);
  return copy;
}
