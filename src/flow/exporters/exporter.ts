import type { RecordFields } from "../../record/index.ts";
import { isSessionPort } from "../datagram.ts";
import type { Protocol } from "../datagram.ts";
import type { PlanTemplate } from "./build-plan.ts";
import { continues, Domain, DomainGroup, type KnownTemplate, type ProcessHeader } from "./domain.ts";
import type { ExporterTable, SharedBudgets } from "./exporter-table.ts";
import { RecentTraffic, type ExporterTraffic } from "./exporter-traffic.ts";
import { FirewallFlows } from "./firewall-flows.ts";
import { KnownTemplates, type TemplateRecord } from "./known-templates.ts";
import { EntryShare, memoryCosts, MemoryShare } from "./limits.ts";
import { DomainOptions, type DomainOptionsState } from "./options.ts";
import type { OptionsScope } from "./plan.ts";
import type { DoubtRate, ManualRate } from "./sampling.ts";
import { noSampleSources, SampleSources } from "./sequence.ts";
import { WaitingBudget, WaitingSets } from "./waiting-sets.ts";

/** In which order an exporter sends type and code of ICMPv6 in a port, by the last flow that showed it. */
export interface IcmpOrder {
  isSwapped: boolean;
}

/** The limit of one domain. Exporters have few templates; more are damaged datagrams. */
const maxRefused = 64;
/** So many datagrams in a row that go on with another port's count are no chance. */
const provenHops = 2;
/** An exporter that changes its port with each datagram may lose so many units at once. */
const mostMissed = 4096;

/** One sender of flows and everything that it said for later datagrams. Bounded, so that it fills only its own share. */
export class Exporter {
  /** Its address in canonical text; IPv4-mapped ones as IPv4. */
  readonly address: string;
  /** True if the operator lets it name other exporters in its records. */
  readonly isRelay: boolean;
  /** The relay that named it last; undefined where none did. */
  relay: string | undefined;
  readonly icmp: IcmpOrder = { isSwapped: false };
  /** The last sampling rate that it said and that cannot be. */
  doubtedRate: number | undefined;
  /** Milliseconds since the epoch. */
  readonly firstSeen: number;
  lastSeen: number;
  datagrams = 0;
  records = 0;
  /** The part of its latest datagrams that became records without a fault, from 0 to 1. */
  quality = 0;
  /** Over the time between the last two calls of {@link Exporter.measure}. */
  recordsPerSecond = 0;
  /**
   * Until then its data sets are held: it is new here or comes back, so that other collectors may know more of it. Milliseconds since the
   * epoch; infinite before the first of these data sets, 0 where nobody is asked.
   */
  heldUntil = 0;
  /** True if what is worth keeping over a restart has changed since this was last set to false. */
  isChanged = false;
  /** When it was last handed out to be kept, milliseconds since the epoch. */
  keptAt: number;
  /** Its share of the collector's memory, by {@link memoryCosts}. */
  readonly memory: MemoryShare;
  /** Its recent traffic. */
  readonly recent: RecentTraffic;
  /** Changed through the exporter, which takes note. */
  readonly templates: KnownTemplates;

  readonly #table: ExporterTable;
  readonly #shared: SharedBudgets;
  readonly #waiting: WaitingBudget;
  readonly #options: EntryShare;
  readonly #sources: EntryShare;
  /** The least recently used first. */
  readonly #domains = new Map<string, Domain>();
  /** Ports of a process that has a domain by another port. */
  readonly #aliases = new Map<string, Domain>();
  /** The one that was used last. */
  #last: Domain | undefined;
  /** An answer for each protocol; forgotten with every change of domains with options, or of which of them have templates of flows. */
  readonly #optionsDomains = new Map<Protocol, number | undefined>();
  #ratesVersion: unknown;
  #rates: ManualRate;
  #measured: { readonly at: number; readonly records: number };

