import { createDomainOptions, type DomainOptions, type DomainOptionsState } from "./options/domain-options.ts";
import { createOptionsShare, type Budget } from "./limits/options-share.ts";
import { isSessionPort } from "../intake/tcp/session-port.ts";
import type { Protocol } from "../protocol.ts";
import type { Domain, KnownTemplate } from "./domain.ts";
import { createKnownTemplates, type TemplateSource } from "./known-templates.ts";
import type { Evictions, Limits } from "./limits/limits.ts";
import { createMemoryShare, memoryCosts } from "./limits/memory.ts";
import { optionsOnly } from "./options-only.ts";
import type { Define, PlanCache, TemplateRecord } from "./templates/plan-cache.ts";
import { createSampleSources, noSampleSources } from "./sequence/sample-sources.ts";
import type { ManualRate, ManualRates } from "./sampling/manual-rates.ts";
import { createSeenFlows, seenFlowsCost, type SeenFlows, type SeenWindow } from "./seen-flows.ts";
import {
  createInterfaceTraffic,
  type ExporterTraffic,
  type InterfaceTraffic,
  type TrafficMinute,
} from "./interface-traffic.ts";
import { createSenders } from "./senders.ts";
import { createSequence } from "./sequence/sequence.ts";
import { createWaitingSets, type WaitingBudget } from "./templates/waiting-sets.ts";

export type { TemplateRecord } from "./templates/plan-cache.ts";

/** One sender of flows and everything that it said for later datagrams. Bounded, so that it fills only its own share. */
export interface Exporter {
  /** Its address in canonical text; IPv4-mapped ones as IPv4. */
  readonly address: string;
  /** Whether the operator lets it name other exporters in its records. */
  readonly isRelay: boolean;
  /** The relay that named it last; undefined where none did. */
  relay: string | undefined;
  /**
   * The exporter that a record of this relay names, as heard of now; this one where there is no place for another.
   *
   * @param address canonical text.
   */
  named(address: string, now: number): Exporter;
  /** What the operator says of its sampling rate. */
  rates(): ManualRate;
  /** Milliseconds since the epoch. */
  firstSeen: number;
  lastSeen: number;
  datagrams: number;
  records: number;
  /** Over the time between the last two calls of {@link Exporter.measure}. */
  recordsPerSecond: number;
  /**
   * Until then its data sets are held: it is new here or comes back, so that other collectors may know more of it. Milliseconds since the
   * epoch; 0 where nobody is asked.
   */
  heldUntil: number;
  /** Whether what is worth keeping over a restart has changed since this was last set to false. */
  isChanged: boolean;
  /** When it was last handed out to be kept, milliseconds since the epoch. */
  keptAt: number;
  /**
   * The domain, made on first sight. Beyond the limit the one not used for longest is forgotten.
   *
   * @param port the sender's port, with its session, where the protocol scopes templates by it.
   * @param agent the address of the agent where a sender passes on what several say (sFlow).
   */
  domain(protocol: Protocol, id: number, port?: number, agent?: string): Domain;
  /** All domains, the least recently used first. */
  domains(): Iterable<Domain>;
  /**
   * The options that hold for the whole exporter, for records of a domain: those of domain 0, and where that has none those of the only
   * domain that sends options and no flows. Undefined where these are the domain's own, and where there are none.
   */
  wholeExporter(of: Domain): DomainOptions | undefined;
  /**
   * Takes a template. The same bytes again change nothing. Beyond the limits the ones defined longest ago give way.
   *
   * @param plan makes the plan when it is needed; undefined for a template that cannot be used, which changes nothing.
   */
  define(
    domain: Domain,
    record: TemplateRecord,
    plan: Define,
    now: number,
  ): "added" | "refreshed" | "changed" | "refused";
  /**
   * Takes a template of an earlier run, unless the domain has one of its id; or one that another collector knows, unless the domain has
   * one of its id that came as late as that was defined. Returns whether it was taken.
   */
  restoreTemplate(domain: Domain, record: TemplateRecord, plan: Define, from: TemplateSource, now: number): boolean;
  /** Forgets a template. Returns whether there was one. */
  withdraw(domain: Domain, id: number): boolean;
  /**
   * The template of a data set: the domain's own; else, where domains are scoped by port, the only one of that id that
   * the same domain has on other ports (an exporter that sends templates and data from two ports, or started again).
   * One that came in this run stands before those of an earlier run. Those of a TCP connection are its own alone.
   */
  template(domain: Domain, id: number): KnownTemplate | undefined;
  /** Takes a record of options data of the domain. */
  learnOptions(domain: Domain, options: Parameters<DomainOptions["learn"]>[0]): void;
  /** Adds what options said of the domain in an earlier run or to another collector, where nothing newer is known. Returns whether that was new. */
  restoreOptions(domain: Domain, state: DomainOptionsState): boolean;
  /** Forgets templates that did not come again since before a time, milliseconds since the epoch. */
  expireTemplates(before: number): void;
  /** Every template and where it is, the one that did not come again for longest first. */
  templates(): Iterable<readonly [KnownTemplate, Domain]>;
  /** Drops what has waited for a template since before a time, milliseconds since the epoch. Returns whether there was any. */
  dropWaiting(before: number): boolean;
  /** Whether data sets wait. */
  isWaiting(): boolean;
  /** What it makes the collector remember, in bytes by {@link memoryCosts}. */
  heldBytes(): number;
  /**
   * Forgets what is least needed until it holds no more than this many bytes: data sets that wait, domains that were not used for
   * longest, templates that did not come for longest, options. Of the domain that was used last the templates and options may go, it
   * stays. To be called between datagrams.
   */
  shrink(toBytes: number): void;
  /** Takes a flow of the sample by which exporters are compared, see {@link SeenFlows.note}. */
  noteSeen(hash: number, directions: number): void;
  /** That sample, of the latest time first. */
  seenFlows(): SeenWindow[];
  /** Takes what passed its interfaces in a minute. @param since when that began to be added up, if it is the first. */
  addTraffic(minute: TrafficMinute, since: number): void;
  /** What passed its interfaces lately; undefined where that is not measured. */
  traffic(): ExporterTraffic | undefined;
  /** Takes the record rate; to be called now and then. */
  measure(now: number): void;
  /** Forgets the domains of a TCP connection that was closed, by its `sessionPort`: their templates ended with it. */
  endSession(port: number): void;
  /** Forgets everything, before the exporter itself is forgotten. */
  forget(): void;
  templateCount(): number;
}

