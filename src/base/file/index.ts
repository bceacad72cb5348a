export {
  errorCode,
  isMissing,
  nodeFileIo,
  sameStamp,
  type FileIo,
  type FileStamp,
  type FileState,
  type OpenFile,
} from "./file-io.ts";
export { makeFolder, makeFolderSync } from "./make-folder.ts";
export { syncFileIo } from "./sync-file-io.ts";
export { resolveTarget } from "./resolve-target.ts";
export { LockedError, takeFileLock, type FileLock } from "./file-lock.ts";
export { type KeepReason, type KeptFile } from "./keep-file.ts";
export {
  findLeftOvers,
  finishRename,
  replaceContent,
  SaveError,
  temporaryPath,
  type SavedFile,
  type SavePlan,
  type SaveStep,
} from "./save-file.ts";
export { removeImage, replaceFile, replayImage } from "./overwrite-file.ts";
export { createWatchedFile, type WatchedFile, type WatchedFileOptions } from "./watched-file.ts";
export { readSettled } from "./watched-file.ts";
export { runAfter } from "./watched-file.ts";