  constructor(table: ExporterTable, address: string, isRelay: boolean, now: number) {
    const { shared } = table;
    const { limits, evictions } = shared;
    this.address = address;
    this.isRelay = isRelay;
    this.firstSeen = this.lastSeen = this.keptAt = now;
    this.#table = table;
    this.#shared = shared;
    this.memory = new MemoryShare(shared.memory);
    this.memory.add(memoryCosts.exporter);
    this.recent = new RecentTraffic(this.memory);
    this.templates = new KnownTemplates(shared, this.memory, () => table.evictOther(address));
    this.#waiting = new WaitingBudget(limits.waitingBytes, limits.waitingSets);
    const ownOptions = { used: 0, max: limits.options };
    this.#options = new EntryShare([ownOptions, shared.options], this.memory, () => void evictions.options++);
    const ownSources = { used: 0, max: limits.sources };
    this.#sources = new EntryShare([ownSources, shared.sources], this.memory, () => void evictions.sources++);
    this.#ratesVersion = shared.rates.version();
    this.#rates = shared.rates.of(address);
    this.#measured = { at: now, records: 0 };
  }

  /**
   * The exporter that a record of this relay names, as heard of now; this one where there is no room for another.
   *
   * @param address canonical text.
   */
  named(address: string, now: number): Exporter {
    return address === this.address ? this : this.#table.named(this, address, now);
  }

  /** Returns what the operator says of its sampling rate. */
  rates(): ManualRate {
    const version = this.#shared.rates.version();
    if (version !== this.#ratesVersion) {
      this.#ratesVersion = version;
      this.#rates = this.#shared.rates.of(this.address);
    }
    return this.#rates;
  }

