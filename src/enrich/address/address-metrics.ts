import type { Metrics } from "../../report/index.ts";
import type { AddressTable } from "./table/address-table.ts";

/** What is counted while addresses are added to lines and records. */
export interface AddressCounts {
  readonly matches: () => number;
  readonly renamed: () => number;
  readonly badAddresses: () => number;
}

/** Registers the metrics of enriching by address. */
export function registerAddressMetrics(metrics: Metrics, table: AddressTable, counts: AddressCounts): void {
  const count = (name: string, help: string, read: () => number): void =>
    metrics.counterFrom(`netgloss_enrich_udm_${name}_total`, help, [], read);
  count("cache_hits", "Look-ups of an address that the metadata cache answered.", () => table.hits());
  count("cache_misses", "Look-ups of an address that went to the metadata index.", () => table.misses());
  count("cache_evictions", "Addresses dropped from the metadata cache to make room.", () => table.evictions());
  count(
    "matches",
    "Addresses of records that metadata was found for, an exporter's once a datagram.",
    () => table.matches() + counts.matches(),
  );
  count("renamed", "Metadata fields renamed because of a conflict with another name.", counts.renamed);
  count("bad_addresses", "Addresses of records that could not be read, so not looked up.", counts.badAddresses);
  metrics.gaugeFrom(
    "netgloss_enrich_udm_cached_addresses",
    "Addresses in the metadata cache, once for each object that has them.",
    [],
    () => table.size(),
  );
}
