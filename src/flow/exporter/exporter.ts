import type { Protocol } from "../protocol.ts";
import { createSamplingTable } from "../sampling/sampling-table.ts";
import type { Plan } from "../template/plan.ts";
import type { Template } from "../template/template.ts";
import type { Domain, KnownTemplate } from "./domain.ts";
import type { Evictions, Limits } from "./limits.ts";
import { createSequence } from "./sequence.ts";
import { createWaitingSets, type WaitingBudget } from "./waiting-sets.ts";

/** A template as it came. */
export interface TemplateRecord {
  readonly template: Template;
  /** Its record on the wire. */
  readonly raw: Buffer;
}

/** One sender of flows and everything that it said for later datagrams. Bounded, so that it fills only its own share. */
export interface Exporter {
  /** Its address in canonical text; IPv4-mapped ones as IPv4. */
  readonly address: string;
  /** The sampling rate that the operator gave for it. */
  readonly manualRate: number | undefined;
  /** Milliseconds since the epoch. */
  readonly firstSeen: number;
  lastSeen: number;
  datagrams: number;
  records: number;
  /**
   * The domain, made on first sight. Beyond the limit the one not used for longest is forgotten.
   *
   * @param port the sender's port where the protocol scopes templates by it.
   */
  domain(protocol: Protocol, id: number, port?: number): Domain;
  /** All domains, the least recently used first. */
  domains(): Iterable<Domain>;
  /** The domain of id 0 beside this one, which speaks for the whole exporter; undefined when it was never seen. */
  wholeExporter(beside: Domain): Domain | undefined;
  /**
   * Takes a template. The same bytes again change nothing. Beyond the limits the ones defined longest ago give way.
   *
   * @param plan makes the plan when it is needed; undefined for a template that cannot be used, which changes nothing.
   */
  define(
    domain: Domain,
    record: TemplateRecord,
    plan: (template: Template) => Plan | undefined,
    now: number,
  ): "added" | "refreshed" | "changed" | "refused";
  /** Forgets a template. Returns whether there was one. */
  withdraw(domain: Domain, id: number): boolean;
  /**
   * The template of a data set: the domain's own; else, where domains are scoped by port, the only one of that id that
   * the same domain has on other ports (an exporter that sends templates and data from two ports, or started again).
   */
  template(domain: Domain, id: number): KnownTemplate | undefined;
  /** Drops what has waited for a template since before a time, milliseconds since the epoch. */
  dropWaiting(before: number): void;
  /** Forgets everything, before the exporter itself is forgotten. */
  forget(): void;
  templateCount(): number;
}

export interface ExporterOptions {
  readonly address: string;
  readonly manualRate: number | undefined;
  readonly now: number;
  readonly limits: Limits;
  /** The budget of all exporters together. */
  readonly waiting: WaitingBudget;
  readonly evictions: Evictions;
}

export function createExporter(options: ExporterOptions): Exporter {
  const { address, manualRate, now: firstSeen, limits, waiting, evictions } = options;
  const domains = new Map<string, Domain>();
  /** Every template and where it is, the one defined longest ago first. */
  const order = new Map<KnownTemplate, Domain>();
  const budget: WaitingBudget = { bytes: 0, sets: 0, maxBytes: limits.waitingBytes, maxSets: limits.waitingSets };
  let fields = 0;
  let lastKey = "";

  const remove = (domain: Domain, known: KnownTemplate): void => {
    domain.templates.delete(known.plan.template.id);
    order.delete(known);
    fields -= known.plan.lengths.length;
  };

  const forgetDomain = (key: string, domain: Domain): void => {
    for (const known of domain.templates.values()) remove(domain, known);
    evictions.waitingSets += domain.waiting.dropOlder(Number.POSITIVE_INFINITY);
    domains.delete(key);
  };

  const createDomain = (protocol: Protocol, id: number, port: number | undefined): Domain => {
    const other = [...domains.values()].find((domain) => domain.id === id && domain.protocol === protocol);
    return {
      protocol,
      id,
      port,
      templates: new Map(),
      waiting: createWaitingSets([budget, waiting]),
      sequence: createSequence(),
      sampling: other?.sampling ?? createSamplingTable(),
      bootTime: other?.bootTime,
      uptime: undefined,
    };
  };

  const makeRoom = (added: number): void => {
    while (order.size > 0 && (order.size >= limits.templates || fields + added > limits.fields)) {
      for (const [oldest, domain] of order) {
        remove(domain, oldest);
        break;
      }
      evictions.templates++;
    }
  };

  return {
    address,
    manualRate,
    firstSeen,
    lastSeen: firstSeen,
    datagrams: 0,
    records: 0,
    domain(protocol, id, port) {
      const key = domainKey(protocol, id, port);
      let domain = domains.get(key);
      if (domain !== undefined && key === lastKey) return domain;
      if (domain === undefined) {
        if (domains.size >= limits.domains) {
          for (const [oldest, unused] of domains) {
            forgetDomain(oldest, unused);
            break;
          }
          evictions.domains++;
        }
        domain = createDomain(protocol, id, port);
      } else domains.delete(key);
      // The order of insertion is the order of use.
      domains.set(key, domain);
      lastKey = key;
      return domain;
    },
    domains: () => domains.values(),
    wholeExporter: ({ protocol, id, port }) => (id === 0 ? undefined : domains.get(domainKey(protocol, 0, port))),
    define(domain, { template, raw }, plan, now) {
      const known = domain.templates.get(template.id);
      const isSame =
        known !== undefined && known.raw.equals(raw) && isOptions(known.plan.template) === isOptions(template);
      const kept = isSame ? known : newTemplate(plan(template), raw, now);
      if (kept === undefined) return "refused";
      if (known !== undefined) remove(domain, known);
      makeRoom(kept.plan.lengths.length);
      domain.templates.set(template.id, kept);
      order.set(kept, domain);
      fields += kept.plan.lengths.length;
      return isSame ? "refreshed" : known === undefined ? "added" : "changed";
    },
    withdraw(domain, id) {
      const known = domain.templates.get(id);
      if (known !== undefined) remove(domain, known);
      return known !== undefined;
    },
    template(domain, id) {
      const own = domain.templates.get(id);
      if (own !== undefined || domain.port === undefined) return own;
      let only: KnownTemplate | undefined;
      for (const other of domains.values()) {
        if (other.id !== domain.id || other.protocol !== domain.protocol) continue;
        const candidate = other.templates.get(id);
        if (candidate === undefined) continue;
        if (only !== undefined && !only.raw.equals(candidate.raw)) return undefined;
        only = candidate;
      }
      return only;
    },
    dropWaiting(before) {
      if (budget.sets === 0) return;
      for (const domain of domains.values()) evictions.waitingSets += domain.waiting.dropOlder(before);
    },
    forget() {
      for (const [key, domain] of domains) forgetDomain(key, domain);
    },
    templateCount: () => order.size,
  };
}

function domainKey(protocol: Protocol, id: number, port: number | undefined): string {
  return `${protocol} ${id} ${port ?? ""}`;
}

function isOptions(template: Template): boolean {
  return template.scopeCount !== undefined;
}

/** The bytes are copied: those of the datagram are not kept. */
function newTemplate(plan: Plan | undefined, raw: Buffer, definedAt: number): KnownTemplate | undefined {
  return plan === undefined ? undefined : { plan, raw: Buffer.from(raw), definedAt };
}
