import { type Budget, memoryCosts, type MemoryShare } from "./limits.ts";
import type { SharedBudgets } from "./exporter-table.ts";
import type { PlanTemplate } from "./build-plan.ts";
import type { Plan, Template } from "./plan.ts";
import { isSessionPort } from "../datagram.ts";
import type { Domain, KnownTemplate } from "./domain.ts";

/** A template as it came. */
export interface TemplateRecord {
  readonly template: Template;
  /** Its record on the wire. */
  readonly raw: Buffer;
}

/** A plan and the record that it was made of, for all templates with that record. */
export interface SharedPlan {
  readonly plan: Plan;
  readonly raw: Buffer;
  /** The memory that both take. */
  readonly bytes: number;
}

interface Entry extends SharedPlan {
  readonly key: string;
  users: number;
}

/** Plans by what their templates say: the routers of a fleet send the same ones, and a router the same in each domain and from each port. */
export class PlanCache {
  readonly #memory: Budget;
  readonly #entries = new Map<string, Entry>();

  /** @param memory counts each plan once. */
  constructor(memory: Budget) {
    this.#memory = memory;
  }

  /** @returns undefined for a template that cannot be used. What is taken has to be given back. */
  take({ template, raw }: TemplateRecord, define: PlanTemplate): SharedPlan | undefined {
    const key = keyOf(template, raw);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const plan = define(template);
      if (plan === undefined) return undefined;
      entry = { key, plan, raw: copyOf(raw), bytes: bytesOf(plan, raw), users: 0 };
      this.#entries.set(key, entry);
      this.#memory.used += entry.bytes;
    }
    entry.users++;
    return entry;
  }

  give(shared: SharedPlan): void {
    const entry = shared as Entry;
    if (--entry.users > 0) return;
    this.#entries.delete(entry.key);
    this.#memory.used -= entry.bytes;
  }
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
export class KnownTemplates {
  readonly #shared: SharedBudgets;
  readonly #memory: MemoryShare;
  readonly #reclaim: () => boolean;
  /** The order of insertion is the order of age. */
  readonly #order = new Map<KnownTemplate, Domain>();
  #fields = 0;

  /** @param reclaim makes room for fields at the cost of another exporter; returns false when there is none. */
  constructor(shared: SharedBudgets, memory: MemoryShare, reclaim: () => boolean) {
    this.#shared = shared;
    this.#memory = memory;
    this.#reclaim = reclaim;
  }

  get size(): number {
    return this.#order.size;
  }

  /**
   * Takes a template. The same bytes again change nothing. Beyond the limits the ones defined longest ago give way.
   *
   * @param plan makes the plan when it is needed; undefined for a template that cannot be used, which changes nothing.
   */
  define(
    domain: Domain,
    record: TemplateRecord,
    plan: PlanTemplate,
    now: number,
  ): "added" | "refreshed" | "changed" | "refused" {
    const { template, raw } = record;
    const known = domain.templates.get(template.id);
    const isSame =
      known !== undefined && known.raw.equals(raw) && isOptions(known.plan.template) === isOptions(template);
    if (isSame) {
      known.refreshedAt = now;
      known.origin = "received";
      // Other collectors take it for newer than what the exporter sent them before.
      if (known.definedAt < domain.restartedAt) known.definedAt = now;
      this.#order.delete(known);
      this.#order.set(known, domain);
      return "refreshed";
    }
    const isPut = this.#replace(domain, record, plan, { definedAt: now, refreshedAt: now, origin: "received" });
    if (!isPut) return "refused";
    return known === undefined ? "added" : "changed";
  }

  /**
   * Takes a template of an earlier run, unless the domain has one of its id; or one that another collector knows, unless the domain has
   * one of its id that came as late as that was defined. Returns whether it was taken.
   *
   * @param from where it is known from, and when it came for the first time.
   */
  restore(
    domain: Domain,
    record: TemplateRecord,
    plan: PlanTemplate,
    from: Pick<KnownTemplate, "origin" | "definedAt">,
    now: number,
  ): boolean {
    const known = domain.templates.get(record.template.id);
    if (
      known !== undefined &&
      (from.origin === "restored" || !isOlder(known, from.definedAt) || known.raw.equals(record.raw))
    ) {
      return false;
    }
    return this.#replace(domain, record, plan, { ...from, refreshedAt: now });
  }

