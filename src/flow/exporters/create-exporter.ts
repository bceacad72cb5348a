import type { Protocol } from "../protocol.ts";
import {
  type Domain,
  continues,
  isOtherDevice,
  type DomainGroup,
  type KnownTemplate,
  createSenders,
} from "./domain.ts";
import type { RecordFields } from "../../record/index.ts";
import {
  type ExporterOptions,
  type Exporter,
  type OptionsFor,
  type SeenFlows,
  seenFlowsCost,
  createSeenFlows,
  type InterfaceTraffic,
  createInterfaceTraffic,
} from "./exporter.ts";
import { createMemoryShare, memoryCosts, createOptionsShare } from "./limits.ts";
import { FirewallFlows } from "./firewall-flows.ts";
import { createKnownTemplates } from "./known-templates.ts";
import { type WaitingBudget, createWaitingSets } from "./waiting-sets.ts";
import { type DomainOptions, createDomainOptions } from "./options.ts";
import { createSequence, createSampleSources, noSampleSources } from "./sequence.ts";
import type { ManualRate } from "./sampling.ts";
import { isSessionPort } from "../intake/socket.ts";

/**
 * Returns the id of the domain that has templates of options alone. Cisco's IOS XE sends samplers, interfaces and applications with
 * a Source ID of their own, and flows with others.
 *
 * @returns undefined where no domain of the protocol is like that, or several are: nothing says which domains they are for.
 */
function optionsOnly(domains: Iterable<Domain>, protocol: Protocol): number | undefined {
  const withOptions = new Set<number>();
  const withFlows = new Set<number>();
  for (const domain of domains) {
    if (domain.protocol !== protocol || !domain.isHeard) continue;
    // Flows may come from one of the ports of a domain, and options from another.
    if (!domain.options.isEmpty()) withOptions.add(domain.id);
    if (!withFlows.has(domain.id) && hasFlowTemplate(domain)) withFlows.add(domain.id);
  }
  const [only, another] = [...withOptions].filter((id) => !withFlows.has(id));
  return another === undefined ? only : undefined;
}

/** Whether a domain has a template that is not one of options. */
function hasFlowTemplate({ templates }: Domain): boolean {
  for (const { plan } of templates.values()) if (plan.template.scopeCount === undefined) return true;
  return false;
}

/** Of one domain. Exporters have few templates; more are damaged datagrams. */
const maxRefused = 64;

