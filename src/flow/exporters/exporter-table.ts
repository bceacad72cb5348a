import type { SenderReputation } from "../intake/ring-writer.ts";
import { Exporter } from "./exporter.ts";
import { addressKey, keyContains, parseAddress, parseKey } from "../../base/ip/index.ts";
import type { ManualRates } from "./sampling.ts";
import { type Budget, Evictions, type Limits } from "./limits.ts";
import { PlanCache } from "./known-templates.ts";
import { WaitingBudget } from "./waiting-sets.ts";

/** An exporter is proven this long after its first datagram. */
const provenAfterMs = 60_000;
/** The latest datagram makes up this part of the quality. */
const latestPart = 1 / 16;
const isGoodFrom = 1 / 2;

/** Takes what became of a datagram, or of several at once: records and no fault are good. */
export function noteQuality(exporter: Exporter, isGood: boolean): void {
  exporter.quality += (Number(isGood) - exporter.quality) * latestPart;
}

/** The reputation of an exporter, where not all have room: before others if most of its latest datagrams are good. */
export function reputationOf({ firstSeen, quality }: Exporter, now: number): SenderReputation {
  if (quality < isGoodFrom) return "unknown";
  return now - firstSeen >= provenAfterMs ? "proven" : "good";
}

/**
 * Finds by a sender's address whether it is a relay: its records may name another exporter (elements 130 and 131).
 *
 * @param keys addresses and CIDR prefixes in canonical text.
 * @throws KeyError when one is none.
 */
export function createRelays(keys: readonly string[]): (address: string) => boolean {
  const parsed = keys.map(parseKey);
  return (address) => {
    if (parsed.length === 0) return false;
    const sender = parseAddress(address);
    return sender !== undefined && parsed.some((key) => keyContains(key, addressKey(sender)));
  };
}

/**
 * Returns what the state of an exporter is kept by. One that a relay names is decoded where the relay is, which may know other things of it than who decodes what it
 * sends itself.
 */
export function stateKey(address: string, relay?: string): string {
  return relay === undefined ? address : `${address} ${relay}`;
}

/** Returns that of an exporter: one that is only named has its relay in it. */
export function keyOfState({ address, relay, datagrams }: Exporter): string {
  return stateKey(address, datagrams === 0 ? relay : undefined);
}

/** Returns the exporter's address in such a key. */
export function addressOfKey(key: string): string {
  const end = key.indexOf(" ");
  return end < 0 ? key : key.slice(0, end);
}

/** Exporters send their templates every half hour at the latest; after that a number may mean another template. */
const waitingMaxAgeMs = 30 * 60_000;

/** An exporter that is silent for this time is idle: it keeps no more than {@link idleShare} of the memory of all. */
const idleAfterMs = 3_600_000;
const idleShare = 1 / 256;
/** The share of the memory that is freed at once when it is full: finding who holds most takes time. */
const freedShare = 1 / 16;

const maxRounds = 4;

/** The interval at which the time an exporter was last seen is saved while nothing else of it changes. */
const keptAgainMs = 6 * 3_600_000;
/** The part of the slots that is there for the others: one in ten. */
const freshShare = 0.1;

/** Holds what all exporters share: limits, budgets, plans, and counts of what was forgotten. */
export class SharedBudgets {
  readonly limits: Limits;
  /** The operator's sampling rates. */
  readonly rates: ManualRates;
  readonly evictions = new Evictions();
  /** The budget of the sets that wait for a template. */
  readonly waiting: WaitingBudget;
  readonly fields: Budget;
  readonly options: Budget;
  readonly sources: Budget;
  /** The memory that they make the collector use, in bytes. */
  readonly memory: Budget;
  readonly plans: PlanCache;

