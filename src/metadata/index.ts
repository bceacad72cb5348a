export {
  checkUdm,
  checkValues,
  maxItems,
  type FieldViolation,
  type UdmCheck,
  type UdmInput,
} from "./model/check-udm.ts";
export { parseUdmJson, udmJson } from "./model/render-entry.ts";
export { otherFields, readOtherFields, withContexts, withOtherFields } from "./model/entry.ts";
export { sameEntry } from "./model/entry.ts";
export { renderEntry } from "./model/render-entry.ts";
export { createSharedIndex } from "./index/shared-index.ts";
export { createLentBuilder, type IndexLoan, type IndexReturn, type LentBuilder } from "./index/index-builder.ts";
export type { SharedIndex, SharedIndexOptions, SharedIndexStats } from "./index/shared-index.ts";
export { openSharedIndex, type SharedIndexHandle, type SharedIndexReader } from "./index/shared-reader.ts";
export {
  udmContexts,
  udmFields,
  type UdmContext,
  type UdmEntry,
  type UdmField,
  type UdmFileOnly,
  type UdmValues,
} from "./model/entry.ts";
export { checkMetadataFile, type MetadataCheck, type MetadataFinding } from "./store/check-metadata-file.ts";
export { loadState, type LoadedState } from "./store/load-state.ts";
export { serveFileThread } from "./store/file-thread-client.ts";
export { createUdmFileStore } from "./store/udm-file-store.ts";
export type { CollectorUdmStore, UdmFileStoreOptions, UdmPlaces, UdmStoreWithHistory } from "./store/store-contract.ts";
export { createUdmPostgresqlStore } from "./postgresql/udm-postgresql-store.ts";
export type { UdmPostgresqlStoreOptions } from "./postgresql/schema.ts";
export { migrateDatabase } from "./postgresql/schema.ts";
export type { ChangeHead, HistoryQuery, UdmChange, UdmHistory } from "./history/change.ts";
export { isChange, type EntryChange } from "./model/apply-writes.ts";
export type { LayerChanges, LayeredEntry, UdmLayer, UdmLayers } from "./store/udm-layers.ts";
export { maxViolations, UdmError, type UdmErrorCode, type UdmViolation } from "./model/udm-store.ts";
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
} from "./model/udm-store.ts";
export type { EditedEntry, PlanWrites, UdmCommit, UdmStore, UdmWrite, WriteOrigin } from "./model/udm-store.ts";

export type { ExchangeEntry } from "./exchange/import-rows.ts";
export { ExchangeError } from "./exchange/import-rows.ts";
export { exportEntries } from "./exchange/export-entries.ts";
export type { ImportFault } from "./exchange/import-rows.ts";
export {
  exchangeFormats,
  importEntries,
  importObjects,
  type ExchangeFormat,
  type ImportOptions,
  type ImportResult,
} from "./exchange/export-entries.ts";
export type { ColumnMap, ColumnRule, FixedValues, Target } from "./exchange/map/column-map.ts";
export { fromUdmEntry, toUdmEntry } from "./exchange/import-rows.ts";
export { repeatedName } from "./exchange/rows/json-rows.ts";
export { readColumnMap, readFixed } from "./exchange/map/read-column-map.ts";
export { readyMap, readyMapNames, type ReadyMapName } from "./exchange/map/column-map.ts";
export type { CsvOptions } from "./exchange/rows/csv-rows.ts";
export { decodeText, wholeText } from "./exchange/import-rows.ts";
export { Selections, serveSelection, type Select, type SelectionLimits } from "./exchange/rows/selection.ts";

export { createLastCopies } from "./sources/source-state.ts";
export { readSourcesFile, SourcesFileError } from "./sources/config/read-sources-file.ts";
export { sourceKinds } from "./sources/kinds/kinds.ts";
export { createSources, type Sources, type SourcesOptions } from "./sources/sources.ts";
export { SourceFault } from "./sources/source-config.ts";
export type { SourceDiff, SourceState } from "./sources/source-state.ts";
