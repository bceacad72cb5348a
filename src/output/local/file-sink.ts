import { dirname, resolve } from "node:path";
import { errorCode, nodeFileIo, type FileIo, type FileState, type OpenFile } from "../../base/file/index.ts";
import { limitLog, type Log } from "../../base/report/index.ts";
import { reasonOf } from "../delivery/output-adapter.ts";
import type { OutputReport } from "../output-metrics.ts";
import { type Outlet, type OutputOptions, QueuedSink } from "./queued-sink.ts";

/**
 * Frees a path by renaming: `path` becomes `path.1`, that one `path.2`, up to `path.<kept>`. The oldest is replaced when
 * all exist. The renames start with the oldest, so one that fails leaves no file without a name and a later call continues.
 */
async function rotateFiles(io: FileIo, path: string, kept: number): Promise<void> {
  let free = 1;
  while (free < kept && (await exists(io, `${path}.${free}`))) free++;
  for (let i = free; i > 1; i--) await io.rename(`${path}.${i - 1}`, `${path}.${i}`);
  await io.rename(path, `${path}.1`);
}

async function exists(io: FileIo, path: string): Promise<boolean> {
  try {
    await io.state(path);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

async function endsInLineFeed(io: FileIo, path: string): Promise<boolean> {
  const file = await io.openToRead(path);
  try {
    // Another writer may have appended since.
    const { size } = await file.state();
    const last = Buffer.alloc(1);
    return (await file.readAt(last, Math.max(0, size - 1))) === 1 && last[0] === 0x0a;
  } finally {
    await file.close();
  }
}

/** The most bytes of a write. One write is under way at a time, and a busy event loop turns only some hundred times a second. */
const maxBatch = 4 * 1024 * 1024;

/** Errors after which the descriptor still works; after any other error the file is opened again. */
const spaceErrors: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** An open file, and its state when it was opened. */
type Opened = { readonly file: OpenFile; readonly state: FileState };

/**
 * A file that is appended to.
 *
 * - It never keeps half a line: after a failed write it is cut back to its last whole line, unless someone else has
 *   changed its length. A half line found when it is opened (after a crash or a power cut) is ended, not removed.
 * - It is replaced by another file only between two lines, and only when that other file is open.
 */
class FileOutlet implements Outlet {
  readonly #path: string;
  readonly #options: FileSinkOptions;
  readonly #io: FileIo;
  readonly #log: Log;
  readonly #report: OutputReport;
  #opened: Opened | undefined;
  /** Bytes in the file as far as we know. */
  #size = 0;
  #reopenAsked = false;
  /** The earliest time for another rotation or reopening, by the monotonic clock. */
  #notBefore = -Infinity;

  constructor(path: string, options: FileSinkOptions, report: OutputReport) {
    this.#path = path;
    this.#options = options;
    this.#io = options.io ?? nodeFileIo;
    this.#log = limitLog(options.log, options.clock);
    this.#report = report;
  }

  async next(): Promise<number> {
    const { maxBytes } = this.#options;
    if (this.#opened === undefined) await this.#openNext();
    if (this.#reopenAsked) await this.#attempt("reopen", () => this.#openNext());
    const current = this.#opened;
    if (current !== undefined && this.#isFull() && !this.#reopenAsked) {
      await this.#attempt("rotate", () => this.#rotate(current));
    }
    return maxBytes > 0 && !this.#isFull() ? Math.min(maxBatch, maxBytes - this.#size) : maxBatch;
  }

  isUnfinished(): boolean {
    return this.#reopenAsked;
  }

  /** Makes the next `next` open the path again. Until that works, lines go on into the file that is open. */
  reopen(): void {
    this.#reopenAsked = true;
    this.#notBefore = -Infinity;
  }

  async write(batch: Uint8Array, at: number): Promise<number> {
    if (this.#opened === undefined) await this.#openNext();
    try {
      const taken = (await this.#opened?.file.write(batch.subarray(at))) ?? 0;
      this.#size += taken;
      return taken;
    } catch (error) {
      if (errorCode(error) === "EAGAIN") return 0;
      throw error;
    }
  }

  async retreat(batch: Uint8Array, at: number, error?: unknown): Promise<number> {
    const from = at === 0 ? 0 : batch.lastIndexOf(0x0a, at - 1) + 1;
    if (this.#opened === undefined) return from;
    const { file, state } = this.#opened;
    const isUsable = error === undefined || spaceErrors.has(errorCode(error));
    let to = at;
    if (state.kind === "file" && from < at) {
      try {
        const now = await file.state();
        if (now.size !== this.#size) throw new Error("the length of the file was changed by someone else");
        await file.truncate(this.#size - (at - from));
        this.#size -= at - from;
        to = from;
      } catch (failure) {
        this.#report.failed("truncate", errorCode(failure));
        this.#log.error({ path: this.#path, reason: reasonOf(failure) }, "an incomplete line stays in the output file");
        await this.close();
        return from;
      }
    }
    if (isUsable) return to;
    await this.close();
    return from;
  }

  async close(): Promise<void> {
    const file = this.#opened?.file;
    this.#opened = undefined;
    await file?.close().catch((error: unknown) => this.#report.failed("close", errorCode(error)));
  }

  abort(): void {}

  #isFull(): boolean {
    const { maxBytes } = this.#options;
    return maxBytes > 0 && this.#opened?.state.kind === "file" && this.#size >= maxBytes;
  }

  /** Opens the path, and closes the file that was open. */
  async #openNext(): Promise<void> {
    const next = await this.#openFile();
    await this.close();
    this.#opened = next;
    this.#size = next.state.size;
    this.#reopenAsked = false;
  }

  async #openFile(): Promise<Opened> {
    const path = this.#path;
    const file = await this.#io.openStream(path, 0o644).catch(async (error: unknown) => {
      if (errorCode(error) !== "ENOENT") throw error;
      await this.#io.makeFolder(dirname(path));
      return this.#io.openStream(path, 0o644);
    });
    try {
      const state = await file.state();
      if (state.kind !== "file" || state.size === 0 || (await endsInLineFeed(this.#io, path))) return { file, state };
      this.#log.warn({ path }, "the output file ends in an incomplete line, which is ended");
      await file.write(Buffer.from("\n"));
      return { file, state: { ...state, size: state.size + 1 } };
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    }
  }

  /** Runs an action that may fail while the open file stays in use. */
  async #attempt(operation: string, action: () => Promise<void>): Promise<void> {
    const { clock, retryMs = 1000 } = this.#options;
    if (clock.monotonic() < this.#notBefore) return;
    try {
      await action();
    } catch (error) {
      this.#notBefore = clock.monotonic() + retryMs;
      this.#report.failed(operation, errorCode(error));
      const fields = { path: this.#path, reason: reasonOf(error) };
      this.#log.error(fields, `output file: cannot ${operation}, continuing with the old one`);
    }
  }

  async #rotate(current: Opened): Promise<void> {
    const target = await this.#io.realPath(this.#path);
    const there = await this.#io.state(target);
    // Someone else may have renamed the file; the one at its path then is not ours to rename.
    const isOurs = there.inode === current.state.inode && there.device === current.state.device;
    if (isOurs) {
      await rotateFiles(this.#io, target, this.#options.maxFiles);
      this.#report.rotated();
    }
    this.#reopenAsked = true;
    await this.#openNext();
  }
}

/** An output that cannot work as it is configured. */
export class OutputError extends Error {
  override readonly name = "OutputError";
  readonly code = "unusable_output";
}

export interface FileSinkOptions extends OutputOptions {
  /** The file; it and its folder are created when missing. A named pipe or a device works, too. */
  readonly path: string;
  /**
   * The size at which a file is renamed to `<path>.1` between two writes, and a new one started; it can be exceeded
   * by one chunk at most. 0: never. The file behind a symbolic link is renamed at its own place.
   */
  readonly maxBytes: number;
  /** The number of renamed files that are kept, 1 or more. */
  readonly maxFiles: number;
  readonly io?: FileIo;
}

/** Errors that mean a wrong configuration at the start; others may pass and are tried again. */
const configurationErrors: ReadonlySet<string> = new Set([
  "EACCES",
  "EPERM",
  "EROFS",
  "EISDIR",
  "ENOTDIR",
  // A missing folder could not be created, although its parent exists.
  "ENOENT",
  "EEXIST",
  "ELOOP",
  "ENAMETOOLONG",
]);

/**
 * Appends records to a file. It retries a disk that is full or fails until it works. No line is ever left half
 * written or split between two files. Nothing is synced: a power cut may lose what the kernel still held.
 *
 * `start` throws OutputError when the path can never be written to.
 */
export class FileSink extends QueuedSink {
  readonly #outlet: FileOutlet;
  readonly #path: string;

  constructor(options: FileSinkOptions) {
    super("file", options);
    this.#path = resolve(options.path);
    this.#outlet = new FileOutlet(this.#path, options, this.report);
  }

  /** Opens the path again, after logrotate has renamed the file. Every line is whole in the old or in the new file. */
  reopen(): void {
    this.#outlet.reopen();
    this.nudge();
  }

  protected override async open(): Promise<Outlet> {
    try {
      await this.#outlet.next();
    } catch (error) {
      if (configurationErrors.has(errorCode(error))) {
        throw new OutputError(`the output file ${this.#path} cannot be written: ${reasonOf(error)}`, { cause: error });
      }
    }
    return this.#outlet;
  }
}