  /** Forgets a template. Returns whether there was one. */
  withdraw(domain: Domain, id: number): boolean {
    const known = domain.templates.get(id);
    if (known !== undefined) this.#remove(domain, known);
    return known !== undefined;
  }

  /** Forgets those of a domain. */
  clear(domain: Domain): void {
    for (const known of domain.templates.values()) this.#remove(domain, known);
  }

  /** Forgets those that did not come again since before a time, milliseconds since the epoch. Returns how many. */
  expire(before: number): number {
    let expired = 0;
    for (const [known, domain] of this.#order) {
      if (known.refreshedAt >= before) break;
      // By TCP a template is sent once.
      if (isSessionPort(domain.port ?? 0)) continue;
      this.#remove(domain, known);
      expired++;
    }
    this.#shared.evictions.expiredTemplates += expired;
    return expired;
  }

  /** Forgets the oldest until the share holds no more than this many bytes, or none is left. */
  shrink(toBytes: number): void {
    while (this.#memory.bytes > toBytes && this.#order.size > 0) this.#removeOldest();
  }

  /** Every template and where it is, the one that did not come again for longest first. */
  entries(): Iterable<readonly [KnownTemplate, Domain]> {
    return this.#order.entries();
  }

  /** Replaces the template of an id by another one; returns false when that cannot be used. */
  #replace(
    domain: Domain,
    record: TemplateRecord,
    define: PlanTemplate,
    times: Pick<KnownTemplate, "definedAt" | "refreshedAt" | "origin">,
  ): boolean {
    const shared = this.#shared.plans.take(record, define);
    if (shared === undefined) return false;
    const known = domain.templates.get(record.template.id);
    if (known !== undefined) this.#remove(domain, known);
    const { plan, raw, bytes } = shared;
    this.#makeRoom(plan.lengths.length);
    const made: KnownTemplate = { shared, plan, raw, ...times };
    domain.templates.set(plan.template.id, made);
    if (plan.namesSampler) domain.options.samplerTemplates++;
    this.#order.set(made, domain);
    this.#count(plan.lengths.length);
    this.#memory.add(memoryCosts.template);
    this.#memory.addShared(bytes);
    return true;
  }

  #remove(domain: Domain, known: KnownTemplate): void {
    domain.templates.delete(known.plan.template.id);
    if (known.plan.namesSampler) domain.options.samplerTemplates--;
    this.#order.delete(known);
    this.#count(-known.plan.lengths.length);
    this.#memory.add(-memoryCosts.template);
    this.#memory.addShared(-known.shared.bytes);
    this.#shared.plans.give(known.shared);
  }

  #removeOldest(): void {
    for (const [oldest, domain] of this.#order) {
      this.#remove(domain, oldest);
      break;
    }
    this.#shared.evictions.templates++;
  }

  #makeRoom(added: number): void {
    const { limits, fields } = this.#shared;
    while (this.size > 0 && (this.size >= limits.templates || this.#fields + added > limits.fields))
      this.#removeOldest();
    while (fields.used + added > fields.max) {
      if (this.#reclaim()) continue;
      if (this.size === 0) return;
      this.#removeOldest();
    }
  }

  #count(by: number): void {
    this.#fields += by;
    this.#shared.fields.used += by;
  }
}

/** Returns whether a template did not come since another one of its id was defined elsewhere. Of one that was only read, nobody knows when it came last. */
function isOlder({ origin, definedAt, refreshedAt }: KnownTemplate, than: number): boolean {
  return (origin === "received" ? refreshedAt : definedAt) < than;
}

function isOptions(template: Template): boolean {
  return template.scopeCount !== undefined;
}
