import { formatAddress, parseAddress, quoteKey, unmapAddress, type Address } from "../ip/index.ts";
import type { Enricher, RecordFields, Value } from "../record/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../report/index.ts";
import type { AddressIndex, AddressRange, UdmEntry } from "../udm/index.ts";
import { addressScope, type AddressScope } from "./address-scope.ts";
import { endpointObjects, type AddressFacts, type AddressSource } from "./address-source.ts";
import {
  addFields,
  addMetadata,
  addRendered,
  createMetadataNames,
  makeAdditions,
  type Additions,
} from "./additions.ts";
import { addressOf, createAddressTable, type AddressTable } from "./address-table.ts";
import { createChangeHistory, isLater, lastChangeAt } from "./change-history.ts";
import { enrichedObjects, type EnrichedObject } from "./enriched-object.ts";
import { flowLocality, localityName, renderedLocalities, type Locality } from "./locality.ts";
import { gatherValues, placeFields, type Renamed } from "./place-fields.ts";
import type { MadeAdditions } from "./stored-additions.ts";
import { createTextAdditions } from "./text-additions.ts";
import { createRecentCache } from "./recent-cache.ts";

/**
 * Calls the listener with what is known now, if anything is, and with another object after each change, together with where
 * that may differ from what was told before; undefined: anywhere.
 *
 * @returns a function that ends it.
 */
export type WatchAddresses = (listener: (index: AddressIndex, changed?: readonly AddressRange[]) => void) => () => void;

export interface AddressEnricherOptions {
  /** The metadata; undefined when there is none. */
  readonly watch?: WatchAddresses | undefined;
  /** What else is asked about addresses. */
  readonly sources?: readonly AddressSource[];
  /** Whether records are told where their addresses are: `.locality` of source and destination, `flow.locality`. */
  readonly locality?: boolean;
  /** How long what is known of an address is used before it is looked up again. Zero: for one look-up. */
  readonly ttlMs: number;
  /** Whether a change of the metadata shows at once. Otherwise it shows when what is cached has reached its age. */
  readonly invalidate: boolean;
  /** Most addresses to keep. */
  readonly maxCached: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Follows the store and the sources from `start` to `stop`; records that come before the store's first state go without it. */
export type AddressEnricher = Enricher & Component;

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
  /** By the position of the object in {@link enrichedObjects}; null: nothing, undefined: not asked for yet. */
  readonly additions: (Additions | null | undefined)[];
}

/**
 * Puts user-defined metadata on the addresses of a record: `flow.src`, `flow.dst`, `flow.export` and `system`, each by
 * its `.ip.addr`. Where an address is a list, its first is looked up; an IPv4-mapped address is looked up as IPv4.
 * {@link makeAdditions} says what is added, {@link placeFields} what happens to names that get in each other's way.
 */
