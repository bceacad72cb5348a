export { checkUdm, checkValues, type FieldViolation, type UdmCheck, type UdmInput } from "./check-udm.ts";
export { udmJson } from "./entry-json.ts";
export { createSharedIndex } from "./shared/shared-index.ts";
export type { SharedIndex, SharedIndexBuilder, SharedIndexOptions, SharedIndexStats } from "./shared/index-contract.ts";
export { openSharedIndex, type SharedIndexHandle, type SharedIndexReader } from "./shared/shared-reader.ts";
export {
  udmFields,
  type UdmContext,
  type UdmEntry,
  type UdmField,
  type UdmFileOnly,
  type UdmValues,
} from "./udm-entry.ts";
export { nodeFileIo, sameStamp, type FileIo, type FileStamp, type FileState, type OpenFile } from "./file-io.ts";
export { Unfamiliar } from "./plain-yaml-cursor.ts";
export { createPlainReader, type PlainEntry, type PlainReader } from "./plain-yaml-reader.ts";
export { loadState } from "./load-state.ts";
export { serveFileThread } from "./file-thread.ts";
export { createUdmFileStore, type UdmFileStore, type UdmFileStoreOptions } from "./udm-file-store.ts";
export { maxViolations, UdmError, type UdmErrorCode, type UdmViolation } from "./udm-error.ts";
export type {
  AddressIndex,
  AddressRange,
  EntryTexts,
  UdmEdit,
  UdmIndex,
  UdmMark,
  UdmSelection,
  UdmText,
} from "./udm-index.ts";
export type { UdmStore, UdmWrite } from "./udm-store.ts";
export { LockedError, takeFileLock, type FileLock } from "./file-lock.ts";
export { FileFault, positionAt } from "./file-fault.ts";
export { readYaml } from "./read-yaml.ts";
export { isNullNode, type YamlMapping, type YamlNode } from "./yaml-node.ts";
