import type { Budget } from "../limits/options-share.ts";
import type { Plan } from "./plan.ts";
import type { Template } from "./template.ts";
import { memoryCosts } from "../limits/memory.ts";

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