export function createAddressEnricher(options: AddressEnricherOptions): AddressEnricher {
  const { ttlMs, invalidate, sources = [], locality = false, clock } = options;
  const log = limitLog(options.log, clock);
  const cache = createRecentCache<CachedAddress>(options.maxCached);
  const nameOf = createMetadataNames();
  const counts = { hits: 0, misses: 0, matches: 0, renamed: 0, badAddresses: 0 };
  const history = createChangeHistory();
  const table = createAddressTable({
    maxCached: options.maxCached,
    ttlMs,
    lastChange: (a, b, c, d) => history.last(a, b, c, d),
    make(position, a, b, c, d) {
      const object = enrichedObjects[position] as EnrichedObject;
      const made = sources.length > 0 ? undefined : fromTexts(position, object, a, b, c, d);
      if (made !== undefined) return made;
      const address = addressOf(a, b, c, d);
      const entries = index?.covering(address) ?? [];
      const facts = sources.flatMap((source) => (source.objects.has(object.name) ? [source.facts(address)] : []));
      const additions = makeAdditions({ entries, facts, scope: scopeIn(object, address) }, object, nameOf);
      const validMs = facts.reduce((least, fact) => Math.min(least, fact.validMs ?? least), Number.POSITIVE_INFINITY);
      if (additions === undefined) return { rendered: null, hasMetadata: false, validMs };
      const { isPlain, rendered = null, hasMetadata, as: system, locality: where } = additions;
      return { rendered: isPlain ? rendered : undefined, hasMetadata, system, locality: where, validMs };
    },
  });
  registerMetrics(options.metrics, counts, cache, table);
  const knowsMore = locality || sources.length > 0;
  let index: AddressIndex | undefined;
  let stamp = 0;
  let unwatch: (() => void)[] = [];

  const scopeIn = (object: EnrichedObject, address: Address | undefined): AddressScope | undefined =>
    locality && address && endpointObjects.has(object.name) ? addressScope(address) : undefined;

  const textAdditions = createTextAdditions();
  /** The short way, of what needs no objects. */
  const fromTexts = (
    position: number,
    object: EnrichedObject,
    a: number,
    b: number,
    c: number,
    d: number,
  ): MadeAdditions | undefined => {
    const scope = locality ? scopeIn(object, addressOf(a, b, c, d)) : undefined;
    return index?.texts(a, b, c, d, (texts) => textAdditions(position, texts, scope));
  };

  const readAddress = (text: string): Address | undefined => {
    const address = parseAddress(text);
    if (address !== undefined) return unmapAddress(address);
    counts.badAddresses++;
    log.warn({ address: quoteKey(text) }, "a record's address is not an IP address");
    return undefined;
  };

  const lookUp = (text: string, now: number): CachedAddress => {
    const cached = cache.get(text);
    if (cached !== undefined && now < cached.expires && isFresh(cached)) {
      counts.hits++;
      return cached;
    }
    counts.misses++;
    const address = readAddress(text);
    const entries = (address && index?.covering(address)) ?? [];
    const made = { stamp, expires: now + ttlMs, entries, address, facts: [], additions: [] };
    cache.set(text, made);
    return made;
  };

  const isFresh = (cached: CachedAddress): boolean => {
    const { address } = cached;
    if (cached.stamp !== stamp && address !== undefined) {
      if (isLater(lastChangeAt(history, address), cached.stamp)) return false;
      cached.stamp = stamp;
    }
    return true;
  };

  const noteChange = (changed: readonly AddressRange[] | undefined): void => {
    stamp++;
    history.note(stamp, changed);
  };

  const forget = (address: Address): void => {
    const text = formatAddress(address);
    cache.delete(text);
    if (address.family === 4) cache.delete(`::ffff:${text}`);
    table.forget(address);
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

  const additionsFor = (text: string, object: EnrichedObject, position: number, now: number): Additions | null => {
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
  };

  const addCarefully = (record: RecordFields, found: readonly Additions[]): void => {
    const renamed: Renamed[] = [];
    for (const additions of found) {
      if (additions.hasKnownNames) addFields(record, additions);
      else renamed.push(...placeFields(record, openFields(record, additions)));
    }
    renamed.push(...placeFields(record, gatherValues(found.flatMap((additions) => additions.metadata))));
    counts.renamed += renamed.length;
    for (const { name, as } of renamed) {
      log.warn({ name: quoteKey(name), as: quoteKey(as) }, "a metadata key is in the way of another name of a record");
    }
  };

  return {
    name: "address enricher",
    async start() {
      unwatch = sources.map((source) =>
        source.watch((address) => {
          if (address === undefined) noteChange(undefined);
          else forget(address);
        }),
      );
      if (options.watch === undefined) return;
      unwatch.push(
        options.watch((current, changed) => {
          if (current === index) return;
          // What was made before there was any metadata would else stay without it for as long as it is kept.
          if (invalidate || index === undefined) noteChange(index === undefined ? undefined : changed);
          index = current;
        }),
      );
    },
    async stop() {
      for (const end of unwatch) end();
      unwatch = [];
    },
    lines: {
      begin: () => table.setTime(clock.monotonic(), stamp),
      numbers: [],
      addresses: [
        {
          maxLength: table.maxLength,
          touch: (object, from, at, length, stride, count) => table.touch(object, from, at, length, stride, count),
          append: (object, from, at, length, hasVlan, into, end, system) =>
            index === undefined && !knowsMore
              ? end
              : table.append(object, from, at, length, hasVlan, into, end, system),
          finish: locality ? (into, end) => table.finish(into, end) : undefined,
        },
      ],
    },
    enrich(record, rendered) {
      if (index === undefined && !knowsMore) return;
      const now = clock.monotonic();
      // All addresses are read before anything is added: metadata may write any name, those of addresses too.
      const found: Additions[] = [];
      let isPlain = true;
      let sourceIs: Locality | undefined;
      let destinationIs: Locality | undefined;
      for (let i = 0; i < enrichedObjects.length; i++) {
        const object = enrichedObjects[i] as EnrichedObject;
        const text = addressText(record.get(object.addressName));
        if (text === undefined) continue;
        const additions = additionsFor(text, object, i, now);
        if (additions === null) continue;
        found.push(additions);
        isPlain &&= additions.isPlain;
        if (i === 0) sourceIs = additions.locality;
        else if (i === 1) destinationIs = additions.locality;
      }
      const place = locality ? flowLocality(sourceIs, destinationIs) : undefined;
      if (!isPlain) {
        // Metadata may write this name, too.
        if (place !== undefined) record.set(localityName, place);
        addCarefully(record, found);
        return;
      }
      for (const additions of found) {
        if (rendered !== undefined && additions.rendered !== undefined) {
          addRendered(record, additions, additions.rendered, rendered);
        } else {
          addFields(record, additions);
          addMetadata(record, additions);
        }
      }
      if (place === undefined) return;
      if (rendered !== undefined) rendered.push(renderedLocalities[place]);
      else record.set(localityName, place);
    },
  };
}

function openFields(record: RecordFields, { fields, vlan }: Additions): Map<string, Value> {
  return new Map(vlan === undefined || record.has(vlan[0]) ? fields : [...fields, vlan]);
}

function addressText(value: Value | undefined): string | undefined {
  if (typeof value === "string") return value;
  return Array.isArray(value) && typeof value[0] === "string" ? value[0] : undefined;
}

function registerMetrics(
  metrics: Metrics,
  counts: { hits: number; misses: number; matches: number; renamed: number; badAddresses: number },
  cache: { size(): number; evictions(): number },
  table: AddressTable,
): void {
  const count = (name: string, help: string, read: () => number): void =>
    metrics.counterFrom(`netgloss_enrich_udm_${name}_total`, help, [], read);
  count("cache_hits", "Look-ups of an address that the metadata cache answered.", () => counts.hits + table.hits);
  count("cache_misses", "Look-ups of an address that went to the metadata index.", () => counts.misses + table.misses);
  count(
    "cache_evictions",
    "Addresses dropped from the metadata cache to make room.",
    () => cache.evictions() + table.evictions,
  );
  count(
    "matches",
    "Addresses of records that metadata was found for, an exporter's once a datagram.",
    () => counts.matches + table.matches,
  );
  count(
    "renamed",
    "Fields put under another name because the one asked for was in another's way.",
    () => counts.renamed,
  );
  count("bad_addresses", "Addresses of records that could not be read, so not looked up.", () => counts.badAddresses);
  metrics.gaugeFrom(
    "netgloss_enrich_udm_cached_addresses",
    "Addresses in the metadata cache.",
    [],
    () => cache.size() + table.size,
  );
}
