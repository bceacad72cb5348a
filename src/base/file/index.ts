export {
  errorCode,
  isMissing,
  makeFolder,
  makeFolderSync,
  nodeFileIo,
  sameStamp,
  syncFileIo,
  type FileIo,
  type FileStamp,
  type FileState,
  type OpenFile,
} from "./file-io.ts";
export {
  findLeftOvers,
  finishRename,
  replaceContent,
  resolveTarget,
  SaveError,
  syncFolder,
  temporaryPath,
  type KeepReason,
  type KeptFile,
  type SavedFile,
  type SavePlan,
  type SaveStep,
} from "./save-file.ts";
export { LockedError, takeFileLock, type FileLock } from "./file-lock.ts";
export { removeImage, replaceFile, replayImage } from "./overwrite-file.ts";
export { readSettled, runAfter, WatchedFile } from "./watched-file.ts";
