export type { AddressFacts, AddressSource } from "./address-source.ts";
export { mergeEntries } from "./merge-entries.ts";
export { createUdmEnricher, type UdmEnricher, type UdmEnricherOptions } from "./udm-enricher.ts";
export { createHostNameSource, type HostNameOptions, type HostNameSource } from "./dns/host-name-source.ts";
export { createResolver, type Resolver } from "./dns/resolver.ts";
export { geoValues, type GeoValue } from "./mmdb/geo-facts.ts";
export { createMmdbSource, type MmdbOptions, type MmdbSource } from "./mmdb/mmdb-source.ts";
export { readDatabase } from "./mmdb/read-database.ts";