  constructor(limits: Limits, rates: ManualRates) {
    const budget = (max: number): Budget => ({ used: 0, max });
    this.limits = limits;
    this.rates = rates;
    this.waiting = new WaitingBudget(limits.waitingBytesInAll, limits.waitingSetsInAll);
    this.fields = budget(limits.fieldsInAll);
    this.options = budget(limits.optionsInAll);
    this.sources = budget(limits.sourcesInAll);
    this.memory = budget(limits.memoryInAll);
    this.plans = new PlanCache(this.memory);
  }
}

/**
 * All exporters by address, bounded. Those that have proved themselves, by datagrams over some time, keep most of the slots:
 * a flood of invented senders crowds out its like.
 */
export class ExporterTable {
  readonly shared: SharedBudgets;
  readonly #isRelay: (address: string) => boolean;
  /** Each in the order of use. */
  readonly #fresh = new Map<string, Exporter>();
  readonly #proven = new Map<string, Exporter>();
  readonly #freshPlaces: number;
  /** No more than there are slots: nobody may ever ask for them. */
  #forgotten = new Set<string>();
  #last: Exporter | undefined;
  /** Bytes that were given back, by reason: the memory was full, or the exporter idle. */
  readonly freed = { full: 0, idle: 0 };

  /** @param isRelay whether the records of a sender may name other exporters. */
  constructor(limits: Limits, rates: ManualRates, isRelay: (address: string) => boolean = () => false) {
    this.shared = new SharedBudgets(limits, rates);
    this.#isRelay = isRelay;
    this.#freshPlaces = Math.max(1, Math.floor(limits.exporters * freshShare));
  }

