import {
  constants,
  type BigIntStats,
  closeSync,
  fchmodSync,
  fchownSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
  writevSync,
  mkdirSync,
} from "node:fs";
import {
  link,
  lstat,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  stat,
  unlink,
  type FileHandle,
  mkdir,
} from "node:fs/promises";
import { dirname } from "node:path";

/** The identity of a file's content, as far as metadata shows it. */
export interface FileStamp {
  /** Bytes. */
  readonly size: number;
  /** Nanoseconds since the epoch. */
  readonly modified: bigint;
  readonly inode: bigint;
  readonly device: bigint;
}

export interface FileState extends FileStamp {
  readonly kind: "file" | "folder" | "link" | "other";
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** An open file, or a folder opened for syncing. */
export interface OpenFile {
  /** Writes bytes. @returns the number of bytes written, which may be smaller than requested. */
  write(bytes: Uint8Array): Promise<number>;
  /** Writes chunks at an offset, as `write` does. */
  writeAt(chunks: readonly Uint8Array[], offset: number): Promise<number>;
  /** Reads bytes. @returns the number of bytes read, which is smaller than requested only at the end of the file. */
  readAt(into: Uint8Array, offset: number): Promise<number>;
  chmod(mode: number): Promise<void>;
  /** Changes the owner; -1 leaves a part unchanged. */
  chown(uid: number, gid: number): Promise<void>;
  state(): Promise<FileState>;
  /** Cuts the file to this size. */
  truncate(size: number): Promise<void>;
  sync(): Promise<void>;
  /** Flushes the data to disk, but not the file's times. */
  syncData(): Promise<void>;
  close(): Promise<void>;
}

/** All file system calls that tests make fail. Each may fail with an error that has an errno name as `code`. */
export interface FileIo {
  /** Returns the state of a file. Follows symbolic links. */
  state(path: string): Promise<FileState>;
  linkState(path: string): Promise<FileState>;
  readLink(path: string): Promise<string>;
  read(path: string): Promise<Uint8Array>;
  list(folder: string): Promise<readonly string[]>;
  /** Creates a file for writing; it must not exist. The umask narrows the mode. */
  create(path: string, mode: number): Promise<OpenFile>;
  /** Opens an existing file for writing from its start. */
  openExisting(path: string): Promise<OpenFile>;
  /** Opens an existing file for appending. */
  openToAppend(path: string): Promise<OpenFile>;
  /** Opens a file for appending and creates it when it is missing. It never waits: a pipe without a reader fails with ENXIO. */
  openStream(path: string, mode: number): Promise<OpenFile>;
  /** Opens a file for reads and writes at offsets, and creates it when it is missing. */
  openToUpdate(path: string, mode: number): Promise<OpenFile>;
  openToRead(path: string): Promise<OpenFile>;
  openFolder(path: string): Promise<OpenFile>;
  /** Creates a folder and those above it. An existing one is no error. */
  makeFolder(path: string, mode?: number): Promise<void>;
  realPath(path: string): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  /** Gives the file a second name, which must not exist. */
  link(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
}

/** Non-blocking, because a thread that waits for the reader of a pipe cannot be stopped. It has no effect on regular files. */
const streamFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

export const nodeFileIo: FileIo = {
  state: async (path) => fileState(await stat(path, { bigint: true })),
  linkState: async (path) => fileState(await lstat(path, { bigint: true })),
  readLink: (path) => readlink(path),
  read: (path) => readFile(path),
  list: (folder) => readdir(folder),
  create: async (path, mode) =>
    openFile(await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode)),
  openExisting: async (path) => openFile(await open(path, constants.O_WRONLY | constants.O_NOFOLLOW)),
  openToAppend: async (path) =>
    openFile(await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW)),
  openStream: async (path, mode) => openFile(await open(path, streamFlags, mode)),
  openToUpdate: async (path, mode) => openFile(await open(path, constants.O_RDWR | constants.O_CREAT, mode)),
  openToRead: async (path) => openFile(await open(path, "r")),
  openFolder: async (path) => openFile(await open(path, constants.O_RDONLY | constants.O_DIRECTORY)),
  makeFolder,
  realPath: (path) => realpath(path),
  rename: (from, to) => rename(from, to),
  link: (from, to) => link(from, to),
  unlink: (path) => unlink(path),
};

