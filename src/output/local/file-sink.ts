import { constants } from "node:fs";
import { open, realpath, rename, stat, type FileHandle } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { makeFolder } from "../../base/file/index.ts";
import { errorCode, reasonOf } from "../delivery/output-adapter.ts";
import { limitLog, type Clock, type Log, type Component } from "../../base/report/index.ts";
import { lineStart, type Outlet } from "./queued-sink.ts";
import type { OutputReport } from "../output-metrics.ts";
import type { Sink } from "../../record/index.ts";
import { createQueuedSink, type OutputOptions } from "./queued-sink.ts";

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

/**
 * Frees a path by renaming: `path` becomes `path.1`, that one `path.2`, up to `path.<kept>`; the oldest is replaced when
 * all exist. The renames begin at the old end, so one that fails leaves no file without a name and a later call goes on.
 */
async function rotateFiles(io: OutputIo, path: string, kept: number): Promise<void> {
  let free = 1;
  while (free < kept && (await exists(io, `${path}.${free}`))) free++;
  for (let i = free; i > 1; i--) await io.rename(`${path}.${i - 1}`, `${path}.${i}`);
  await io.rename(path, `${path}.1`);
}

async function exists(io: OutputIo, path: string): Promise<boolean> {
  try {
    await io.state(path);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

interface FileOutletOptions {
  readonly path: string;
  /** 0 is never. */
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly retryMs: number;
  readonly io: OutputIo;
  readonly log: Log;
  readonly clock: Clock;
  readonly report: OutputReport;
}

interface FileOutlet extends Outlet {
  /** Has the next `next` open the path again. Until that works, lines go on into the file that is open. */
  reopen(): void;
}

/** One write is under way at a time, and a busy event loop turns some hundred times a second at worst. */
const maxBatch = 4 * 1024 * 1024;

/** After these the descriptor is as good as before; after any other error the file is opened again. */
const spaceErrors: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

interface Opened {
  readonly file: OutputFile;
  readonly state: OutputFileState;
}

/**
 * A file that is appended to.
 *
 * - It never keeps half a line: after a failed write it is cut back to its last whole line, unless someone else has
 *   changed its length. A half line that is found when it is opened (a crash, a power cut) is ended, not removed.
 * - It is left for another file only between two lines, and only when that other file is open.
 */
function createFileOutlet(options: FileOutletOptions): FileOutlet {
  const { path, maxBytes, maxFiles, retryMs, io, clock, report } = options;
  const log = limitLog(options.log, clock);

  let opened: Opened | undefined;
  /** Bytes in the file as far as we know. */
  let size = 0;
  let reopenAsked = false;
  /** When a rotation or reopening may be tried again, by the monotonic clock. */
  let notBefore = -Infinity;

  const openFile = async (): Promise<Opened> => {
    const file = await io.open(path).catch(async (error: unknown) => {
      if (errorCode(error) !== "ENOENT") throw error;
      await io.makeFolder(dirname(path));
      return io.open(path);
    });
    try {
      const state = await file.state();
      if (!state.isRegular || state.size === 0 || (await io.lastByte(path)) === 0x0a) return { file, state };
      log.warn({ path }, "the output file ends in an incomplete line, which is ended");
      await file.write(Buffer.from("\n"));
      return { file, state: { ...state, size: state.size + 1 } };
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    }
  };

  const closeFile = async (): Promise<void> => {
    const file = opened?.file;
    opened = undefined;
    await file?.close().catch((error: unknown) => report.failed("close", errorCode(error)));
  };

  const use = async (next: Opened): Promise<void> => {
    await closeFile();
    opened = next;
    size = next.state.size;
    reopenAsked = false;
  };

  /** Does what may fail while the file that is open stays in use. */
  const attempt = async (operation: string, action: () => Promise<void>): Promise<void> => {
    if (clock.monotonic() < notBefore) return;
    try {
      await action();
    } catch (error) {
      notBefore = clock.monotonic() + retryMs;
      report.failed(operation, errorCode(error));
      log.error({ path, reason: reasonOf(error) }, `output file: cannot ${operation}, continuing with the old one`);
    }
  };

  const rotate = async (current: Opened): Promise<void> => {
    const target = await io.realPath(path);
    const there = await io.state(target);
    // Someone else may have renamed the file; what is at its place then is not ours to rename.
    const isOurs = there.inode === current.state.inode && there.device === current.state.device;
    if (isOurs) {
      await rotateFiles(io, target, maxFiles);
      report.rotated();
    }
    reopenAsked = true;
    await use(await openFile());
  };

  const isFull = (): boolean => maxBytes > 0 && opened?.state.isRegular === true && size >= maxBytes;

  return {
    async next() {
      if (opened === undefined) await use(await openFile());
      if (reopenAsked) await attempt("reopen", async () => use(await openFile()));
      const current = opened;
      if (current !== undefined && isFull() && !reopenAsked) await attempt("rotate", () => rotate(current));
      return maxBytes > 0 && !isFull() ? Math.min(maxBatch, maxBytes - size) : maxBatch;
    },

    isUnfinished: () => reopenAsked,

    async write(batch, at) {
      if (opened === undefined) await use(await openFile());
      try {
        const taken = (await opened?.file.write(batch.subarray(at))) ?? 0;
        size += taken;
        return taken;
      } catch (error) {
        if (errorCode(error) === "EAGAIN") return 0;
        throw error;
      }
    },

    async retreat(batch, at, error) {
      const from = lineStart(batch, at);
      if (opened === undefined) return from;
      const { file, state } = opened;
      const isUsable = error === undefined || spaceErrors.has(errorCode(error));
      let to = at;
      if (state.isRegular && from < at) {
        try {
          const now = await file.state();
          if (now.size !== size) throw new Error("the length of the file was changed by someone else");
          await file.truncate(size - (at - from));
          size -= at - from;
          to = from;
        } catch (failure) {
          report.failed("truncate", errorCode(failure));
          log.error({ path, reason: reasonOf(failure) }, "an incomplete line stays in the output file");
          await closeFile();
          return from;
        }
      }
      if (isUsable) return to;
      await closeFile();
      return from;
    },

    close: closeFile,
    abort() {},
    reopen() {
      reopenAsked = true;
      notBefore = -Infinity;
    },
  };
}

/** An output that cannot work as it is configured. */
export class OutputError extends Error {
  override readonly name = "OutputError";
  readonly code = "unusable_output";
}

export interface FileSinkOptions extends OutputOptions {
  /** The file; it and its folder are created when they are missing. A named pipe or a device works, too. */
  readonly path: string;
  /**
   * A file that has reached this size is renamed to `<path>.1` between two writes, and a fresh one begun; it is longer
   * by one chunk at most. 0 is never. The file behind a symbolic link is renamed at its own place.
   */
  readonly maxBytes: number;
  /** How many renamed files are kept, 1 or more. */
  readonly maxFiles: number;
  readonly io?: OutputIo;
}

export interface FileSink extends Sink, Component {
  /** Opens the path again, for after logrotate has renamed the file. Every line is whole in the old or in the new file. */
  reopen(): void;
}

/** With these at the start, the configuration is wrong; other errors may pass and are tried again. */
const configurationErrors: ReadonlySet<string> = new Set([
  "EACCES",
  "EPERM",
  "EROFS",
  "EISDIR",
  "ENOTDIR",
  // A folder that was missing could not be made, although the one above it is there.
  "ENOENT",
  "EEXIST",
  "ELOOP",
  "ENAMETOOLONG",
]);

/**
 * Appends records to a file. A disk that is full or fails is tried again until it works; no line is ever left half
 * written, and none is split between two files. Nothing is synced: a power cut may cost what the kernel still held.
 *
 * `start` throws OutputError when the path can never be written to.
 */
export function createFileSink(options: FileSinkOptions): FileSink {
  const { maxBytes, maxFiles, io = nodeOutputIo, retryMs = 1000, log, clock } = options;
  const path = resolve(options.path);
  let outlet: FileOutlet | undefined;

  const sink = createQueuedSink({
    ...options,
    name: "file",
    async open(report) {
      outlet = createFileOutlet({ path, maxBytes, maxFiles, retryMs, io, log, clock, report });
      try {
        await outlet.next();
      } catch (error) {
        if (configurationErrors.has(errorCode(error))) {
          throw new OutputError(`the output file ${path} cannot be written: ${reasonOf(error)}`, { cause: error });
        }
      }
      return outlet;
    },
  });

  return {
    ...sink,
    reopen() {
      outlet?.reopen();
      sink.nudge();
    },
  };
}