  /**
   * The domain, made on first sight. Beyond the limit the one not used for longest is forgotten.
   *
   * @param port the sender's port, with its session, where the protocol scopes templates by it.
   * @param agent the address of the agent where a sender passes on what several say (sFlow).
   */
  domain(protocol: Protocol, id: number, port?: number, agent?: string): Domain {
    const last = this.#last;
    if (last?.id === id && last.protocol === protocol && last.port === port && last.agent === agent) return last;
    const key = domainKey(protocol, id, port, agent);
    let domain = this.#domains.get(key);
    if (domain === undefined) {
      if (this.#domains.size >= this.#shared.limits.domains) this.#dropDomain();
      domain = this.#createDomain(protocol, id, port, agent);
    } else this.#domains.delete(key);
    // The order of insertion is the order of use.
    this.#domains.set(key, domain);
    this.#last = domain;
    domain.group.last = domain;
    return domain;
  }

  /**
   * The domain of the process that sent a datagram of a protocol that counts what was sent before, and says when the exporter started
   * (NetFlow v5, v7, v9). Each port is a process of its own: several may send by one address (NAT, containers). Ports that go on with each
   * other's count are of one process, which changes its port.
   */
  process(protocol: Protocol, id: number, header: ProcessHeader): Domain {
    const { port } = header;
    const last = this.#last;
    if (last?.id === id && last.protocol === protocol && last.port === port) return last;
    const key = domainKey(protocol, id, port);
    const known = this.#aliases.get(key) ?? this.#domains.get(key);
    const group = (known ?? this.#sibling(protocol, id))?.group;
    const before = group?.last;
    if (group !== undefined && before !== undefined && before !== known) {
      // A port that nobody knows may also be one behind a loss, if such ports are nothing new.
      const mayMiss = known === undefined && group.hops >= provenHops ? mostMissed : 0;
      const isHop = continues(before, header, mayMiss) && !(known !== undefined && continues(known, header));
      group.hops = isHop ? group.hops + 1 : 0;
      if (group.hops >= provenHops) this.#join(key, before);
      // Its number says nothing of what is missing of its own count.
      else if (isHop && known !== undefined) known.sequence.last = undefined;
    }
    return this.domain(protocol, id, this.#aliases.get(key)?.port ?? port);
  }

  /** All domains, the least recently used first. */
  domains(): Iterable<Domain> {
    return this.#domains.values();
  }

  /**
   * Finds the options for the records of a domain, in the order in which they are asked: `own`, the domain's own, or where these say
   * nothing those of its other ports; `whole`, those of domain 0, of the only domain that sends options and no flows, or of its other ports,
   * the first that say anything and are not `own`.
   */
  optionsFor(domain: Domain): { readonly own: DomainOptions; readonly whole: DomainOptions | undefined } {
    const { options: said, group } = domain;
    if (this.#domains.size < 2) return { own: said, whole: undefined };
    const whole = this.#optionsOfAll(domain);
    if (said.isEmpty()) return { own: group.latestOptions(domain) ?? said, whole };
    return { own: said, whole: whole ?? group.latestOptions(domain) };
  }

  /** Takes a template, as {@link KnownTemplates.define}. */
  define(
    domain: Domain,
    record: TemplateRecord,
    plan: PlanTemplate,
    now: number,
  ): ReturnType<KnownTemplates["define"]> {
    const change = this.templates.define(domain, record, plan, now);
    if (change !== "refused") domain.refused.delete(record.template.id);
    if (change === "added" || change === "changed") {
      this.#noteTemplates(domain);
      this.isChanged = true;
    }
    return change;
  }

  /** Takes a template that it did not send now, as {@link KnownTemplates.restore}. */
  restoreTemplate(
    domain: Domain,
    record: TemplateRecord,
    plan: PlanTemplate,
    from: Pick<KnownTemplate, "origin" | "definedAt">,
    now: number,
  ): boolean {
    if (domain.refused.has(record.template.id)) return false;
    this.#optionsDomains.clear();
    return this.templates.restore(domain, record, plan, from, now);
  }

  /** Forgets a template. Returns whether there was one. */
  withdraw(domain: Domain, id: number): boolean {
    const isKnown = this.templates.withdraw(domain, id);
    if (isKnown) {
      this.#noteTemplates(domain);
      this.isChanged = true;
    }
    return isKnown;
  }

  /**
   * Takes note of a template that cannot be used: there is none of its id until one comes that can. Returns whether there was one.
   */
  refuse(domain: Domain, id: number): boolean {
    domain.refused.delete(id);
    if (domain.refused.size >= maxRefused)
      for (const oldest of domain.refused) {
        domain.refused.delete(oldest);
        break;
      }
    domain.refused.add(id);
    return this.withdraw(domain, id);
  }

  /**
   * The template of a data set: the domain's own; else, where domains are scoped by port, the only one of that id that
   * the same domain has on other ports (an exporter that sends templates and data from two ports, or started again).
   * One that came in this run stands before those of an earlier run, and before those of ports that are silent since it came. Those of
   * another device, and of a TCP connection, are its own alone.
   */
  template(domain: Domain, id: number): KnownTemplate | undefined {
    const own = domain.templates.get(id);
    if (own !== undefined || domain.port === undefined || isSessionPort(domain.port)) return own;
    return domain.refused.has(id) ? undefined : domain.group.templateOf(id, domain);
  }

  /**
   * Takes a record of options data that came in a domain. One whose scope names another domain is of that.
   *
   * @param doubt is called with a sampling rate that cannot be.
   */
  learnOptions(domain: Domain, record: RecordFields, scope: OptionsScope, doubt: DoubtRate): void {
    const about = scope.namesDomain ? this.#namedDomain(domain, record) : domain;
    const { options: said } = about;
    const wasEmpty = said.isEmpty();
    const isStart = said !== domain.options && domain.options.learnStart(record, this.lastSeen);
    const isNew = said.learn(record, this.lastSeen, scope.isForeign, doubt);
    about.group.noteSpeaker(about);
    if (!isNew && !isStart) return;
    this.isChanged = true;
    if (wasEmpty) this.#noteTemplates(about);
  }

  /** Adds what options said of the domain in an earlier run or to another collector, where nothing newer is known. Returns whether that was new. */
  restoreOptions(domain: Domain, state: DomainOptionsState): boolean {
    this.#optionsDomains.clear();
    domain.group.noteSpeaker(domain);
    return domain.options.restore(state);
  }

  /** Forgets templates that did not come again since before a time, milliseconds since the epoch. */
  expireTemplates(before: number): void {
    if (this.templates.expire(before) > 0) this.#noteChange();
  }

  /** Drops what has waited for a template since before a time, milliseconds since the epoch. Returns whether there was any. */
  dropWaiting(before: number): boolean {
    const { sets } = this.#waiting;
    if (sets > 0)
      for (const { waiting } of this.domains()) this.#shared.evictions.waitingSets += waiting.dropOlder(before);
    return this.#waiting.sets < sets;
  }

  /** Returns whether data sets wait. */
  isWaiting(): boolean {
    return this.#waiting.sets > 0;
  }

  /**
   * Forgets what is least needed until it holds no more than this many bytes: data sets that wait, domains that were not used for
   * longest, templates that did not come for longest, options. Of the domain that was used last the templates and options may go, it
   * stays. To be called between datagrams.
   */
  shrink(toBytes: number): void {
    const before = this.memory.bytes;
    if (before <= toBytes) return;
    this.recent.forget();
    this.dropWaiting(Number.POSITIVE_INFINITY);
    for (const [key, domain] of this.#domains) {
      if (this.memory.bytes <= toBytes || this.#domains.size === 1) break;
      this.#forgetDomain(key, domain);
      this.#shared.evictions.domains++;
    }
    this.templates.shrink(toBytes);
    for (const domain of this.domains()) {
      if (this.memory.bytes <= toBytes) break;
      domain.options.clear();
      domain.forgetDetails();
    }
    if (this.memory.bytes < before) this.#noteChange();
  }

  /** Takes a flow of the sample by which exporters are compared, as {@link RecentTraffic.sketchFlow}. */
  sketchFlow(hash: number, directions: number): void {
    this.recent.sketchFlow(hash, directions, this.lastSeen);
  }

  /** Returns what passed its interfaces lately; undefined where that is not measured. */
  traffic(): ExporterTraffic | undefined {
    const traffic = this.recent.interfaces();
    return traffic && { address: this.address, ...traffic };
  }

  /** Takes the record rate; to be called now and then. */
  measure(now: number): void {
    const seconds = (now - this.#measured.at) / 1000;
    if (seconds <= 0) return;
    this.recordsPerSecond = (this.records - this.#measured.records) / seconds;
    this.#measured = { at: now, records: this.records };
  }

  /** Forgets the domains of a TCP connection that was closed, by its `sessionPort`: their templates ended with it. */
  endSession(port: number): void {
    for (const [key, domain] of this.#domains) if (domain.port === port) this.#forgetDomain(key, domain);
  }

  /** Forgets everything, before the exporter itself is forgotten. */
  forget(): void {
    for (const [key, domain] of this.#domains) this.#forgetDomain(key, domain);
    this.recent.forget();
    this.memory.add(-memoryCosts.exporter);
  }

  #sibling(protocol: Protocol, id: number): Domain | undefined {
    for (const domain of this.domains()) if (domain.id === id && domain.protocol === protocol) return domain;
    return undefined;
  }

  #createDomain(protocol: Protocol, id: number, port: number | undefined, agent: string | undefined): Domain {
    this.memory.add(memoryCosts.domain);
    const other = this.#sibling(protocol, id);
    const { evictions, waiting } = this.#shared;
    const domain = new Domain(
      { protocol, id, port, agent },
      {
        group: (agent === undefined ? other?.group : undefined) ?? new DomainGroup(),
        waiting: new WaitingSets(this.#waiting, waiting, this.memory, () => this.#table.dropWaitingOf(this.address)),
        firewall: new FirewallFlows(this.memory, () => void evictions.firewallFlows++),
        samples: protocol === "sflow" ? new SampleSources(this.#sources) : noSampleSources,
        options: (protocol === "ipfix" ? other?.options : undefined) ?? new DomainOptions(this.#options),
      },
    );
    domain.group.ports.add(domain);
    return domain;
  }

  #forgetDomain(key: string, domain: Domain): void {
    if (domain.templates.size > 0 || !domain.options.isEmpty()) this.#noteTemplates(domain);
    this.templates.clear(domain);
    this.memory.add(-memoryCosts.domain);
    domain.forgetDetails();
    this.#shared.evictions.waitingSets += domain.waiting.dropOlder(Number.POSITIVE_INFINITY);
    this.#domains.delete(key);
    for (const [alias, of] of this.#aliases) if (of === domain) this.#dropAlias(alias);
    if (this.#last === domain) this.#last = undefined;
    domain.group.remove(domain);
    if (this.#sibling(domain.protocol, domain.id)?.options !== domain.options) domain.options.clear();
  }

  /** The one not used for longest gives way, and one that has nothing before one that has templates or options. */
  #dropDomain(): void {
    let victim: readonly [string, Domain] | undefined;
    for (const entry of this.#domains) {
      victim ??= entry;
      const [, { templates: own, options: said, waiting, group }] = entry;
      if (own.size > 0 || waiting.count() > 0 || (group.last?.options !== said && !said.isEmpty())) continue;
      victim = entry;
      break;
    }
    if (victim !== undefined) this.#forgetDomain(...victim);
    this.#shared.evictions.domains++;
  }

  #dropAlias(key: string): void {
    if (this.#aliases.delete(key)) this.memory.add(-memoryCosts.alias);
  }

  /** A port goes on with the count of another domain. What its own one knew stays there for the others to fall back on. */
  #join(key: string, to: Domain): void {
    const own = this.#domains.get(key);
    if (own !== undefined) {
      const before = `${key} before`;
      const older = this.#domains.get(before);
      if (older !== undefined) this.#forgetDomain(before, older);
      this.#domains.delete(key);
      this.#domains.set(before, own);
      for (const [alias, of] of this.#aliases) if (of === own) this.#aliases.set(alias, to);
      if (this.#last === own) this.#last = undefined;
    }
    for (const [oldest] of this.#aliases) {
      if (this.#aliases.size < this.#shared.limits.domains) break;
      this.#dropAlias(oldest);
    }
    if (!this.#aliases.has(key)) this.memory.add(memoryCosts.alias);
    this.#aliases.set(key, to);
  }

  /** Finds the options of the domain of another id for a domain: of the same port, else of the same device's port that said them last. */
  #optionsOf(id: number, of: Domain): DomainOptions | undefined {
    const { protocol, port } = of;
    const own = this.#domains.get(domainKey(protocol, id, port))?.options;
    if (own?.isEmpty() === false) return own;
    const other = this.#sibling(protocol, id);
    if (other === undefined) return undefined;
    if (protocol !== "ipfix") return other.group.latestOptions(of);
    return other.options.isEmpty() ? undefined : other.options;
  }

  /** The options for the whole exporter, of which a domain is: those of domain 0, else those of the only domain that sends nothing else. */
  #optionsOfAll(of: Domain): DomainOptions | undefined {
    const zero = of.id === 0 ? undefined : this.#optionsOf(0, of);
    if (zero !== undefined) return zero;
    const { protocol } = of;
    if (!this.#optionsDomains.has(protocol)) this.#optionsDomains.set(protocol, this.#optionsOnly(protocol));
    const only = this.#optionsDomains.get(protocol);
    return only === undefined || only === of.id ? undefined : this.#optionsOf(only, of);
  }

  /**
   * Returns the id of the domain that has templates of options alone. Cisco's IOS XE sends samplers, interfaces and applications with
   * a Source ID of their own, and flows with others.
   *
   * @returns undefined where no domain of the protocol is like that, or several are: nothing says which domains they are for.
   */
  #optionsOnly(protocol: Protocol): number | undefined {
    const withOptions = new Set<number>();
    const withFlows = new Set<number>();
    for (const domain of this.domains()) {
      if (domain.protocol !== protocol || !domain.isHeard) continue;
      // Flows may come from one of the ports of a domain, and options from another.
      if (!domain.options.isEmpty()) withOptions.add(domain.id);
      if (!withFlows.has(domain.id) && domain.hasFlowTemplate()) withFlows.add(domain.id);
    }
    const [only, another] = [...withOptions].filter((id) => !withFlows.has(id));
    return another === undefined ? only : undefined;
  }

  /** The domain that a record of options data names; made where it was not heard yet. */
  #namedDomain(by: Domain, record: RecordFields): Domain {
    const id = record.get("flow.ie.observationDomainId");
    if (typeof id !== "number" || id === by.id) return by;
    const { protocol, port, agent } = by;
    const key = domainKey(protocol, id, port, agent);
    const known =
      this.#aliases.get(key) ??
      this.#domains.get(key) ??
      (protocol === "ipfix" ? this.#sibling(protocol, id) : undefined);
    if (known !== undefined) return known;
    const made = this.domain(protocol, id, port, agent);
    made.isHeard = false;
    return made;
  }

  #noteChange(): void {
    this.#optionsDomains.clear();
    this.isChanged = true;
  }

  /** Templates of a domain come or go, or its first options: damaged datagrams have new ones all the time, and few domains have options. */
  #noteTemplates(domain: Domain): void {
    if (this.#optionsDomains.size === 0) return;
    let hasOptions = false;
    let hasFlows = false;
    for (const other of domain.group.ports) {
      if (other === domain) continue;
      hasOptions ||= !other.options.isEmpty();
      hasFlows ||= other.hasFlowTemplate();
      // Then they have both without this port, too.
      if (hasOptions && hasFlows) return;
    }
    if (hasOptions || !domain.options.isEmpty()) this.#optionsDomains.clear();
  }
}

function domainKey(protocol: Protocol, id: number, port?: number, agent = ""): string {
  return `${protocol} ${id} ${port ?? ""} ${agent}`;
}
