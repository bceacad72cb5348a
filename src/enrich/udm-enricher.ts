import { parseAddress, quoteKey, unmapAddress } from "../ip/index.ts";
import type { Enricher, RecordFields, Value } from "../record/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../report/index.ts";
import type { UdmEntry, UdmIndex, UdmStore } from "../udm/index.ts";
import {
  addFields,
  addMetadata,
  addRendered,
  createMetadataNames,
  makeAdditions,
  type Additions,
} from "./additions.ts";
import { createAddressTable, type AddressTable } from "./address-table.ts";
import { enrichedObjects, type EnrichedObject } from "./enriched-object.ts";
import { gatherValues, placeFields, type Renamed } from "./place-fields.ts";
import { createRecentCache } from "./recent-cache.ts";

export interface UdmEnricherOptions {
  readonly watch: UdmStore["watch"];
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

/** Follows the store from `start` to `stop`; records that come before the store's first state stay as they are. */
export type UdmEnricher = Enricher & Component;

interface CachedAddress {
  /** The state of the metadata that it was made from. */
  readonly stamp: number;
  readonly expires: number;
  readonly entries: readonly UdmEntry[];
  /** By the position of the object in {@link enrichedObjects}; null: nothing, undefined: not asked for yet. */
  readonly additions: (Additions | null | undefined)[];
}

/**
 * Puts user-defined metadata on the addresses of a record: `flow.src`, `flow.dst`, `flow.export` and `system`, each by
 * its `.ip.addr`. Where an address is a list, its first is looked up; an IPv4-mapped address is looked up as IPv4.
 * {@link makeAdditions} says what is added, {@link placeFields} what happens to names that get in each other's way.
 */
export function createUdmEnricher(options: UdmEnricherOptions): UdmEnricher {
  const { ttlMs, invalidate, clock } = options;
  const log = limitLog(options.log, clock);
  const cache = createRecentCache<CachedAddress>(options.maxCached);
  const nameOf = createMetadataNames();
  const counts = { hits: 0, misses: 0, matches: 0, renamed: 0, badAddresses: 0 };
  const table = createAddressTable({
    maxCached: options.maxCached,
    ttlMs,
    make(position, address) {
      const object = enrichedObjects[position] as EnrichedObject;
      const additions = makeAdditions(index?.covering(address) ?? [], object, nameOf);
      return additions === undefined ? null : additions.rendered;
    },
  });
  registerMetrics(options.metrics, counts, cache, table);
  let index: UdmIndex | undefined;
  let stamp = 0;
  let unwatch: (() => void) | undefined;

  const coveringEntries = (text: string): readonly UdmEntry[] => {
    const address = parseAddress(text);
    if (address !== undefined) return index?.covering(unmapAddress(address)) ?? [];
    counts.badAddresses++;
    log.warn({ address: quoteKey(text) }, "a record's address is not an IP address");
    return [];
  };

  const lookUp = (text: string, now: number): CachedAddress => {
    const cached = cache.get(text);
    if (cached !== undefined && cached.stamp === stamp && now < cached.expires) {
      counts.hits++;
      return cached;
    }
    counts.misses++;
    const made = { stamp, expires: now + ttlMs, entries: coveringEntries(text), additions: [] };
    cache.set(text, made);
    return made;
  };

  const additionsFor = (text: string, object: EnrichedObject, position: number, now: number): Additions | null => {
    const { entries, additions } = lookUp(text, now);
    let known = additions[position];
    if (known === undefined) {
      known = makeAdditions(entries, object, nameOf) ?? null;
      additions[position] = known;
    }
    if (known !== null) counts.matches++;
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
    name: "udm enricher",
    async start() {
      unwatch = options.watch((current) => {
        if (current === index) return;
        index = current;
        if (invalidate) stamp++;
      });
    },
    async stop() {
      unwatch?.();
      unwatch = undefined;
    },
    lines: {
      begin: () => table.setTime(clock.monotonic(), stamp),
      numbers: [],
      addresses: [
        {
          maxLength: table.maxLength,
          append: (object, from, at, length, hasVlan, into, end) =>
            index === undefined ? end : table.append(object, from, at, length, hasVlan, into, end),
        },
      ],
    },
    enrich(record, rendered) {
      if (index === undefined) return;
      const now = clock.monotonic();
      // All addresses are read before anything is added: metadata may write any name, those of addresses too.
      const found: Additions[] = [];
      let isPlain = true;
      for (let i = 0; i < enrichedObjects.length; i++) {
        const object = enrichedObjects[i] as EnrichedObject;
        const text = addressText(record.get(object.addressName));
        if (text === undefined) continue;
        const additions = additionsFor(text, object, i, now);
        if (additions === null) continue;
        found.push(additions);
        isPlain &&= additions.isPlain;
      }
      if (!isPlain) addCarefully(record, found);
      else {
        for (const additions of found) {
          if (rendered !== undefined && additions.rendered !== undefined) {
            addRendered(record, additions, additions.rendered, rendered);
          } else {
            addFields(record, additions);
            addMetadata(record, additions);
          }
        }
      }
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
  count("matches", "Addresses of records that metadata was found for.", () => counts.matches + table.matches);
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
