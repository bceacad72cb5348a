export {
  checkUdm,
  checkValues,
  maxItems,
  type FieldViolation,
  type UdmCheck,
  type UdmInput,
} from "./model/check-udm.ts";
export {
  keyReaders,
  parseNameKey,
  parseStoredKey,
  portProtocols,
  type KeyForm,
  type ReadKey,
} from "./model/name-key.ts";
export { parseUdmJson, renderEntry, udmJson } from "./model/render-entry.ts";
export {
  otherFields,
  readOtherFields,
  sameEntry,
  udmContexts,
  udmFields,
  withContexts,
  withOtherFields,
  type UdmContext,
  type UdmEntry,
  type UdmField,
  type UdmFileOnly,
  type UdmValues,
} from "./model/entry.ts";
export type { ScopeChange, ScopeDefinition, ScopeMatch, ScopeText } from "./model/scope.ts";
export { SharedIndex, type SharedIndexOptions, type SharedIndexStats } from "./index/shared-index.ts";
export { StateBuilder, type IndexLease, type IndexReturn } from "./index/index-builder.ts";
export { SharedIndexReader, type SharedIndexHandle } from "./index/shared-reader.ts";
export { checkMetadataFile, type MetadataCheck, type MetadataFinding } from "./store/check-metadata-file.ts";
export { loadState, type LoadedState } from "./store/load-state.ts";
export { serveFileThread } from "./store/file-thread-client.ts";
export { UdmFileStore } from "./store/udm-file-store.ts";
export { CollectorUdmStore } from "./store/collector-store.ts";
export type { UdmFileStoreOptions, UdmPlaces, UdmStoreWithHistory } from "./store/collector-store.ts";
export { UdmPostgresqlStore } from "./postgresql/udm-postgresql-store.ts";
export { migrateDatabase, type UdmPostgresqlStoreOptions } from "./postgresql/schema.ts";
export type { ChangeHead, HistoryQuery, UdmChange, UdmHistory } from "./history/change.ts";
export { isChange, type EntryChange } from "./model/apply-writes.ts";
export type { LayerChanges, LayeredEntry, UdmLayers } from "./store/udm-layers.ts";
export {
  maxViolations,
  UdmError,
  type AddressIndex,
  type ScopeList,
  type AddressRange,
  type CoveringEntryTexts,
  type EditedEntry,
  type EntryTexts,
  type PlanWrites,
  type UdmCommit,
  type UdmEdit,
  type UdmErrorCode,
  type UdmIndex,
  type UdmMark,
  type UdmSelection,
  type UdmStore,
  type UdmText,
  type UdmViolation,
  type UdmWrite,
  type WriteOrigin,
} from "./model/udm-store.ts";
export {
  decodeText,
  ExchangeError,
  fromUdmEntry,
  toUdmEntry,
  wholeText,
  type ExchangeEntry,
  type ImportFault,
} from "./exchange/import-rows.ts";
export {
  exchangeFormats,
  exportEntries,
  importEntries,
  importObjects,
  type ExchangeFormat,
  type ImportOptions,
  type ImportResult,
} from "./exchange/export-entries.ts";
export {
  readyMap,
  readyMapNames,
  type ColumnMap,
  type ColumnRule,
  type FixedValues,
  type ReadyMapName,
  type Target,
} from "./exchange/map/column-map.ts";
export { repeatedName } from "./exchange/rows/json-rows.ts";
export { readColumnMap } from "./exchange/map/read-column-map.ts";
export type { CsvOptions } from "./exchange/rows/csv-rows.ts";
export { Selections, serveSelection, type Select, type SelectionLimits } from "./exchange/rows/selection.ts";
export { LastCopies, type SourceDiff, type SourceState } from "./sources/source-state.ts";
export { readSourcesFile, SourcesFileError, sourcesShape } from "./sources/config/read-sources-file.ts";
export { sourceKinds } from "./sources/kinds/kinds.ts";
export { Scopes } from "./scopes/scopes.ts";
export { readScopesFile, scopeName, ScopesFileError, scopesShape } from "./scopes/scopes-file.ts";
export { Sources } from "./sources/sources.ts";
export type { SourcesOptions } from "./sources/source-runner.ts";
export { SourceFault } from "./sources/source-config.ts";
