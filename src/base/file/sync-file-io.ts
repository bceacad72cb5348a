import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { fileState, type FileIo, type OpenFile } from "./file-io.ts";

/** For a thread that has nothing else to do: each call blocks, which saves the way to another thread and back. */
export const syncFileIo: FileIo = {
  state: async (path) => fileState(statSync(path, { bigint: true })),
  linkState: async (path) => fileState(lstatSync(path, { bigint: true })),
  readLink: async (path) => readlinkSync(path),
  read: async (path) => readFileSync(path),
  list: async (folder) => readdirSync(folder),
  create: async (path, mode) =>
    openFile(openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode)),
  openExisting: async (path) => openFile(openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW)),
  openToAppend: async (path) =>
    openFile(openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW)),
  openFolder: async (path) => openFile(openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)),
  rename: async (from, to) => renameSync(from, to),
  link: async (from, to) => linkSync(from, to),
  unlink: async (path) => unlinkSync(path),
};

function openFile(descriptor: number): OpenFile {
  return {
    write: async (bytes) => writeSync(descriptor, bytes),
    chmod: async (mode) => fchmodSync(descriptor, mode),
    chown: async (uid, gid) => fchownSync(descriptor, uid, gid),
    state: async () => fileState(fstatSync(descriptor, { bigint: true })),
    truncate: async (size) => ftruncateSync(descriptor, size),
    sync: async () => fsyncSync(descriptor),
    close: async () => closeSync(descriptor),
  };
}
