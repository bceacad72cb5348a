import type { Metrics } from "../report/index.ts";
import type { AddressTable } from "./address-table.ts";
import type { KnownAddresses } from "./known-addresses.ts";

/** Registers the metrics of enriching by address: of records that are fields, and of lines that are bytes. */
export function registerAddressMetrics(
  metrics: Metrics,
  known: KnownAddresses,
  table: AddressTable,
  counts: { readonly renamed: number },
): void {
  const count = (name: string, help: string, read: () => number): void =>
    metrics.counterFrom(`netgloss_enrich_udm_${name}_total`, help, [], read);
  count("cache_hits", "Look-ups of an address that the metadata cache answered.", () => known.counts.hits + table.hits);
  count(
    "cache_misses",
    "Look-ups of an address that went to the metadata index.",
    () => known.counts.misses + table.misses,
  );
  count(
    "cache_evictions",
    "Addresses dropped from the metadata cache to make room.",
    () => known.evictions() + table.evictions,
  );
  count(
    "matches",
    "Addresses of records that metadata was found for, an exporter's once a datagram.",
    () => known.counts.matches + table.matches,
  );
  count(
    "renamed",
    "Fields put under another name because the one asked for was in another's way.",
    () => counts.renamed,
  );
  count(
    "bad_addresses",
    "Addresses of records that could not be read, so not looked up.",
    () => known.counts.badAddresses,
  );
  metrics.gaugeFrom(
    "netgloss_enrich_udm_cached_addresses",
    "Addresses in the metadata cache.",
    [],
    () => known.size() + table.size,
  );
}
