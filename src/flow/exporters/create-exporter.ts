import type { RecordFields } from "../../record/index.ts";
import type { ExporterOptions, Exporter } from "./exporter.ts";
import { createMemoryShare, memoryCosts } from "./limits/memory.ts";
import type { Domain, KnownTemplate } from "./domain.ts";
import { FirewallFlows } from "./firewall-flows.ts";
import { createKnownTemplates } from "./known-templates.ts";
import { type WaitingBudget, createWaitingSets } from "./templates/waiting-sets.ts";
import { createOptionsShare } from "./limits/options-share.ts";
import type { Protocol } from "../protocol.ts";
import { type DomainOptions, createDomainOptions } from "./options/domain-options.ts";
import { type SeenFlows, seenFlowsCost, createSeenFlows } from "./seen-flows.ts";
import { type InterfaceTraffic, createInterfaceTraffic } from "./interface-traffic.ts";
import { optionsOnly } from "./options-only.ts";
import { createSequence } from "./sequence/sequence.ts";
import { createSampleSources, noSampleSources } from "./sequence/sample-sources.ts";
import { createSenders } from "./senders.ts";
import type { ManualRate } from "./sampling/manual-rates.ts";
import { isSessionPort } from "../intake/tcp/session-port.ts";

/** Of one domain. Exporters have few templates; more are damaged datagrams. */
const maxRefused = 64;

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
  /** By protocol; forgotten with every change of what it follows from: domains with options, and which of them have templates of flows. */
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
    noteTemplates(domain);
    templates.clear(domain);
    memory.add(-memoryCosts.domain);
    domain.samples.forget();
    domain.firewall.clear();
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
      refused: new Set(),
      waiting: createWaitingSets({ own: budget, inAll: shared.waiting, memory, reclaim: options.reclaimWaiting }),
      sequence: createSequence(),
      firewall: new FirewallFlows(memory, () => void evictions.firewallFlows++),
      agent,
      samples:
        protocol === "sflow"
          ? createSampleSources([sources, shared.sources], memory, () => void evictions.sources++)
          : noSampleSources,
      options: sibling(protocol, id)?.options ?? createDomainOptions(share),
      isHeard: true,
      uptime: undefined,
      number: undefined,
      kept: undefined,
      ownUntil: 0,
      restartedAt: 0,
      clockOffset: undefined,
      senders: createSenders(),
    };
  };

  /** The domain that a record of options data names; made where it was not heard yet. */
  const namedDomain = (by: Domain, record: RecordFields): Domain => {
    const id = record.get("flow.ie.observationDomainId");
    if (typeof id !== "number" || id === by.id) return by;
    const known = sibling(by.protocol, id);
    if (known !== undefined) return known;
    const made = exporter.domain(by.protocol, id, by.port, by.agent);
    made.isHeard = false;
    return made;
  };
  const noteChange = (): void => {
    optionsDomains.clear();
    exporter.isChanged = true;
  };
  /** Templates of a domain come or go: damaged datagrams have new ones all the time, and few domains have options. */
  function noteTemplates({ options: said }: Domain): void {
    if (!said.isEmpty()) optionsDomains.clear();
  }

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
    icmp: { isSwapped: false },
    isRelay: options.isRelay,
    relay: undefined,
    named: (other, now) => (other === address ? exporter : options.named(exporter, other, now)),
    rates: rate,
    doubtedRate: undefined,
    firstSeen,
    lastSeen: firstSeen,
    datagrams: 0,
    records: 0,
    quality: 0,
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
      if (change !== "refused") domain.refused.delete(record.template.id);
      if (change === "added" || change === "changed") {
        noteTemplates(domain);
        exporter.isChanged = true;
      }
      return change;
    },
    restoreTemplate(domain, record, plan, from, now) {
      if (domain.refused.has(record.template.id)) return false;
      optionsDomains.clear();
      return templates.restore(domain, record, plan, from, now);
    },
    withdraw(domain, id) {
      const isKnown = templates.withdraw(domain, id);
      if (isKnown) {
        noteTemplates(domain);
        exporter.isChanged = true;
      }
      return isKnown;
    },
    refuse(domain, id) {
      domain.refused.delete(id);
      if (domain.refused.size >= maxRefused)
        for (const oldest of domain.refused.keys()) {
          domain.refused.delete(oldest);
          break;
        }
      domain.refused.add(id);
      return exporter.withdraw(domain, id);
    },
    template(domain, id) {
      const own = domain.templates.get(id);
      if (own !== undefined || domain.port === undefined || isSessionPort(domain.port)) return own;
      if (domain.refused.has(id)) return undefined;
      return templateOfOtherPorts(domains.values(), domain, id);
    },
    learnOptions(domain, record, scope, doubt) {
      const { options: said } = scope.namesDomain ? namedDomain(domain, record) : domain;
      const wasEmpty = said.isEmpty();
      const isStart = said !== domain.options && domain.options.learnStart(record, exporter.lastSeen);
      if (!said.learn(record, exporter.lastSeen, scope.isForeign, doubt) && !isStart) return;
      exporter.isChanged = true;
      if (wasEmpty) optionsDomains.clear();
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
      for (const { options: said, samples, firewall } of domains.values()) {
        if (memory.bytes <= toBytes) break;
        said.clear();
        samples.forget();
        firewall.clear();
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
