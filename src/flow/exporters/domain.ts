import { ExporterClock } from "./exporter-clock.ts";
import type { DomainOptions } from "./options.ts";
import type { FirewallFlows } from "./firewall-flows.ts";
import type { Protocol } from "../datagram.ts";
import type { Plan } from "./plan.ts";
import type { SharedPlan } from "./known-templates.ts";
import { Sequence, type SampleSources } from "./sequence.ts";
import { isSessionPort } from "../datagram.ts";
import type { WaitingSets } from "./waiting-sets.ts";

/** A port from which an exporter sends. Times in milliseconds since the epoch. */
export interface Sender {
  readonly port: number;
  readonly firstSeen: number;
  lastSeen: number;
  /** When the exporter started, by its export time and uptime; undefined where the protocol does not say. */
  bootTime: number | undefined;
}

/** Two suffice to distinguish several devices behind one address from one that started again; more are for people. */
const maxSenders = 8;

/** The ports that the datagrams of one domain came from: the few used last. */
class Senders {
  readonly #senders: Sender[] = [];
  /** The one that sent last. */
  #last: Sender | undefined;

  note(port: number, at: number, bootTime: number | undefined): void {
    const sender = this.#last?.port === port ? this.#last : this.#of(port, at);
    this.#last = sender;
    sender.lastSeen = at;
    sender.bootTime = bootTime;
  }

  latest(): Readonly<Sender> | undefined {
    return this.#last;
  }

  all(): readonly Readonly<Sender>[] {
    return this.#senders;
  }

  #of(port: number, at: number): Sender {
    const senders = this.#senders;
    const known = senders.find((sender) => sender.port === port);
    if (known !== undefined) return known;
    if (senders.length >= maxSenders) {
      const oldest = senders.reduce((a, b) => (b.lastSeen < a.lastSeen ? b : a));
      senders.splice(senders.indexOf(oldest), 1);
    }
    const sender = { port, firstSeen: at, lastSeen: at, bootTime: undefined };
    senders.push(sender);
    return sender;
  }
}

/** A template as its exporter gave it. */
export interface KnownTemplate {
  /** Whose these are: other templates may have the same. */
  readonly shared: SharedPlan;
  readonly plan: Plan;
  /** Its record on the wire: the same bytes again are the same template. */
  readonly raw: Buffer;
  /** When it came for the first time since its exporter started, milliseconds since the epoch. */
  definedAt: number;
  /** When it came for the last time; for one of an earlier run, when that was read. */
  refreshedAt: number;
  /** Its source; `received` as soon as it has come again. */
  origin: TemplateOrigin;
  /** True if its data sets end with bytes that are neither zeros nor a record, and the exporter has sent it again all the same. */
  isLoose?: boolean;
}

/** From the exporter, from an earlier run, or from another collector. */
export type TemplateOrigin = "received" | "restored" | "shared";

/** It is known of so many ports whose options came last. */
const mostSpeakers = 8;

/** The ports of one protocol and id that send from one address. */
export class DomainGroup {
  readonly ports = new Set<Domain>();
  /** The ports that sent options, the latest at the end; a few. */
  #speakers: readonly Domain[] = [];
  /** The one that sent last. */
  last: Domain | undefined;
  /** The number of datagrams in a row that went on with the count of another port and not with that of their own. */
  hops = 0;

  /** Options came by a port. */
  noteSpeaker(domain: Domain): void {
    if (this.#speakers.at(-1) === domain) return;
    this.#speakers = [...this.#speakers.filter((speaker) => speaker !== domain), domain].slice(-mostSpeakers);
  }

  /** The options for a domain of the other port of which some came last. */
  latestOptions(of: Domain): DomainOptions | undefined {
    return this.#speakers.findLast(
      (other) => other.options !== of.options && !other.options.isEmpty() && !isOtherDevice(of, other),
    )?.options;
  }

