export {
  checkUdm,
  checkValues,
  maxItems,
  type FieldViolation,
  type UdmCheck,
  type UdmInput,
} from "./model/check-udm.ts";
export { parseUdmJson, udmJson } from "./model/entry-json.ts";
export { otherFields, readOtherFields, withContexts, withOtherFields } from "./model/entry-contexts.ts";
export { sameEntry } from "./model/same-entry.ts";
export { renderEntry } from "./model/render-entry.ts";
export { createSharedIndex } from "./index/shared-index.ts";
export { createLentBuilder, type IndexLoan, type IndexReturn, type LentBuilder } from "./index/lent-builder.ts";
export type { SharedIndex, SharedIndexOptions, SharedIndexStats } from "./index/index-contract.ts";
export { openSharedIndex, type SharedIndexHandle, type SharedIndexReader } from "./index/shared-reader.ts";
export {
  udmContexts,
  udmFields,
  type UdmContext,
  type UdmEntry,
  type UdmField,
  type UdmFileOnly,
  type UdmValues,
} from "./model/udm-entry.ts";
export { checkMetadataFile, type MetadataCheck, type MetadataFinding } from "./store/check-metadata-file.ts";
export { loadState, type LoadedState } from "./store/load-state.ts";
export { serveFileThread } from "./store/file-thread-client.ts";
export { createUdmFileStore } from "./store/udm-file-store.ts";
export type {
  CollectorUdmStore,
  UdmFileStoreOptions,
  UdmPlaces,
  UdmStoreWithHistory,
} from "./store/file-store-contract.ts";
export { createUdmPostgresqlStore } from "./postgresql/udm-postgresql-store.ts";
export type { UdmPostgresqlStoreOptions } from "./postgresql/postgresql-store-contract.ts";
export { migrateDatabase } from "./postgresql/migrate-database.ts";
export type { ChangeHead, HistoryQuery, UdmChange, UdmHistory } from "./history/history-contract.ts";
export { isChange, type EntryChange } from "./model/apply-writes.ts";
export type { LayerChanges, LayeredEntry, UdmLayer, UdmLayers } from "./store/udm-layers.ts";
export { maxViolations, UdmError, type UdmErrorCode, type UdmViolation } from "./model/udm-error.ts";
export type {
  AddressIndex,
  AddressRange,
  CoveringEntryTexts,
  EntryTexts,
  UdmEdit,
  UdmIndex,
  UdmMark,
  UdmSelection,
  UdmText,
} from "./model/udm-index.ts";
export type { EditedEntry, PlanWrites, UdmCommit, UdmStore, UdmWrite, WriteOrigin } from "./model/udm-store.ts";

export type { ExchangeEntry } from "./exchange/exchange-entry.ts";
export { ExchangeError } from "./exchange/exchange-error.ts";
export { exportEntries } from "./exchange/export-entries.ts";
export type { ImportFault } from "./exchange/fault-list.ts";
export {
  exchangeFormats,
  importEntries,
  importObjects,
  type ExchangeFormat,
  type ImportOptions,
  type ImportResult,
} from "./exchange/export-entries.ts";
export type { ColumnMap, ColumnRule, FixedValues, Target } from "./exchange/map/column-map.ts";
export { fromUdmEntry, toUdmEntry } from "./exchange/exchange-entry.ts";
export { repeatedName } from "./exchange/rows/json-rows.ts";
export { readColumnMap, readFixed } from "./exchange/map/read-column-map.ts";
export { readyMap, readyMapNames, type ReadyMapName } from "./exchange/map/ready-maps.ts";
export type { CsvOptions } from "./exchange/rows/csv-rows.ts";
export { decodeText, wholeText } from "./exchange/rows/decode-text.ts";
export { Selections, serveSelection, type Select, type SelectionLimits } from "./exchange/rows/selection.ts";

export { createLastCopies } from "./sources/engine/last-copy.ts";
export { readSourcesFile, SourcesFileError } from "./sources/config/read-sources-file.ts";
export { sourceKinds } from "./sources/kinds/kinds.ts";
export { createSources, type Sources, type SourcesOptions } from "./sources/sources.ts";
export { SourceFault } from "./sources/source-fault.ts";
export type { SourceDiff, SourceState } from "./sources/engine/source-state.ts";
