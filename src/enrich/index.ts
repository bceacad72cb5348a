export { createRecentCache } from "./recent-cache.ts";
export { addressTableBytes } from "./address/address-table.ts";
export {
  createAddressSelection,
  createFactRenderer,
  createPrivateSystems,
  createSelectedSource,
  type AddressFacts,
  type AddressSelection,
  type AddressSource,
  type FoundFacts,
} from "./address/address-source.ts";
export {
  createAddressEnricher,
  type AddressEnricher,
  type AddressEnricherOptions,
  type WatchAddresses,
} from "./address/address-enricher.ts";
export { createAppEnds, type AppEnds } from "./apps/app-ends.ts";
export { appEndsShape, appIdsShape, readAppEnds, readAppIds, type AppHost, type AppIds } from "./apps/read-apps.ts";
export { createUserHostNames, hostNamesShape, readHostNames, type HostNames } from "./dns/user-host-names.ts";
export {
  FileFindings,
  formatFinding,
  readSampleRates,
  readSelection,
  sampleRatesShape,
  selectionShape,
  type ReadFile,
  type SelectionLists,
} from "./files/operator-file.ts";
export {
  createHostNameSource,
  createResolver,
  type HostNameOptions,
  type HostNameSource,
  type Resolver,
} from "./dns/host-name-source.ts";
export { geoValues, type GeoValue } from "./settings.ts";
export {
  createMmdbSource,
  judgeDatabase,
  readDatabase,
  type MmdbOptions,
  type MmdbSource,
} from "./mmdb/mmdb-source.ts";
export { createKeyConflicts } from "./address/merge-entries.ts";
export { createMapFile, registerMapFiles, type MapFile, type MapFileOptions } from "./files/map-file.ts";
export {
  createNameEnricher,
  joinPortNames,
  knownPortNames,
  portNamesShape,
  readPortNames,
  servicePorts,
  type PortNames,
} from "./names/name-enricher.ts";
export { createNetifEnricher, netifsShape, readNetifs, type NetifExporter } from "./netif/netif-enricher.ts";