  /**
   * The only template of an id on which all ports agree; those of this run are asked first. One that came when another port had
   * sent for the last time replaced that port's.
   */
  templateOf(id: number, of: Domain): KnownTemplate | undefined {
    const candidates: (readonly [KnownTemplate, Domain])[] = [];
    for (const other of this.ports) {
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

  remove(domain: Domain): void {
    if (this.last === domain) this.last = undefined;
    this.ports.delete(domain);
    this.#speakers = this.#speakers.filter((speaker) => speaker !== domain);
  }
}

/** By what a header tells which process sent it. Times in milliseconds. */
export interface ProcessHeader {
  readonly port: number;
  /** The number of units that were sent before. */
  readonly sequence: number;
  /** The boot time by the exporter's clock, since the epoch. */
  readonly bootTime: number;
  readonly uptime: number;
}

/** Parts of a domain that others of its exporter share, or that its budgets bound. */
type DomainParts = Pick<Domain, "group" | "waiting" | "firewall" | "samples" | "options">;

/** One observation domain of an exporter, and what is kept for it. */
export class Domain {
  readonly protocol: Protocol;
  /** Observation domain (IPFIX), Source ID (NetFlow v9), engine type and id (v5), sub-agent (sFlow). */
  readonly id: number;
  /**
   * The sender's port, with its session (`sessionPort`), where the domain is that of one sending process (all but sFlow). Undefined where
   * that is not known: what an earlier version kept.
   */
  readonly port: number | undefined;
  /** The agent whose sub-agent this is (sFlow), in canonical text. */
  readonly agent: string | undefined;
  /** The state that the domains of one protocol and id on several ports have in common. */
  readonly group: DomainGroup;
  /** By id. Changed through the exporter, which counts them. */
  readonly templates = new Map<number, KnownTemplate>();
  /** Ids of which the last template could not be used; those refused longest ago give way. */
  readonly refused = new Set<number>();
  readonly waiting: WaitingSets;
  readonly sequence = new Sequence();
  /** Reports of firewalls about flows that have not ended. */
  readonly firewall: FirewallFlows;
  /** The data sources of an agent (sFlow). */
  readonly samples: SampleSources;
  /** Shared by the domains of one id on several ports in IPFIX, of this process alone elsewhere. */
  readonly options: DomainOptions;
  /**
   * Until then only templates of this port count, where a fleet shares exporters: one that has started again sends from a new port, and may
   * have sent its templates elsewhere. Milliseconds since the epoch; 0: a template of another port was not needed yet.
   */
  ownUntil = 0;
  /** When the exporter was seen to have started again, where a fleet shares exporters. Milliseconds since the epoch; 0: it was not. */
  restartedAt = 0;
  /** True if it is not only known because options of another domain are about it. */
  isHeard = true;
  /** The uptime in the last header, where the protocol has one. */
  uptime: number | undefined;
  /** The sequence number in the last header, of IPFIX. */
  number: number | undefined;
  /** Its progress when it was last handed out to be kept. */
  kept: { readonly bootTime: number | undefined; readonly number: number | undefined } | undefined;
  /** The sampling rate in the last header, where the protocol has one there and it is said (NetFlow v5). */
  headerRate: number | undefined;
  /** Measures how far its clock is ahead of ours, where the protocol has an export time. */
  readonly clock = new ExporterClock();
  /** The ports that its datagrams came from. */
  readonly senders = new Senders();

  constructor(
    { protocol, id, port, agent }: Pick<Domain, "protocol" | "id" | "port" | "agent">,
    { group, waiting, firewall, samples, options }: DomainParts,
  ) {
    this.protocol = protocol;
    this.id = id;
    this.port = port;
    this.agent = agent;
    this.group = group;
    this.waiting = waiting;
    this.firewall = firewall;
    this.samples = samples;
    this.options = options;
  }

  /** Returns whether it has a template that is not one of options. */
  hasFlowTemplate(): boolean {
    for (const { plan } of this.templates.values()) if (plan.template.scopeCount === undefined) return true;
    return false;
  }

  /** Forgets what may go while the domain stays, templates and waiting sets apart. */
  forgetDetails(): void {
    this.samples.forget();
    this.firewall.clear();
  }
}

/**
 * Takes of a datagram who sent it, and how the exporter's clock differs from ours.
 *
 * @param exportTime milliseconds since the epoch, where the protocol has it.
 * @param uptime milliseconds, where the protocol has it.
 * @param isWholeSeconds true if the export time has no fraction of a second.
 */
export function noteHeader(
  domain: Domain,
  { port, receivedAt }: { readonly port: number; readonly receivedAt: number },
  exportTime: number | undefined,
  uptime: number | undefined,
  isWholeSeconds = true,
): void {
  domain.isHeard = true;
  if (exportTime !== undefined) domain.clock.note(exportTime, receivedAt, isWholeSeconds);
  domain.senders.note(port, receivedAt, uptime === undefined ? undefined : (exportTime ?? receivedAt) - uptime);
}

/** Returns whether an exporter's start by export time less uptime, modulo 2^32 milliseconds, is another one than before. An uptime that stands still says nothing. */
export function isOtherBoot(
  before: { readonly bootTime: number; readonly uptime: number | undefined },
  now: { readonly bootTime: number; readonly uptime: number | undefined },
): boolean {
  return before.uptime !== now.uptime && Math.abs((now.bootTime - before.bootTime) | 0) > overtakenMs;
}

/**
 * Returns whether a header is the next one after a domain's last, of the same start of the exporter.
 *
 * @param mayMiss so many units may be missing in between.
 */
export function continues({ sequence, senders, uptime }: Domain, header: ProcessHeader, mayMiss = 0): boolean {
  const { last } = sequence;
  const distance = last === undefined ? -1 : (header.sequence - last.number - last.units.counted) | 0;
  if (distance < 0 || distance > mayMiss) return false;
  const bootTime = senders.latest()?.bootTime;
  return bootTime === undefined || !isOtherBoot({ bootTime, uptime }, header);
}

/** Returns whether two ports of a domain are of devices that send side by side: their starts differ, and the other one sent after this one began. */
export function isOtherDevice(domain: Domain, other: Domain): boolean {
  const [mine, theirs] = [domain.senders.latest(), other.senders.latest()];
  if (mine?.bootTime === undefined || theirs?.bootTime === undefined || theirs.lastSeen <= mine.firstSeen) return false;
  return isOtherBoot(
    { bootTime: theirs.bootTime, uptime: other.uptime },
    { bootTime: mine.bootTime, uptime: domain.uptime },
  );
}

/** Returns whether flow records of a domain name samplers: by its own templates, else by those of its other ports. */
export function namesSamplers(domain: Domain): boolean {
  const { templates, options, group } = domain;
  if (options.samplerTemplates > 0 || templates.size > 0) return options.samplerTemplates > 0;
  for (const other of group.ports) if (other.options.samplerTemplates > 0 && !isOtherDevice(domain, other)) return true;
  return false;
}

/** A datagram may be overtaken on its way by others that were sent later by no more than this. */
const overtakenMs = 10_000;

/**
 * Takes the uptime of a header, milliseconds modulo 2^32.
 *
 * @returns whether the exporter has started again since the last one.
 */
export function noteUptime(domain: Domain, uptime: number): boolean {
  const before = domain.uptime;
  domain.uptime = uptime;
  return before !== undefined && ((uptime - before) | 0) < -overtakenMs;
}

/** The times and numbers that were handed out, by which a restart of the exporter is found, are good for so far. */
const keptBootMs = 5000;
const keptNumbers = 0x4000_0000;

/** Returns whether the exporter's start by its own clock, or its sequence number, is far from what was handed out. */
export function isFarFromKept({ senders, number, kept }: Domain): boolean {
  if (kept === undefined) return false;
  const bootTime = senders.latest()?.bootTime;
  const { bootTime: keptBoot, number: keptNumber } = kept;
  if (bootTime !== undefined && keptBoot !== undefined && Math.abs(bootTime - keptBoot) > keptBootMs) return true;
  return number !== undefined && keptNumber !== undefined && (number - keptNumber) >>> 0 > keptNumbers;
}