function openFile(handle: FileHandle): OpenFile {
  return {
    write: async (bytes) => (await handle.write(bytes)).bytesWritten,
    writeAt: async (chunks, offset) => (await handle.writev(chunks, offset)).bytesWritten,
    readAt: (into, offset) =>
      readWhole(into.length, async (done) => {
        const { bytesRead } = await handle.read(into, done, into.length - done, offset + done);
        return bytesRead;
      }),
    chmod: (mode) => handle.chmod(mode),
    chown: (uid, gid) => handle.chown(uid, gid),
    state: async () => fileState(await handle.stat({ bigint: true })),
    truncate: (size) => handle.truncate(size),
    sync: () => handle.sync(),
    syncData: () => handle.datasync(),
    close: () => handle.close(),
  };
}

/** Continues a read that returned less than requested. @param read reads from the offset `done`. */
async function readWhole(length: number, read: (done: number) => Promise<number>): Promise<number> {
  for (let done = 0; ;) {
    const bytes = done < length ? await read(done) : 0;
    if (bytes === 0) return done;
    done += bytes;
  }
}

function fileState(stats: BigIntStats): FileState {
  return {
    kind: stats.isFile() ? "file" : stats.isDirectory() ? "folder" : stats.isSymbolicLink() ? "link" : "other",
    size: Number(stats.size),
    modified: stats.mtimeNs,
    inode: stats.ino,
    device: stats.dev,
    mode: Number(stats.mode & 0o7777n),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
  };
}

/** Returns the errno name of a system error, else the class of the error. */
export function errorCode(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.name : "unknown";
}

/** Reports whether an error means that the file does not exist. */
export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(errorCode(error));
}

export function sameStamp(a: FileStamp | undefined, b: FileStamp | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && a.modified === b.modified && a.inode === b.inode && a.device === b.device;
}

/** Synchronous calls for a thread that does nothing else. A save blocks it, but needs no switch to another thread and back. */
export const syncFileIo: FileIo = {
  ...nodeFileIo,
  state: async (path) => fileState(statSync(path, { bigint: true })),
  linkState: async (path) => fileState(lstatSync(path, { bigint: true })),
  readLink: async (path) => readlinkSync(path),
  read: async (path) => readFileSync(path),
  list: async (folder) => readdirSync(folder),
  create: async (path, mode) =>
    openSyncFile(
      openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode),
    ),
  openExisting: async (path) => openSyncFile(openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW)),
  openToAppend: async (path) =>
    openSyncFile(openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW)),
  openFolder: async (path) => openSyncFile(openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)),
  rename: async (from, to) => renameSync(from, to),
  link: async (from, to) => linkSync(from, to),
  unlink: async (path) => unlinkSync(path),
};

function openSyncFile(descriptor: number): OpenFile {
  return {
    write: async (bytes) => writeSync(descriptor, bytes),
    writeAt: async (chunks, offset) => writevSync(descriptor, chunks, offset),
    readAt: (into, offset) =>
      readWhole(into.length, async (done) => readSync(descriptor, into, done, into.length - done, offset + done)),
    chmod: async (mode) => fchmodSync(descriptor, mode),
    chown: async (uid, gid) => fchownSync(descriptor, uid, gid),
    state: async () => fileState(fstatSync(descriptor, { bigint: true })),
    truncate: async (size) => ftruncateSync(descriptor, size),
    sync: async () => fsyncSync(descriptor),
    syncData: async () => fdatasyncSync(descriptor),
    close: async () => closeSync(descriptor),
  };
}

/**
 * Creates a folder and those above it. Node's recursive `mkdir` never returns where the parent does not exist and cannot be created, as below `/proc`.
 *
 * @throws the error of the system where the folder cannot be created.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    await makeFolder(dirname(path), mode);
    await makeLast(path, mode);
  }
}

/** Creates one folder. Another writer may create it at the same time. */
async function makeLast(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !(await stat(path)).isDirectory()) throw error;
  }
}

/** Creates a folder like {@link makeFolder}, before the event loop runs. */
export function makeFolderSync(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    makeFolderSync(dirname(path));
    mkdirSync(path);
  }
}
