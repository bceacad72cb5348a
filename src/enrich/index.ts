export { addressTableBytes } from "./address/address-table.ts";
export {
  AddressSelection,
  createFactRenderer,
  createPrivateSystems,
  SelectedSource,
  type AddressFacts,
  type AddressSource,
  type FoundFacts,
} from "./address/address-source.ts";
export { AddressEnricher, type AddressEnricherOptions, type WatchAddresses } from "./address/address-enricher.ts";
export { AppEnds } from "./apps/app-ends.ts";
export { appEndsShape, appIdsShape, readAppEnds, readAppIds, type AppHost, type AppIds } from "./apps/read-apps.ts";
export { UserHostNames, hostNamesShape, readHostNames, type HostNames } from "./dns/user-host-names.ts";
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
export { HostNameSource, createResolver, type HostNameOptions, type Resolver } from "./dns/host-name-source.ts";
export { geoValues, type GeoValue } from "./settings.ts";
export { Database, MmdbSource, judgeDatabase, type MmdbOptions } from "./mmdb/mmdb-source.ts";
export { createKeyConflicts } from "./address/merge-entries.ts";
export { MapFile, registerMapFiles } from "./files/map-file.ts";
export { readRules, rulesShape, type Rule } from "./rules/read-rules.ts";
export { RuleProgram } from "./rules/rule-program.ts";
export { RuleTrial, type TrialReport } from "./rules/rule-trial.ts";
export { RuleEnricher, type InterfaceSource } from "./rules/rule-enricher.ts";
export {
  NameEnricher,
  joinPortNames,
  knownPortNames,
  portNamesShape,
  readPortNames,
  servicePorts,
  type PortNames,
} from "./names/name-enricher.ts";
export { OwnNames } from "./names/own-names.ts";
export { NetifEnricher, netifsShape, readNetifs, type NetifExporter } from "./netif/netif-enricher.ts";