export function createExporter(options: ExporterOptions): Exporter {
  const { address, rates, now: firstSeen, limits, shared, plans, evictions, reclaim } = options;
  const memory = createMemoryShare(shared.memory);
  memory.add(memoryCosts.exporter);
  let ratesVersion = rates.version();
  let ownRate = rates.of(address);
  const domains = new Map<string, Domain>();
  /** Ports of a process that has a domain by another port. */
  const aliases = new Map<string, Domain>();
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
  const optionsDomains = new Map<Protocol, number | undefined>();
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
  /** What the domain of another id says for a domain: by the same port, else by the port of the same device that said it last. */
  const optionsOf = (id: number, of: Domain): DomainOptions | undefined => {
    const { protocol, port } = of;
    const own = domains.get(domainKey(protocol, id, port))?.options;
    if (own?.isEmpty() === false) return own;
    const other = sibling(protocol, id);
    if (other === undefined) return undefined;
    if (protocol !== "ipfix") return latestOptions(other.group, of);
    return other.options.isEmpty() ? undefined : other.options;
  };
  const optionsDomainOf = (protocol: Protocol): number | undefined => {
    if (!optionsDomains.has(protocol)) optionsDomains.set(protocol, optionsOnly(domains.values(), protocol));
    return optionsDomains.get(protocol);
  };
  /** The options for the whole exporter, of which a domain is: those of domain 0, else those of the only domain that sends nothing else. */
  const optionsOfAll = (of: Domain): DomainOptions | undefined => {
    const zero = of.id === 0 ? undefined : optionsOf(0, of);
    if (zero !== undefined) return zero;
    const only = optionsDomainOf(of.protocol);
    return only === undefined || only === of.id ? undefined : optionsOf(only, of);
  };
  const forgetDomain = (key: string, domain: Domain): void => {
    if (domain.templates.size > 0 || !domain.options.isEmpty()) noteTemplates(domain);
    templates.clear(domain);
    memory.add(-memoryCosts.domain);
    domain.samples.forget();
    domain.firewall.clear();
    evictions.waitingSets += domain.waiting.dropOlder(Number.POSITIVE_INFINITY);
    domains.delete(key);
    for (const [alias, of] of aliases) if (of === domain) dropAlias(alias);
    if (last === domain) last = undefined;
    if (domain.group.last === domain) domain.group.last = undefined;
    domain.group.ports.delete(domain);
    domain.group.speakers = domain.group.speakers.filter((speaker) => speaker !== domain);
    if (sibling(domain.protocol, domain.id)?.options !== domain.options) domain.options.clear();
  };
  const dropAlias = (key: string): void => {
    if (aliases.delete(key)) memory.add(-memoryCosts.alias);
  };
  /** A port goes on with the count of another domain. What its own one knew stays there for the others to fall back on. */
  const join = (key: string, to: Domain): void => {
    const own = domains.get(key);
    if (own !== undefined) {
      const before = `${key} before`;
      const older = domains.get(before);
      if (older !== undefined) forgetDomain(before, older);
      domains.delete(key);
      domains.set(before, own);
      for (const [alias, of] of aliases) if (of === own) aliases.set(alias, to);
      if (last === own) last = undefined;
    }
    for (const [oldest] of aliases) {
      if (aliases.size < limits.domains) break;
      dropAlias(oldest);
    }
    if (!aliases.has(key)) memory.add(memoryCosts.alias);
    aliases.set(key, to);
  };
  /** The one not used for longest gives way, and one that has nothing before one that has templates or options. */
  const dropDomain = (): void => {
    let victim: readonly [string, Domain] | undefined;
    for (const entry of domains) {
      victim ??= entry;
      const [, { templates: own, options: said, waiting, group }] = entry;
      if (own.size > 0 || waiting.count() > 0 || (group.last?.options !== said && !said.isEmpty())) continue;
      victim = entry;
      break;
    }
    if (victim !== undefined) forgetDomain(...victim);
    evictions.domains++;
  };
  const createDomain = (protocol: Protocol, id: number, port?: number, agent?: string): Domain => {
    memory.add(memoryCosts.domain);
    const other = sibling(protocol, id);
    return {
      protocol,
      id,
      port,
      group: (agent === undefined ? other?.group : undefined) ?? {
        ports: new Set(),
        speakers: [],
        last: undefined,
        hops: 0,
      },
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
      options: (protocol === "ipfix" ? other?.options : undefined) ?? createDomainOptions(share),
      isHeard: true,
      uptime: undefined,
      number: undefined,
      kept: undefined,
      ownUntil: 0,
      restartedAt: 0,
      headerRate: undefined,
      clockOffset: undefined,
      senders: createSenders(),
    };
  };

  /** The domain that a record of options data names; made where it was not heard yet. */
  const namedDomain = (by: Domain, record: RecordFields): Domain => {
    const id = record.get("flow.ie.observationDomainId");
    if (typeof id !== "number" || id === by.id) return by;
    const { protocol, port, agent } = by;
    const key = domainKey(protocol, id, port, agent);
    const known = aliases.get(key) ?? domains.get(key) ?? (protocol === "ipfix" ? sibling(protocol, id) : undefined);
    if (known !== undefined) return known;
    const made = exporter.domain(protocol, id, port, agent);
    made.isHeard = false;
    return made;
  };
  const noteChange = (): void => {
    optionsDomains.clear();
    exporter.isChanged = true;
  };
  /** Templates of a domain come or go, or its first options: damaged datagrams have new ones all the time, and few domains have options. */
  function noteTemplates(domain: Domain): void {
    if (optionsDomains.size === 0) return;
    let hasOptions = false;
    let hasFlows = false;
    for (const other of domain.group.ports) {
      if (other === domain) continue;
      hasOptions ||= !other.options.isEmpty();
      hasFlows ||= hasFlowTemplate(other);
      // Then they have both without this port, too.
      if (hasOptions && hasFlows) return;
    }
    if (hasOptions || !domain.options.isEmpty()) optionsDomains.clear();
  }
  /** Options came by a port. */
  const noteSpeaker = (domain: Domain): void => {
    const { group } = domain;
    if (group.speakers.at(-1) === domain) return;
    group.speakers = [...group.speakers.filter((speaker) => speaker !== domain), domain].slice(-mostSpeakers);
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
        if (domains.size >= limits.domains) dropDomain();
        domain = createDomain(protocol, id, port, agent);
        domain.group.ports.add(domain);
      } else domains.delete(key);
      // The order of insertion is the order of use.
      domains.set(key, domain);
      last = domain;
      domain.group.last = domain;
      return domain;
    },
    process(protocol, id, header) {
      const { port } = header;
      if (last?.id === id && last.protocol === protocol && last.port === port) return last;
      const key = domainKey(protocol, id, port);
      const known = aliases.get(key) ?? domains.get(key);
      const group = (known ?? sibling(protocol, id))?.group;
      const before = group?.last;
      if (group !== undefined && before !== undefined && before !== known) {
        // Where a port that nobody knows is nothing new, it may also be one behind a loss.
        const mayMiss = known === undefined && group.hops >= provenHops ? mostMissed : 0;
        const isHop = continues(before, header, mayMiss) && !(known !== undefined && continues(known, header));
        group.hops = isHop ? group.hops + 1 : 0;
        if (group.hops >= provenHops) join(key, before);
        // Its number says nothing of what is missing of its own count.
        else if (isHop && known !== undefined) known.sequence.last = undefined;
      }
      return exporter.domain(protocol, id, aliases.get(key)?.port ?? port);
    },
    domains: () => domains.values(),
    optionsFor(domain): OptionsFor {
      const { options: said } = domain;
      if (domains.size < 2) return { own: said, whole: undefined };
      const whole = optionsOfAll(domain);
      if (said.isEmpty()) return { own: latestOptions(domain.group, domain) ?? said, whole };
      return { own: said, whole: whole ?? latestOptions(domain.group, domain) };
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
      return templateOfOtherPorts(domain, id);
    },
    learnOptions(domain, record, scope, doubt) {
      const about = scope.namesDomain ? namedDomain(domain, record) : domain;
      const { options: said } = about;
      const wasEmpty = said.isEmpty();
      const isStart = said !== domain.options && domain.options.learnStart(record, exporter.lastSeen);
      const isNew = said.learn(record, exporter.lastSeen, scope.isForeign, doubt);
      noteSpeaker(about);
      if (!isNew && !isStart) return;
      exporter.isChanged = true;
      if (wasEmpty) noteTemplates(about);
    },
    restoreOptions(domain, state) {
      optionsDomains.clear();
      noteSpeaker(domain);
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

/** The options for a domain of the other port in a group of which some came last. */
function latestOptions({ speakers }: DomainGroup, of: Domain): DomainOptions | undefined {
  const latest = speakers.findLast(
    (other) => other.options !== of.options && !other.options.isEmpty() && !isOtherDevice(of, other),
  );
  return latest?.options;
}

/** So many datagrams in a row that go on with another port's count are no chance. */
const provenHops = 2;
/** Of so many ports it is known whose options came last. */
const mostSpeakers = 8;
/** What one that changes its port with each datagram may lose at once. */
const mostMissed = 4096;

function domainKey(protocol: Protocol, id: number, port?: number, agent = ""): string {
  return `${protocol} ${id} ${port ?? ""} ${agent}`;
}

/**
 * The only template of an id on which all ports of a domain agree; those of this run are asked first. One that came when another port had
 * sent for the last time took the place of that port's.
 */
function templateOfOtherPorts(of: Domain, id: number): KnownTemplate | undefined {
  const candidates: (readonly [KnownTemplate, Domain])[] = [];
  for (const other of of.group.ports) {
    const candidate = other.templates.get(id);
    if (candidate === undefined || isSessionPort(other.port ?? 0) || isOtherDevice(of, other)) continue;
    candidates.push([candidate, other]);
  }
  const received = candidates.filter(([{ origin }]) => origin === "received");
  const known = received.length > 0 ? received : candidates;
  const newest = known.reduce((latest, [{ refreshedAt }]) => Math.max(latest, refreshedAt), 0);
  let only: KnownTemplate | undefined;
  for (const [candidate, { senders }] of known) {
    const isOver = candidate.refreshedAt < newest && (senders.latest()?.lastSeen ?? newest) < newest;
    if (isOver) continue;
    if (only !== undefined && only.shared !== candidate.shared) return undefined;
    only = candidate;
  }
  return only;
}