/** Budgets of all exporters together. */
export interface SharedBudgets {
  readonly waiting: WaitingBudget;
  readonly fields: Budget;
  readonly options: Budget;
  readonly sources: Budget;
  /** Bytes. */
  readonly memory: Budget;
}

export interface ExporterOptions {
  readonly address: string;
  readonly isRelay: boolean;
  /** The exporter that its records name. */
  readonly named: (by: Exporter, address: string, now: number) => Exporter;
  readonly rates: ManualRates;
  readonly now: number;
  readonly limits: Limits;
  readonly shared: SharedBudgets;
  readonly plans: PlanCache;
  readonly evictions: Evictions;
  /** Makes room in the budget of all at the cost of another exporter; returns false when there is none. */
  readonly reclaim: () => boolean;
  /** Drops what waits of another exporter; returns false when there is nothing. */
  readonly reclaimWaiting: () => boolean;
}

export function createExporter(options: ExporterOptions): Exporter {
  const { address, rates, now: firstSeen, limits, shared, plans, evictions, reclaim } = options;
  const memory = createMemoryShare(shared.memory);
  memory.add(memoryCosts.exporter);
  let ratesVersion = rates.version();
  let ownRate = rates.of(address);
  const domains = new Map<string, Domain>();
  const templates = createKnownTemplates({ limits, evictions, inAll: shared.fields, reclaim, plans, memory });
  const budget: WaitingBudget = { bytes: 0, sets: 0, maxBytes: limits.waitingBytes, maxSets: limits.waitingSets };
  const optionBudgets = [{ used: 0, max: limits.options }, shared.options];
  const share = createOptionsShare(
    optionBudgets,
    (bytes) => memory.add(bytes),
    () => void evictions.options++,
  );
  const sources = { used: 0, max: limits.sources };
  /** The one that was used last. */
  let last: Domain | undefined;
  /** By protocol; forgotten with every change of what it follows from. */
  const optionsDomains = new Map<Protocol, DomainOptions | undefined>();
  /** Made with the first flow of the sample. */
  let seen: SeenFlows | undefined;
  let traffic: InterfaceTraffic | undefined;
  const forgetSeen = (): void => {
    if (seen !== undefined) memory.add(-seenFlowsCost);
    if (traffic !== undefined) memory.add(-traffic.heldBytes);
    seen = undefined;
    traffic = undefined;
  };
  let measured = { at: firstSeen, records: 0 };

  const sibling = (protocol: Protocol, id: number): Domain | undefined => {
    for (const domain of domains.values()) if (domain.id === id && domain.protocol === protocol) return domain;
    return undefined;
  };
  const optionsDomainOf = (protocol: Protocol): DomainOptions | undefined => {
    if (!optionsDomains.has(protocol)) optionsDomains.set(protocol, optionsOnly(domains.values(), protocol));
    return optionsDomains.get(protocol);
  };
  const forgetDomain = (key: string, domain: Domain): void => {
    optionsDomains.clear();
    templates.clear(domain);
    memory.add(-memoryCosts.domain);
    domain.samples.forget();
    evictions.waitingSets += domain.waiting.dropOlder(Number.POSITIVE_INFINITY);
    domains.delete(key);
    if (last === domain) last = undefined;
    if (sibling(domain.protocol, domain.id) === undefined) domain.options.clear();
  };
  const createDomain = (protocol: Protocol, id: number, port?: number, agent?: string): Domain => {
    memory.add(memoryCosts.domain);
    return {
      protocol,
      id,
      port,
      templates: new Map(),
      waiting: createWaitingSets({ own: budget, inAll: shared.waiting, memory, reclaim: options.reclaimWaiting }),
      sequence: createSequence(),
      agent,
      samples:
        protocol === "sflow"
          ? createSampleSources([sources, shared.sources], memory, () => void evictions.sources++)
          : noSampleSources,
      options: sibling(protocol, id)?.options ?? createDomainOptions(share),
      uptime: undefined,
      number: undefined,
      kept: undefined,
      ownUntil: 0,
      restartedAt: 0,
      clockOffset: undefined,
      senders: createSenders(),
    };
  };

  const noteChange = (): void => {
    optionsDomains.clear();
    exporter.isChanged = true;
  };

  const rate = (): ManualRate => {
    const version = rates.version();
    if (version !== ratesVersion) {
      ratesVersion = version;
      ownRate = rates.of(address);
    }
    return ownRate;
  };

  const exporter: Exporter = {
    address,
    isRelay: options.isRelay,
    relay: undefined,
    named: (other, now) => (other === address ? exporter : options.named(exporter, other, now)),
    rates: rate,
    firstSeen,
    lastSeen: firstSeen,
    datagrams: 0,
    records: 0,
    recordsPerSecond: 0,
    heldUntil: 0,
    isChanged: false,
    keptAt: firstSeen,
    domain(protocol, id, port, agent) {
      if (last?.id === id && last.protocol === protocol && last.port === port && last.agent === agent) return last;
      const key = domainKey(protocol, id, port, agent);
      let domain = domains.get(key);
      if (domain === undefined) {
        if (domains.size >= limits.domains) {
          for (const [oldest, unused] of domains) {
            forgetDomain(oldest, unused);
            break;
          }
          evictions.domains++;
        }
        domain = createDomain(protocol, id, port, agent);
        optionsDomains.clear();
      } else domains.delete(key);
      // The order of insertion is the order of use.
      domains.set(key, domain);
      last = domain;
      return domain;
    },
    domains: () => domains.values(),
    wholeExporter({ protocol, id, port, options: own }) {
      if (domains.size < 2) return undefined;
      const zero = id === 0 ? undefined : (domains.get(domainKey(protocol, 0, port)) ?? sibling(protocol, 0))?.options;
      if (zero !== undefined && !zero.isEmpty()) return zero;
      const only = optionsDomainOf(protocol);
      return only === own ? undefined : only;
    },
    define(domain, record, plan, now) {
      const change = templates.define(domain, record, plan, now);
      if (change === "added" || change === "changed") noteChange();
      return change;
    },
    restoreTemplate(domain, record, plan, from, now) {
      optionsDomains.clear();
      return templates.restore(domain, record, plan, from, now);
    },
    withdraw(domain, id) {
      const isKnown = templates.withdraw(domain, id);
      if (isKnown) noteChange();
      return isKnown;
    },
    template(domain, id) {
      const own = domain.templates.get(id);
      if (own !== undefined || domain.port === undefined || isSessionPort(domain.port)) return own;
      return templateOfOtherPorts(domains.values(), domain, id);
    },
    learnOptions(domain, record) {
      if (domain.options.learn(record, exporter.lastSeen)) noteChange();
    },
    restoreOptions(domain, state) {
      optionsDomains.clear();
      return domain.options.restore(state);
    },
    expireTemplates(before) {
      if (templates.expire(before) > 0) noteChange();
    },
    templates: () => templates.entries(),
    heldBytes: () => memory.bytes,
    shrink(toBytes) {
      const before = memory.bytes;
      if (before <= toBytes) return;
      forgetSeen();
      exporter.dropWaiting(Number.POSITIVE_INFINITY);
      for (const [key, domain] of domains) {
        if (memory.bytes <= toBytes || domains.size === 1) break;
        forgetDomain(key, domain);
        evictions.domains++;
      }
      templates.shrink(toBytes);
      for (const { options: said, samples } of domains.values()) {
        if (memory.bytes <= toBytes) break;
        said.clear();
        samples.forget();
      }
      if (memory.bytes < before) noteChange();
    },
    dropWaiting(before) {
      const { sets } = budget;
      if (sets > 0) for (const domain of domains.values()) evictions.waitingSets += domain.waiting.dropOlder(before);
      return budget.sets < sets;
    },
    isWaiting: () => budget.sets > 0,
    noteSeen(hash, directions) {
      if (seen === undefined) {
        seen = createSeenFlows();
        memory.add(seenFlowsCost);
      }
      seen.note(hash, directions, exporter.lastSeen);
    },
    seenFlows: () => seen?.windows() ?? [],
    addTraffic(minute, since) {
      traffic ??= createInterfaceTraffic(since);
      memory.add(traffic.add(minute));
    },
    traffic: () => traffic && { address, since: traffic.since, minutes: traffic.minutes() },
    measure(now) {
      const seconds = (now - measured.at) / 1000;
      if (seconds <= 0) return;
      exporter.recordsPerSecond = (exporter.records - measured.records) / seconds;
      measured = { at: now, records: exporter.records };
    },
    endSession(port) {
      for (const [key, domain] of domains) if (domain.port === port) forgetDomain(key, domain);
    },
    forget() {
      for (const [key, domain] of domains) forgetDomain(key, domain);
      forgetSeen();
      memory.add(-memoryCosts.exporter);
    },
    templateCount: () => templates.size,
  };
  return exporter;
}

function domainKey(protocol: Protocol, id: number, port?: number, agent = ""): string {
  return `${protocol} ${id} ${port ?? ""} ${agent}`;
}

/** The only template of an id on which all ports of a domain agree; those of this run are asked first. */
function templateOfOtherPorts(domains: Iterable<Domain>, of: Domain, id: number): KnownTemplate | undefined {
  let only: KnownTemplate | undefined;
  let isContested = false;
  for (const other of domains) {
    if (other.id !== of.id || other.protocol !== of.protocol || isSessionPort(other.port ?? 0)) continue;
    const candidate = other.templates.get(id);
    if (candidate === undefined) continue;
    if (only === undefined || (isReceived(candidate) && !isReceived(only))) {
      only = candidate;
      isContested = false;
    } else if (isReceived(only) === isReceived(candidate) && !only.raw.equals(candidate.raw)) isContested = true;
  }
  return isContested ? undefined : only;
}

function isReceived({ origin }: KnownTemplate): boolean {
  return origin === "received";
}
