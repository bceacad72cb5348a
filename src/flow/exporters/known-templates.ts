import { type Budget, memoryCosts, type Evictions, type Limits, type MemoryShare } from "./limits.ts";
import type { Plan, Template } from "./plan.ts";
import { isSessionPort } from "../intake/socket.ts";
import type { Domain, KnownTemplate, TemplateOrigin } from "./domain.ts";

/** A template as it came. */
export interface TemplateRecord {
  readonly template: Template;
  /** Its record on the wire. */
  readonly raw: Buffer;
}

export type Define = (template: Template) => Plan | undefined;

/** A plan and the record that it was made of, for all templates with that record. */
export interface SharedPlan {
  readonly plan: Plan;
  readonly raw: Buffer;
  /** What both take. */
  readonly bytes: number;
}

/** Plans by what their templates say: the routers of a fleet send the same ones, and a router the same in each domain and from each port. */
export interface PlanCache {
  /** @returns undefined for a template that cannot be used. What is taken has to be given back. */
  take(record: TemplateRecord, define: Define): SharedPlan | undefined;
  give(shared: SharedPlan): void;
  readonly size: number;
}

interface Entry extends SharedPlan {
  readonly key: string;
  users: number;
}

/** @param memory counts each plan once. */
export function createPlanCache(memory: Budget): PlanCache {
  const entries = new Map<string, Entry>();
  return {
    take({ template, raw }, define) {
      const key = keyOf(template, raw);
      let entry = entries.get(key);
      if (entry === undefined) {
        const plan = define(template);
        if (plan === undefined) return undefined;
        entry = { key, plan, raw: copyOf(raw), bytes: bytesOf(plan, raw), users: 0 };
        entries.set(key, entry);
        memory.used += entry.bytes;
      }
      entry.users++;
      return entry;
    },
    give(shared) {
      const entry = shared as Entry;
      if (--entry.users > 0) return;
      entries.delete(entry.key);
      memory.used -= entry.bytes;
    },
    get size() {
      return entries.size;
    },
  };
}

function keyOf({ dialect, scopeCount }: Template, raw: Buffer): string {
  return `${dialect === "ipfix" ? "i" : "n"}${scopeCount === undefined ? "f" : "o"}${raw.toString("latin1")}`;
}

/** The record is there twice: as bytes, and as the key. */
function bytesOf({ lengths }: Plan, raw: Buffer): number {
  return memoryCosts.plan + lengths.length * memoryCosts.planField + 2 * raw.length;
}

/** Bytes of a datagram that are kept: with memory of their own, because a slice would keep much more alive. */
function copyOf(raw: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(raw.length);
  raw.copy(copy);
  return copy;
}

/** The templates of all domains of one exporter, bounded together. */
interface KnownTemplates {
  /** See {@link Exporter.define}. */
  define(
    domain: Domain,
    record: TemplateRecord,
    plan: Define,
    now: number,
  ): "added" | "refreshed" | "changed" | "refused";
  /** See {@link Exporter.restoreTemplate}. */
  restore(domain: Domain, record: TemplateRecord, plan: Define, from: TemplateSource, now: number): boolean;
  /** Forgets a template. Returns whether there was one. */
  withdraw(domain: Domain, id: number): boolean;
  /** Forgets those of a domain. */
  clear(domain: Domain): void;
  /** Forgets those that did not come again since before a time, milliseconds since the epoch. Returns how many. */
  expire(before: number): number;
  /** Forgets the oldest until the share holds no more than this many bytes, or none is left. */
  shrink(toBytes: number): void;
  /** Every template and where it is, the one that did not come again for longest first. */
  entries(): Iterable<readonly [KnownTemplate, Domain]>;
  readonly size: number;
}

/** Where a template that the exporter did not send now is known from. */
export interface TemplateSource {
  readonly origin: Exclude<TemplateOrigin, "received">;
  /** When it came for the first time, milliseconds since the epoch. */
  readonly definedAt: number;
}

