import type { ManualRate, ManualRates, DoubtRate } from "./sampling.ts";
import type { Protocol } from "../protocol.ts";
import type { Domain, KnownTemplate, ProcessHeader } from "./domain.ts";
import type { RecordFields } from "../../record/index.ts";
import type { DomainOptions, DomainOptionsState } from "./options.ts";
import type { OptionsScope } from "./plan.ts";
import type { TemplateRecord, Define, PlanCache, TemplateSource } from "./known-templates.ts";
import type { WaitingBudget } from "./waiting-sets.ts";
import type { Budget, Limits, Evictions } from "./limits.ts";

/** A sample of the flows that an exporter reported in a span of time. Exporters sample the same flows, so that samples can be compared. */
export interface SeenWindow {
  /** When it began, milliseconds since the epoch: a multiple of {@link seenWindowMs}. */
  readonly start: number;
  /** By the lower bits of the hash: the least of the upper bits; {@link noFlow} where there was none. */
  readonly least: Uint32Array;
  /** In which directions that flow was seen: 1 ingress, 2 egress, 3 both, 0 where records do not say. */
  readonly directions: Uint8Array;
}

/** What an exporter reported lately: a table of fixed size for each of two spans of time. */
export interface SeenFlows {
  /** @param hash of 32 bits, @param directions as {@link SeenWindow.directions}, @param at milliseconds since the epoch. */
  note(hash: number, directions: number, at: number): void;
  /** A copy, the latest first. */
  windows(): SeenWindow[];
}

export const seenWindowMs = 10 * 60_000;
const seenCells = 256;
/** How many values there are; none is as large. */
export const noFlow = 2 ** 24;
/** What it holds, in bytes. */
export const seenFlowsCost = 2 * 5 * seenCells + 400;

export function createSeenFlows(): SeenFlows {
  let current = createWindow(0);
  let before = createWindow(0);
  return {
    note(hash, directions, at) {
      const start = at - (at % seenWindowMs);
      if (start !== current.start) {
        const isNext = start === current.start + seenWindowMs;
        [before, current] = [isNext ? current : createWindow(0), createWindow(start)];
      }
      const cell = hash & (seenCells - 1);
      const value = hash >>> 8;
      const least = current.least[cell] as number;
      if (value > least) return;
      current.directions[cell] = value === least ? (current.directions[cell] as number) | directions : directions;
      current.least[cell] = value;
    },
    windows: () => [current, before].filter(({ start }) => start > 0).map((window) => structuredClone(window)),
  };
}

function createWindow(start: number): SeenWindow {
  return { start, least: new Uint32Array(seenCells).fill(noFlow), directions: new Uint8Array(seenCells) };
}

/** What flows say passed the interfaces of an exporter within a minute. */
interface TrafficMinute {
  /** Milliseconds since the epoch: a multiple of {@link trafficMinuteMs}. Flows count when they are received. */
  readonly start: number;
  /** Whether interfaces may be missing, because there were too many. */
  readonly isPartial: boolean;
  /** Four numbers for each: {@link trafficKey}, estimated bytes, bytes as exported, estimated packets. */
  readonly rows: Float64Array;
}

/** What passed the interfaces of an exporter lately, as a copy. */
export interface ExporterTraffic {
  readonly address: string;
  /** What came earlier was not added up, milliseconds since the epoch. */
  readonly since: number;
  /** In the order of time. Those without flows are missing. */
  readonly minutes: readonly TrafficMinute[];
}

/** Where flows were seen by what their records say (flowDirection): not said, on the way in, on the way out. */
export const seenAt = { unknown: 0, ingress: 1, egress: 2 } as const;
export type SeenAt = (typeof seenAt)[keyof typeof seenAt];

interface TrafficKey {
  /** ifIndex of an interface. */
  readonly index: number;
  /** Whether the bytes came in or went out by it. */
  readonly way: "in" | "out";
  readonly seen: SeenAt;
}

export const trafficMinuteMs = 60_000;
/** How many minutes are kept. */
const keptMinutes = 30;
/** Of a row; and what a minute takes besides. */
const rowBytes = 32;
const minuteBytes = 250;

