import { open, readdir, rename, unlink, type FileHandle } from "node:fs/promises";
import { makeFolder } from "../../base/file/index.ts";

/** A file of the spool. */
export interface SpoolFile {
  /** @returns how many bytes were read; fewer than asked for at the end of the file only. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** @returns how many bytes were taken, which may be fewer than were given. */
  write(chunks: readonly Uint8Array[], position: number): Promise<number>;
  truncate(size: number): Promise<void>;
  size(): Promise<number>;
  /** Has what was written reach the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Every call of the operating system that a spool makes. Each may fail with an error that has an errno name as `code`. */
export interface SpoolIo {
  /** Makes a directory and its parents; one that exists is fine. */
  makeDirectory(path: string): Promise<void>;
  list(directory: string): Promise<readonly string[]>;
  /** Opens for reading and writing; creates the file when it is missing. */
  open(path: string): Promise<SpoolFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Has the names in a directory reach the disk. */
  syncDirectory(path: string): Promise<void>;
}

export const nodeSpoolIo: SpoolIo = {
  makeDirectory: (path) => makeFolder(path, 0o750),
  list: (directory) => readdir(directory),
  async open(path) {
    try {
      return spoolFile(await open(path, "r+"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return spoolFile(await open(path, "w+", 0o640));
    }
  },
  rename: (from, to) => rename(from, to),
  remove: (path) => unlink(path),
  async syncDirectory(path) {
    const directory = await open(path, "r");
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  },
};

function spoolFile(handle: FileHandle): SpoolFile {
  return {
    async read(into, position) {
      let done = 0;
      while (done < into.length) {
        const { bytesRead } = await handle.read(into, done, into.length - done, position + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return done;
    },
    write: async (chunks, position) => (await handle.writev(chunks, position)).bytesWritten,
    truncate: (size) => handle.truncate(size),
    size: async () => (await handle.stat()).size,
    sync: () => handle.datasync(),
    close: () => handle.close(),
  };
}