  /** @param address canonical text. */
  get(address: string, now: number): Exporter {
    if (this.shared.memory.used > this.shared.memory.max) this.#makeRoomInMemory(now);
    if (this.#last?.address === address) return this.#last;
    let exporter = this.find(address);
    if (exporter === undefined) {
      if (this.#isFull()) this.#freePlace();
      exporter = this.#create(address, now);
    }
    this.#use(exporter, now);
    this.#last = exporter;
    return exporter;
  }

  find(address: string): Exporter | undefined {
    return this.#fresh.get(address) ?? this.#proven.get(address);
  }

  /** Finds or makes the one that a relay names. Within a datagram of the relay, which must not be forgotten meanwhile. */
  named(relay: Exporter, address: string, now: number): Exporter {
    let exporter = this.find(address);
    if (exporter === undefined) {
      if (this.#isFull() && !this.#freePlace(relay.address)) return relay;
      exporter = this.#create(address, now, relay.address);
    }
    this.#use(exporter, now);
    exporter.relay = relay.address;
    exporter.lastSeen = now;
    return exporter;
  }

  /** Makes an exporter that an earlier run knew, by a relay that named it; undefined when it is there already, or no slot is free. */
  restore(address: string, firstSeen: number, lastSeen: number, relay?: string): Exporter | undefined {
    if (this.#isFull() || this.find(address) !== undefined) return undefined;
    const exporter = this.#create(address, firstSeen, relay);
    exporter.relay = relay;
    exporter.lastSeen = lastSeen;
    exporter.keptAt = lastSeen;
    this.#proven.set(address, exporter);
    return exporter;
  }

  *all(): Iterable<Exporter> {
    yield* this.#fresh.values();
    yield* this.#proven.values();
  }

  size(): number {
    return this.#fresh.size + this.#proven.size;
  }

  /**
   * Forgets what has become too old, and takes record rates.
   *
   * @param templateTtlMs templates that were not received again within this time are forgotten; 0: never.
   */
  tidy(now: number, templateTtlMs: number): void {
    const { limits, evictions, memory } = this.shared;
    const templatesBefore = templateTtlMs > 0 ? now - templateTtlMs : Number.NEGATIVE_INFINITY;
    for (const exporter of this.all()) {
      if (exporter.lastSeen < now - limits.silentMs) {
        this.#forget(exporter);
        evictions.silentExporters++;
        continue;
      }
      exporter.measure(now);
      if (exporter.lastSeen - exporter.keptAt > keptAgainMs) exporter.isChanged = true;
      exporter.expireTemplates(templatesBefore);
      exporter.dropWaiting(now - waitingMaxAgeMs);
      if (now - exporter.lastSeen <= idleAfterMs) continue;
      const held = memory.used;
      exporter.shrink(memory.max * idleShare);
      this.freed.idle += held - memory.used;
    }
  }

  /** Exporters that were forgotten since the last call, by {@link stateKey}. */
  takeForgotten(): readonly string[] {
    const addresses = [...this.#forgotten];
    this.#forgotten = new Set();
    return addresses;
  }

  /** Forgets the exporter used least recently, other than one, newcomers first. Returns false when there is none. */
  evictOther(address: string): boolean {
    return this.#evictFrom([this.#fresh, this.#proven], address);
  }

  /** Drops what waits of one exporter other than this, newcomers first. Returns false when there is nothing. */
  dropWaitingOf(spared: string): boolean {
    for (const exporter of this.all()) {
      if (exporter.address !== spared && exporter.dropWaiting(Number.POSITIVE_INFINITY)) return true;
    }
    return false;
  }

  #isFull(): boolean {
    return this.size() >= this.shared.limits.exporters;
  }

  #create(address: string, now: number, relay?: string): Exporter {
    this.#forgotten.delete(stateKey(address, relay));
    return new Exporter(this, address, this.#isRelay(address), now);
  }

  /** Makes it the one that was used last. */
  #use(exporter: Exporter, now: number): void {
    const { address, firstSeen } = exporter;
    this.#fresh.delete(address);
    this.#proven.delete(address);
    (now - firstSeen >= provenAfterMs ? this.#proven : this.#fresh).set(address, exporter);
  }

  #forget(exporter: Exporter): void {
    exporter.forget();
    this.#fresh.delete(exporter.address);
    this.#proven.delete(exporter.address);
    if (this.#forgotten.size < this.shared.limits.exporters) this.#forgotten.add(keyOfState(exporter));
    if (this.#last === exporter) this.#last = undefined;
  }

  /** Forgets the one used least recently, other than the spared one, of the first table that has any. */
  #evictFrom(tables: readonly ReadonlyMap<string, Exporter>[], spared?: string): boolean {
    for (const table of tables) {
      for (const [address, exporter] of table) {
        if (address === spared) continue;
        this.#forget(exporter);
        this.shared.evictions.exporters++;
        return true;
      }
    }
    return false;
  }

  #freePlace(spared?: string): boolean {
    const isFreshFirst = this.#fresh.size >= this.#freshPlaces || this.#proven.size === 0;
    return this.#evictFrom(isFreshFirst ? [this.#fresh, this.#proven] : [this.#proven, this.#fresh], spared);
  }

  /**
   * Makes room in the memory of all at the cost of those who hold most, and of the idle before others. Each gives half at a time, so
   * that one that needs much and behaves loses what is oldest and not all.
   */
  #makeRoomInMemory(now: number): void {
    const { memory } = this.shared;
    const goal = memory.max * (1 - freedShare);
    const before = memory.used;
    const isIdle = ({ lastSeen }: Exporter): boolean => now - lastSeen > idleAfterMs;
    const byNeed = (a: Exporter, b: Exporter): number =>
      Number(isIdle(b)) - Number(isIdle(a)) || b.memory.bytes - a.memory.bytes;
    for (let round = 0; round < maxRounds && memory.used > goal; round++) {
      for (const exporter of [...this.all()].toSorted(byNeed)) {
        if (memory.used <= goal) break;
        exporter.shrink(exporter.memory.bytes / 2);
      }
    }
    // An exporter that holds next to nothing has given all but itself.
    while (memory.used > memory.max && this.size() > 1) {
      if (!this.#evictFrom([this.#fresh, this.#proven], this.#last?.address)) break;
    }
    this.freed.full += before - memory.used;
  }
}