interface KnownTemplatesOptions {
  readonly limits: Limits;
  readonly evictions: Evictions;
  /** Fields in the templates of all exporters together. */
  readonly inAll: Budget;
  /** Makes room there at the cost of another exporter; returns false when there is none. */
  readonly reclaim: () => boolean;
  readonly plans: PlanCache;
  readonly memory: MemoryShare;
}

export function createKnownTemplates(options: KnownTemplatesOptions): KnownTemplates {
  const { limits, evictions, inAll, reclaim, plans, memory } = options;
  const order = new Map<KnownTemplate, Domain>();
  let fields = 0;

  const count = (by: number): void => {
    fields += by;
    inAll.used += by;
  };
  const put = (
    domain: Domain,
    shared: SharedPlan,
    times: Pick<KnownTemplate, "definedAt" | "refreshedAt" | "origin">,
  ) => {
    const { plan, raw, bytes } = shared;
    const known: KnownTemplate = { shared, plan, raw, ...times };
    domain.templates.set(plan.template.id, known);
    if (plan.namesSampler) domain.options.samplerTemplates++;
    order.set(known, domain);
    count(plan.lengths.length);
    memory.add(memoryCosts.template);
    memory.addShared(bytes);
  };
  const remove = (domain: Domain, known: KnownTemplate): void => {
    domain.templates.delete(known.plan.template.id);
    if (known.plan.namesSampler) domain.options.samplerTemplates--;
    order.delete(known);
    count(-known.plan.lengths.length);
    memory.add(-memoryCosts.template);
    memory.addShared(-known.shared.bytes);
    plans.give(known.shared);
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
    define(domain, record, plan, now) {
      const { template, raw } = record;
      const known = domain.templates.get(template.id);
      const isSame =
        known !== undefined && known.raw.equals(raw) && isOptions(known.plan.template) === isOptions(template);
      if (isSame) {
        known.refreshedAt = now;
        known.origin = "received";
        // Other collectors take it for newer than what the exporter sent them before.
        if (known.definedAt < domain.restartedAt) known.definedAt = now;
        // The order of insertion is the order of age.
        order.delete(known);
        order.set(known, domain);
        return "refreshed";
      }
      const made = plans.take(record, plan);
      if (made === undefined) return "refused";
      if (known !== undefined) remove(domain, known);
      makeRoom(made.plan.lengths.length);
      put(domain, made, { definedAt: now, refreshedAt: now, origin: "received" });
      return known === undefined ? "added" : "changed";
    },
    restore(domain, record, plan, { origin, definedAt }, now) {
      const known = domain.templates.get(record.template.id);
      if (
        known !== undefined &&
        (origin === "restored" || !isOlder(known, definedAt) || known.raw.equals(record.raw))
      ) {
        return false;
      }
      const made = plans.take(record, plan);
      if (made === undefined) return false;
      if (known !== undefined) remove(domain, known);
      makeRoom(made.plan.lengths.length);
      put(domain, made, { definedAt, refreshedAt: now, origin });
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
        // By TCP a template is sent once.
        if (isSessionPort(domain.port ?? 0)) continue;
        remove(domain, known);
        expired++;
      }
      evictions.expiredTemplates += expired;
      return expired;
    },
    shrink(toBytes) {
      while (memory.bytes > toBytes && order.size > 0) removeOldest();
    },
    entries: () => order.entries(),
    get size() {
      return order.size;
    },
  };
}

/** Whether a template did not come since another one of its id was defined elsewhere. Of one that was only read, nobody knows when it came last. */
function isOlder({ origin, definedAt, refreshedAt }: KnownTemplate, than: number): boolean {
  return (origin === "received" ? refreshedAt : definedAt) < than;
}

function isOptions(template: Template): boolean {
  return template.scopeCount !== undefined;
}