/** A key as a number: ifIndex, a bit for the way, two for where it was seen. */
export function trafficKey({ index, way, seen }: TrafficKey): number {
  return 8 * index + (way === "out" ? 4 : 0) + seen;
}

/** The last minutes of one exporter. */
export interface InterfaceTraffic {
  readonly since: number;
  /** @returns bytes of memory that it takes more than before. */
  add(minute: TrafficMinute): number;
  minutes(): readonly TrafficMinute[];
  /** Bytes of memory that it takes. */
  readonly heldBytes: number;
}

/** @param since milliseconds since the epoch. */
export function createInterfaceTraffic(since: number): InterfaceTraffic {
  let minutes: TrafficMinute[] = [];
  let heldBytes = 0;
  const costOf = ({ rows }: TrafficMinute): number => minuteBytes + (rowBytes * rows.length) / 4;
  return {
    since,
    add(minute) {
      const before = heldBytes;
      const oldest = minute.start - (keptMinutes - 1) * trafficMinuteMs;
      // A clock that was set back begins again.
      minutes = [...minutes.filter(({ start }) => start >= oldest && start < minute.start), minute];
      heldBytes = minutes.reduce((sum, each) => sum + costOf(each), 0);
      return heldBytes - before;
    },
    minutes: () => minutes,
    get heldBytes() {
      return heldBytes;
    },
  };
}

export type { TemplateRecord } from "./known-templates.ts";

/** One sender of flows and everything that it said for later datagrams. Bounded, so that it fills only its own share. */
/** In which order an exporter sends type and code of ICMPv6 in a port, by the last flow that showed it. */
export interface IcmpOrder {
  isSwapped: boolean;
}

export interface Exporter {
  /** Its address in canonical text; IPv4-mapped ones as IPv4. */
  readonly address: string;
  readonly icmp: IcmpOrder;
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
  /** The last sampling rate that it said and that cannot be. */
  doubtedRate: number | undefined;
  /** Milliseconds since the epoch. */
  firstSeen: number;
  lastSeen: number;
  datagrams: number;
  records: number;
  /** The part of its latest datagrams that became records without a fault, from 0 to 1. */
  quality: number;
  /** Over the time between the last two calls of {@link Exporter.measure}. */
  recordsPerSecond: number;
  /**
   * Until then its data sets are held: it is new here or comes back, so that other collectors may know more of it. Milliseconds since the
   * epoch; infinite before the first of these data sets, 0 where nobody is asked.
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
  /**
   * The domain of the process that sent a datagram of a protocol that counts what was sent before, and says when the exporter started
   * (NetFlow v5, v7, v9). Each port is a process of its own: several may send by one address (NAT, containers). Ports that go on with each
   * other's count are of one process, which changes its port.
   */
  process(protocol: Protocol, id: number, header: ProcessHeader): Domain;
  /** All domains, the least recently used first. */
  domains(): Iterable<Domain>;
  /** What options say for the records of a domain. */
  optionsFor(of: Domain): OptionsFor;
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
   * Takes note of a template that cannot be used: there is none of its id until one comes that can. Returns whether there was one.
   */
  refuse(domain: Domain, id: number): boolean;
  /**
   * The template of a data set: the domain's own; else, where domains are scoped by port, the only one of that id that
   * the same domain has on other ports (an exporter that sends templates and data from two ports, or started again).
   * One that came in this run stands before those of an earlier run, and before those of ports that are silent since it came. Those of
   * another device, and of a TCP connection, are its own alone.
   */
  template(domain: Domain, id: number): KnownTemplate | undefined;
  /**
   * Takes a record of options data that came in a domain. One whose scope names another domain is of that.
   *
   * @param doubt is called with a sampling rate that cannot be.
   */
  learnOptions(domain: Domain, options: RecordFields, scope: OptionsScope, doubt: DoubtRate): void;
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

/** Where it is looked up what options say, the first that says it. */
export interface OptionsFor {
  /** The domain's own; where these say nothing, those of its other ports. */
  readonly own: DomainOptions;
  /**
   * Those of domain 0, of the only domain that sends options and no flows, or of its other ports: the first that say anything and are not
   * `own`.
   */
  readonly whole: DomainOptions | undefined;
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
