import { formatAddress, parseAddress, quoteKey, unmapAddress, type Address } from "../ip/index.ts";
import type { Log } from "../report/index.ts";
import type { AddressIndex, UdmEntry } from "../udm/index.ts";
import { makeAdditions, type Additions, type MetadataName } from "./additions.ts";
import type { AddressScope } from "./address-scope.ts";
import type { AddressFacts, AddressSource } from "./address-source.ts";
import { isLater, lastChangeAt, type ChangeHistory } from "./change-history.ts";
import type { EnrichedObject } from "./enriched-object.ts";
import { createRecentCache } from "./recent-cache.ts";

/** The metadata of now. */
export interface CurrentMetadata {
  /** Undefined before there is any. */
  index: AddressIndex | undefined;
  /** Grows with each change that is to show at once. */
  stamp: number;
  /** Where the metadata changed, by stamps. */
  readonly history: ChangeHistory;
}

export interface KnownAddressesOptions {
  readonly metadata: Readonly<CurrentMetadata>;
  readonly sources: readonly AddressSource[];
  /** Where the address is, for objects that are told so. */
  readonly scopeIn: (object: EnrichedObject, address: Address | undefined) => AddressScope | undefined;
  readonly nameOf: MetadataName;
  readonly ttlMs: number;
  readonly maxCached: number;
  /** Limited. */
  readonly log: Log;
}

/** What addresses add to records that are fields and not yet bytes, by their text, kept as long as it holds. */
export interface KnownAddresses {
  readonly counts: { hits: number; misses: number; matches: number; badAddresses: number };
  /**
   * @param position of the object among those that are enriched.
   * @param now of the monotonic clock, milliseconds.
   * @returns null when nothing is known, or the text is not an address.
   */
  additions(text: string, object: EnrichedObject, position: number, now: number): Additions | null;
  forget(address: Address): void;
  /** How many addresses are kept. */
  size(): number;
  /** How many were dropped to make room. */
  evictions(): number;
}

interface CachedAddress {
  /** Of the state of the metadata that it was made from, or of a later one that says the same of it. */
  stamp: number;
  /** Earlier when a source says that what it told holds for a shorter time. */
  expires: number;
  readonly entries: readonly UdmEntry[];
  /** Undefined when the text is not an address. */
  readonly address: Address | undefined;
  /** By the position of the source; undefined: not asked yet. */
  readonly facts: (AddressFacts | undefined)[];
  /** By the position of the object; null: nothing, undefined: not asked for yet. */
  readonly additions: (Additions | null | undefined)[];
}

export function createKnownAddresses(options: KnownAddressesOptions): KnownAddresses {
  const { metadata, sources, scopeIn, nameOf, ttlMs, log } = options;
  const cache = createRecentCache<CachedAddress>(options.maxCached);
  const counts = { hits: 0, misses: 0, matches: 0, badAddresses: 0 };

  const readAddress = (text: string): Address | undefined => {
    const address = parseAddress(text);
    if (address !== undefined) return unmapAddress(address);
    counts.badAddresses++;
    log.warn({ address: quoteKey(text) }, "a record's address is not an IP address");
    return undefined;
  };

  const isFresh = (cached: CachedAddress): boolean => {
    const { address } = cached;
    if (cached.stamp !== metadata.stamp && address !== undefined) {
      if (isLater(lastChangeAt(metadata.history, address), cached.stamp)) return false;
      cached.stamp = metadata.stamp;
    }
    return true;
  };

  const lookUp = (text: string, now: number): CachedAddress => {
    const cached = cache.get(text);
    if (cached !== undefined && now < cached.expires && isFresh(cached)) {
      counts.hits++;
      return cached;
    }
    counts.misses++;
    const address = readAddress(text);
    const entries = (address && metadata.index?.covering(address)) ?? [];
    const made = { stamp: metadata.stamp, expires: now + ttlMs, entries, address, facts: [], additions: [] };
    cache.set(text, made);
    return made;
  };

  const factsFor = (cached: CachedAddress, object: EnrichedObject, now: number): AddressFacts[] => {
    const { address } = cached;
    if (address === undefined) return [];
    const asked: AddressFacts[] = [];
    for (const [i, source] of sources.entries()) {
      if (!source.objects.has(object.name)) continue;
      const facts = (cached.facts[i] ??= source.facts(address));
      asked.push(facts);
      if (facts.validMs !== undefined) cached.expires = Math.min(cached.expires, now + facts.validMs);
    }
    return asked;
  };

  return {
    counts,
    additions(text, object, position, now) {
      const cached = lookUp(text, now);
      let known = cached.additions[position];
      if (known === undefined) {
        const { entries, address } = cached;
        const scope = scopeIn(object, address);
        known = makeAdditions({ entries, facts: factsFor(cached, object, now), scope }, object, nameOf) ?? null;
        cached.additions[position] = known;
      }
      if (known?.hasMetadata) counts.matches++;
      return known;
    },
    forget(address) {
      const text = formatAddress(address);
      cache.delete(text);
      if (address.family === 4) cache.delete(`::ffff:${text}`);
    },
    size: () => cache.size(),
    evictions: () => cache.evictions(),
  };
}
