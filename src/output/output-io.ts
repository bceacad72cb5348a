import { constants } from "node:fs";
import { open, realpath, rename, stat, type FileHandle } from "node:fs/promises";
import { makeFolder } from "../file/index.ts";

export interface OutputFileState {
  /** Bytes. */
  readonly size: number;
  readonly device: number;
  readonly inode: number;
  /** False for pipes and devices: they have no size, and what was written cannot be taken back. */
  readonly isRegular: boolean;
}

/** A file opened for appending. */
export interface OutputFile {
  /** @returns how many bytes were taken, which may be fewer than were given. */
  write(bytes: Uint8Array): Promise<number>;
  truncate(size: number): Promise<void>;
  state(): Promise<OutputFileState>;
  close(): Promise<void>;
}

/** Every call of the operating system that the file output makes. Each may fail with an error that has an errno name as `code`. */
export interface OutputIo {
  /** Opens for appending; creates the file when it is missing. A pipe without a reader fails, with ENXIO. */
  open(path: string): Promise<OutputFile>;
  /** The last byte of a regular file that is not empty. */
  lastByte(path: string): Promise<number | undefined>;
  state(path: string): Promise<OutputFileState>;
  realPath(path: string): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  /** With its parents; one that exists is fine. */
  makeFolder(path: string): Promise<void>;
}

/** Non-blocking, because a thread that waits for a pipe's reader could not be stopped; regular files do not care. */
const appendFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

export const nodeOutputIo: OutputIo = {
  open: async (path) => outputFile(await open(path, appendFlags, 0o644)),
  async lastByte(path) {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
      return bytesRead === 1 ? buffer[0] : undefined;
    } finally {
      await file.close();
    }
  },
  state: async (path) => fileState(await stat(path)),
  realPath: (path) => realpath(path),
  rename: (from, to) => rename(from, to),
  makeFolder: (path) => makeFolder(path),
};

function outputFile(handle: FileHandle): OutputFile {
  return {
    write: async (bytes) => (await handle.write(bytes)).bytesWritten,
    truncate: (size) => handle.truncate(size),
    state: async () => fileState(await handle.stat()),
    close: () => handle.close(),
  };
}

function fileState(stats: { size: number; dev: number; ino: number; isFile(): boolean }): OutputFileState {
  return { size: stats.size, device: stats.dev, inode: stats.ino, isRegular: stats.isFile() };
}
