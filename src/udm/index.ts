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
