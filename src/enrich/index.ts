export { createRecentCache } from "./recent-cache.ts";
export { addressTableBytes } from "./address/address-table.ts";
export { createFactRenderer, createPrivateSystems, type AddressFacts } from "./address/address-source.ts";
export type { AddressSource, FoundFacts } from "./address/address-source.ts";
export {
  createAddressEnricher,
  type AddressEnricher,
  type WatchAddresses,
  type AddressEnricherOptions,
} from "./address/address-enricher.ts";
export { createAddressSelection, type AddressSelection } from "./address/address-source.ts";
export { createAppEnds, type AppEnds } from "./apps/app-ends.ts";
export { readAppEnds, type AppHost } from "./apps/read-app-ends.ts";
export { readAppIds, type AppIds } from "./apps/read-app-ids.ts";
export { createSelectedSource } from "./address/address-source.ts";
export { readHostNames, type HostNames } from "./dns/user-host-names.ts";
export { createUserHostNames } from "./dns/user-host-names.ts";
export { readSelection, type SelectionLists } from "./files/read-selection.ts";
export { readSampleRates } from "./sampling/read-sample-rates.ts";
export { createHostNameSource, type HostNameOptions, type HostNameSource } from "./dns/host-name-source.ts";
export { createResolver, type Resolver } from "./dns/host-name-source.ts";
export { geoValues, type GeoValue } from "./mmdb/geo-facts.ts";
export { createMmdbSource, judgeDatabase, type MmdbOptions, type MmdbSource } from "./mmdb/mmdb-source.ts";
export { readDatabase } from "./mmdb/mmdb-source.ts";
export { createKeyConflicts } from "./address/merge-entries.ts";
export { createMapFile, registerMapFiles, type MapFile, type MapFileOptions } from "./files/map-file.ts";
export { createNameEnricher } from "./names/name-enricher.ts";
export { joinPortNames, knownPortNames, readPortNames, servicePorts, type PortNames } from "./names/name-enricher.ts";
export { createNetifEnricher } from "./netif/netif-enricher.ts";
export { readNetifs, type NetifExporter } from "./netif/netif-enricher.ts";
export { FileFindings, formatFinding, type ReadFile } from "./files/read-map-file.ts";
