import type { SenderStanding } from "../intake/ring-writer.ts";
import type { Exporter, SharedBudgets } from "./exporter.ts";
import { addressKey, keyContains, parseAddress, parseKey } from "../../base/ip/index.ts";
import type { ManualRates } from "./sampling.ts";
import { type Budget, createEvictions, type Evictions, type Limits } from "./limits.ts";
import { createExporter } from "./create-exporter.ts";
import { createPlanCache } from "./known-templates.ts";
import type { WaitingBudget } from "./waiting-sets.ts";

/** An exporter is proven this long after its first datagram. */
const provenAfterMs = 60_000;
/** Of the quality, this part is that of the latest datagram. */
const latestPart = 1 / 16;
const isGoodFrom = 1 / 2;

/** Takes what became of a datagram, or of several at once: records and no fault are good. */
export function noteQuality(exporter: Exporter, isGood: boolean): void {
  exporter.quality += (Number(isGood) - exporter.quality) * latestPart;
}

/** How an exporter stands where not all have room: before others if most of its latest datagrams are good. */
export function standingOf({ firstSeen, quality }: Exporter, now: number): SenderStanding {
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
 * What the state of an exporter is kept by. One that a relay names is decoded where the relay is, which may know other things of it than who decodes what it
 * sends itself.
 */
export function stateKey(address: string, relay?: string): string {
  return relay === undefined ? address : `${address} ${relay}`;
}

/** The exporter's address in such a key. */
export function addressOfKey(key: string): string {
  const end = key.indexOf(" ");
  return end < 0 ? key : key.slice(0, end);
}

/**
 * All exporters by address, bounded. Those that have proved themselves, by datagrams over some time, keep most of the places:
 * a flood of invented senders crowds out its like.
 */
export interface ExporterTable {
  /** @param address canonical text. */
  get(address: string, now: number): Exporter;
  find(address: string): Exporter | undefined;
  /** Makes an exporter that an earlier run knew, by a relay that named it; undefined when it is there already, or no place is free. */
  restore(address: string, firstSeen: number, lastSeen: number, relay?: string): Exporter | undefined;
  all(): Iterable<Exporter>;
  size(): number;
  readonly evictions: Readonly<Evictions>;
  /** What waits for a template, of all exporters. */
  readonly waiting: Readonly<WaitingBudget>;
  /** What all exporters make the collector remember, in bytes. */
  readonly memory: Readonly<Budget>;
  /** Bytes that were given back, by reason: the memory was full, or the exporter idle. */
  readonly freed: Readonly<FreedBytes>;
  /**
   * Forgets what has become too old, and takes record rates.
   *
   * @param templateTtlMs templates that were not received again within this time are forgotten; 0: never.
   */
  tidy(now: number, templateTtlMs: number): void;
  /** Exporters that were forgotten since the last call, by {@link stateKey}. */
  takeForgotten(): readonly string[];
}

interface FreedBytes {
  full: number;
  idle: number;
}

/** Exporters send their templates every half hour at the latest; after that a number may mean another template. */
const waitingMaxAgeMs = 30 * 60_000;

/** An exporter that is silent for this time is idle: it keeps no more than {@link idleShare} of the memory of all. */
const idleAfterMs = 3_600_000;
const idleShare = 1 / 256;
/** The share of the memory that is freed at once when it is full: finding who holds most takes time. */
const freedShare = 1 / 16;

const maxRounds = 4;

/** How often the time an exporter was last seen is saved while nothing else of it changes. */
const keptAgainMs = 6 * 3_600_000;
/** Of the places, this much is there for the others: one in ten. */
const freshShare = 0.1;

/**
 * @param rates the operator's sampling rates.
 * @param isRelay whether the records of a sender may name other exporters.
 */
export function createExporterTable(
  limits: Limits,
  rates: ManualRates,
  isRelay: (address: string) => boolean = () => false,
): ExporterTable {
  /** Each in the order of use. */
  const fresh = new Map<string, Exporter>();
  const proven = new Map<string, Exporter>();
  const evictions = createEvictions();
  const waiting: WaitingBudget = {
    bytes: 0,
    sets: 0,
    maxBytes: limits.waitingBytesInAll,
    maxSets: limits.waitingSetsInAll,
  };
  const shared: SharedBudgets = {
    waiting,
    fields: { used: 0, max: limits.fieldsInAll },
    options: { used: 0, max: limits.optionsInAll },
    sources: { used: 0, max: limits.sourcesInAll },
    memory: { used: 0, max: limits.memoryInAll },
  };
  const { memory } = shared;
  const freed: FreedBytes = { full: 0, idle: 0 };
  const plans = createPlanCache(memory);
  const freshPlaces = Math.max(1, Math.floor(limits.exporters * freshShare));
  /** No more than there are places: nobody may ever ask for them. */
  let forgotten = new Set<string>();
  let last: Exporter | undefined;

  const forget = (exporter: Exporter): void => {
    exporter.forget();
    fresh.delete(exporter.address);
    proven.delete(exporter.address);
    const isNamedOnly = exporter.relay !== undefined && exporter.datagrams === 0;
    const key = stateKey(exporter.address, isNamedOnly ? exporter.relay : undefined);
    if (forgotten.size < limits.exporters) forgotten.add(key);
    if (last === exporter) last = undefined;
  };
  /** Forgets the one used least recently, other than the spared one, of the first table that has any. */
  const evictFrom = (tables: readonly ReadonlyMap<string, Exporter>[], spared?: string): boolean => {
    for (const table of tables) {
      for (const [address, exporter] of table) {
        if (address === spared) continue;
        forget(exporter);
        evictions.exporters++;
        return true;
      }
    }
    return false;
  };
  /** Drops what waits of one exporter other than this, newcomers first. */
  const dropWaitingOf = (spared: string): boolean => {
    for (const exporter of all()) {
      if (exporter.address !== spared && exporter.dropWaiting(Number.POSITIVE_INFINITY)) return true;
    }
    return false;
  };
  const freePlace = (spared?: string): boolean =>
    evictFrom(fresh.size >= freshPlaces || proven.size === 0 ? [fresh, proven] : [proven, fresh], spared);
  const create = (address: string, now: number, relay?: string): Exporter => {
    forgotten.delete(stateKey(address, relay));
    return createExporter({
      address,
      isRelay: isRelay(address),
      named,
      rates,
      now,
      limits,
      shared,
      plans,
      evictions,
      reclaim: () => evictFrom([fresh, proven], address),
      reclaimWaiting: () => dropWaitingOf(address),
    });
  };
  const find = (address: string): Exporter | undefined => fresh.get(address) ?? proven.get(address);
  /** Makes it the one that was used last. */
  const use = (exporter: Exporter, now: number): void => {
    const { address, firstSeen } = exporter;
    fresh.delete(address);
    proven.delete(address);
    (now - firstSeen >= provenAfterMs ? proven : fresh).set(address, exporter);
  };
  /** Within a datagram of a relay, which must not be forgotten meanwhile. */
  function named(relay: Exporter, address: string, now: number): Exporter {
    let exporter = find(address);
    if (exporter === undefined) {
      if (size() >= limits.exporters && !freePlace(relay.address)) return relay;
      exporter = create(address, now, relay.address);
    }
    use(exporter, now);
    exporter.relay = relay.address;
    exporter.lastSeen = now;
    return exporter;
  }
  const size = (): number => fresh.size + proven.size;
  function* all(): Iterable<Exporter> {
    yield* fresh.values();
    yield* proven.values();
  }

  /**
   * Makes room in the memory of all at the cost of those who hold most, and of the idle before others. Each gives half at a time, so
   * that one that needs much and behaves loses what is oldest and not all.
   */
  const makeRoomInMemory = (now: number): void => {
    const goal = memory.max * (1 - freedShare);
    const before = memory.used;
    const isIdle = ({ lastSeen }: Exporter): boolean => now - lastSeen > idleAfterMs;
    const byNeed = (a: Exporter, b: Exporter): number =>
      Number(isIdle(b)) - Number(isIdle(a)) || b.heldBytes() - a.heldBytes();
    for (let round = 0; round < maxRounds && memory.used > goal; round++) {
      for (const exporter of [...all()].toSorted(byNeed)) {
        if (memory.used <= goal) break;
        exporter.shrink(exporter.heldBytes() / 2);
      }
    }
    // Who holds next to nothing has given all but itself.
    while (memory.used > memory.max && size() > 1) {
      if (!evictFrom([fresh, proven], last?.address)) break;
    }
    freed.full += before - memory.used;
  };

  return {
    get(address, now) {
      if (memory.used > memory.max) makeRoomInMemory(now);
      if (last?.address === address) return last;
      let exporter = find(address);
      if (exporter === undefined) {
        if (size() >= limits.exporters) freePlace();
        exporter = create(address, now);
      }
      use(exporter, now);
      last = exporter;
      return exporter;
    },
    find,
    restore(address, firstSeen, lastSeen, relay) {
      if (size() >= limits.exporters || find(address) !== undefined) return undefined;
      const exporter = create(address, firstSeen, relay);
      exporter.relay = relay;
      exporter.lastSeen = lastSeen;
      exporter.keptAt = lastSeen;
      proven.set(address, exporter);
      return exporter;
    },
    all,
    size,
    evictions,
    waiting,
    memory,
    freed,
    tidy(now, templateTtlMs) {
      const templatesBefore = templateTtlMs > 0 ? now - templateTtlMs : Number.NEGATIVE_INFINITY;
      for (const exporter of all()) {
        if (exporter.lastSeen < now - limits.silentMs) {
          forget(exporter);
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
        freed.idle += held - memory.used;
      }
    },
    takeForgotten() {
      const addresses = [...forgotten];
      forgotten = new Set();
      return addresses;
    },
  };
}
